//! New blocks, and blocks that are checked, as rules see them.

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{B256, Bloom, Bytes, U256};
use esker_evm_state::types::{Block, Transaction};

use super::header_terms::HeaderTerms;

/// A summary of ext data that needs no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtSummary {
    /// Number of transactions in the ext data. A block without transactions of either kind is refused as empty.
    pub transactions: usize,
    /// Gas of these transactions, as in the header.
    pub gas_used: u64,
}

/// Header fields of the first block that its definition may give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GenesisTerms {
    /// Base fee, wei.
    pub base_fee: Option<U256>,
    /// Excess of blob gas.
    pub excess_blob_gas: Option<u64>,
    /// Blob gas of the block.
    pub blob_gas_used: Option<u64>,
    /// The parent's beacon root.
    pub parent_beacon_root: Option<B256>,
}

/// What a block under construction is asked for, besides transactions and ext data; `None` for the rules' own value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockAttributes {
    /// The parent's beacon root.
    pub beacon_root: Option<B256>,
    /// Withdrawals of validators.
    pub withdrawals: Option<Vec<Withdrawal>>,
    /// Extra data of the header.
    pub extra: Option<Bytes>,
}

/// A block that was executed and has no header yet.
#[derive(Clone, Debug, Default)]
pub struct NewBlock {
    /// Unix s.
    pub time: u64,
    /// Root of the state after the block.
    pub state_root: B256,
    /// The transactions.
    pub transactions: Vec<Transaction>,
    /// The ext data.
    pub ext_data: Bytes,
    /// What else the block was asked for.
    pub attributes: BlockAttributes,
}

/// The results of a block's execution that a header shows or must agree with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockResults {
    /// Root of the receipts.
    pub receipts_root: B256,
    /// Bloom filter of all logs.
    pub bloom: Bloom,
    /// Gas of all transactions.
    pub gas_used: u64,
    /// Gas of the ext data.
    pub ext_gas_used: u64,
    /// Wei paid above the base fee, by transactions and ext data.
    pub block_fee: U256,
    /// The outcome of the work after the transactions.
    pub end: BlockEnd,
}

/// The outcome of the work after a block's transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockEnd {
    /// Hash of the requests (EIP-7685); `None` if such blocks have none.
    pub requests_hash: Option<B256>,
    /// The requests themselves: a byte with the type, then its data. Types without data are left out.
    pub requests: Vec<Bytes>,
}

/// What a block pays for its making, wei, besides fees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRewards {
    /// To its maker.
    pub block: U256,
    /// To the makers of its uncles.
    pub uncles: U256,
}

/// The change of a chain's supply by a block, besides its ext data and lost wei.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSupply {
    /// Wei that accounts received from nobody: rewards and withdrawals.
    pub created: U256,
    /// Wei that nobody received: burnt fees.
    pub burnt: U256,
}

/// A block that is checked without its parent.
#[derive(Clone, Copy, Debug)]
pub struct BlockCheck<'a> {
    /// The block.
    pub block: &'a Block,
    /// Root of its transactions.
    pub transactions_root: B256,
    /// What its ext data has.
    pub ext: ExtSummary,
    /// The header fields that its ext data sets.
    pub set: &'a HeaderTerms,
    /// The clock, Unix s; `None` if the block may be ahead of it.
    pub now_s: Option<u64>,
}
