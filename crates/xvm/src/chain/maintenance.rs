//! Background work of the chain: filling the address index, saving the reasons of rejections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use esker_chain::{ChainError, Maintenance};
use esker_storage::StorageError;

use super::parts::Xvm;

/// Time that rejections gather before they get a commit of their own. Rejected transactions must not slow down
/// blocks, whose commits save rejections at no cost.
const SAVE_DELAY: Duration = Duration::from_secs(1);
/// Wait before the next try while the store takes no writes.
const REFUSED_DELAY: Duration = Duration::from_secs(1);

impl Xvm {
    /// Starts the thread that works off what [`Self::maintain`] finds.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start_maintenance(self: &Arc<Self>) -> io::Result<Maintenance> {
        let vm = Arc::clone(self);
        Maintenance::spawn(
            self.context().primary_alias(),
            Arc::clone(&self.maintenance),
            move || run(&vm),
        )
    }

    /// Does a few milliseconds of slow work; true if there is more to do at once. Blocks the calling thread on the
    /// store.
    pub fn maintain(&self) -> Result<bool, ChainError> {
        self.save_rejections()?;
        self.index.step(self.context())
    }

    fn save_rejections(&self) -> Result<(), ChainError> {
        let context = self.context();
        Ok(self.rejections.save(&context.store, self.scope(), context.clock.now_ms())?)
    }
}

fn run(vm: &Xvm) {
    while !vm.maintenance.is_stopped() {
        let more = match work(vm) {
            Ok(more) => more,
            // The writer has logged it.
            Err(ChainError::Storage(StorageError::Refused(_))) => {
                vm.maintenance.pause(REFUSED_DELAY)
            }
            Err(error) => {
                // Tried again, at the pace of the work that comes.
                tracing::error!(%error, chain = vm.context().primary_alias(), "maintenance failed");
                false
            }
        };
        if !more && !vm.maintenance.wait() {
            break;
        }
    }
    if let Err(error) = vm.save_rejections() {
        tracing::error!(%error, chain = vm.context().primary_alias(), "the reasons of rejected transactions are lost");
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
