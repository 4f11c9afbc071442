//! Blocks at regular times.

use std::sync::Arc;
use std::time::Duration;

use esker_primitives::clock::Clock;
use esker_primitives::sync::Mutex;
use tokio::task::AbortHandle;

use super::error::ControlError;
use super::limits::MAX_INTERVAL_S;

/// The time between blocks at regular times, ms: exact, or any between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    least_ms: u64,
    most_ms: u64,
}

impl Interval {
    /// Every so many milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self { least_ms: ms, most_ms: ms }
    }

    /// A time in whole milliseconds.
    pub fn every(time: Duration) -> Self {
        Self::from_ms(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    /// Between these bounds; `None` if they are in the wrong order.
    pub fn between_ms(least_ms: u64, most_ms: u64) -> Option<Self> {
        (least_ms <= most_ms).then_some(Self { least_ms, most_ms })
    }

    /// The bounds, ms.
    pub const fn bounds_ms(self) -> (u64, u64) {
        (self.least_ms, self.most_ms)
    }

    pub(super) fn check(self) -> Result<(), ControlError> {
        match self.most_ms > MAX_INTERVAL_S * 1000 {
            true => Err(ControlError::Interval(self.most_ms)),
            false if self.least_ms == 0 => Err(ControlError::NoInterval),
            false => Ok(()),
        }
    }

    /// The time to the next block, ms. Where there is a choice, the milliseconds of the time decide.
    fn next_ms(self, now_ms: u64) -> u64 {
        let choices = (self.most_ms - self.least_ms).saturating_add(1);
        self.least_ms + now_ms % choices
    }
}

/// The task that makes blocks at regular times, if there is one.
#[derive(Debug)]
pub(super) struct IntervalTask(Mutex<Option<AbortHandle>>);

impl Default for IntervalTask {
    fn default() -> Self {
        Self(Mutex::new_named("evm.interval-mining", None))
    }
}

impl IntervalTask {
    /// Begins a task. The previous task ends.
    pub(super) fn begin(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.replace(Some(tokio::spawn(task).abort_handle()));
    }

    /// Ends the task.
    pub(super) fn end(&self) {
        self.replace(None);
    }

    fn replace(&self, new: Option<AbortHandle>) {
        let old = std::mem::replace(&mut *self.0.lock(), new);
        if let Some(old) = old {
            old.abort();
        }
    }
}

impl Drop for IntervalTask {
    fn drop(&mut self) {
        if let Some(task) = self.0.lock().take() {
            task.abort();
        }
    }
}

/// Makes a block at regular times until `mine` returns `None`.
pub(super) async fn mine_at_intervals<F>(
    clock: Arc<dyn Clock>,
    interval: Interval,
    mine: impl Fn() -> Option<F>,
) where
    F: Future<Output = Result<(), ControlError>>,
{
    let mut next_ms = clock.now_ms();
    loop {
        // Missed ticks are skipped.
        next_ms = next_ms.max(clock.now_ms());
        next_ms = next_ms.saturating_add(interval.next_ms(next_ms));
        clock.sleep_until(next_ms).await;
        let Some(mined) = mine() else { return };
        if let Err(error) = mined.await {
            tracing::warn!(%error, "no block was made at its time");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_within_the_bounds() {
        let interval = Interval::between_ms(500, 502).unwrap();
        assert_eq!([0, 1, 2, 3].map(|now| interval.next_ms(now)), [500, 501, 502, 500]);
        assert_eq!(Interval::from_ms(7).next_ms(12_345), 7);
        assert_eq!(Interval::between_ms(0, u64::MAX).unwrap().next_ms(u64::MAX), 0);
        assert_eq!(Interval::between_ms(2, 1), None);
    }

    #[test]
    fn an_interval_has_bounds() {
        let year_ms = MAX_INTERVAL_S * 1000;
        assert_eq!(Interval::from_ms(1).check(), Ok(()));
        assert_eq!(Interval::from_ms(year_ms).check(), Ok(()));
        assert_eq!(
            Interval::from_ms(year_ms + 1).check(),
            Err(ControlError::Interval(year_ms + 1))
        );
        assert_eq!(Interval::from_ms(0).check(), Err(ControlError::NoInterval));
        let from_zero = Interval::between_ms(0, 5).unwrap();
        assert_eq!(from_zero.check(), Err(ControlError::NoInterval));
    }
}
