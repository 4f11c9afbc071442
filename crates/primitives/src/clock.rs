//! Time as a parameter. Only the node reads the clock of the machine; tests set a [`ManualClock`].

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::sync::Mutex;

/// A future that ends when a clock reaches a time.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Wall-clock time. It may be set back, so a later reading can be smaller.
pub trait Clock: Send + Sync + 'static {
    /// Unix time in milliseconds.
    fn now_ms(&self) -> u64;

    /// Ends as soon as [`Clock::now_ms`] is `unix_ms` or later, possibly at once.
    fn sleep_until(&self, unix_ms: u64) -> Sleep;

    /// Unix time in whole seconds.
    fn now_s(&self) -> u64 {
        self.now_ms() / 1000
    }
}

impl std::fmt::Debug for dyn Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Clock({} ms)", self.now_ms())
    }
}

/// A clock that stands still until a test sets it. Clones share the time.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<Mutex<Manual>>);

#[derive(Debug, Default)]
struct Manual {
    now_ms: u64,
    next_sleeper: u64,
    /// Sleepers by time, and by a number that distinguishes sleepers of the same time.
    sleepers: BTreeMap<(u64, u64), Waker>,
}

impl ManualClock {
    /// A clock that stands at `unix_ms`.
    pub fn new(unix_ms: u64) -> Self {
        Self(Arc::new(Mutex::new(Manual { now_ms: unix_ms, ..Manual::default() })))
    }

    /// Sets the time to `unix_ms`, also backwards, and wakes the sleepers whose time has come.
    pub fn set(&self, unix_ms: u64) {
        self.change(|_| unix_ms);
    }

    /// Advances by `ms` milliseconds and wakes the sleepers whose time has come.
    pub fn advance(&self, ms: u64) {
        self.change(|now| now.saturating_add(ms));
    }

    /// Number of waiting sleepers, so that a test can wait for a sleeper before it advances the time.
    pub fn sleepers(&self) -> usize {
        self.0.lock().sleepers.len()
    }

    fn change(&self, to: impl FnOnce(u64) -> u64) {
        let due = {
            let mut manual = self.0.lock();
            manual.now_ms = to(manual.now_ms);
            let later = match manual.now_ms.checked_add(1) {
                Some(next) => manual.sleepers.split_off(&(next, 0)),
                None => BTreeMap::new(),
            };
            std::mem::replace(&mut manual.sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.lock().now_ms
    }

    fn sleep_until(&self, unix_ms: u64) -> Sleep {
        let number = {
            let mut manual = self.0.lock();
            manual.next_sleeper += 1;
            manual.next_sleeper
        };
        Box::pin(ManualSleep { clock: self.clone(), key: (unix_ms, number) })
    }
}

struct ManualSleep {
    clock: ManualClock,
    key: (u64, u64),
}

impl Future for ManualSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut manual = self.clock.0.lock();
        if manual.now_ms >= self.key.0 {
            return Poll::Ready(());
        }
        manual.sleepers.insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for ManualSleep {
    fn drop(&mut self) {
        self.clock.0.lock().sleepers.remove(&self.key);
    }
}
