//! How many processes there may be at once.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use esker_evm::executor::{Stop, StopCheck};
use esker_primitives::sync::{Condvar, Mutex};

/// Between two questions whether to go on waiting.
const PATIENCE: Duration = Duration::from_millis(10);

/// Places for processes. Each process has at most 512 MiB.
#[derive(Debug)]
pub struct ScriptSlots {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A place; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Slot(Arc<ScriptSlots>);

impl Default for ScriptSlots {
    /// One for each processor: a script keeps it busy.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let free = Mutex::new_named("script processes", processors);
        Self { free, freed: Condvar::new() }
    }
}

impl ScriptSlots {
    /// Waits for a place, as long as `stop` lets it.
    pub(crate) fn take(self: &Arc<Self>, stop: Option<StopCheck<'_>>) -> Result<Slot, Stop> {
        let mut free = self.free.lock();
        while *free == 0 {
            if let Some(stop) = stop.and_then(|stop| stop()) {
                return Err(stop);
            }
            self.freed.wait_for(&mut free, PATIENCE);
        }
        *free -= 1;
        Ok(Slot(Arc::clone(self)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.freed.notify_one();
    }
}
