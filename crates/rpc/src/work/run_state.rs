//! The state of one run of a job, shared by its work and the threads.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};

use super::Client;

/// Elapsed time counts as this fraction of processor time.
const WAITING: u32 = 8;

/// Assigns the places for runs.
pub(super) trait Scheduler: Send + Sync {
    /// Whether a run must end, now that its time is over.
    fn must_end(&self, run_state: &RunState) -> bool;
}

/// One run of a job on a thread.
pub(crate) struct RunState {
    scheduler: Arc<dyn Scheduler>,
    pub(super) client: Client,
    /// Another address waits for its place, and has fewer.
    is_asked_to_yield: AtomicBool,
    /// It ended for that reason.
    has_yielded: AtomicBool,
    pub(super) begun: Instant,
    /// Processor time of the thread by then.
    worked_before: Duration,
    /// The level that it counts for; only grows. Changed under the lock of the queues.
    level: AtomicUsize,
    /// When to check next whether it must end; microseconds after `begun`.
    due_us: AtomicU64,
    /// Whether its work can be ended and restarted.
    pub(super) can_restart: bool,
    is_interrupted: AtomicBool,
    pub(super) thread: Option<Pid>,
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

impl fmt::Debug for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunState").field("level", &self.level).finish_non_exhaustive()
    }
}

impl RunState {
    pub(super) fn new(
        scheduler: Arc<dyn Scheduler>,
        (client, can_restart): (Client, bool),
        (level, budget): (usize, Option<Duration>),
        thread: Option<Pid>,
    ) -> Self {
        let run_state = Self {
            scheduler,
            client,
            is_asked_to_yield: AtomicBool::new(false),
            has_yielded: AtomicBool::new(false),
            begun: Instant::now(),
            worked_before: thread_time(),
            level: AtomicUsize::new(level),
            due_us: AtomicU64::new(0),
            can_restart,
            is_interrupted: AtomicBool::new(false),
            thread,
        };
        run_state.set_due(budget);
        run_state
    }

    pub(super) fn level(&self) -> usize {
        self.level.load(Ordering::Relaxed)
    }

    pub(super) fn set_level(&self, level: usize) {
        self.level.store(level, Ordering::Relaxed);
    }

    /// How long the work took so far: processor time, which does not depend on other load, or a fraction of the elapsed
    /// time if that is more, since the run holds its place while it waits. Call it on the thread of the run.
    pub(super) fn time_worked(&self) -> Duration {
        thread_time().saturating_sub(self.worked_before).max(self.begun.elapsed() / WAITING)
    }

    /// Sets after which time to check again whether it must end; `None`: never.
    pub(super) fn set_due(&self, after: Option<Duration>) {
        let micros = after.and_then(|after| u64::try_from(after.as_micros()).ok());
        self.due_us.store(micros.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Asks it to give its place to another address once it has run for a time.
    pub(super) fn ask_to_yield(&self, after: Duration) {
        self.is_asked_to_yield.store(true, Ordering::Relaxed);
        self.set_due(Some(after));
    }

    pub(super) fn is_asked_to_yield(&self) -> bool {
        self.is_asked_to_yield.load(Ordering::Relaxed)
    }

    /// It keeps its place.
    pub(super) fn keep_place(&self, budget: Option<Duration>) {
        self.is_asked_to_yield.store(false, Ordering::Relaxed);
        self.set_due(budget);
    }

    /// It must end in favour of another client, and is restarted at the same level.
    pub(super) fn set_yielded(&self) {
        self.has_yielded.store(true, Ordering::Relaxed);
    }

    /// The work itself ends in favour of another client; false: it runs only once.
    pub(crate) fn restart_later(&self) -> bool {
        if self.can_restart {
            self.set_yielded();
            self.is_interrupted.store(true, Ordering::Relaxed);
        }
        self.can_restart
    }

    pub(super) fn has_yielded(&self) -> bool {
        self.has_yielded.load(Ordering::Relaxed)
    }

    /// Whether the work must end now, to be restarted later. The work itself calls this now and then.
    pub(crate) fn must_end(&self) -> bool {
        if self.is_interrupted() {
            return true;
        }
        let due_us = self.due_us.load(Ordering::Relaxed);
        if due_us == u64::MAX || self.begun.elapsed() < Duration::from_micros(due_us) {
            return false;
        }
        if self.scheduler.must_end(self) {
            self.is_interrupted.store(true, Ordering::Relaxed);
        }
        self.is_interrupted()
    }

    /// Whether the work was interrupted; its result is then discarded.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed)
    }
}
