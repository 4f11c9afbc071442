//! Figures of the source of a forked chain.

use esker_fork::{Fork, Trust, WeakFork};
use prometheus::{Counter, IntCounter, IntCounterVec, IntGauge};

use super::registry::Registry;
use super::{count, families as f, to_i64};

pub(super) struct ForkMetrics {
    proven: IntGauge,
    requests: IntCounter,
    calls: IntCounter,
    sent: IntCounter,
    received: IntCounter,
    reads: IntCounterVec,
    joined: IntCounter,
    retries: IntCounter,
    failovers: IntCounter,
    faults: IntCounterVec,
    request_seconds: Counter,
    wait_seconds: Counter,
    state_bytes: IntGauge,
    cache_bytes: IntGauge,
}

impl ForkMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            proven: f::FORK_PROVEN.int_gauge(registry),
            requests: f::FORK_REQUESTS.int_counter(registry),
            calls: f::FORK_CALLS.int_counter(registry),
            sent: f::FORK_SENT.int_counter(registry),
            received: f::FORK_RECEIVED.int_counter(registry),
            reads: f::FORK_READS.int_counters(registry),
            joined: f::FORK_JOINED.int_counter(registry),
            retries: f::FORK_RETRIES.int_counter(registry),
            failovers: f::FORK_FAILOVERS.int_counter(registry),
            faults: f::FORK_FAULTS.int_counters(registry),
            request_seconds: f::FORK_REQUEST_SECONDS.counter(registry),
            wait_seconds: f::FORK_WAIT_SECONDS.counter(registry),
            state_bytes: f::FORK_STATE.int_gauge(registry),
            cache_bytes: f::FORK_CACHE.int_gauge(registry),
        }
    }

    pub(super) fn collect(&self, fork: Option<&WeakFork>) {
        let Some(fork) = fork.and_then(WeakFork::upgrade) else { return };
        self.collect_source(&fork);
        let counts = fork.counts();
        for (result, now) in [("hit", counts.state.hits), ("miss", counts.state.misses)] {
            count(&self.reads.with_label_values(&[result]), now);
        }
        count(&self.joined, counts.joined);
        self.proven.set(i64::from(*fork.trust() == Trust::Proven));
        self.state_bytes.set(to_i64(counts.state.bytes));
        self.cache_bytes.set(to_i64(counts.cache_bytes));
    }

    fn collect_source(&self, fork: &Fork) {
        let source = fork.counts().source;
        for (counter, now) in [
            (&self.requests, source.requests),
            (&self.calls, source.calls),
            (&self.sent, source.bytes_sent),
            (&self.received, source.bytes_received),
            (&self.retries, source.retries),
            (&self.failovers, source.failovers),
        ] {
            count(counter, now);
        }
        for (kind, now) in source.faults.iter() {
            count(&self.faults.with_label_values(&[kind]), now);
        }
        for (counter, ms) in
            [(&self.request_seconds, source.request_ms), (&self.wait_seconds, source.wait_ms)]
        {
            counter.inc_by((ms as f64 / 1000.0 - counter.get()).max(0.0));
        }
    }
}
