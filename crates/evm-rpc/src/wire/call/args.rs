//! Transactions as arguments.

use std::borrow::Cow;

use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::Bytes;
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use esker_go_json::{Document, Kind};

use super::AccessListArg;
use crate::wire::{Addr, AuthorizationMembers, Big, Data, Hash, Uint64};
use schemars::JsonSchema;

/// Go's `ethapi.TransactionArgs`, as it was given: which members go together is for the methods to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(
    rename = "TransactionArguments",
    title = "transaction",
    description = "A transaction as an argument: which members go together depends on the method.",
    rename_all = "camelCase"
)]
pub struct TransactionArgs {
    /// Who sends it.
    pub from: Option<Addr>,
    /// The recipient; without one a contract is created.
    pub to: Option<Addr>,
    /// Gas that may be used.
    pub gas: Option<Uint64>,
    /// Wei a gas, of a transaction without the two fees below.
    pub gas_price: Option<Big>,
    /// Most that a gas may cost, wei.
    pub max_fee_per_gas: Option<Big>,
    /// Most that a gas may cost above the base fee, wei.
    pub max_priority_fee_per_gas: Option<Big>,
    /// Wei that go along.
    pub value: Option<Big>,
    /// The sender's nonce.
    pub nonce: Option<Uint64>,
    /// Call data under its old name.
    pub data: Option<Data>,
    /// Call data.
    pub input: Option<Data>,
    /// What it will touch.
    pub access_list: Option<AccessListArg>,
    /// The chain that it is for.
    pub chain_id: Option<Big>,
    /// Most that a blob gas may cost, wei.
    pub max_fee_per_blob_gas: Option<Big>,
    /// Hashes of blobs.
    pub blob_versioned_hashes: Option<Vec<Hash>>,
    /// Blobs, of which the node computes commitments and proofs.
    #[schemars(with = "Option<Vec<Data>>")]
    pub blobs: Vec<Data>,
    /// Commitments of blobs.
    #[schemars(with = "Option<Vec<Data>>")]
    pub commitments: Vec<Data>,
    /// Proofs of blobs.
    #[schemars(with = "Option<Vec<Data>>")]
    pub proofs: Vec<Data>,
    /// Authorizations to set code (EIP-7702).
    #[schemars(with = "Option<Vec<AuthorizationMembers>>")]
    pub authorization_list: AuthorizationsArg,
}

/// Authorizations, which chains without set-code transactions ignore, whatever is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorizationsArg(Option<Result<Vec<AuthorizationMembers>, String>>);

esker_rpc::schema_as!(
    AuthorizationsArg,
    "AuthorizationsArgument",
    Option<Vec<AuthorizationMembers>>
);

impl AuthorizationsArg {
    /// Whether the member is there and not null, whatever it is.
    pub const fn is_given(&self) -> bool {
        self.0.is_some()
    }

    /// The authorizations, if any were given.
    ///
    /// # Errors
    /// What was given is not a list of them. The text is the decoder's.
    pub fn list(&self) -> Result<Option<Vec<SignedAuthorization>>, &str> {
        match &self.0 {
            None => Ok(None),
            Some(Ok(list)) => Ok(Some(list.iter().map(SignedAuthorization::from).collect())),
            Some(Err(text)) => Err(text),
        }
    }
}

impl Argument for AuthorizationsArg {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("[]types.SetCodeAuthorization")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let decode = || Vec::decode(value).map_err(|error| error.to_string());
        Ok(Self((value.kind() != Kind::Null).then(decode)))
    }
}

impl TransactionArgs {
    /// Whether it calls an account, and names neither a sender nor a price.
    pub(crate) const fn is_free_call(&self) -> bool {
        let prices = [&self.gas_price, &self.max_fee_per_gas, &self.max_priority_fee_per_gas];
        let has_price = prices[0].is_some() || prices[1].is_some() || prices[2].is_some();
        self.to.is_some() && self.from.is_none() && !has_price
    }

    /// Call data: `input` wins over `data`.
    pub fn payload(&self) -> Bytes {
        let data = self.input.as_ref().or(self.data.as_ref());
        data.map(|Data(bytes)| bytes.clone()).unwrap_or_default()
    }
}

impl Argument for TransactionArgs {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("ethapi.TransactionArgs")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut args = Self::default();
        decode_struct(
            value,
            "ethapi.TransactionArgs",
            &mut [
                ("from", &mut args.from),
                ("to", &mut args.to),
                ("gas", &mut args.gas),
                ("gasPrice", &mut args.gas_price),
                ("maxFeePerGas", &mut args.max_fee_per_gas),
                ("maxPriorityFeePerGas", &mut args.max_priority_fee_per_gas),
                ("value", &mut args.value),
                ("nonce", &mut args.nonce),
                ("data", &mut args.data),
                ("input", &mut args.input),
                ("accessList", &mut args.access_list),
                ("chainId", &mut args.chain_id),
                ("maxFeePerBlobGas", &mut args.max_fee_per_blob_gas),
                ("blobVersionedHashes", &mut args.blob_versioned_hashes),
                ("blobs", &mut args.blobs),
                ("commitments", &mut args.commitments),
                ("proofs", &mut args.proofs),
                ("authorizationList", &mut args.authorization_list),
            ],
        )?;
        Ok(args)
    }
}
