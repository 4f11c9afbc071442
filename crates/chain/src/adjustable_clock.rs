//! The clock of the chains of a development network: it can be moved, and stopped until the next block.

use std::fmt;
use std::sync::Arc;

use esker_primitives::clock::{Clock, Sleep};
use esker_primitives::sync::Mutex;
use tokio::sync::watch;

/// Another clock with an offset, or stopped at a time.
#[derive(Clone)]
pub struct AdjustableClock(Arc<Shared>);

struct Shared {
    base: Arc<dyn Clock>,
    setting: Mutex<ClockSetting>,
    changed: watch::Sender<()>,
}

/// How a clock is adjusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockSetting {
    offset_ms: i128,
    stopped_ms: Option<u64>,
}

impl ClockSetting {
    /// A clock this far ahead of its base, ms, and stopped at a time, Unix ms.
    #[must_use]
    pub fn new(offset_ms: i128, stopped_ms: Option<u64>) -> Self {
        Self { offset_ms, stopped_ms }
    }

    /// How far the running clock is ahead of its base, ms.
    #[must_use]
    pub fn offset_ms(&self) -> i128 {
        self.offset_ms
    }

    /// The time at which the clock is stopped, Unix ms.
    #[must_use]
    pub fn stopped_ms(&self) -> Option<u64> {
        self.stopped_ms
    }

    fn show(self, base_ms: u64) -> u64 {
        self.stopped_ms.unwrap_or_else(|| self.running(base_ms))
    }

    fn running(self, base_ms: u64) -> u64 {
        to_u64(i128::from(base_ms) + self.offset_ms)
    }
}

fn to_u64(ms: i128) -> u64 {
    u64::try_from(ms.max(0)).unwrap_or(u64::MAX)
}

impl fmt::Debug for AdjustableClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AdjustableClock").field(&*self.0.setting.lock()).finish()
    }
}

impl AdjustableClock {
    /// Shows what `base` shows.
    pub fn new(base: Arc<dyn Clock>) -> Self {
        let setting = Mutex::new_named("chain.clock", ClockSetting::default());
        Self(Arc::new(Shared { base, setting, changed: watch::channel(()).0 }))
    }

    /// The clock that is adjusted. Time limits of calls use it.
    pub fn base(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.0.base)
    }

    /// Sets the time to `unix_ms` and runs on from there.
    pub fn set(&self, unix_ms: u64) {
        self.change(|base_ms| ClockSetting {
            offset_ms: i128::from(unix_ms) - i128::from(base_ms),
            stopped_ms: None,
        });
    }

    /// Sets the time to `unix_ms` if it is earlier, and runs on from there.
    pub fn advance_to(&self, unix_ms: u64) {
        if self.now_ms() < unix_ms {
            self.set(unix_ms);
        }
    }

    /// Moves the time forward by `ms`. Where the clock is stopped, that is how far it will have moved when it runs on;
    /// the time at which it is stopped does not change.
    pub fn advance(&self, ms: u64) {
        let mut setting = self.0.setting.lock();
        setting.offset_ms += i128::from(ms);
        drop(setting);
        self.0.changed.send_replace(());
    }

    /// Stops at `unix_ms`.
    pub fn stop_at(&self, unix_ms: u64) {
        let mut setting = self.0.setting.lock();
        setting.stopped_ms = Some(unix_ms);
        drop(setting);
        self.0.changed.send_replace(());
    }

    /// Runs again, as if it had not been stopped.
    pub fn run(&self) {
        self.0.setting.lock().stopped_ms = None;
        self.0.changed.send_replace(());
    }

    /// How the clock is adjusted now.
    pub fn setting(&self) -> ClockSetting {
        *self.0.setting.lock()
    }

    /// Adjusts the clock as it was then.
    pub fn restore(&self, setting: ClockSetting) {
        self.change(|_| setting);
    }

    /// The time at which the clock is stopped, Unix ms; `None` while it runs.
    pub fn stopped_ms(&self) -> Option<u64> {
        self.0.setting.lock().stopped_ms
    }

    /// How far the running clock is ahead of its base, ms.
    pub fn offset_ms(&self) -> i128 {
        self.0.setting.lock().offset_ms
    }

    fn change(&self, change: impl FnOnce(u64) -> ClockSetting) {
        let new = change(self.0.base.now_ms());
        *self.0.setting.lock() = new;
        self.0.changed.send_replace(());
    }
}

impl Clock for AdjustableClock {
    fn now_ms(&self) -> u64 {
        let setting = *self.0.setting.lock();
        setting.show(self.0.base.now_ms())
    }

    fn sleep_until(&self, unix_ms: u64) -> Sleep {
        let clock = self.clone();
        Box::pin(async move {
            let mut changed = clock.0.changed.subscribe();
            loop {
                changed.mark_unchanged();
                let setting = *clock.0.setting.lock();
                if setting.show(clock.0.base.now_ms()) >= unix_ms {
                    return;
                }
                // The clock outlives the wait, so the channel is never closed.
                let ClockSetting { offset_ms, stopped_ms } = setting;
                if stopped_ms.is_some() {
                    let _open = changed.changed().await;
                    continue;
                }
                let base_ms = to_u64(i128::from(unix_ms) - offset_ms);
                tokio::select! {
                    () = clock.0.base.sleep_until(base_ms) => {}
                    _open = changed.changed() => {}
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use esker_primitives::clock::ManualClock;

    use super::*;

    #[tokio::test]
    async fn moves_stops_and_runs_on() {
        let base = ManualClock::new(1_000);
        let clock = AdjustableClock::new(Arc::new(base.clone()));
        assert_eq!(clock.now_ms(), 1_000);
        clock.advance(500);
        base.advance(1);
        assert_eq!((clock.now_ms(), clock.offset_ms()), (1_501, 500));
        clock.stop_at(9_000);
        base.advance(5);
        assert_eq!((clock.now_ms(), clock.stopped_ms()), (9_000, Some(9_000)));
        clock.set(9_000);
        base.advance(7);
        assert_eq!((clock.now_ms(), clock.stopped_ms()), (9_007, None));
        clock.advance_to(9_000);
        assert_eq!(clock.now_ms(), 9_007);
        clock.set(3);
        assert_eq!(clock.now_ms(), 3);
        let setting = clock.setting();
        clock.stop_at(8);
        clock.restore(setting);
        assert_eq!((clock.now_ms(), clock.stopped_ms()), (3, None));
        clock.set(u64::MAX);
        base.set(u64::MAX);
        assert_eq!(clock.now_ms(), u64::MAX);
    }

    #[tokio::test]
    async fn sleepers_follow_adjustments() {
        let base = ManualClock::new(0);
        let clock = AdjustableClock::new(Arc::new(base.clone()));
        let sleep = tokio::spawn(clock.sleep_until(1_000));
        while base.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        clock.stop_at(500);
        tokio::task::yield_now().await;
        assert!(!sleep.is_finished());
        clock.set(1_000);
        sleep.await.unwrap();

        let sleep = tokio::spawn(clock.sleep_until(2_000));
        while base.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        base.advance(1_000);
        sleep.await.unwrap();
    }
}
