//! What blocks in quick succession must pay in tips (docs/protocol/c-chain-fees.md, "Block gas cost").

use alloy_primitives::U256;

/// Seconds between two blocks that cost nothing.
pub const TARGET_BLOCK_RATE_S: u64 = 2;

/// The most that a block can cost, gas.
pub const MAX_BLOCK_GAS_COST: u64 = 1_000_000;

/// Gas that a block's tips must pay for at its base fee.
pub type BlockGasCost = u64;

/// The cost of a block at `time` after a parent of `parent_time` (Unix s). `parent` is `None` where the
/// parent's header has no such field. `step` is that of the block's own phase.
pub fn block_gas_cost(
    parent: Option<U256>,
    step: u64,
    parent_time: u64,
    time: u64,
) -> BlockGasCost {
    let Some(parent) = parent else { return 0 };
    let parent = parent.saturating_to::<u64>();
    let seconds = time.saturating_sub(parent_time);
    let cost = if seconds < TARGET_BLOCK_RATE_S {
        parent.saturating_add(step.saturating_mul(TARGET_BLOCK_RATE_S - seconds))
    } else {
        parent.saturating_sub(step.saturating_mul(seconds - TARGET_BLOCK_RATE_S))
    };
    cost.min(MAX_BLOCK_GAS_COST)
}
