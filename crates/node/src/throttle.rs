//! Limits lines under load: the first items of a window are written, and a summary covers the others.

/// Length of a window, ms.
pub(crate) const WINDOW_MS: u64 = 1000;

/// Lets the first `MAX` items of a window pass. `S`, the summary of the others, is due at the end of the window.
#[derive(Debug, Default)]
pub(crate) struct Throttle<S, const MAX: u32> {
    /// End of the current window, Unix ms.
    end_ms: u64,
    shown: u32,
    summary: Option<S>,
}

impl<S: Default, const MAX: u32> Throttle<S, MAX> {
    /// Whether one more item is shown. Otherwise it belongs to the summary. Take a due summary before calling this.
    pub(crate) fn take(&mut self, now_ms: u64) -> bool {
        if self.is_over(now_ms) && self.summary.is_none() {
            (self.end_ms, self.shown) = (now_ms.saturating_add(WINDOW_MS), 0);
        }
        let is_shown = self.shown < MAX && self.summary.is_none();
        self.shown += u32::from(is_shown);
        is_shown
    }

    /// The summary of this window.
    pub(crate) fn summary(&mut self) -> &mut S {
        self.summary.get_or_insert_default()
    }

    /// Time at which the summary is due, Unix ms; `None` if there is none.
    pub(crate) fn due_ms(&self) -> Option<u64> {
        self.summary.as_ref().map(|_| self.end_ms)
    }

    /// Takes the summary if it is due; without a time, in any case.
    pub(crate) fn take_summary(&mut self, now_ms: Option<u64>) -> Option<S> {
        match now_ms.is_none_or(|now_ms| self.is_over(now_ms)) {
            true => self.summary.take(),
            false => None,
        }
    }

    /// Whether the window is over. A clock that was set back also ends it.
    fn is_over(&self, now_ms: u64) -> bool {
        now_ms >= self.end_ms || self.end_ms - now_ms > WINDOW_MS
    }
}

impl<const MAX: u32> Throttle<u64, MAX> {
    /// Adds to the number of items that are not shown.
    pub(crate) fn skip(&mut self, more: u64) {
        let number = self.summary();
        *number = number.saturating_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u32 = 10;

    #[test]
    fn some_of_a_window_and_then_a_number() {
        let mut throttle = Throttle::<u64, MAX>::default();
        let mut shown = |throttle: &mut Throttle<u64, MAX>, now_ms| {
            let taken = throttle.take(now_ms);
            if !taken {
                throttle.skip(1);
            }
            u32::from(taken)
        };
        let many =
            |throttle: &mut Throttle<u64, MAX>,
             shown: &mut dyn FnMut(&mut Throttle<u64, MAX>, u64) -> u32,
             now_ms| { (0..MAX + 5).map(|_| shown(throttle, now_ms)).sum::<u32>() };
        assert_eq!(many(&mut throttle, &mut shown, 5_000), MAX);
        assert_eq!(throttle.due_ms(), Some(6_000));
        assert_eq!(throttle.take_summary(Some(5_999)), None);
        assert_eq!(throttle.take_summary(Some(6_000)), Some(5));
        assert_eq!((throttle.due_ms(), throttle.take_summary(None)), (None, None));
        // The next window, and then a clock that was set back.
        assert_eq!(many(&mut throttle, &mut shown, 6_000), MAX);
        assert_eq!(throttle.take_summary(Some(10)), Some(5));
        assert!(throttle.take(10));
    }
}
