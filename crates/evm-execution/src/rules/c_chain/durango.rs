//! Durango: Shanghai without withdrawals, the warp precompile, predicate results in the header.

use super::cortina;
use super::phase::{Phase, PhaseRules};
use crate::rules::execution::{ExecutionRules, Revision};

pub(super) const RULES: PhaseRules = PhaseRules {
    phase: Phase::Durango,
    execution: ExecutionRules {
        revision: Revision::Shanghai,
        warp: true,
        ..cortina::RULES.execution
    },
    ..cortina::RULES
};
