//! Counters of what a fork asked its sources.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use esker_primitives::sync::Mutex;
use tokio::time::Instant;

use super::fault::{FAULT_KINDS, FaultCounts, WRONG};

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
    /// Requests and calls without an answer, by kind.
    pub faults: FaultCounts,
    /// Requests that went to another URL than the one before.
    pub failovers: u64,
    /// Time in requests, ms; requests at the same time count each.
    pub request_ms: u64,
    /// Time of waits before requests, ms: for the rate, or after a failure.
    pub wait_ms: u64,
}

/// The last fault of the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFault {
    /// The source and what happened.
    pub text: String,
    /// How long ago.
    pub age: Duration,
}

/// The counters behind [`SourceCounts`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(super) requests: AtomicU64,
    pub(super) calls: AtomicU64,
    pub(super) bytes_sent: AtomicU64,
    pub(super) bytes_received: AtomicU64,
    pub(super) retries: AtomicU64,
    pub(super) rate_limited: AtomicU64,
    faults: [AtomicU64; FAULT_KINDS.len()],
    last_fault: Mutex<Option<(String, Instant)>>,
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

    /// Counts a fault, by the position of its kind in [`FAULT_KINDS`].
    pub(super) fn add_fault(&self, kind: usize) {
        Self::add(&self.faults[kind], 1);
    }

    /// Notes that a source has given a wrong answer.
    pub(crate) fn note_wrong(&self, text: String) {
        self.add_fault(WRONG);
        self.set_last_fault(text);
    }

    pub(super) fn set_last_fault(&self, text: String) {
        *self.last_fault.lock() = Some((text, Instant::now()));
    }

    /// The last fault, other than an error that answers a call.
    pub(crate) fn last_fault(&self) -> Option<LastFault> {
        let (text, at) = self.last_fault.lock().clone()?;
        Some(LastFault { text, age: at.elapsed() })
    }

    pub(crate) fn counts(&self) -> SourceCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SourceCounts {
            requests: read(&self.requests),
            calls: read(&self.calls),
            bytes_sent: read(&self.bytes_sent),
            bytes_received: read(&self.bytes_received),
            retries: read(&self.retries),
            rate_limited: read(&self.rate_limited),
            faults: FaultCounts(std::array::from_fn(|kind| read(&self.faults[kind]))),
            failovers: read(&self.failovers),
            request_ms: read(&self.request_us) / 1000,
            wait_ms: read(&self.wait_us) / 1000,
        }
    }

    /// Adds what the source of other counters was asked.
    pub(super) fn add_all(&self, other: &Self) {
        for (own, more) in self.each().zip(other.each()) {
            own.fetch_add(more.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    fn each(&self) -> impl Iterator<Item = &AtomicU64> {
        let counters = [
            &self.requests,
            &self.calls,
            &self.bytes_sent,
            &self.bytes_received,
            &self.retries,
            &self.rate_limited,
            &self.failovers,
            &self.request_us,
            &self.wait_us,
        ];
        counters.into_iter().chain(&self.faults)
    }
}
