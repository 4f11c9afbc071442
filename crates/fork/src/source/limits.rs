//! Limits of the requests to sources.

use std::time::Duration;

/// Limits of the requests to the sources of one fork.
#[derive(Clone, Debug)]
pub struct SourceLimits {
    /// Longest reply, bytes.
    pub max_reply: usize,
    /// Most calls of one request.
    pub max_batch: usize,
    /// Most requests at a time.
    pub max_concurrent: usize,
    /// Most calls a second for each URL; 0 for no limit.
    pub calls_per_second: u32,
    /// The time that one request may take, connection included.
    pub request_timeout: Duration,
    /// The time that a group of calls may take, with all waits and retries.
    pub deadline: Duration,
    /// Most retries of a group of calls without an answer between them.
    pub retries: u32,
    /// The wait before the first retry; it doubles with each.
    pub first_backoff: Duration,
    /// The longest wait before a retry, unless the source asks for a longer one.
    pub max_backoff: Duration,
}

impl Default for SourceLimits {
    fn default() -> Self {
        Self {
            max_reply: 32 << 20,
            max_batch: 64,
            max_concurrent: 16,
            calls_per_second: 0,
            request_timeout: Duration::from_secs(20),
            deadline: Duration::from_secs(60),
            retries: 8,
            first_backoff: Duration::from_millis(250),
            max_backoff: Duration::from_secs(8),
        }
    }
}

impl SourceLimits {
    /// The wait after this many failures in a row.
    pub(super) fn backoff(&self, failures: u32) -> Duration {
        let factor = 1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first_backoff.saturating_mul(factor).min(self.max_backoff)
    }
}
