//! Where a block is in the history of its chain.

use alloy_primitives::U256;
use esker_evm_state::types::Header;

/// What of a block selects its rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockPoint {
    /// Height.
    pub number: u64,
    /// Unix s.
    pub time: u64,
    /// Whether its difficulty is 0: it has no proof of work (EIP-3675).
    pub is_merged: bool,
}

impl BlockPoint {
    /// The point of a header.
    pub fn of(header: &Header) -> Self {
        let is_merged = header.difficulty == U256::ZERO;
        Self { number: header.number, time: header.time, is_merged }
    }
}
