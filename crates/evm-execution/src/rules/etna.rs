//! Etna: Cancun without blobs, a base fee from 1 gwei. The native-asset addresses go on refusing every call, as
//! recorded on the reference (tests/golden/c/contracts-1.io), whatever its documentation says of them.

use super::durango;
use super::phase::{Instructions, Phase, PhaseRules};

pub(super) const RULES: PhaseRules = PhaseRules {
    phase: Phase::Etna,
    instructions: Instructions::Cancun,
    min_base_fee: 1_000_000_000,
    ..durango::RULES
};
