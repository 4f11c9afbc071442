//! The wall clock and its text form. Only this file reads the system's clock.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use esker_primitives::clock::{Clock, Sleep};

/// The system's clock; sleeping needs a tokio runtime with timers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(now().as_millis()).unwrap_or(u64::MAX)
    }

    fn sleep_until(&self, unix_ms: u64) -> Sleep {
        // The timer may be ahead of the wall clock, or the wall clock may be set back meanwhile.
        Box::pin(async move {
            loop {
                match unix_ms.saturating_sub(Self.now_ms()) {
                    0 => return,
                    wait => tokio::time::sleep(Duration::from_millis(wait)).await,
                }
            }
        })
    }
}

/// A clock that continues from its own start, as fast as another one.
#[derive(Debug)]
pub(crate) struct ShiftedClock {
    clock: Arc<dyn Clock>,
    /// The time of the other clock when this one began, Unix ms.
    origin_ms: u64,
    /// The time that this clock began with, Unix ms.
    start_ms: u64,
}

impl ShiftedClock {
    /// A clock that shows `start_ms` (Unix ms) now.
    pub(crate) fn starting_at(start_ms: u64, clock: Arc<dyn Clock>) -> Self {
        Self { origin_ms: clock.now_ms(), start_ms, clock }
    }

    /// A time moved by the distance from one start to the other.
    fn moved(unix_ms: u64, from: u64, to: u64) -> u64 {
        let moved = i128::from(unix_ms) - i128::from(from) + i128::from(to);
        u64::try_from(moved.max(0)).unwrap_or(u64::MAX)
    }
}

impl Clock for ShiftedClock {
    fn now_ms(&self) -> u64 {
        Self::moved(self.clock.now_ms(), self.origin_ms, self.start_ms)
    }

    fn sleep_until(&self, unix_ms: u64) -> Sleep {
        self.clock.sleep_until(Self::moved(unix_ms, self.start_ms, self.origin_ms))
    }
}

/// Time since 1970, UTC; zero if the clock is set before.
#[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A time since 1970 as `2020-12-05T05:00:00.000Z`, UTC with milliseconds.
pub fn rfc3339(since_epoch: Duration) -> String {
    format!("{:.3}", timestamp(since_epoch))
}

/// A time since 1970, to the millisecond. Times after the year 9999 become its last millisecond.
pub(crate) fn timestamp(since_epoch: Duration) -> jiff::Timestamp {
    let ms = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use esker_primitives::clock::ManualClock;

    use super::*;

    #[tokio::test]
    async fn a_shifted_clock_goes_on_from_its_start() {
        for start_ms in [500, 5_000_000] {
            let clock = ManualClock::new(1_000);
            let shifted = ShiftedClock::starting_at(start_ms, Arc::new(clock.clone()));
            assert_eq!(shifted.now_ms(), start_ms);
            let sleep = shifted.sleep_until(start_ms + 250);
            clock.advance(249);
            assert_eq!(shifted.now_ms(), start_ms + 249);
            clock.advance(1);
            assert_eq!(shifted.now_ms(), start_ms + 250);
            sleep.await;
            // It resolves at once, since that time is over.
            shifted.sleep_until(0).await;
        }
        // The other clock may be set back.
        let clock = ManualClock::new(1_000);
        let shifted = ShiftedClock::starting_at(10, Arc::new(clock.clone()));
        clock.set(0);
        assert_eq!(shifted.now_ms(), 0);
        clock.set(u64::MAX);
        assert_eq!(shifted.now_ms(), u64::MAX - 990);
    }

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_607_144_400, "2020-12-05T05:00:00.000Z"),
            (4_102_444_799, "2099-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(seconds)), text);
        }
        assert_eq!(rfc3339(Duration::from_millis(1_042)), "1970-01-01T00:00:01.042Z");
        assert_eq!(rfc3339(Duration::from_nanos(1_042_999_999)), "1970-01-01T00:00:01.042Z");
        assert!(rfc3339(Duration::MAX).starts_with("9999-12-30T"));
    }
}
