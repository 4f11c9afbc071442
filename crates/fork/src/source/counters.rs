//! Counters of what a fork asked its sources.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a fork asked its sources so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceCounts {
    /// Requests of HTTP.
    pub requests: u64,
    /// Calls in them.
    pub calls: u64,
    /// Bytes of the bodies sent.
    pub bytes_sent: u64,
    /// Bytes of the bodies received.
    pub bytes_received: u64,
    /// Requests that were sent again.
    pub retries: u64,
    /// Replies that limited the rate.
    pub rate_limited: u64,
    /// Requests that went to another URL than the one before.
    pub failovers: u64,
    /// Time in requests, ms; requests at the same time count each.
    pub request_ms: u64,
    /// Time of waits before requests, ms: for the rate, or after a failure.
    pub wait_ms: u64,
}

/// The counters behind [`SourceCounts`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) requests: AtomicU64,
    pub(super) calls: AtomicU64,
    pub(super) bytes_sent: AtomicU64,
    pub(super) bytes_received: AtomicU64,
    pub(super) retries: AtomicU64,
    pub(super) rate_limited: AtomicU64,
    pub(super) failovers: AtomicU64,
    pub(super) request_us: AtomicU64,
    pub(super) wait_us: AtomicU64,
}

impl Counters {
    pub(super) fn add(counter: &AtomicU64, amount: usize) {
        counter.fetch_add(amount as u64, Ordering::Relaxed);
    }

    pub(super) fn add_time(counter: &AtomicU64, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        counter.fetch_add(us, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> SourceCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SourceCounts {
            requests: read(&self.requests),
            calls: read(&self.calls),
            bytes_sent: read(&self.bytes_sent),
            bytes_received: read(&self.bytes_received),
            retries: read(&self.retries),
            rate_limited: read(&self.rate_limited),
            failovers: read(&self.failovers),
            request_ms: read(&self.request_us) / 1000,
            wait_ms: read(&self.wait_us) / 1000,
        }
    }
}
