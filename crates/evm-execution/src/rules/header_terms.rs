//! Header fields that a development node sets.

use alloy_primitives::{Address, B256, U256};
use esker_primitives::sync::RwLock;

/// Header fields that replace those that follow from the parent. A control record has them
/// (docs/protocol/c-chain-blocks.md, "Control records").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderTerms {
    /// The base fee, wei.
    pub base_fee: Option<U256>,
    /// The gas limit.
    pub gas_limit: Option<u64>,
    /// Recipient of the fees.
    pub coinbase: Option<Address>,
    /// The mix digest, which PREVRANDAO returns.
    pub random: Option<B256>,
    /// The parent's beacon root.
    pub beacon_root: Option<B256>,
}

impl HeaderTerms {
    /// The fields that also apply to later blocks.
    #[must_use]
    pub fn lasting(self) -> Self {
        Self { base_fee: None, random: None, beacon_root: None, ..self }
    }
}

/// Header fields that the next block of a development node will set. The rules show them for the next block. The
/// builder writes them into a control record.
#[derive(Debug)]
pub struct NextHeader(RwLock<HeaderTerms>);

impl Default for NextHeader {
    fn default() -> Self {
        Self(RwLock::new_named("evm.next-header", HeaderTerms::default()))
    }
}

impl NextHeader {
    /// The fields that are set.
    pub fn get(&self) -> HeaderTerms {
        *self.0.read()
    }

    /// Changes the fields.
    pub fn change<T>(&self, change: impl FnOnce(&mut HeaderTerms) -> T) -> T {
        change(&mut self.0.write())
    }
}
