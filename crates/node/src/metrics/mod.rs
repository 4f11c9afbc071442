//! Metrics of the running node, in the Prometheus text format at `/ext/metrics`.
//!
//! [`families`] lists all metrics with help texts and labels; [`render_docs`] generates docs/metrics.md from that
//! list. Events increment counters directly. States (heights, sizes, connections) are read for each scrape.

mod chains;
mod clients;
pub mod families;
mod follow;
mod fork;
mod http;
mod process;
mod registry;
mod store;
mod validators;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Weak};

use esker_follow::{BundleServer, Follower};
use esker_fork::WeakFork;
use esker_keystore::Hasher;
use esker_primitives::sync::Mutex;
use esker_rpc::work::Work;
use esker_storage::{KvStore, StoreSpace, WriteRefusal};
use esker_validators::ValidatorEngine;
use prometheus::proto::MetricFamily;
use prometheus::{
    Gauge, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, TextEncoder,
};
use tokio::sync::watch;

use self::chains::{ChainMetrics, WatchedChain};
use self::clients::{ClientMetrics, ClientSources};
use self::follow::{FollowMetrics, FollowSources};
use self::fork::ForkMetrics;
use self::process::ProcessMetrics;
use self::registry::Registry;
use self::validators::ValidatorMetrics;
use crate::logging::LogLevels;

pub use chains::ChainFigures;
pub use clients::KindCounts;
pub use families::{Family, Kind, render_docs};
pub use store::MeteredStore;

/// The `Content-Type` of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics of one node.
pub struct Metrics {
    registry: Registry,
    process: ProcessMetrics,
    log_lines: IntCounterVec,
    requests: IntCounterVec,
    request_seconds: HistogramVec,
    in_flight: IntGauge,
    body_memory: IntGauge,
    reply_memory: IntGauge,
    call_memory: IntGauge,
    reply_spool: IntGauge,
    replies_refused: IntCounter,
    rate_limited: IntCounter,
    work_waiting: IntGauge,
    work_running: IntGauge,
    work_refused: IntCounter,
    connections: IntGauge,
    websockets: IntGauge,
    connections_opened: IntCounter,
    connections_closed: IntCounterVec,
    received_bytes: IntCounter,
    sent_bytes: IntCounter,
    clients: ClientMetrics,
    chains: ChainMetrics,
    store_size: IntGauge,
    store_limit: IntGauge,
    disk_free: IntGauge,
    disk_reserve: IntGauge,
    oldest_reader: Gauge,
    store_writable: IntGauge,
    commits: IntCounterVec,
    commit_seconds: Histogram,
    checks_failing: IntGauge,
    follow: FollowMetrics,
    fork: ForkMetrics,
    validators: ValidatorMetrics,
    sources: Mutex<Sources>,
}

/// Sources that are read for each scrape.
#[derive(Default)]
struct Sources {
    chains: Vec<WatchedChain>,
    /// Weak, so that metrics do not keep a data folder open.
    store: Option<Weak<dyn KvStore>>,
    /// The reason why the store's writer is suspended.
    refusal: Option<watch::Receiver<Option<WriteRefusal>>>,
    work: Option<Work>,
    logs: Option<LogLevels>,
    clients: ClientSources,
    follow: FollowSources,
    fork: Option<WeakFork>,
    validator: Option<Weak<dyn ValidatorEngine>>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All metrics at zero, for a program whose commit is not known.
    pub fn new() -> Self {
        Self::of_build("")
    }

    /// All metrics at zero, for a program that was built from this commit.
    pub fn of_build(commit: &str) -> Self {
        use families as f;
        let registry = Registry::default();
        let build = f::BUILD.int_gauges(&registry);
        build.with_label_values(&[env!("CARGO_PKG_VERSION"), commit]).set(1);
        let started = f::STARTED.int_gauge(&registry);
        started.set(i64::try_from(crate::clock::now().as_secs()).unwrap_or(i64::MAX));
        Self {
            process: ProcessMetrics::new(&registry),
            log_lines: f::LOG_LINES.int_counters(&registry),
            requests: f::REQUESTS.int_counters(&registry),
            request_seconds: f::REQUEST_SECONDS.histograms(&registry),
            in_flight: f::IN_FLIGHT.int_gauge(&registry),
            body_memory: f::BODY_MEMORY.int_gauge(&registry),
            reply_memory: f::REPLY_MEMORY.int_gauge(&registry),
            call_memory: f::CALL_MEMORY.int_gauge(&registry),
            reply_spool: f::REPLY_SPOOL.int_gauge(&registry),
            replies_refused: f::REPLIES_REFUSED.int_counter(&registry),
            rate_limited: f::RATE_LIMITED.int_counter(&registry),
            work_waiting: f::WORK_WAITING.int_gauge(&registry),
            work_running: f::WORK_RUNNING.int_gauge(&registry),
            work_refused: f::WORK_REFUSED.int_counter(&registry),
            connections: f::CONNECTIONS.int_gauge(&registry),
            websockets: f::WEBSOCKETS.int_gauge(&registry),
            connections_opened: f::CONNECTIONS_OPENED.int_counter(&registry),
            connections_closed: f::CONNECTIONS_CLOSED.int_counters(&registry),
            received_bytes: f::RECEIVED_BYTES.int_counter(&registry),
            sent_bytes: f::SENT_BYTES.int_counter(&registry),
            clients: ClientMetrics::new(&registry),
            chains: ChainMetrics::new(&registry),
            store_size: f::STORE_SIZE.int_gauge(&registry),
            store_limit: f::STORE_LIMIT.int_gauge(&registry),
            disk_free: f::DISK_FREE.int_gauge(&registry),
            disk_reserve: f::DISK_RESERVE.int_gauge(&registry),
            oldest_reader: f::OLDEST_READER.gauge(&registry),
            store_writable: f::STORE_WRITABLE.int_gauge(&registry),
            commits: f::COMMITS.int_counters(&registry),
            commit_seconds: f::COMMIT_SECONDS.histogram(&registry),
            checks_failing: f::CHECKS_FAILING.int_gauge(&registry),
            follow: FollowMetrics::new(&registry),
            fork: ForkMetrics::new(&registry),
            validators: ValidatorMetrics::new(&registry),
            sources: Mutex::new_named("metrics", Sources::default()),
            registry,
        }
    }

    /// Registers a chain. `read` is called for each scrape; blocks are counted by the growth of the height. The metrics
    /// keep `read` alive.
    pub fn watch_chain(&self, name: &str, read: impl Fn() -> ChainFigures + Send + Sync + 'static) {
        let chain = WatchedChain::new(name, Box::new(read));
        self.sources.lock().chains.push(chain);
    }

    /// Registers subscriptions to a chain. The metrics keep `counts` alive.
    pub fn watch_subscriptions(
        &self,
        chain: &str,
        counts: impl Fn() -> KindCounts + Send + Sync + 'static,
    ) {
        let watched = (chain.to_owned(), Box::new(counts) as Box<_>);
        self.sources.lock().clients.subscriptions.push(watched);
    }

    /// Registers the filters of a chain. The metrics keep `counts` alive.
    pub fn watch_filters(
        &self,
        chain: &str,
        counts: impl Fn() -> KindCounts + Send + Sync + 'static,
    ) {
        let watched = (chain.to_owned(), Box::new(counts) as Box<_>);
        self.sources.lock().clients.filters.push(watched);
    }

    /// Registers a hasher of passwords. `keys` names the things that they protect. The figures of hashers with the
    /// same name are added up.
    pub fn watch_hasher(&self, keys: &'static str, hasher: &Arc<Hasher>) {
        self.sources.lock().clients.hashers.push((keys, Arc::clone(hasher)));
    }

    /// Registers the log, whose lines are counted.
    pub fn watch_log(&self, logs: LogLevels) {
        self.sources.lock().logs = Some(logs);
    }

    /// Registers a store. Its size and readers are shown while it exists.
    pub fn watch_store(&self, store: &Arc<dyn KvStore>) {
        self.sources.lock().store = Some(Arc::downgrade(store));
    }

    /// Registers a writer, to show whether it is suspended.
    pub fn watch_writer(&self, refusal: watch::Receiver<Option<WriteRefusal>>) {
        self.sources.lock().refusal = Some(refusal);
    }

    /// Registers the engine of a follower, and the server of this node's followers.
    pub fn watch_follow(
        &self,
        follower: Option<&Arc<Follower>>,
        server: Option<&Arc<BundleServer>>,
    ) {
        self.sources.lock().follow.set(follower, server);
    }

    /// Registers the engine of a validator.
    pub fn watch_validator(&self, validator: Option<&Arc<dyn ValidatorEngine>>) {
        self.sources.lock().validator = validator.map(Arc::downgrade);
    }

    /// Registers the source of a forked chain. Counters go on where another source stands for it.
    pub fn watch_fork(&self, fork: WeakFork) {
        self.sources.lock().fork = Some(fork);
    }

    /// All metrics as text.
    pub fn render(&self) -> String {
        self.render_with(Registry::gather)
    }

    /// The families with these names as text. Names that no family has are left out.
    pub fn render_only(&self, names: &BTreeSet<String>) -> String {
        self.render_with(|registry| registry.gather_only(names))
    }

    fn render_with(&self, gather: impl FnOnce(&Registry) -> Vec<MetricFamily>) -> String {
        // Two concurrent scrapes would see each other's counters begin again.
        let mut sources = self.sources.lock();
        self.collect(&mut sources);
        // Fails only for a metric without a value or with an invalid name; neither exists.
        TextEncoder::new().encode_to_string(&gather(&self.registry)).unwrap_or_default()
    }

    pub(crate) fn checks_failing(&self, checks: usize) {
        self.checks_failing.set(to_i64(checks));
    }

    fn collect(&self, sources: &mut Sources) {
        self.process.collect();
        if let Some(logs) = &sources.logs {
            for (level, lines) in logs.lines() {
                count(&self.log_lines.with_label_values(&[level]), lines);
            }
        }
        for chain in &mut sources.chains {
            self.chains.collect(chain);
        }
        self.clients.collect(&sources.clients);
        self.follow.collect(&sources.follow);
        self.fork.collect(sources.fork.as_ref());
        self.validators.collect(sources.validator.as_ref());
        if let Some(store) = sources.store.as_ref().and_then(Weak::upgrade) {
            // A value that can't be read stays unchanged; the health report shows the failure.
            if let Ok(bytes) = store.size_on_disk() {
                self.store_size.set(to_i64(bytes));
            }
            self.oldest_reader.set(store.oldest_reader_ms().unwrap_or(0) as f64 / 1000.0);
            self.collect_space(store.space());
        }
        let is_writable = sources.refusal.as_ref().is_none_or(|refusal| refusal.borrow().is_none());
        self.store_writable.set(i64::from(is_writable));
        if let Some(work) = &sources.work {
            self.collect_work(work);
        }
    }

    /// A figure that the system does not report keeps its value.
    fn collect_space(&self, space: StoreSpace) {
        let StoreSpace { size_limit, disk_free, disk_reserve } = space;
        for (gauge, bytes) in [
            (&self.store_limit, size_limit),
            (&self.disk_free, disk_free),
            (&self.disk_reserve, disk_reserve),
        ] {
            if let Some(bytes) = bytes {
                gauge.set(to_i64(bytes));
            }
        }
    }

    fn collect_work(&self, work: &Work) {
        let stats = work.stats();
        self.work_waiting.set(to_i64(stats.waiting));
        self.work_running.set(to_i64(stats.running));
        self.reply_memory.set(to_i64(stats.reply_bytes));
        self.call_memory.set(to_i64(stats.call_bytes));
        self.reply_spool.set(to_i64(stats.spooled_bytes));
        count(&self.work_refused, stats.refused);
        count(&self.replies_refused, stats.replies_refused);
        count(&self.rate_limited, stats.rate_limited);
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Raises a counter to the value that its source has counted.
fn count(counter: &IntCounter, now: u64) {
    counter.inc_by(now.saturating_sub(counter.get()));
}

fn to_i64(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}
