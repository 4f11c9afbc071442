//! Banff: the native-asset precompiles always revert, and only the native asset crosses chains.

use super::apricot5;
use super::phase::{NativeAsset, Phase, PhaseRules};

pub(super) const RULES: PhaseRules =
    PhaseRules { phase: Phase::Banff, native_asset: NativeAsset::Reverts, ..apricot5::RULES };
