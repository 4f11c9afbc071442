//! Log lines of a join.

use super::status::JoinStatusCell;

/// Time between two lines, ms.
const INTERVAL_MS: u64 = 10_000;

/// Logs the progress of a join, with the rate and the remaining time.
#[derive(Debug)]
pub(super) struct Progress {
    last_ms: u64,
    last_rows: u64,
}

impl Progress {
    pub(super) fn new(now_ms: u64) -> Self {
        Self { last_ms: now_ms, last_rows: 0 }
    }

    pub(super) fn note(&mut self, status: &JoinStatusCell, now_ms: u64) {
        let elapsed_ms = now_ms.saturating_sub(self.last_ms);
        if elapsed_ms < INTERVAL_MS {
            return;
        }
        let status = status.get();
        let done = status.rows.saturating_sub(self.last_rows);
        let per_second = done.saturating_mul(1000) / elapsed_ms;
        (self.last_ms, self.last_rows) = (now_ms, status.rows);
        let left = status.total.map(|total| total.saturating_sub(status.rows));
        let seconds_left = left.and_then(|left| left.checked_div(per_second));
        let (rows, total, bytes) = (status.rows, status.total, status.bytes);
        tracing::info!(rows, total, bytes, per_second, seconds_left, "joining from a snapshot");
    }
}
