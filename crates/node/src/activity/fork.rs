//! How much a forked chain reads from its source.

use esker_fork::{Fork, WeakFork};

use super::WINDOW_MS;

/// Calls in a window from which on the reads are shown.
const MANY_CALLS: u64 = 20;

/// Has a line for each window with many reads.
#[derive(Debug)]
pub(super) struct ForkReads {
    fork: WeakFork,
    /// Calls that were counted at the end of the last window.
    counted: u64,
    end_ms: u64,
}

impl ForkReads {
    pub(super) fn new(fork: &Fork, now_ms: u64) -> Self {
        let counted = fork.counts().source.calls;
        Self { fork: fork.downgrade(), counted, end_ms: now_ms.saturating_add(WINDOW_MS) }
    }

    /// The end of the window, Unix ms.
    pub(super) fn due_ms(&self) -> u64 {
        self.end_ms
    }

    /// The line of a window that is over, if there were many reads.
    pub(super) fn take(&mut self, now_ms: u64) -> Option<String> {
        // A clock that was set back also ends the window.
        if now_ms < self.end_ms && self.end_ms - now_ms <= WINDOW_MS {
            return None;
        }
        self.end_ms = now_ms.saturating_add(WINDOW_MS);
        let fork = self.fork.upgrade()?;
        let source = fork.counts().source;
        let recent = source.calls - std::mem::replace(&mut self.counted, source.calls);
        let url = fork.url()?;
        let kib = source.bytes_received / 1024;
        (recent >= MANY_CALLS).then(|| {
            format!(
                "\nreading from {url}: {recent} calls in a second; {} in {} requests so far, {kib} KiB\n",
                source.calls, source.requests
            )
        })
    }
}
