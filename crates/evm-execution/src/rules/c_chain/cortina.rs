//! Cortina: blocks of 15M gas.

use super::banff;
use super::phase::{Phase, PhaseRules};

pub(super) const RULES: PhaseRules =
    PhaseRules { phase: Phase::Cortina, gas_limit: 15_000_000, ..banff::RULES };
