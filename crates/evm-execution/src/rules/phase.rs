//! The phases of the chain, and what each changes.

use alloy_primitives::U256;

/// A stretch of the chain's life under the same rules, in the order of their coming. What came before
/// Apricot 5 is history that this software does not execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Wider fee window, batches of atomic transactions.
    Apricot5,
    /// The native-asset precompiles are off.
    ApricotPre6,
    /// They are on again.
    Apricot6,
    /// As before.
    ApricotPost6,
    /// They are off for good; only the native asset crosses chains.
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

/// The constants of a phase; one value of this for each, in a file of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseRules {
    /// Which phase.
    pub phase: Phase,
    /// Gas of a block's transactions; under Fortuna the header's own.
    pub gas_limit: u64,
    /// Gas that the fee window aims at, in its ten seconds.
    pub target_gas: u64,
    /// How slowly the base fee follows: one part of it a window at twice the target.
    pub base_fee_denominator: u64,
    /// Wei a gas, at least.
    pub min_base_fee: u64,
    /// How much block gas cost a second too early adds.
    pub block_gas_cost_step: u64,
    /// Most gas of a block's atomic transactions; `None`: it counts in the block's own gas.
    pub atomic_gas_limit: Option<u64>,
    /// Which of Ethereum's instruction sets runs.
    pub instructions: Instructions,
    /// What the two native-asset precompiles do.
    pub native_asset: NativeAsset,
    /// Is the warp precompile there, and predicate results in the header?
    pub warp: bool,
}

/// Ethereum's instruction sets, by the hard fork that brought them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instructions {
    /// With type 1 and 2 transactions and BASEFEE.
    London,
    /// With PUSH0, warm coinbase, init code limit.
    Shanghai,
    /// With transient storage, MCOPY, EIP-6780, blob opcodes, point evaluation.
    Cancun,
}

/// What 0x0100..00 to 02 do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeAsset {
    /// Balance and call of other assets.
    On,
    /// Always revert.
    Reverts,
    /// Ordinary addresses.
    Absent,
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

    /// Has this phase or a later one come?
    pub fn at_least(&self, phase: Phase) -> bool {
        self.phase >= phase
    }
}
