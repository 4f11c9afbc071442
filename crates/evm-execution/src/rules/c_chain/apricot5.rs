//! Apricot 5 and the three steps after it, which only switch the native-asset precompiles.

use super::phase::{Phase, PhaseRules};
use crate::rules::execution::{
    BaseFeeUse, ExecutionLimits, ExecutionRules, NativeAsset, Revision, StorageKeys,
};

const GWEI: u64 = 1_000_000_000;

/// Most gas of a block's atomic transactions before Fortuna, and of a pooled atomic transaction in any phase.
pub const MAX_ATOMIC_GAS: u64 = 100_000;

/// Apricot 5: no upper bound of the base fee, a target of 15M gas, steps of 200k.
pub(super) const RULES: PhaseRules = PhaseRules {
    phase: Phase::Apricot5,
    gas_limit: 8_000_000,
    target_gas: 15_000_000,
    base_fee_denominator: 36,
    min_base_fee: 25 * GWEI,
    block_gas_cost_step: 200_000,
    atomic_gas_limit: Some(MAX_ATOMIC_GAS),
    execution: EXECUTION,
};

/// Ethereum's London, without refunds. All fees go to the coinbase.
const EXECUTION: ExecutionRules = ExecutionRules {
    revision: Revision::London,
    native_asset: NativeAsset::On,
    warp: false,
    storage_keys: StorageKeys::Separated,
    reserves_addresses: true,
    base_fee: BaseFeeUse::ToCoinbase,
    refunds: false,
    blobs: None,
    limits: ExecutionLimits::USUAL,
};

/// Apricot Pre-6: the precompiles always revert.
pub(super) const PRE6: PhaseRules = PhaseRules {
    phase: Phase::ApricotPre6,
    execution: ExecutionRules { native_asset: NativeAsset::Reverts, ..RULES.execution },
    ..RULES
};

/// Apricot 6: they work again.
pub(super) const APRICOT6: PhaseRules = PhaseRules { phase: Phase::Apricot6, ..RULES };

/// Apricot Post-6: the reference sets a flag and changes nothing.
pub(super) const POST6: PhaseRules = PhaseRules { phase: Phase::ApricotPost6, ..RULES };
