//! Decides when to check whether an execution must stop: after a certain amount of work, counted as gas.
//!
//! Counting costs nothing for each instruction. While code runs, its remaining gas tells how much work it did. A
//! frame that begins, calls or ends carries over the work until the next check. Only instructions that can be long,
//! jump destinations, frames and precompiled contracts check.

/// Work between two checks, as gas: about a millisecond of the slowest code.
pub(super) const WORK: u64 = 100_000;

/// Counts work until the next check.
#[derive(Clone, Copy, Debug)]
pub(super) struct StopMeter {
    /// Remaining gas of the running code at which the next check is due.
    due_at: u64,
    /// Remaining gas for which `left` is correct.
    mark: u64,
    /// Work until the next check, as of `mark`.
    left: u64,
}

impl StopMeter {
    pub(super) fn new() -> Self {
        Self { due_at: 0, mark: 0, left: WORK }
    }

    /// Whether a check is due.
    #[inline]
    pub(super) fn is_due(&self, gas_left: u64) -> bool {
        gas_left < self.due_at
    }

    /// Called after a check within code.
    pub(super) fn restart(&mut self, gas_left: u64) {
        self.left = WORK;
        self.frame_runs(gas_left);
    }

    /// Makes the next check due, within code or not.
    pub(super) fn set_due(&mut self) {
        self.left = 0;
        self.due_at = u64::MAX;
    }

    pub(super) fn frame_runs(&mut self, gas_left: u64) {
        self.mark = gas_left;
        self.set_due_at();
    }

    fn set_due_at(&mut self) {
        self.due_at = if self.left == 0 { u64::MAX } else { self.mark.saturating_sub(self.left) };
    }

    pub(super) fn frame_rests(&mut self, gas_left: u64) {
        self.left = self.left.saturating_sub(self.mark.saturating_sub(gas_left));
    }

    /// Counts work while no code runs. Returns true if a check is due; counting then begins again.
    pub(super) fn spend(&mut self, work: u64) -> bool {
        self.left = self.left.saturating_sub(work);
        let is_due = self.left == 0;
        if is_due {
            self.left = WORK;
        }
        is_due
    }

    /// Counts work while code runs.
    pub(super) fn spend_in_frame(&mut self, work: u64) {
        self.left = self.left.saturating_sub(work);
        self.set_due_at();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_carried_over_between_frames() {
        let mut meter = StopMeter::new();
        meter.frame_runs(1_000_000);
        assert!(!meter.is_due(1_000_000 - WORK));
        assert!(meter.is_due(1_000_000 - WORK - 1));
        // The code calls after half of that, and gives the call little gas.
        meter.frame_rests(1_000_000 - WORK / 2);
        meter.frame_runs(10);
        assert!(!meter.is_due(0), "code that has less gas than is left does not ask");
        meter.frame_rests(0);
        meter.frame_runs(900_000);
        assert!(!meter.is_due(900_000 - WORK / 2 + 10));
        assert!(meter.is_due(900_000 - WORK / 2 + 9));
        meter.restart(800_000);
        assert!(!meter.is_due(800_000 - WORK) && meter.is_due(800_000 - WORK - 1));
    }

    #[test]
    fn work_beside_code_counts() {
        let mut meter = StopMeter::new();
        assert!(!meter.spend(WORK - 1));
        assert!(meter.spend(1), "together it is enough");
        assert!(!meter.spend(WORK - 1), "and begins anew");
        meter.frame_runs(500);
        meter.spend_in_frame(1);
        assert!(meter.is_due(500));
        assert!(meter.spend(0), "what was spent in a frame counts after it");
        meter.frame_runs(50);
        meter.set_due();
        assert!(meter.is_due(50));
        meter.frame_rests(50);
        meter.frame_runs(70);
        assert!(meter.is_due(70), "also in other frames");
    }
}
