//! Durango: Shanghai without withdrawals, the warp precompile, predicate results in the header.

use super::cortina;
use super::phase::{Instructions, Phase, PhaseRules};

pub(super) const RULES: PhaseRules = PhaseRules {
    phase: Phase::Durango,
    instructions: Instructions::Shanghai,
    warp: true,
    ..cortina::RULES
};
