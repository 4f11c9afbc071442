//! The chain's maintenance: backfill of the log index at start, and saving the reasons of dropped transactions.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use esker_chain::{Backfill, ChainError, ChainVm as _, Maintenance, Wakeup};
use esker_evm_state::logs::BackfillProgress;
use esker_storage::{PendingWrites, StorageResult};

use super::Evm;

/// Interval of commits for reasons that no commit of a block saves.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

impl Evm {
    /// Indexes one section of logs that an earlier version did not index.
    pub(super) fn backfill_logs(&self) -> Result<Option<Backfill>, ChainError> {
        let (tip, first) = (self.head().header.number, self.first_block());
        let filled = self.logs.backfill(&self.context().store, first, tip, |reader, height| {
            let header = self.view(reader).header(height)?;
            header.map(|header| header.bloom).ok_or_else(|| {
                ChainError::Corrupted(format!("block {height} of {} is missing", self.name()))
            })
        })?;
        Ok(filled.map(|BackfillProgress { done, total }| Backfill { index: "logs", done, total }))
    }

    /// Starts the thread that saves reasons between blocks.
    ///
    /// # Errors
    /// The system can't start a thread.
    pub fn start_maintenance(self: &Arc<Self>) -> io::Result<Maintenance> {
        let (vm, wakeup) = (Arc::clone(self), Arc::new(Wakeup::default()));
        Maintenance::spawn(self.name(), Arc::clone(&wakeup), move || {
            while wakeup.pause(SAVE_INTERVAL) {
                // Reasons stay in memory while the disk is full.
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
            // The next block or interval tries again.
            if let Err(error) = log.save(&context.store, context.scope, context.clock.now_ms()) {
                tracing::error!(%error, chain = self.name(), "the reasons of dropped transactions are not saved");
            }
        }
    }

    /// Adds the reasons to the commit of a block.
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
