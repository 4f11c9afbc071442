//! The chain's slow work beside its blocks: filling the index of logs at start, saving why transactions were dropped.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use esker_chain::{Backfill, ChainError, ChainVm as _, Maintenance, Wakeup};
use esker_evm_state::logs::BackfillProgress;
use esker_storage::{PendingWrites, StorageResult};

use super::Evm;

/// How often reasons get a commit of their own where no block takes them along.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

impl Evm {
    /// One section of the index of logs, where an earlier build left it out.
    pub(super) fn backfill_logs(&self) -> Result<Option<Backfill>, ChainError> {
        let filled = self.logs.backfill(&self.context().store, self.head().header.number, {
            |reader, height| {
                let header = self.view(reader).header(height)?;
                header.map(|header| header.bloom).ok_or_else(|| {
                    ChainError::Corrupted(format!("block {height} of the C-Chain is missing"))
                })
            }
        })?;
        Ok(filled.map(|BackfillProgress { done, total }| Backfill { index: "logs", done, total }))
    }

    /// Starts the thread that saves what no block takes along.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start_maintenance(self: &Arc<Self>) -> io::Result<Maintenance> {
        let (vm, wakeup) = (Arc::clone(self), Arc::new(Wakeup::default()));
        Maintenance::spawn(self.name(), Arc::clone(&wakeup), move || {
            while wakeup.pause(SAVE_INTERVAL) {
                // Reasons wait while the disk is full.
                if vm.context().store.ensure_writable().is_ok() {
                    vm.save_drops();
                }
            }
            vm.save_drops();
        })
    }

    fn save_drops(&self) {
        let context = self.context();
        for log in self.drop_logs() {
            // Tried again with the next block, or the next time.
            if let Err(error) = log.save(&context.store, context.scope, context.clock.now_ms()) {
                tracing::error!(%error, chain = self.name(), "reasons of drops are not saved");
            }
        }
    }

    /// Lets the commit of blocks take the reasons along.
    pub(super) fn save_drops_with(
        &self,
        now_ms: u64,
        commit: &mut PendingWrites<'_>,
    ) -> StorageResult<()> {
        let scope = self.context().scope;
        let mut unsaved = self.drop_logs().filter(|log| log.has_unsaved());
        unsaved.try_for_each(|log| log.extend_commit(scope, now_ms, commit))
    }
}
