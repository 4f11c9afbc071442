//! What ext data did, as far as the executor counts it.

use alloy_primitives::U256;

/// What ext data did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtOutcome {
    /// Gas of its transactions.
    pub gas_used: u64,
    /// What they paid above their fee, in wei: it counts toward the block gas cost.
    pub contribution: U256,
}
