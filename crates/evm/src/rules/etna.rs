//! Etna: Cancun without blobs, a base fee from 1 gwei, the native-asset addresses are ordinary ones.

use super::durango;
use super::phase::{Instructions, NativeAsset, Phase, PhaseRules};

pub(super) const RULES: PhaseRules = PhaseRules {
    phase: Phase::Etna,
    instructions: Instructions::Cancun,
    min_base_fee: 1_000_000_000,
    native_asset: NativeAsset::Absent,
    ..durango::RULES
};
