//! Metrics of the running node, in the Prometheus text format at `/ext/metrics`.
//!
//! [`families`] lists all metrics with help texts and labels; [`render_docs`] generates docs/metrics.md from that
//! list. Events increment counters directly. States (heights, sizes, connections) are read for each scrape.

pub mod families;
mod http;
mod store;

use std::fmt;
use std::sync::{Arc, Weak};

use esker_chain::{ChainStats, PoolFigures};
use esker_primitives::sync::Mutex;
use esker_rpc::work::Work;
use esker_storage::{KvStore, WriteRefusal};
use prometheus::{
    Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry,
    TextEncoder,
};
use tokio::sync::watch;

pub use families::{Family, Kind, render_docs};
pub use store::MeteredStore;

/// The `Content-Type` of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics of one node.
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    request_seconds: HistogramVec,
    in_flight: IntGauge,
    body_memory: IntGauge,
    reply_memory: IntGauge,
    reply_spool: IntGauge,
    replies_refused: IntCounter,
    rate_limited: IntCounter,
    work_waiting: IntGauge,
    work_running: IntGauge,
    work_refused: IntCounter,
    connections: IntGauge,
    connections_opened: IntCounter,
    connections_closed: IntCounterVec,
    received_bytes: IntCounter,
    sent_bytes: IntCounter,
    height: IntGaugeVec,
    blocks: IntCounterVec,
    transactions: IntCounterVec,
    mempool_transactions: IntGaugeVec,
    mempool_bytes: IntGaugeVec,
    mempool_dropped: IntCounterVec,
    mempool_refused: IntCounterVec,
    store_size: IntGauge,
    oldest_reader: IntGauge,
    store_writable: IntGauge,
    commits: IntCounterVec,
    commit_seconds: Histogram,
    checks_failing: IntGauge,
    sources: Mutex<Sources>,
}

type StatsFn = Box<dyn Fn() -> (ChainStats, PoolFigures) + Send + Sync>;

/// Sources that are read for each scrape.
#[derive(Default)]
struct Sources {
    chains: Vec<WatchedChain>,
    /// Weak, so that metrics do not keep a data folder open.
    store: Option<Weak<dyn KvStore>>,
    /// Why the store's writer is suspended.
    refusal: Option<watch::Receiver<Option<WriteRefusal>>>,
    work: Option<Work>,
}

struct WatchedChain {
    name: String,
    stats: StatsFn,
    /// The values that the counters already include.
    counted: ChainStats,
    counted_pool: PoolFigures,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All metrics at zero, of a program whose commit is not known.
    pub fn new() -> Self {
        Self::of_build("")
    }

    /// All metrics at zero, of a program that was built from this commit.
    pub fn of_build(commit: &str) -> Self {
        use families as f;
        let registry = Registry::new();
        let build = f::BUILD.int_gauges(&registry);
        build.with_label_values(&[env!("CARGO_PKG_VERSION"), commit]).set(1);
        let started = f::STARTED.int_gauge(&registry);
        started.set(i64::try_from(crate::clock::now().as_secs()).unwrap_or(i64::MAX));
        Self {
            requests: f::REQUESTS.int_counters(&registry),
            request_seconds: f::REQUEST_SECONDS.histograms(&registry),
            in_flight: f::IN_FLIGHT.int_gauge(&registry),
            body_memory: f::BODY_MEMORY.int_gauge(&registry),
            reply_memory: f::REPLY_MEMORY.int_gauge(&registry),
            reply_spool: f::REPLY_SPOOL.int_gauge(&registry),
            replies_refused: f::REPLIES_REFUSED.int_counter(&registry),
            rate_limited: f::RATE_LIMITED.int_counter(&registry),
            work_waiting: f::WORK_WAITING.int_gauge(&registry),
            work_running: f::WORK_RUNNING.int_gauge(&registry),
            work_refused: f::WORK_REFUSED.int_counter(&registry),
            connections: f::CONNECTIONS.int_gauge(&registry),
            connections_opened: f::CONNECTIONS_OPENED.int_counter(&registry),
            connections_closed: f::CONNECTIONS_CLOSED.int_counters(&registry),
            received_bytes: f::RECEIVED_BYTES.int_counter(&registry),
            sent_bytes: f::SENT_BYTES.int_counter(&registry),
            height: f::HEIGHT.int_gauges(&registry),
            blocks: f::BLOCKS.int_counters(&registry),
            transactions: f::TRANSACTIONS.int_counters(&registry),
            mempool_transactions: f::MEMPOOL_TRANSACTIONS.int_gauges(&registry),
            mempool_bytes: f::MEMPOOL_BYTES.int_gauges(&registry),
            mempool_dropped: f::MEMPOOL_DROPPED.int_counters(&registry),
            mempool_refused: f::MEMPOOL_REFUSED.int_counters(&registry),
            store_size: f::STORE_SIZE.int_gauge(&registry),
            oldest_reader: f::OLDEST_READER.int_gauge(&registry),
            store_writable: f::STORE_WRITABLE.int_gauge(&registry),
            commits: f::COMMITS.int_counters(&registry),
            commit_seconds: f::COMMIT_SECONDS.histogram(&registry),
            checks_failing: f::CHECKS_FAILING.int_gauge(&registry),
            sources: Mutex::new_named("metrics", Sources::default()),
            registry,
        }
    }

    /// Registers a chain. `stats` is called for each scrape; blocks are counted by the growth of the height. The
    /// metrics keep `stats` alive.
    pub fn watch_chain(
        &self,
        name: &str,
        stats: impl Fn() -> (ChainStats, PoolFigures) + Send + Sync + 'static,
    ) {
        let counted = ChainStats { height: stats().0.height, ..ChainStats::default() };
        self.sources.lock().chains.push(WatchedChain {
            name: name.to_owned(),
            stats: Box::new(stats),
            counted,
            counted_pool: PoolFigures::default(),
        });
    }

    /// Registers a store: its size and readers are shown while it exists.
    pub fn watch_store(&self, store: &Arc<dyn KvStore>) {
        self.sources.lock().store = Some(Arc::downgrade(store));
    }

    /// Registers a writer: shows whether it is suspended.
    pub fn watch_writer(&self, refusal: watch::Receiver<Option<WriteRefusal>>) {
        self.sources.lock().refusal = Some(refusal);
    }

    /// All metrics as text.
    pub fn render(&self) -> String {
        self.collect();
        // Fails only for a metric without a value or with an invalid name; neither exists.
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap_or_default()
    }

    pub(crate) fn checks_failing(&self, checks: usize) {
        self.checks_failing.set(to_i64(checks));
    }

    fn collect(&self) {
        let mut sources = self.sources.lock();
        for chain in &mut sources.chains {
            self.collect_chain(chain);
        }
        if let Some(store) = sources.store.as_ref().and_then(Weak::upgrade) {
            // A value that can't be read stays unchanged; the health report shows the failure.
            if let Ok(bytes) = store.size_on_disk() {
                self.store_size.set(to_i64(bytes));
            }
            self.oldest_reader.set(to_i64(store.oldest_reader_ms().unwrap_or(0)));
        }
        let is_writable = sources.refusal.as_ref().is_none_or(|refusal| refusal.borrow().is_none());
        self.store_writable.set(i64::from(is_writable));
        if let Some(work) = &sources.work {
            self.collect_work(work);
        }
    }

    fn collect_work(&self, work: &Work) {
        let stats = work.stats();
        self.work_waiting.set(to_i64(stats.waiting));
        self.work_running.set(to_i64(stats.running));
        self.reply_memory.set(to_i64(stats.reply_bytes));
        self.reply_spool.set(to_i64(stats.spooled_bytes));
        let count =
            |counter: &IntCounter, now: u64| counter.inc_by(now.saturating_sub(counter.get()));
        count(&self.work_refused, stats.refused);
        count(&self.replies_refused, stats.replies_refused);
        count(&self.rate_limited, stats.rate_limited);
    }

    fn collect_chain(&self, chain: &mut WatchedChain) {
        let (now, pool) = (chain.stats)();
        let label = &[chain.name.as_str()];
        self.height.with_label_values(label).set(to_i64(now.height));
        self.mempool_transactions.with_label_values(label).set(to_i64(now.mempool_txs));
        self.mempool_bytes.with_label_values(label).set(to_i64(now.mempool_bytes));
        self.blocks
            .with_label_values(label)
            .inc_by(now.height.saturating_sub(chain.counted.height));
        self.transactions
            .with_label_values(label)
            .inc_by(now.accepted_txs.saturating_sub(chain.counted.accepted_txs));
        chain.counted = now;
        let before = std::mem::replace(&mut chain.counted_pool, pool);
        let now = &chain.counted_pool;
        for (counters, now, before) in [
            (&self.mempool_dropped, &now.dropped, &before.dropped),
            (&self.mempool_refused, &now.refused, &before.refused),
        ] {
            for (place, (reason, count)) in now.iter().enumerate() {
                let counted = before.get(place).map_or(0, |(_, count)| *count);
                let counter = counters.with_label_values(&[chain.name.as_str(), reason]);
                counter.inc_by(count.saturating_sub(counted));
            }
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

fn to_i64(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}
