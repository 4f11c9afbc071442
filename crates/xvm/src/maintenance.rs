//! The chain's slow work beside its blocks: filling the address index, saving the reasons of rejections.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use esker_chain::{ChainError, ChainVm};
use esker_primitives::sync::{Condvar, Mutex};
use esker_storage::WriteSet;

use crate::vm::Xvm;

/// How long rejections gather before they get a commit of their own: whoever sends what is rejected must not slow
/// down the blocks, which take them along for nothing.
const SAVE_DELAY: Duration = Duration::from_secs(1);

/// Tells the thread that there is work, or that it is to end.
#[derive(Debug, Default)]
pub(crate) struct Wakeup {
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
    pub(crate) fn wake(&self) {
        self.flags.lock().work = true;
        self.changed.notify_one();
    }

    fn stop(&self) {
        self.flags.lock().stop = true;
        self.changed.notify_one();
        self.stopped.notify_one();
    }

    fn is_stopped(&self) -> bool {
        self.flags.lock().stop
    }

    /// Waits that long; false when it is time to end.
    fn pause(&self, time: Duration) -> bool {
        let mut flags = self.flags.lock();
        if !flags.stop {
            // Work that comes meanwhile stays noted.
            self.stopped.wait_for(&mut flags, time);
        }
        !flags.stop
    }

    /// Waits for work; false when it is time to end.
    fn wait(&self) -> bool {
        let mut flags = self.flags.lock();
        while !flags.work && !flags.stop {
            self.changed.wait(&mut flags);
        }
        flags.work = false;
        !flags.stop
    }
}

/// A running maintenance thread; dropping it ends the thread, after what it is writing and what waits to be
/// saved. Drop it before the store's writer is closed.
#[derive(Debug)]
pub struct Maintenance {
    vm: Arc<Xvm>,
    thread: Option<JoinHandle<()>>,
}

impl Xvm {
    /// Starts the thread that works off what [`Self::maintain`] finds.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start_maintenance(self: &Arc<Self>) -> io::Result<Maintenance> {
        let vm = Arc::clone(self);
        let name = format!("{}-maintenance", self.name());
        let thread = thread::Builder::new().name(name).spawn(move || run(&vm))?;
        Ok(Maintenance { vm: Arc::clone(self), thread: Some(thread) })
    }

    /// Does a few milliseconds of slow work; true if there is more to do at once. Blocks the calling thread on the
    /// store.
    pub fn maintain(&self) -> Result<bool, ChainError> {
        self.save_rejections()?;
        self.index.step(self.context())
    }

    fn save_rejections(&self) -> Result<(), ChainError> {
        if !self.rejections.has_unsaved() {
            return Ok(());
        }
        let store = &self.context().store;
        let mut out = WriteSet::new();
        let last = self.rejections.write(store.snapshot()?.as_ref(), self.scope(), &mut out)?;
        if let Some(last) = last {
            store.writer.commit_blocking(out)?;
            self.rejections.saved(last);
        }
        Ok(())
    }
}

fn run(vm: &Xvm) {
    while !vm.maintenance.is_stopped() {
        let more = work(vm).unwrap_or_else(|error| {
            // Tried again, at the pace of the work that comes.
            tracing::error!(%error, chain = vm.name(), "maintenance failed");
            false
        });
        if !more && !vm.maintenance.wait() {
            break;
        }
    }
    if let Err(error) = vm.save_rejections() {
        tracing::error!(%error, chain = vm.name(), "reasons of rejections are lost");
    }
}

/// One step; false if there is nothing left to do.
fn work(vm: &Xvm) -> Result<bool, ChainError> {
    if vm.index.step(vm.context())? {
        return Ok(true);
    }
    if vm.rejections.has_unsaved() && vm.maintenance.pause(SAVE_DELAY) {
        vm.save_rejections()?;
    }
    Ok(false)
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.vm.maintenance.stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(chain = self.vm.name(), "the maintenance thread panicked");
        }
    }
}
