//! A chain's maintenance thread, for slow work outside of its blocks.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use esker_primitives::sync::{Condvar, Mutex};

/// Wakes and stops a maintenance thread.
#[derive(Debug, Default)]
pub struct Wakeup {
    flags: Mutex<Flags>,
    changed: Condvar,
    stopped: Condvar,
}

#[derive(Debug, Default)]
struct Flags {
    work: bool,
    stop: bool,
}

impl Wakeup {
    /// Signals new work.
    pub fn wake(&self) {
        self.flags.lock().work = true;
        self.changed.notify_one();
    }

    /// Whether the thread shall stop.
    pub fn is_stopped(&self) -> bool {
        self.flags.lock().stop
    }

    /// Sleeps that long; false if the thread shall stop.
    pub fn pause(&self, time: Duration) -> bool {
        let mut flags = self.flags.lock();
        if !flags.stop {
            // New work stays flagged during the pause.
            self.stopped.wait_for(&mut flags, time);
        }
        !flags.stop
    }

    /// Waits for work; false if the thread shall stop.
    pub fn wait(&self) -> bool {
        let mut flags = self.flags.lock();
        while !flags.work && !flags.stop {
            self.changed.wait(&mut flags);
        }
        flags.work = false;
        !flags.stop
    }

    fn stop(&self) {
        self.flags.lock().stop = true;
        self.changed.notify_one();
        self.stopped.notify_one();
    }
}

/// A running maintenance thread. Dropping it stops the thread after its current write and saves unsaved records. Drop
/// it before the store's writer closes.
#[derive(Debug)]
pub struct Maintenance {
    wakeup: Arc<Wakeup>,
    chain: String,
    thread: Option<JoinHandle<()>>,
}

impl Maintenance {
    /// Starts a chain's thread. `run` returns when `wakeup` signals the stop.
    ///
    /// # Errors
    /// The system can't start a thread.
    pub fn spawn(
        chain: String,
        wakeup: Arc<Wakeup>,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let thread = thread::Builder::new().name(format!("{chain}-maintenance")).spawn(run)?;
        Ok(Self { wakeup, chain, thread: Some(thread) })
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.wakeup.stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(chain = self.chain, "the maintenance thread panicked");
        }
    }
}
