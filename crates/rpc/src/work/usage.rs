//! How much time a client or an address has used recently.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Time after which earlier use counts half.
const HALF_LIFE: Duration = Duration::from_secs(8);

/// Time used, in microseconds, halved every [`HALF_LIFE`]. Changed by one thread at a time: under the lock of the
/// queues.
#[derive(Debug, Default)]
pub(super) struct Usage {
    micros: AtomicU64,
    /// As of which half-life since the start.
    period: AtomicU64,
}

/// The half-life that a time since the start falls into.
pub(super) fn period(elapsed: Duration) -> u64 {
    elapsed.as_secs() / HALF_LIFE.as_secs()
}

pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Usage {
    /// The use that still counts in this period.
    pub(super) fn recent(&self, period: u64) -> Duration {
        Duration::from_micros(self.micros(period))
    }

    fn micros(&self, period: u64) -> u64 {
        let passed = period.saturating_sub(self.period.load(Ordering::Relaxed));
        let micros = self.micros.load(Ordering::Relaxed);
        u32::try_from(passed).ok().and_then(|passed| micros.checked_shr(passed)).unwrap_or(0)
    }

    pub(super) fn add(&self, used: Duration, period: u64) {
        let micros = self.micros(period).saturating_add(micros(used));
        self.micros.store(micros, Ordering::Relaxed);
        self.period.store(period, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_halves_over_time() {
        let usage = Usage::default();
        usage.add(Duration::from_micros(1000), 3);
        usage.add(Duration::from_micros(24), 3);
        let left = [3, 4, 5, 13, 14, 500, u64::MAX].map(|period| usage.micros(period));
        assert_eq!(left, [1024, 512, 256, 1, 0, 0, 0]);
        usage.add(Duration::from_micros(1), 5);
        assert_eq!(usage.micros(5), 257);
        assert_eq!(period(HALF_LIFE * 2), 2);
    }
}
