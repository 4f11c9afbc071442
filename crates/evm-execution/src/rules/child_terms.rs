//! The terms of a block.

use alloy_primitives::{Address, B256, U256};

use super::execution::ExecutionRules;
use super::header_terms::HeaderTerms;

/// The terms of a block, which follow from its parent and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildTerms {
    /// How transactions and code run.
    pub execution: ExecutionRules,
    /// Gas limit of the header.
    pub gas_limit: u64,
    /// Gas that may be used, whatever the gas limit; `None` if the gas limit is the only bound.
    pub capacity: Option<u64>,
    /// Base fee, wei; 0 if the block has none.
    pub base_fee: U256,
    /// The least base fee that the rules allow, wei. A transaction that pays less can never be included.
    pub min_base_fee: U256,
    /// Gas that tips must pay for at the base fee; 0 if a block need not pay for its time.
    pub block_gas_cost: u64,
    /// Most gas of ext data; `None` if it counts as gas of the block.
    pub ext_gas_limit: Option<u64>,
    /// Recipient of the fees.
    pub coinbase: Address,
    /// The mix digest: zero unless it is random or a control record sets it.
    pub random: B256,
    /// The header's difficulty; 0 from the merge on.
    pub difficulty: U256,
    /// Price of blob gas, wei.
    pub blob_base_fee: U256,
    /// The header's excess of blob gas, if it has one.
    pub excess_blob_gas: Option<u64>,
}

impl ChildTerms {
    /// These terms with the header fields of a control record.
    #[must_use]
    pub fn with(mut self, set: &HeaderTerms) -> Self {
        self.gas_limit = set.gas_limit.unwrap_or(self.gas_limit);
        self.base_fee = set.base_fee.unwrap_or(self.base_fee);
        self.coinbase = set.coinbase.unwrap_or(self.coinbase);
        self.random = set.random.unwrap_or(self.random);
        self
    }

    /// Gas that may be used: the capacity, or else the gas limit.
    pub fn gas_available(&self) -> u64 {
        self.capacity.unwrap_or(self.gas_limit)
    }

    /// The result of DIFFICULTY (PREVRANDAO).
    pub fn difficulty_word(&self) -> U256 {
        match self.difficulty.is_zero() || !self.random.is_zero() {
            true => self.random.into(),
            false => self.difficulty,
        }
    }
}
