//! Etna: Cancun without blobs, a minimum base fee of 1 gwei. The native-asset addresses still refuse every call, as
//! recorded on the reference (tests/golden/c/contracts-1.io). Its documentation says otherwise.

use super::durango;
use super::phase::{Phase, PhaseRules};
use crate::rules::execution::{ExecutionRules, Revision};

pub(super) const RULES: PhaseRules = PhaseRules {
    phase: Phase::Etna,
    execution: ExecutionRules { revision: Revision::Cancun, ..durango::RULES.execution },
    min_base_fee: 1_000_000_000,
    ..durango::RULES
};
