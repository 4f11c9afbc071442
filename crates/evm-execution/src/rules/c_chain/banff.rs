//! Banff: the native-asset precompiles always revert, and only the native asset crosses chains.

use super::apricot5;
use super::phase::{Phase, PhaseRules};
use crate::rules::execution::{ExecutionRules, NativeAsset};

pub(super) const RULES: PhaseRules = PhaseRules {
    phase: Phase::Banff,
    execution: ExecutionRules { native_asset: NativeAsset::Reverts, ..apricot5::RULES.execution },
    ..apricot5::RULES
};
