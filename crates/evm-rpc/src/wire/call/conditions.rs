//! Conditions of a transaction, as arguments (ERC-7796).

use std::borrow::Cow;
use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256};
use esker_go_json::args::{Argument, ArgumentError, check_memory, decode_struct};
use esker_go_json::{Document, Kind, Name};
use esker_primitives::excerpt;
use esker_rpc::schema;
use schemars::JsonSchema;

use super::overrides::decode_map;
use crate::wire::{Big, Data, Hash, HexOrDecimal, StorageKey};

/// What must be so for a transaction to be taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(
    rename = "TransactionConditions",
    title = "conditions",
    rename_all = "camelCase",
    default
)]
pub struct ConditionsArgs {
    /// What accounts must have.
    pub known_accounts: KnownAccounts,
    /// The least number of the block.
    pub block_number_min: Option<HexOrDecimal>,
    /// The greatest number of the block.
    pub block_number_max: Option<HexOrDecimal>,
    /// The earliest time of the block, Unix s.
    pub timestamp_min: Option<HexOrDecimal>,
    /// The latest time of the block, Unix s.
    pub timestamp_max: Option<HexOrDecimal>,
    /// The least that the transaction pays to the coinbase, wei.
    pub pays_coinbase: Option<Big>,
}

/// What accounts must have, by their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownAccounts(pub BTreeMap<Address, KnownAccount>);

/// What an account must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownAccount {
    /// The root of its storage.
    Root(B256),
    /// These parts.
    Parts(KnownParts),
}

/// Parts of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownParts {
    /// Wei.
    pub balance: Option<U256>,
    /// Nonce.
    pub nonce: Option<u64>,
    /// Code; of an account that delegates, the delegation.
    pub code: Option<Bytes>,
    /// Values of slots.
    pub slots: BTreeMap<B256, B256>,
}

schema!(KnownAccounts, "KnownAccounts", |generator| {
    "title": "known accounts",
    "description": "What accounts must have, by their addresses.",
    "type": "object",
    "additionalProperties": generator.subschema_for::<KnownAccount>(),
});

schema!(KnownAccount, "KnownAccount", |generator| {
    "title": "known account",
    "description": "The root of its storage, or values by slots and by the names `balance`, `nonce` and `code`.",
    "anyOf": [
        generator.subschema_for::<Hash>(),
        { "type": "object", "additionalProperties": { "type": ["string", "integer"] } },
    ],
});

impl Argument for ConditionsArgs {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("types.TransactionConditional")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut conditions = Self::default();
        decode_struct(
            value,
            "types.TransactionConditional",
            &mut [
                ("knownAccounts", &mut conditions.known_accounts),
                ("blockNumberMin", &mut conditions.block_number_min),
                ("blockNumberMax", &mut conditions.block_number_max),
                ("timestampMin", &mut conditions.timestamp_min),
                ("timestampMax", &mut conditions.timestamp_max),
                ("paysCoinbase", &mut conditions.pays_coinbase),
            ],
        )?;
        Ok(conditions)
    }
}

impl Argument for KnownAccounts {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("types.KnownAccounts")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut accounts = BTreeMap::new();
        let insert = |address: [u8; 20], account: KnownAccount| {
            accounts.insert(address.into(), account);
        };
        decode_map(value, "types.KnownAccounts", "common.Address", insert)?;
        Ok(Self(accounts))
    }
}

impl Argument for KnownAccount {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("types.KnownAccount")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        match value.kind() {
            Kind::String => Hash::decode(value).map(|Hash(root)| Self::Root(root)),
            Kind::Object => {
                let (mut parts, mut result) = (KnownParts::default(), Ok(()));
                let member = |name: Name<'_>, value: Document<'_>| {
                    if result.is_ok() {
                        result = check_memory(0).and_then(|()| parts.set(&name.text(), value));
                    }
                };
                value.each_member(member);
                result.map(|()| Self::Parts(parts))
            }
            kind => Err(ArgumentError::kind(kind, Self::go_type())),
        }
    }
}

impl KnownParts {
    /// Reads the member of a name, or of a slot.
    fn set(&mut self, name: &str, value: Document<'_>) -> Result<(), ArgumentError> {
        match name {
            "balance" => self.balance = Some(Big::decode(value)?.0),
            "nonce" => self.nonce = Some(HexOrDecimal::decode(value)?.0),
            // No code may be an empty text.
            "code" if value.as_str().as_deref() == Some("") => self.code = Some(Bytes::new()),
            "code" => self.code = Some(Data::decode(value)?.0),
            slot => {
                let text = value.as_str();
                let text = text.as_deref().ok_or_else(|| {
                    let slot = excerpt(slot);
                    ArgumentError::text(format!("the value of slot {slot:?} is no text of hex"))
                })?;
                self.slots.insert(word(slot)?, word(text)?);
            }
        }
        Ok(())
    }
}

/// A slot or its value, which may be written short.
fn word(text: &str) -> Result<B256, ArgumentError> {
    let word = StorageKey::parse(text);
    word.map(|word| word.key)
        .map_err(|error| ArgumentError::text(format!("{:?}: {error}", excerpt(text))))
}
