//! Blocks at regular times.

use std::sync::Arc;

use esker_primitives::clock::Clock;
use esker_primitives::sync::Mutex;
use tokio::task::AbortHandle;

use super::error::ControlError;

/// The task that makes blocks at regular times, if there is one.
#[derive(Debug)]
pub(super) struct IntervalTask(Mutex<Option<AbortHandle>>);

impl Default for IntervalTask {
    fn default() -> Self {
        Self(Mutex::new_named("evm.interval-mining", None))
    }
}

impl IntervalTask {
    /// Begins a task. The previous task ends.
    pub(super) fn begin(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.replace(Some(tokio::spawn(task).abort_handle()));
    }

    /// Ends the task.
    pub(super) fn end(&self) {
        self.replace(None);
    }

    fn replace(&self, new: Option<AbortHandle>) {
        let old = std::mem::replace(&mut *self.0.lock(), new);
        if let Some(old) = old {
            old.abort();
        }
    }
}

impl Drop for IntervalTask {
    fn drop(&mut self) {
        if let Some(task) = self.0.lock().take() {
            task.abort();
        }
    }
}

/// Makes a block at regular times until `mine` returns `None`.
pub(super) async fn mine_at_intervals<F>(
    clock: Arc<dyn Clock>,
    interval_ms: u64,
    mine: impl Fn() -> Option<F>,
) where
    F: Future<Output = Result<(), ControlError>>,
{
    let mut next_ms = clock.now_ms();
    loop {
        // Missed ticks are skipped.
        next_ms = next_ms.max(clock.now_ms()).saturating_add(interval_ms);
        clock.sleep_until(next_ms).await;
        let Some(mined) = mine() else { return };
        if let Err(error) = mined.await {
            tracing::warn!(%error, "no block was made at its time");
        }
    }
}
