//! Start times of the phases.

use super::phase::Phase;

/// Start time of phases that are active from the beginning: 2020-12-05T05:00:00Z, Unix s.
pub const INITIALLY_ACTIVE: u64 = 1_607_144_400;

/// Start time of phases that are not scheduled: 9999-12-01T00:00:00Z, Unix s.
pub const UNSCHEDULED: u64 = 253_399_622_400;

/// Start times of the phases, Unix s, and those of the history before them, which the chain config shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkSchedule {
    /// Apricot 1 to 4.
    pub history: [u64; 4],
    /// The phases of [`Phase::ALL`].
    pub phases: [u64; Phase::COUNT],
}

impl ForkSchedule {
    /// The schedule of the main network (docs/protocol/c-chain-forks.md, "Fork times").
    pub const MAIN: Self = Self {
        history: [1_617_199_200, 1_620_644_400, 1_629_813_600, 1_632_344_400],
        phases: [
            1_638_468_000,
            1_662_341_400,
            1_662_494_400,
            1_662_519_600,
            1_666_108_800,
            1_682_434_800,
            1_709_740_800,
            1_734_368_400,
            1_744_124_400,
        ],
    };

    /// The schedule of the test network.
    pub const TEST: Self = Self {
        history: [1_616_767_200, 1_620_223_200, 1_629_140_400, 1_631_826_000],
        phases: [
            1_637_766_000,
            1_662_494_400,
            1_662_494_400,
            1_662_530_400,
            1_664_805_600,
            1_680_793_200,
            1_707_840_000,
            1_732_550_400,
            1_741_878_000,
        ],
    };

    /// The schedule of the local network: all phases through Etna are active from the beginning (docs/decisions.md,
    /// "Networks").
    pub const LOCAL: Self = Self {
        history: [INITIALLY_ACTIVE; 4],
        phases: [
            INITIALLY_ACTIVE,
            INITIALLY_ACTIVE,
            INITIALLY_ACTIVE,
            INITIALLY_ACTIVE,
            INITIALLY_ACTIVE,
            INITIALLY_ACTIVE,
            INITIALLY_ACTIVE,
            INITIALLY_ACTIVE,
            UNSCHEDULED,
        ],
    };

    /// When a phase begins, Unix s.
    pub const fn begins(&self, phase: Phase) -> u64 {
        self.phases[phase as usize]
    }

    /// The times (Unix s) after `genesis` at which phases begin, each once, ascending.
    pub fn activations(&self, genesis: u64) -> Vec<u64> {
        let all = self.history.into_iter().chain(self.phases);
        let mut times: Vec<u64> =
            all.filter(|time| genesis < *time && *time < UNSCHEDULED).collect();
        times.sort_unstable();
        times.dedup();
        times
    }

    /// The phase at a time in Unix s; `None` before Apricot 5.
    pub fn phase_at(&self, time: u64) -> Option<Phase> {
        Phase::ALL.into_iter().rev().find(|phase| self.begins(*phase) <= time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_at_once_is_one_activation() {
        assert!(ForkSchedule::LOCAL.activations(INITIALLY_ACTIVE).is_empty());
        assert_eq!(ForkSchedule::LOCAL.activations(0), [INITIALLY_ACTIVE]);
        assert_eq!(ForkSchedule::MAIN.activations(0).len(), 13);
        // Two phases began together on the test network.
        assert_eq!(ForkSchedule::TEST.activations(0).len(), 12);
        assert_eq!(ForkSchedule::MAIN.activations(1_734_368_400), [1_744_124_400]);
    }

    #[test]
    fn phases_begin_at_their_second() {
        let main = ForkSchedule::MAIN;
        assert_eq!(main.phase_at(1_638_467_999), None);
        assert_eq!(main.phase_at(1_638_468_000), Some(Phase::Apricot5));
        assert_eq!(main.phase_at(1_734_368_399), Some(Phase::Durango));
        assert_eq!(main.phase_at(1_734_368_400), Some(Phase::Etna));
        assert_eq!(main.phase_at(u64::MAX), Some(Phase::Fortuna));
        assert_eq!(ForkSchedule::LOCAL.phase_at(1_900_000_000), Some(Phase::Etna));
        assert_eq!(ForkSchedule::TEST.phase_at(1_662_494_400), Some(Phase::Apricot6));
    }
}
