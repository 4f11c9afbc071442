//! Settings of an EVM chain.

use esker_evm_state::blocks::History;

use crate::pool::PoolConfig;

/// When blocks are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildMode {
    /// As soon as the fee rules allow a block with the pending work.
    Immediate,
    /// At the earliest this many ms after the last block.
    Interval(u64),
}

/// Settings of one chain.
#[derive(Clone, Copy, Debug)]
pub struct EvmConfig {
    /// Which states are kept.
    pub history: History,
    /// Store the preimages of hashed addresses and storage slots.
    pub preimages: bool,
    /// Limits of the pool.
    pub pool: PoolConfig,
    /// When blocks are built.
    pub mode: BuildMode,
    /// Accept transactions without replay protection (EIP-155).
    pub allow_unprotected: bool,
    /// Whether reports of blocks show the calls of transactions.
    pub reports_calls: bool,
    /// Most transactions of a block that is made because the pool has some; `None`: as many as fit.
    pub max_pool_txs: Option<usize>,
}

impl Default for EvmConfig {
    fn default() -> Self {
        Self {
            history: History::Window(PRUNED_WINDOW),
            preimages: false,
            pool: PoolConfig::default(),
            mode: BuildMode::Immediate,
            allow_unprotected: false,
            reports_calls: false,
            max_pool_txs: None,
        }
    }
}

/// Blocks before the newest whose state a pruning node keeps: 32 states in total (docs/decisions.md, "Kept state").
/// The reference keeps as many, one less than it serves proofs of (tests/golden/c/proof-pruning-1.io).
pub const PRUNED_WINDOW: u64 = 31;
