//! What headers of a development network may have otherwise than the rules say.

use alloy_primitives::{Address, B256, U256};
use esker_primitives::sync::RwLock;

/// Members of a header in place of those that follow from the parent; a control record has them
/// (docs/protocol/c-chain-blocks.md, "Control records").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderTerms {
    /// The base fee, wei.
    pub base_fee: Option<U256>,
    /// The gas limit.
    pub gas_limit: Option<u64>,
    /// Who gets the fees.
    pub coinbase: Option<Address>,
    /// The mix digest, which PREVRANDAO returns.
    pub random: Option<B256>,
}

impl HeaderTerms {
    /// Without the members that are of one block only.
    #[must_use]
    pub fn lasting(self) -> Self {
        Self { base_fee: None, random: None, ..self }
    }
}

/// What the next block of a development node will have in its header. The rules show it to whoever asks for the next
/// block; the builder writes it into a control record.
#[derive(Debug)]
pub struct NextHeader(RwLock<HeaderTerms>);

impl Default for NextHeader {
    fn default() -> Self {
        Self(RwLock::new_named("evm.next-header", HeaderTerms::default()))
    }
}

impl NextHeader {
    /// What is set.
    pub fn get(&self) -> HeaderTerms {
        *self.0.read()
    }

    /// Changes what is set.
    pub fn change<T>(&self, change: impl FnOnce(&mut HeaderTerms) -> T) -> T {
        change(&mut self.0.write())
    }
}
