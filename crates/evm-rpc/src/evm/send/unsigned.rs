//! Transactions that the node makes: their unsigned form, and what methods reply of them.

use alloy_consensus::{TxEip1559, TxEip2930, TxEip7702, TxLegacy, TypedTransaction};
use alloy_eips::eip2718::Encodable2718;
use alloy_eips::eip2930::AccessList;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{B256, Bytes, TxKind, U256, keccak256};
use alloy_rlp::{Encodable, Header};
use esker_evm_state::types::Transaction;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::raw::RawTxError;
use crate::wire::call::{AccessListArg, TransactionArgs};
use crate::wire::{AccessTuple, Addr, AuthorizationMembers, Big, Data, Hash, Uint64};

/// The members that decide the type: the fee caps, then an access list, even an empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Legacy,
    AccessList,
    DynamicFee,
    SetCode,
}

impl Kind {
    const fn tx_type(self) -> u8 {
        match self {
            Self::Legacy => 0,
            Self::AccessList => 1,
            Self::DynamicFee => 2,
            Self::SetCode => 4,
        }
    }
}

fn kind(args: &TransactionArgs) -> Kind {
    if args.authorization_list.is_given() {
        return Kind::SetCode;
    }
    match (&args.max_fee_per_gas, &args.access_list) {
        (Some(_), _) => Kind::DynamicFee,
        (None, Some(_)) => Kind::AccessList,
        (None, None) => Kind::Legacy,
    }
}

fn big(value: Option<Big>) -> U256 {
    value.unwrap_or_default().0
}

fn list(args: &TransactionArgs) -> AccessList {
    args.access_list.as_ref().map(|AccessListArg(list)| list.clone()).unwrap_or_default()
}

/// The authorizations, which were decoded before.
fn authorizations(args: &TransactionArgs) -> Vec<SignedAuthorization> {
    args.authorization_list.list().ok().flatten().unwrap_or_default()
}

/// The transaction of complete arguments, to be signed for their chain.
pub(super) fn typed_transaction(args: &TransactionArgs) -> Result<TypedTransaction, RawTxError> {
    let fee = |value, error| u128::try_from(big(value)).map_err(|_| error);
    let chain_id = big(args.chain_id).saturating_to();
    let nonce = args.nonce.unwrap_or_default().0;
    let gas_limit = args.gas.unwrap_or_default().0;
    let to = args.to.map_or(TxKind::Create, |Addr(to)| TxKind::Call(to));
    let (value, input) = (big(args.value), args.payload());
    Ok(match kind(args) {
        Kind::Legacy => TypedTransaction::Legacy(TxLegacy {
            chain_id: Some(chain_id),
            nonce,
            gas_price: fee(args.gas_price, RawTxError::Fee)?,
            gas_limit,
            to,
            value,
            input,
        }),
        Kind::AccessList => TypedTransaction::Eip2930(TxEip2930 {
            chain_id,
            nonce,
            gas_price: fee(args.gas_price, RawTxError::Fee)?,
            gas_limit,
            to,
            value,
            access_list: list(args),
            input,
        }),
        Kind::SetCode => TypedTransaction::Eip7702(TxEip7702 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas: fee(args.max_fee_per_gas, RawTxError::Fee)?,
            max_priority_fee_per_gas: fee(args.max_priority_fee_per_gas, RawTxError::Tip)?,
            to: args.to.map(|Addr(to)| to).unwrap_or_default(),
            value,
            access_list: list(args),
            authorization_list: authorizations(args),
            input,
        }),
        Kind::DynamicFee => TypedTransaction::Eip1559(TxEip1559 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas: fee(args.max_fee_per_gas, RawTxError::Fee)?,
            max_priority_fee_per_gas: fee(args.max_priority_fee_per_gas, RawTxError::Tip)?,
            to,
            value,
            access_list: list(args),
            input,
        }),
    })
}

/// The most wei a gas of complete arguments.
pub(super) fn fee_cap(args: &TransactionArgs) -> U256 {
    big(args.max_fee_per_gas.or(args.gas_price))
}

/// The encoding with zeros for a signature.
pub(super) fn unsigned_bytes(args: &TransactionArgs) -> Vec<u8> {
    let mut fields = Vec::new();
    let kind = kind(args);
    let mut put = |field: &dyn Encodable| field.encode(&mut fields);
    if kind != Kind::Legacy {
        put(&big(args.chain_id));
    }
    put(&args.nonce.unwrap_or_default().0);
    match kind {
        Kind::Legacy | Kind::AccessList => put(&big(args.gas_price)),
        Kind::DynamicFee | Kind::SetCode => {
            put(&big(args.max_priority_fee_per_gas));
            put(&big(args.max_fee_per_gas));
        }
    }
    put(&args.gas.unwrap_or_default().0);
    put(&args.to.map_or(TxKind::Create, |Addr(to)| TxKind::Call(to)));
    put(&big(args.value));
    put(&args.payload());
    if kind != Kind::Legacy {
        put(&list(args));
    }
    if kind == Kind::SetCode {
        put(&authorizations(args));
    }
    (0..3).for_each(|_| put(&0u64));
    let mut bytes = match kind {
        Kind::Legacy => vec![],
        typed => vec![typed.tx_type()],
    };
    Header { list: true, payload_length: fields.len() }.encode(&mut bytes);
    bytes.extend_from_slice(&fields);
    bytes
}

/// The hash of [`unsigned_bytes`].
pub(super) fn unsigned_hash(args: &TransactionArgs) -> B256 {
    keccak256(unsigned_bytes(args))
}

/// Go's JSON of a transaction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "BareTransaction", description = "A transaction without its place in a block.")]
#[serde(rename_all = "camelCase")]
pub(super) struct TxReply {
    #[serde(rename = "type")]
    tx_type: Uint64,
    #[serde(skip_serializing_if = "Option::is_none")]
    chain_id: Option<Big>,
    nonce: Uint64,
    to: Option<Addr>,
    gas: Uint64,
    gas_price: Option<Big>,
    max_priority_fee_per_gas: Option<Big>,
    max_fee_per_gas: Option<Big>,
    value: Big,
    input: Data,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_list: Option<ListReply>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_list: Option<Vec<AuthorizationMembers>>,
    v: Big,
    r: Big,
    s: Big,
    #[serde(skip_serializing_if = "Option::is_none")]
    y_parity: Option<Uint64>,
    hash: Hash,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    from: Option<Addr>,
}

#[derive(Clone, Debug)]
struct ListReply(AccessList);

esker_rpc::schema_as!(ListReply, "AccessList", Vec<AccessTuple<'static>>);

impl Serialize for ListReply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.0.iter().map(AccessTuple))
    }
}

/// A transaction and its encoding.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RawReply {
    raw: Data,
    tx: TxReply,
}

impl RawReply {
    /// The transaction of complete arguments, unsigned.
    pub(super) fn unsigned(args: &TransactionArgs) -> Self {
        let raw = unsigned_bytes(args);
        let hash = Hash(keccak256(&raw));
        let zero = Big(U256::ZERO);
        Self { tx: tx_reply(args, [zero; 3], None, hash), raw: Data(raw.into()) }
    }

    /// With what anvil shows besides: the sender, the chain in any case, and the highest price.
    #[must_use]
    pub(super) fn like_anvils(mut self, args: &TransactionArgs) -> Self {
        self.tx.from = args.from;
        self.tx.chain_id = args.chain_id;
        self.tx.gas_price = args.gas_price.or(args.max_fee_per_gas);
        self
    }

    /// The transaction's bytes.
    pub(super) fn into_raw(self) -> Data {
        self.raw
    }

    /// The reply for complete arguments and the transaction signed from them.
    pub(super) fn signed(args: &TransactionArgs, tx: &Transaction) -> Self {
        let signature = tx.signature();
        let parity = u64::from(signature.v());
        let v = match kind(args) {
            Kind::Legacy => {
                big(args.chain_id) * U256::from(2) + U256::from(35) + U256::from(parity)
            }
            Kind::AccessList | Kind::DynamicFee | Kind::SetCode => U256::from(parity),
        };
        let numbers = [Big(v), Big(signature.r()), Big(signature.s())];
        let raw = Bytes::from(tx.encoded_2718());
        let hash = Hash(*tx.tx_hash());
        Self { tx: tx_reply(args, numbers, Some(parity), hash), raw: Data(raw) }
    }
}

/// `parity` is that of a signature, `None` without one.
fn tx_reply(
    args: &TransactionArgs,
    [v, r, s]: [Big; 3],
    parity: Option<u64>,
    hash: Hash,
) -> TxReply {
    let kind = kind(args);
    let is_typed = kind != Kind::Legacy;
    let is_dynamic = matches!(kind, Kind::DynamicFee | Kind::SetCode);
    TxReply {
        tx_type: Uint64(kind.tx_type().into()),
        // An unsigned legacy transaction is bound to no chain.
        chain_id: args.chain_id.filter(|_| is_typed || parity.is_some()),
        nonce: args.nonce.unwrap_or_default(),
        to: args.to,
        gas: args.gas.unwrap_or_default(),
        gas_price: args.gas_price.filter(|_| !is_dynamic),
        max_priority_fee_per_gas: args.max_priority_fee_per_gas.filter(|_| is_dynamic),
        max_fee_per_gas: args.max_fee_per_gas.filter(|_| is_dynamic),
        value: args.value.unwrap_or_default(),
        input: Data(args.payload()),
        access_list: is_typed.then(|| ListReply(list(args))),
        authorization_list: (kind == Kind::SetCode)
            .then(|| authorizations(args).iter().map(AuthorizationMembers::from).collect()),
        v,
        r,
        s,
        y_parity: is_typed.then_some(Uint64(parity.unwrap_or_default())),
        hash,
        from: None,
    }
}
