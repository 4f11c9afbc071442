//! Blocks at regular times.

use std::sync::{Arc, Weak};

use esker_primitives::clock::Clock;
use esker_primitives::sync::Mutex;
use tokio::task::AbortHandle;

use super::Controls;

/// The task that makes them, if there is one.
#[derive(Debug)]
pub(super) struct IntervalTask(Mutex<Option<AbortHandle>>);

impl Default for IntervalTask {
    fn default() -> Self {
        Self(Mutex::new_named("evm.interval-mining", None))
    }
}

impl IntervalTask {
    /// Makes a block every so many seconds of the node's clock, which controls do not move; `None` ends it.
    pub(super) fn set(&self, interval_s: Option<u64>, controls: &Arc<Controls>) {
        let new = interval_s.map(|seconds| {
            let interval_ms = seconds.saturating_mul(1000);
            let clock = controls.clock().base();
            let task =
                tokio::spawn(mine_at_intervals(clock, interval_ms, Arc::downgrade(controls)));
            task.abort_handle()
        });
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

async fn mine_at_intervals(clock: Arc<dyn Clock>, interval_ms: u64, controls: Weak<Controls>) {
    let mut next_ms = clock.now_ms();
    loop {
        // Ticks that were missed are not made up for.
        next_ms = next_ms.max(clock.now_ms()).saturating_add(interval_ms);
        clock.sleep_until(next_ms).await;
        let Some(controls) = controls.upgrade() else { return };
        if let Err(error) = controls.mine(1, 0).await {
            tracing::warn!(%error, "no block was made at its time");
        }
    }
}
