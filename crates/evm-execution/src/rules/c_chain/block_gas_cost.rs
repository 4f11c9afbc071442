//! The tips that blocks in quick succession must pay (docs/protocol/c-chain-fees.md, "Block gas cost").

use alloy_primitives::U256;

/// Distance of two blocks at which a block costs nothing, s.
pub const TARGET_BLOCK_RATE_S: u64 = 2;

/// Highest cost of a block, gas.
pub const MAX_BLOCK_GAS_COST: u64 = 1_000_000;

/// Gas that a block's tips must pay for at its base fee.
pub type BlockGasCost = u64;

/// The cost of a block at `time` after a parent at `parent_time` (Unix s). `parent` is the cost of the parent; `None`
/// if its header lacks the field. `step` is that of the block's own phase.
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
