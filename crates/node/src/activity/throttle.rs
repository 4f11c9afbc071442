//! What has a text of its own under load, and what is in a summary.

use esker_chain::BlockFigures;

use super::MAX_SHOWN;

/// Length of a window, ms.
pub(super) const WINDOW_MS: u64 = 1000;

/// Lets the first [`MAX_SHOWN`] things of a window through; the summary of the others, `S`, is due at its end.
#[derive(Debug, Default)]
pub(super) struct Throttle<S> {
    /// End of the current window, Unix ms.
    end_ms: u64,
    shown: u32,
    summary: Option<S>,
}

impl<S: Default> Throttle<S> {
    /// Whether one more is shown. Otherwise it belongs to the summary. Take a summary that is due before.
    pub(super) fn take(&mut self, now_ms: u64) -> bool {
        if self.is_over(now_ms) && self.summary.is_none() {
            (self.end_ms, self.shown) = (now_ms.saturating_add(WINDOW_MS), 0);
        }
        let is_shown = self.shown < MAX_SHOWN && self.summary.is_none();
        self.shown += u32::from(is_shown);
        is_shown
    }

    /// The summary of this window.
    pub(super) fn summary(&mut self) -> &mut S {
        self.summary.get_or_insert_default()
    }

    /// When the summary is due, Unix ms; `None` without one.
    pub(super) fn due_ms(&self) -> Option<u64> {
        self.summary.as_ref().map(|_| self.end_ms)
    }

    /// The summary, if it is due; without a time, in any case.
    pub(super) fn take_summary(&mut self, now_ms: Option<u64>) -> Option<S> {
        match now_ms.is_none_or(|now_ms| self.is_over(now_ms)) {
            true => self.summary.take(),
            false => None,
        }
    }

    /// Whether the window is over. A clock that was set back ends it too.
    fn is_over(&self, now_ms: u64) -> bool {
        now_ms >= self.end_ms || self.end_ms - now_ms > WINDOW_MS
    }
}

impl Throttle<u64> {
    /// Adds to the number of those that are not shown.
    pub(super) fn skip(&mut self, more: u64) {
        let number = self.summary();
        *number = number.saturating_add(more);
    }
}

/// Blocks without a text of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockSummary {
    pub(super) blocks: u64,
    /// Height of the first.
    pub(super) first: u64,
    /// Height of the last.
    pub(super) last: u64,
    pub(super) txs: u64,
    /// Their gas, if the chain has gas.
    pub(super) gas: Option<u64>,
}

impl BlockSummary {
    pub(super) fn add(&mut self, height: u64, figures: &BlockFigures) {
        if self.blocks == 0 {
            self.first = height;
        }
        self.last = height;
        self.blocks += 1;
        self.txs = self.txs.saturating_add(figures.txs);
        if let Some(gas) = figures.gas {
            self.gas = Some(self.gas.unwrap_or(0).saturating_add(gas));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_a_window_and_then_a_number() {
        let mut throttle = Throttle::<u64>::default();
        let mut shown = |throttle: &mut Throttle<u64>, now_ms| {
            let taken = throttle.take(now_ms);
            if !taken {
                throttle.skip(1);
            }
            u32::from(taken)
        };
        let many = |throttle: &mut Throttle<u64>,
                    shown: &mut dyn FnMut(&mut Throttle<u64>, u64) -> u32,
                    now_ms| {
            (0..MAX_SHOWN + 5).map(|_| shown(throttle, now_ms)).sum::<u32>()
        };
        assert_eq!(many(&mut throttle, &mut shown, 5_000), MAX_SHOWN);
        assert_eq!(throttle.due_ms(), Some(6_000));
        assert_eq!(throttle.take_summary(Some(5_999)), None);
        assert_eq!(throttle.take_summary(Some(6_000)), Some(5));
        assert_eq!((throttle.due_ms(), throttle.take_summary(None)), (None, None));
        // The next window; then a clock that was set back.
        assert_eq!(many(&mut throttle, &mut shown, 6_000), MAX_SHOWN);
        assert_eq!(throttle.take_summary(Some(10)), Some(5));
        assert!(throttle.take(10));
    }
}
