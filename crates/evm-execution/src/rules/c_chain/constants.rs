//! The constants of each phase, one file for each.

use super::phase::{Phase, PhaseRules};
use super::{apricot5, banff, cortina, durango, etna, fortuna};

impl Phase {
    /// The phase's constants.
    pub const fn rules(self) -> PhaseRules {
        match self {
            Self::Apricot5 => apricot5::RULES,
            Self::ApricotPre6 => apricot5::PRE6,
            Self::Apricot6 => apricot5::APRICOT6,
            Self::ApricotPost6 => apricot5::POST6,
            Self::Banff => banff::RULES,
            Self::Cortina => cortina::RULES,
            Self::Durango => durango::RULES,
            Self::Etna => etna::RULES,
            Self::Fortuna => fortuna::RULES,
        }
    }
}
