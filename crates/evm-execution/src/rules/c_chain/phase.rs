//! The phases of the chain and their constants.

use alloy_primitives::U256;

use crate::rules::execution::ExecutionRules;

/// A phase of the chain with the same rules, in chronological order. This software does not execute the history
/// before Apricot 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Wider fee window, batches of atomic transactions.
    Apricot5,
    /// The native-asset precompiles are switched off.
    ApricotPre6,
    /// They are switched on again.
    Apricot6,
    /// The same rules as Apricot 6.
    ApricotPost6,
    /// They are switched off for ever. Only the native asset crosses chains.
    Banff,
    /// A higher gas limit.
    Cortina,
    /// Shanghai without withdrawals; predicate results in the header.
    Durango,
    /// Cancun without blobs; a lower base fee.
    Etna,
    /// Dynamic gas limit and price (ACP-176).
    Fortuna,
}

/// The constants of a phase. Each phase has its own file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseRules {
    /// The phase.
    pub phase: Phase,
    /// Gas limit of a block's transactions. Under Fortuna the header has its own.
    pub gas_limit: u64,
    /// Target gas of the ten seconds of the fee window.
    pub target_gas: u64,
    /// Denominator of the change of the base fee: at twice the target, the base fee rises by one part of this many in
    /// a window.
    pub base_fee_denominator: u64,
    /// Minimum base fee, wei a gas.
    pub min_base_fee: u64,
    /// Block gas cost for each second that a block is too early.
    pub block_gas_cost_step: u64,
    /// Most gas of a block's atomic transactions; `None` if it counts as gas of the block.
    pub atomic_gas_limit: Option<u64>,
    /// How transactions and code run.
    pub execution: ExecutionRules,
}

impl Phase {
    /// Number of phases. Arrays with an entry for each have this length.
    pub const COUNT: usize = Self::Fortuna as usize + 1;

    /// All phases, oldest first.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Apricot5,
        Self::ApricotPre6,
        Self::Apricot6,
        Self::ApricotPost6,
        Self::Banff,
        Self::Cortina,
        Self::Durango,
        Self::Etna,
        Self::Fortuna,
    ];
}

impl PhaseRules {
    /// [`Self::min_base_fee`] in wei.
    pub fn min_base_fee_wei(&self) -> U256 {
        U256::from(self.min_base_fee)
    }

    /// Whether this is the given phase or a later one.
    pub fn at_least(&self, phase: Phase) -> bool {
        self.phase >= phase
    }
}
