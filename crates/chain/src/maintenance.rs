//! A chain's slow work beside its blocks, on a thread of its own.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use esker_primitives::sync::{Condvar, Mutex};

/// Says to a maintenance thread that there is work, or that it is to end.
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
    /// There is work.
    pub fn wake(&self) {
        self.flags.lock().work = true;
        self.changed.notify_one();
    }

    /// It is time to end.
    pub fn is_stopped(&self) -> bool {
        self.flags.lock().stop
    }

    /// Waits that long; false when it is time to end.
    pub fn pause(&self, time: Duration) -> bool {
        let mut flags = self.flags.lock();
        if !flags.stop {
            // Work that comes meanwhile stays noted.
            self.stopped.wait_for(&mut flags, time);
        }
        !flags.stop
    }

    /// Waits for work; false when it is time to end.
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

/// A running maintenance thread; dropping it ends the thread, after what it is writing and what waits to be
/// saved. Drop it before the store's writer is closed.
#[derive(Debug)]
pub struct Maintenance {
    wakeup: Arc<Wakeup>,
    chain: String,
    thread: Option<JoinHandle<()>>,
}

impl Maintenance {
    /// Starts a thread for a chain of that name. `run` returns when `wakeup` says that it is time to end.
    ///
    /// # Errors
    /// The system has no thread to give.
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
