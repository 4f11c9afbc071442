//! Settings of an EVM chain.

use esker_evm_state::blocks::History;

use crate::pool::PoolConfig;

/// When blocks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildMode {
    /// As soon as there is work that the fee rules let in.
    Immediate,
    /// No sooner than this many ms after the last block.
    Interval(u64),
}

/// Settings of one chain.
#[derive(Clone, Copy, Debug)]
pub struct EvmConfig {
    /// Which states are kept.
    pub history: History,
    /// Keep addresses and storage slots under their hashes.
    pub preimages: bool,
    /// Limits of the pool.
    pub pool: PoolConfig,
    /// When blocks are made.
    pub mode: BuildMode,
    /// Take transactions that were not signed for one chain alone.
    pub allow_unprotected: bool,
}

impl Default for EvmConfig {
    fn default() -> Self {
        Self {
            history: History::Window(PRUNED_WINDOW),
            preimages: false,
            pool: PoolConfig::default(),
            mode: BuildMode::Immediate,
            allow_unprotected: false,
        }
    }
}

/// Blocks before the newest whose state a pruning node keeps: with the newest 32 (docs/decisions.md, "Kept state").
/// The reference keeps as many, one less than it makes proofs of (tests/golden/c/proof-pruning-1.io).
pub const PRUNED_WINDOW: u64 = 31;
