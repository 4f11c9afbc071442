//! Log lines while a follower catches up.

use crate::status::StatusCell;

/// Time between two lines, ms.
const INTERVAL_MS: u64 = 10_000;
/// Bundles behind the tip from which the follower catches up.
const FAR: u64 = 100;

/// Logs the progress of a follower, with the rate and the remaining time.
#[derive(Debug)]
pub(super) struct Progress {
    last_ms: u64,
    last_height: u64,
    is_behind: bool,
}

impl Progress {
    pub(super) fn new(now_ms: u64, height: u64) -> Self {
        Self { last_ms: now_ms, last_height: height, is_behind: false }
    }

    pub(super) fn note(&mut self, status: &StatusCell, now_ms: u64) {
        let status = status.get(now_ms);
        let (height, left) = (status.tip_final, status.lag_bundles());
        if self.is_behind && left == 0 {
            self.is_behind = false;
            tracing::info!(height, "caught up");
        }
        let elapsed_ms = now_ms.saturating_sub(self.last_ms);
        if elapsed_ms < INTERVAL_MS {
            self.is_behind |= left >= FAR;
            return;
        }
        let done = height.saturating_sub(self.last_height);
        let per_second = done.saturating_mul(1000) / elapsed_ms;
        (self.last_ms, self.last_height) = (now_ms, height);
        if left < FAR {
            return;
        }
        self.is_behind = true;
        let seconds_left = left.checked_div(per_second);
        tracing::info!(height, tip = status.tip_seen, per_second, seconds_left, "catching up");
    }
}
