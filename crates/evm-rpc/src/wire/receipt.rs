//! Receipts and logs (docs/protocol/c-chain-rpc.md, "Receipts and logs").

use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_primitives::{B256, Log, U256};
use esker_evm::view::PlacedLog;
use esker_evm_execution::rules::{Dialect, Rules};
use esker_evm_state::types::{Block, Header, Receipt, SealedBlock};
use esker_rpc::schema_as;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::transaction::effective_price;
use super::{Addr, Big, Hash, HexRef, Uint64};

/// What the receipts of a block show that is in none of them.
#[derive(Clone, Copy, Debug)]
pub struct ReceiptForm {
    /// Which members they have.
    pub dialect: Dialect,
    /// Whether logs show the time of the block.
    pub has_log_timestamps: bool,
    /// The price of blob gas, wei.
    blob_base_fee: U256,
}

impl ReceiptForm {
    /// The form of the receipts of a block with this header.
    pub fn new(rules: &dyn Rules, header: &Header) -> Self {
        Self {
            dialect: rules.dialect(),
            has_log_timestamps: rules.has_log_timestamps(),
            blob_base_fee: rules.blob_base_fee(header),
        }
    }
}

/// The receipt of one transaction of a block.
#[derive(Clone, Debug)]
pub struct ReceiptReply {
    form: ReceiptForm,
    block: Arc<SealedBlock>,
    receipts: Arc<[Receipt]>,
    index: usize,
    /// Logs of the block before those of this transaction.
    first_log: usize,
    is_pending: bool,
    parts: ReceiptParts,
}

/// What a receipt shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReceiptParts {
    /// The standard's members.
    #[default]
    Standard,
    /// As [`Self::Standard`], with null in place of logs and their bloom filter.
    WithoutLogs,
    /// As [`Self::Standard`], and the time of the block.
    WithTime,
    /// As [`Self::Standard`], with the price of blob gas and the time of the block, as anvil's.
    Anvil,
}

/// The receipts of a block, in its order. The hash of one that is pending is not shown.
pub fn receipts_of(
    rules: &dyn Rules,
    block: &Arc<SealedBlock>,
    receipts: &Arc<[Receipt]>,
    is_pending: bool,
) -> Vec<ReceiptReply> {
    let form = ReceiptForm::new(rules, &block.block.header);
    let mut first_log = 0;
    let reply = |(index, receipt): (usize, &Receipt)| {
        let (block, receipts) = (Arc::clone(block), Arc::clone(receipts));
        let reply = ReceiptReply {
            form,
            block,
            receipts,
            index,
            first_log,
            is_pending,
            parts: ReceiptParts::Standard,
        };
        first_log += receipt.logs.len();
        reply
    };
    receipts.iter().enumerate().map(reply).collect()
}

impl ReceiptReply {
    /// The receipt at this place; `None` if the block has no such transaction.
    pub fn at(
        rules: &dyn Rules,
        block: Arc<SealedBlock>,
        receipts: Arc<[Receipt]>,
        index: usize,
    ) -> Option<Self> {
        let form = ReceiptForm::new(rules, &block.block.header);
        let first_log = receipts.get(..index)?.iter().map(|receipt| receipt.logs.len()).sum();
        let is_there = index < receipts.len() && index < block.block.transactions.len();
        is_there.then_some(Self {
            form,
            block,
            receipts,
            index,
            first_log,
            is_pending: false,
            parts: ReceiptParts::Standard,
        })
    }

    /// With other members.
    #[must_use]
    pub fn with_parts(self, parts: ReceiptParts) -> Self {
        Self { parts, ..self }
    }
}

/// The receipt at a position of a shared block.
#[derive(Clone, Copy, Debug)]
pub struct ReceiptRef<'a> {
    /// What is in no receipt.
    pub form: ReceiptForm,
    /// The block.
    pub block: &'a Block,
    /// Its hash, if it is shown.
    pub hash: Option<B256>,
    /// Its receipts.
    pub receipts: &'a [Receipt],
    /// The place.
    pub index: usize,
    /// Logs of the block before those of this transaction.
    pub first_log: usize,
    /// Which members it has.
    pub parts: ReceiptParts,
}

/// Bytes of a receipt as JSON without its logs, of a log without its data, and of a topic, about.
const SIZES: (usize, usize, usize) = (1_400, 450, 70);

impl ReceiptReply {
    /// Bytes of it as JSON, about.
    pub fn size(&self) -> usize {
        let (receipt, log, topic) = SIZES;
        let logs = self.receipts.get(self.index).map_or(&[][..], |receipt| &receipt.logs);
        let of = |one: &Log| log + topic * one.topics().len() + 2 * one.data.data.len();
        receipt + logs.iter().map(of).sum::<usize>()
    }
}

/// A log, where it was written.
#[derive(Clone, Copy, Debug)]
pub struct LogReply<'a> {
    /// The log.
    pub log: &'a Log,
    /// Height of its block.
    pub block_number: u64,
    /// Hash of its block, if it is shown.
    pub block_hash: Option<B256>,
    /// Time of its block (Unix s), if it is shown.
    pub block_time: Option<u64>,
    /// Its transaction.
    pub transaction_hash: B256,
    /// The transaction's place in the block.
    pub transaction_index: usize,
    /// Its place among all logs of the block.
    pub log_index: usize,
    /// Its block was removed.
    pub removed: bool,
}

impl<'a> LogReply<'a> {
    /// A log of an accepted block, or of a removed one; `has_time`: with the time of its block.
    pub fn placed(placed: &'a PlacedLog, removed: bool, has_time: bool) -> Self {
        Self {
            log: &placed.log,
            block_number: placed.block_number,
            block_hash: Some(placed.block_hash),
            block_time: has_time.then_some(placed.block_time),
            transaction_hash: placed.transaction_hash,
            transaction_index: placed.transaction_index,
            log_index: placed.log_index,
            removed,
        }
    }
}

struct Topics<'a>(&'a [B256]);

impl Serialize for Topics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().copied().map(Hash))
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LogMembers<'a> {
    address: Addr,
    topics: Topics<'a>,
    data: HexRef<'a>,
    block_number: Uint64,
    transaction_hash: Hash,
    transaction_index: Uint64,
    block_hash: Option<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_timestamp: Option<Uint64>,
    log_index: Uint64,
    removed: bool,
}

schema_as!(Topics<'_>, "LogTopics", Vec<Hash>);
schema_as!(LogReply<'_>, "Log", LogMembers<'_>);
schema_as!(ReceiptReply, "Receipt", Members<'_>);

impl Serialize for LogReply<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        LogMembers {
            address: Addr(self.log.address),
            topics: Topics(self.log.topics()),
            data: HexRef(&self.log.data.data),
            block_number: Uint64(self.block_number),
            transaction_hash: Hash(self.transaction_hash),
            transaction_index: Uint64(self.transaction_index as u64),
            block_hash: self.block_hash.map(Hash),
            block_timestamp: self.block_time.map(Uint64),
            log_index: Uint64(self.log_index as u64),
            removed: self.removed,
        }
        .serialize(serializer)
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    blob_gas_price: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob_gas_used: Option<Uint64>,
    block_hash: Option<Hash>,
    block_number: Uint64,
    contract_address: Option<Addr>,
    cumulative_gas_used: Uint64,
    effective_gas_price: Big,
    from: Addr,
    gas_used: Uint64,
    #[schemars(with = "Vec<LogReply<'a>>")]
    logs: Option<Vec<LogReply<'a>>>,
    #[schemars(with = "HexRef<'a>")]
    logs_bloom: Option<HexRef<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Uint64>,
    /// Unix s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    timestamp: Option<u64>,
    /// Unix s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    block_timestamp: Option<u64>,
    to: Option<Addr>,
    transaction_hash: Hash,
    transaction_index: Uint64,
    #[serde(rename = "type")]
    tx_type: Uint64,
}

impl Serialize for ReceiptReply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ReceiptRef {
            form: self.form,
            block: &self.block.block,
            hash: (!self.is_pending).then_some(self.block.hash),
            receipts: &self.receipts,
            index: self.index,
            first_log: self.first_log,
            parts: self.parts,
        }
        .serialize(serializer)
    }
}

impl Serialize for ReceiptRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let header = &self.block.header;
        let found = self.block.transactions.get(self.index).zip(self.receipts.get(self.index));
        let missing = || serde::ser::Error::custom("the block has no such transaction");
        let (tx, receipt) = found.ok_or_else(missing)?;
        let log = |(at, log): (usize, _)| LogReply {
            log,
            block_number: header.number,
            block_hash: self.hash,
            block_time: self.form.has_log_timestamps.then_some(header.time),
            transaction_hash: *tx.tx_hash(),
            transaction_index: self.index,
            log_index: self.first_log + at,
            removed: false,
        };
        let has_logs = self.parts != ReceiptParts::WithoutLogs;
        let has_time = self.parts == ReceiptParts::WithTime;
        let is_anvils = self.parts == ReceiptParts::Anvil;
        let bloom = receipt.bloom();
        let blob_gas = tx.blob_gas_used();
        Members {
            blob_gas_price: match (blob_gas, is_anvils) {
                (None, false) => None,
                (Some(_), false) => Some(Big(self.form.blob_base_fee)),
                // Also before there were blobs.
                (_, true) => Some(Big(self.form.blob_base_fee.max(U256::from(1)))),
            },
            blob_gas_used: blob_gas.map(Uint64),
            block_hash: self.hash.map(Hash),
            block_number: Uint64(header.number),
            contract_address: receipt.contract_address.map(Addr),
            cumulative_gas_used: Uint64(receipt.cumulative_gas_used),
            effective_gas_price: Big(effective_price(tx, header.base_fee)),
            from: Addr(receipt.from),
            gas_used: Uint64(receipt.gas_used),
            logs: has_logs.then(|| receipt.logs.iter().enumerate().map(log).collect()),
            logs_bloom: has_logs.then(|| HexRef(bloom.as_slice())),
            root: receipt.state_root.map(Hash),
            status: receipt.state_root.is_none().then(|| Uint64(u64::from(receipt.success))),
            timestamp: has_time.then_some(header.time),
            block_timestamp: is_anvils.then_some(header.time),
            to: tx.to().map(Addr),
            transaction_hash: Hash(*tx.tx_hash()),
            transaction_index: Uint64(self.index as u64),
            tx_type: Uint64(u64::from(receipt.tx_type)),
        }
        .serialize(serializer)
    }
}
