//! The outcome of ext data for the executor.

use alloy_primitives::U256;

/// The outcome of ext data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtOutcome {
    /// Gas of its transactions.
    pub gas_used: u64,
    /// Wei that they paid above their fee. They count towards the block gas cost.
    pub contribution: U256,
}
