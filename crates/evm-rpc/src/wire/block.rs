//! Blocks and headers (docs/protocol/c-chain-rpc.md, "Blocks and headers"): objects whose members are sorted by name.

use std::ops::Range;
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use esker_evm_execution::rules::Dialect;
use esker_evm_state::types::{Header, Receipt, SealedBlock, SealedHeader};
use esker_rpc::schema_as;
use schemars::JsonSchema;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Addr, Big, Hash, HexRef, TransactionReply, Uint64, WithdrawalMembers};

/// A header by itself.
#[derive(Clone, Debug)]
pub struct HeaderReply {
    /// The header.
    pub header: Arc<SealedHeader>,
    /// Whether its block would be built now: hash and nonce are null.
    pub is_pending: bool,
    /// Which members it has.
    pub dialect: Dialect,
}

/// A block.
#[derive(Clone, Debug)]
pub struct BlockReply {
    /// The block.
    pub block: Arc<SealedBlock>,
    /// How its transactions are shown.
    pub transactions: Transactions,
    /// The shown part of its ext data.
    pub atomic_transactions: Option<Box<RawValue>>,
    /// Hashes of its uncles.
    pub uncles: Vec<B256>,
    /// Whether it would be built now: its hash and nonce are null, and its transactions are shown as waiting.
    pub is_pending: bool,
    /// Which members it has.
    pub dialect: Dialect,
}

/// How a block shows its transactions.
#[derive(Clone, Debug)]
pub enum Transactions {
    /// As hashes.
    Hashes,
    /// Whole, with the senders in the block's receipts.
    Full(Arc<[Receipt]>),
    /// Whole, with these senders.
    Sent(Vec<Address>),
    /// Not at all: an uncle is shown without any.
    Omitted,
    /// Their number only; the bloom filter is null.
    Counted,
    /// Their number, and some of them without most of their input; the bloom filter is null.
    Page {
        /// The receipts of the block, which have the senders.
        receipts: Arc<[Receipt]>,
        /// The places of those that are shown.
        shown: Range<usize>,
    },
}

/// Bytes of the input of a transaction of a page: those that name the function.
const SELECTOR: usize = 4;

schema_as!(HeaderReply, "Header", HeaderSchema);
schema_as!(BlockReply, "Block", BlockSchema);

/// A header.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "the members are written by hand, in the order of their names")]
pub(super) struct HeaderSchema {
    #[schemars(skip_serializing_if = "Option::is_none")]
    base_fee_per_gas: Option<Big>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    blob_gas_used: Option<Uint64>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    block_gas_cost: Option<Big>,
    difficulty: Big,
    #[schemars(skip_serializing_if = "Option::is_none")]
    excess_blob_gas: Option<Uint64>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    ext_data_gas_used: Option<Big>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    ext_data_hash: Option<Hash>,
    extra_data: HexRef<'static>,
    gas_limit: Uint64,
    gas_used: Uint64,
    hash: Option<Hash>,
    logs_bloom: HexRef<'static>,
    miner: Addr,
    mix_hash: Hash,
    nonce: Option<HexRef<'static>>,
    number: Uint64,
    #[schemars(skip_serializing_if = "Option::is_none")]
    parent_beacon_block_root: Option<Hash>,
    parent_hash: Hash,
    receipts_root: Hash,
    #[schemars(skip_serializing_if = "Option::is_none")]
    requests_hash: Option<Hash>,
    sha3_uncles: Hash,
    state_root: Hash,
    timestamp: Uint64,
    #[schemars(skip_serializing_if = "Option::is_none")]
    total_difficulty: Option<Uint64>,
    transactions_root: Hash,
    #[schemars(skip_serializing_if = "Option::is_none")]
    withdrawals_root: Option<Hash>,
}

/// A block.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "the members are written by hand, in the order of their names")]
pub(super) struct BlockSchema {
    #[schemars(flatten)]
    header: HeaderSchema,
    #[schemars(skip_serializing_if = "Option::is_none")]
    atomic_transactions: Option<Vec<serde_json::Map<String, serde_json::Value>>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    block_extra_data: Option<HexRef<'static>>,
    size: Uint64,
    #[schemars(skip_serializing_if = "Option::is_none")]
    transactions: Option<Vec<HashOrTransaction>>,
    uncles: Vec<Hash>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    withdrawals: Option<Vec<WithdrawalMembers>>,
}

/// A transaction as a block shows it.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "for documents")]
pub(crate) enum HashOrTransaction {
    /// Its hash.
    Hash(Hash),
    /// All of it.
    Full(Box<TransactionReply>),
}

impl Serialize for HeaderReply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SealedHeader { header, hash } = &*self.header;
        let hash = (!self.is_pending).then_some(Hash(*hash));
        let members = Members { header, hash, block: None, dialect: self.dialect };
        serialize(&members, NO_CALLS, serializer)
    }
}

impl Serialize for BlockReply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.members(), NO_CALLS, serializer)
    }
}

/// A block with the results of its calls.
pub(super) fn serialize_with_calls<S: Serializer>(
    reply: &BlockReply,
    calls: &impl Serialize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serialize(&reply.members(), Some(calls), serializer)
}

impl BlockReply {
    fn members(&self) -> Members<'_> {
        let SealedBlock { block, hash, .. } = &*self.block;
        let hash = (!self.is_pending).then_some(Hash(*hash));
        Members { header: &block.header, hash, block: Some(self), dialect: self.dialect }
    }

    fn withdrawals(&self) -> Option<Vec<WithdrawalMembers>> {
        let withdrawals = self.block.block.withdrawals.as_ref()?;
        Some(withdrawals.iter().map(WithdrawalMembers::from).collect())
    }

    /// The number of transactions, if it is shown.
    fn shown_count(&self) -> Option<usize> {
        let is_shown =
            matches!(self.transactions, Transactions::Counted | Transactions::Page { .. });
        is_shown.then_some(self.block.block.transactions.len())
    }

    fn transaction(&self, index: usize, from: Address) -> TransactionReply {
        match self.is_pending {
            true => TransactionReply::undecided(self.dialect, &self.block, index, from),
            false => TransactionReply::accepted(self.dialect, &self.block, index, from),
        }
    }
}

const NO_CALLS: Option<&()> = None;

struct Members<'a> {
    header: &'a Header,
    /// A pending block has none.
    hash: Option<Hash>,
    /// Members that only blocks have.
    block: Option<&'a BlockReply>,
    dialect: Dialect,
}

/// Writes the present members, ordered by name.
fn serialize<S: Serializer>(
    members: &Members<'_>,
    calls: Option<&impl Serialize>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let Members { header, hash, block, dialect } = members;
    let has_ext_data = !dialect.is_standard();
    let optional = OptionalFields::from_header(header, *dialect);
    let mut map = serializer.serialize_map(None)?;
    let atomic = block.and_then(|reply| reply.atomic_transactions.as_ref());
    entry(&mut map, "atomicTransactions", atomic)?;
    entry(&mut map, "baseFeePerGas", optional.base_fee.map(Big))?;
    entry(&mut map, "blobGasUsed", optional.blob_gas_used.map(Uint64))?;
    let ext_data = block.filter(|_| has_ext_data).map(|reply| &reply.block.block.ext_data);
    entry(&mut map, "blockExtraData", ext_data.map(|data| HexRef(data)))?;
    entry(&mut map, "blockGasCost", optional.block_gas_cost.map(Big))?;
    entry(&mut map, "calls", calls)?;
    map.serialize_entry("difficulty", &Big(header.difficulty))?;
    entry(&mut map, "excessBlobGas", optional.excess_blob_gas.map(Uint64))?;
    entry(&mut map, "extDataGasUsed", optional.ext_data_gas_used.map(Big))?;
    entry(&mut map, "extDataHash", has_ext_data.then_some(Hash(header.ext_data_hash)))?;
    map.serialize_entry("extraData", &HexRef(&header.extra))?;
    map.serialize_entry("gasLimit", &Uint64(header.gas_limit))?;
    map.serialize_entry("gasUsed", &Uint64(header.gas_used))?;
    map.serialize_entry("hash", hash)?;
    let count = block.and_then(BlockReply::shown_count);
    let bloom = count.is_none().then_some(HexRef(header.bloom.as_slice()));
    map.serialize_entry("logsBloom", &bloom)?;
    map.serialize_entry("miner", &Addr(header.coinbase))?;
    map.serialize_entry("mixHash", &Hash(header.mix_digest))?;
    let nonce = hash.is_some().then_some(HexRef(header.nonce.as_slice()));
    map.serialize_entry("nonce", &nonce)?;
    map.serialize_entry("number", &Uint64(header.number))?;
    entry(&mut map, "parentBeaconBlockRoot", header.parent_beacon_root.map(Hash))?;
    map.serialize_entry("parentHash", &Hash(header.parent_hash))?;
    map.serialize_entry("receiptsRoot", &Hash(header.receipts_root))?;
    entry(&mut map, "requestsHash", header.requests_hash.map(Hash))?;
    map.serialize_entry("sha3Uncles", &Hash(header.ommers_hash))?;
    let size = block.map(|reply| Uint64(reply.block.size as u64));
    entry(&mut map, "size", size)?;
    map.serialize_entry("stateRoot", &Hash(header.state_root))?;
    map.serialize_entry("timestamp", &Uint64(header.time))?;
    // Every block counts as one: there is no proof of work to add up.
    entry(&mut map, "totalDifficulty", has_ext_data.then_some(Uint64(header.number)))?;
    entry(&mut map, "transactionCount", count)?;
    let shows_transactions = |reply: &&BlockReply| {
        !matches!(reply.transactions, Transactions::Omitted | Transactions::Counted)
    };
    entry(&mut map, "transactions", block.filter(shows_transactions).map(TransactionList))?;
    map.serialize_entry("transactionsRoot", &Hash(header.transactions_root))?;
    let uncles = block.map(|reply| reply.uncles.iter().copied().map(Hash).collect::<Vec<_>>());
    entry(&mut map, "uncles", uncles)?;
    entry(&mut map, "withdrawals", block.and_then(BlockReply::withdrawals))?;
    entry(&mut map, "withdrawalsRoot", header.withdrawals_root.map(Hash))?;
    map.end()
}

fn entry<M: SerializeMap>(
    map: &mut M,
    name: &'static str,
    value: Option<impl Serialize>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, &value))
}

struct TransactionList<'a>(&'a BlockReply);

impl Serialize for TransactionList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let BlockReply { block, transactions, .. } = self.0;
        let included = &block.block.transactions;
        let mut list = serializer.serialize_seq(None)?;
        match transactions {
            Transactions::Hashes => {
                for tx in included {
                    list.serialize_element(&Hash(*tx.tx_hash()))?;
                }
            }
            Transactions::Full(receipts) => {
                for (index, receipt) in receipts.iter().enumerate().take(included.len()) {
                    list.serialize_element(&self.0.transaction(index, receipt.from))?;
                }
            }
            Transactions::Omitted | Transactions::Counted => {}
            Transactions::Page { receipts, shown } => {
                for index in shown.clone().take_while(|index| *index < included.len()) {
                    let Some(receipt) = receipts.get(index) else { break };
                    let shown = self.0.transaction(index, receipt.from);
                    list.serialize_element(&shown.with_short_input(SELECTOR))?;
                }
            }
            Transactions::Sent(senders) => {
                for (index, sender) in senders.iter().enumerate().take(included.len()) {
                    list.serialize_element(&self.0.transaction(index, *sender))?;
                }
            }
        }
        list.end()
    }
}

/// The fields that some headers lack. With ext data, one that is absent before one that is there is encoded as nothing,
/// which reads back as zero: it is shown as zero whether or not the header has been through the store.
struct OptionalFields {
    base_fee: Option<U256>,
    ext_data_gas_used: Option<U256>,
    block_gas_cost: Option<U256>,
    blob_gas_used: Option<u64>,
    excess_blob_gas: Option<u64>,
}

impl OptionalFields {
    fn from_header(header: &Header, dialect: Dialect) -> Self {
        match dialect {
            Dialect::Standard => Self {
                base_fee: header.base_fee,
                ext_data_gas_used: None,
                block_gas_cost: None,
                blob_gas_used: header.blob_gas_used,
                excess_blob_gas: header.excess_blob_gas,
            },
            Dialect::Reference => Self::without_gaps(header),
        }
    }

    fn without_gaps(header: &Header) -> Self {
        let mut later = header.parent_beacon_root.is_some();
        let excess_blob_gas = shown(header.excess_blob_gas, &mut later);
        let blob_gas_used = shown(header.blob_gas_used, &mut later);
        let block_gas_cost = shown(header.block_gas_cost, &mut later);
        let ext_data_gas_used = shown(header.ext_data_gas_used, &mut later);
        let base_fee = shown(header.base_fee, &mut later);
        Self { base_fee, ext_data_gas_used, block_gas_cost, blob_gas_used, excess_blob_gas }
    }
}

/// A field, zero if it is absent before a `later` one; sets `later` for the fields before it.
fn shown<T: Default>(field: Option<T>, later: &mut bool) -> Option<T> {
    let shown = if *later { Some(field.unwrap_or_default()) } else { field };
    *later = shown.is_some();
    shown
}
