//! The list of all metrics: name, kind, labels and meaning.

use std::fmt::Write as _;

use prometheus::core::Collector;
use prometheus::{
    Counter, Gauge, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts,
};

use super::registry::Registry;

/// Upper bounds of the duration buckets, in seconds: from a read in memory to a trace.
const SECONDS: &[f64] = &[
    0.000_025, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0,
];

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the process runs.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts observations in buckets.
    Histogram,
}

/// One metric, with all its label values.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// Its meaning, with its unit.
    pub help: &'static str,
}

/// Defines the families and their list, in the order of the documentation.
macro_rules! families {
    ($($id:ident = $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(pub(super) const $id: Family = Family {
            name: $name,
            kind: Kind::$kind,
            labels: &[$($label),*],
            help: $help,
        };)*

        /// Every metric of the node.
        pub const ALL: &[Family] = &[$($id),*];
    };
}

families! {
    BUILD = Gauge "esker_build_info" ["version", "commit"]
        "Always 1; the labels hold the version and the git commit of the build, which is empty where it is not known.";
    STARTED = Gauge "esker_start_time_seconds" [] "When the node started, in seconds since 1970.";
    PROCESS_CPU = Counter "process_cpu_seconds_total" [] "CPU time of the process, in user and system mode.";
    PROCESS_RESIDENT = Gauge "process_resident_memory_bytes" [] "Memory of the process, with the pages of the store that it has read.";
    PROCESS_VIRTUAL = Gauge "process_virtual_memory_bytes" [] "Address space of the process, with the store's size limit.";
    PROCESS_OPEN_FDS = Gauge "process_open_fds" [] "Open file descriptors.";
    PROCESS_MAX_FDS = Gauge "process_max_fds" [] "Most file descriptors that the process may open.";
    PROCESS_THREADS = Gauge "process_threads" [] "Threads of the process.";
    PROCESS_STARTED = Gauge "process_start_time_seconds" [] "When the process started, in seconds since 1970.";
    ANONYMOUS_MEMORY = Gauge "esker_process_anonymous_memory_bytes" []
        "Memory of the process that is of no file: heap and stacks, without the store's pages, which the system takes back when it needs them.";
    LOG_LINES = Counter "esker_log_lines_total" ["level"]
        "Lines that the levels let into a file or onto the terminal; also those that a full disk lost. Levels: error, warn, info, debug, verbo.";
    REQUESTS = Counter "esker_http_requests_total" ["endpoint", "method", "outcome"]
        "Requests answered, messages of websockets included. The endpoint is a chain's primary alias and the route's suffix, or the path below /ext/, \
         or none; the method is the canonical name as clients write it (evm_chainId, xvm.getHeight), whatever alias \
         the client used, or empty where no known method was called; outcomes: ok, error \
         (the reply holds an error), refused (status 3xx or 4xx), failed (status 5xx).";
    REQUEST_SECONDS = Histogram "esker_http_request_seconds" ["endpoint", "method"]
        "Time from a request's head to its reply, the arrival of the body included.";
    IN_FLIGHT = Gauge "esker_http_requests_in_flight" [] "Requests in handlers.";
    BODY_MEMORY = Gauge "esker_http_body_memory_bytes" [] "Bytes of large request bodies in memory.";
    REPLY_SPOOL = Gauge "esker_http_reply_spool_bytes" [] "Bytes of answers in files that clients have not taken yet.";
    REPLY_MEMORY = Gauge "esker_http_reply_memory_bytes" [] "Bytes of replies in memory that clients have not read yet, excluding small ones.";
    CALL_MEMORY = Gauge "esker_rpc_call_memory_bytes" [] "Bytes that calls take beside their replies: arguments, changed state, results that are being made. Excludes the first 2 MiB of each.";
    REPLIES_REFUSED = Counter "esker_http_replies_refused_total" [] "Replies that were refused because they were too large, or too many were in memory.";
    WORK_WAITING = Gauge "esker_rpc_calls_waiting" [] "Calls that wait for a thread.";
    WORK_RUNNING = Gauge "esker_rpc_calls_running" [] "Calls that run on a thread. Calls that are answered at once are not counted.";
    WORK_REFUSED = Counter "esker_rpc_calls_refused_total" [] "Calls that were refused because too many waited.";
    RATE_LIMITED = Counter "esker_http_rate_limited_total" [] "Requests and calls that were refused because their address had no units left (http-rate-limit).";
    CONNECTIONS = Gauge "esker_http_connections" [] "Open connections.";
    WEBSOCKETS = Gauge "esker_http_websockets" [] "Open websockets. Each is a connection too.";
    CONNECTIONS_OPENED = Counter "esker_http_connections_opened_total" [] "Connections accepted.";
    CONNECTIONS_CLOSED = Counter "esker_http_connections_closed_total" ["reason"]
        "Connections that the node closed: too slow to send a header or body (or a websocket message), or to read the \
         reply (write); idle for too long; the longest-idle one when a new connection needed room; \
         a websocket without a pong, or whose client did not read its notifications in time (overrun); a reply left \
         unread while replies filled their memory (unread).";
    RECEIVED_BYTES = Counter "esker_http_received_bytes_total" [] "Bytes of request bodies and of received websocket messages.";
    SENT_BYTES = Counter "esker_http_sent_bytes_total" [] "Bytes of reply bodies and of sent websocket messages; streams are not counted.";
    SUBSCRIPTIONS = Gauge "esker_rpc_subscriptions" ["chain", "kind"] "Open subscriptions of websockets, by the name that clients subscribe to.";
    FILTERS = Gauge "esker_rpc_filters" ["chain", "kind"] "Filters in use that clients ask for changes: blocks, logs, transactions.";
    HASHES_RUNNING = Gauge "esker_password_hashes_running" ["keys"]
        "Passwords that are checked now, of users of the keystore (users) or of accounts in files (accounts).";
    HASHES_WAITING = Gauge "esker_password_hashes_waiting" ["keys"] "Calls that wait for the check of a password.";
    HASHES_REFUSED = Counter "esker_password_hashes_refused_total" ["keys"] "Calls that were refused because too many checks waited, or theirs did not begin in time.";
    HEIGHT = Gauge "esker_chain_height" ["chain"] "Height of the last accepted block.";
    FIRST_BLOCK = Gauge "esker_chain_first_block" ["chain"]
        "Height of the first stored block besides genesis on a node that joined from a snapshot; 0 on other nodes.";
    BLOCKS = Counter "esker_chain_blocks_accepted_total" ["chain"] "Blocks accepted.";
    BLOCK_TIME = Gauge "esker_chain_last_block_timestamp_seconds" ["chain"] "Time in the last accepted block, in seconds since 1970.";
    TRANSACTIONS = Counter "esker_chain_transactions_accepted_total" ["chain"] "Transactions accepted.";
    MEMPOOL_TRANSACTIONS = Gauge "esker_chain_mempool_transactions" ["chain"] "Transactions that wait for a block.";
    MEMPOOL_BYTES = Gauge "esker_chain_mempool_bytes" ["chain"] "Bytes of the transactions that wait for a block.";
    MEMPOOL_DROPPED = Counter "esker_chain_mempool_dropped_total" ["chain", "reason"]
        "Transactions that left the pool without being accepted. EVM chains: replaced by their sender; outbid while the \
         pool was full; nonce_used by another one; funds no longer there; gas_limit of blocks lowered; chain_id set to another one; expired or \
         queue_full while they could not run yet. Chains of the asset VM: conflict with an accepted block, or \
         with one that waits when their own block was abandoned; full: their block was abandoned, and the pool had no room for \
         them again; invalid by now; wallet: refused when their turn came in the wallet's queue. All: restart, refused when a start read them \
         back; source: the node that decides does not take them; request of a client of a development node.";
    MEMPOOL_REFUSED = Counter "esker_chain_mempool_refused_total" ["chain", "reason"]
        "Transactions that the pool refused; the reason names the rule.";
    ATOMIC_TRANSACTIONS = Gauge "esker_chain_atomic_mempool_transactions" ["chain"]
        "Imports and exports of an EVM chain that wait for a block, or for its decision.";
    ATOMIC_DROPPED = Counter "esker_chain_atomic_mempool_dropped_total" ["chain", "reason"]
        "Imports and exports of an EVM chain that left the pool without being accepted: replaced or outbid by another \
         that pays more; invalid by now; conflict with an accepted block; restart, refused when a start read them back.";
    ATOMIC_REFUSED = Counter "esker_chain_atomic_mempool_refused_total" ["chain", "reason"]
        "Imports and exports that the pool of an EVM chain refused; the reason names the rule.";
    GAS_USED = Counter "esker_chain_gas_used_total" ["chain"] "Gas that accepted blocks of an EVM chain used.";
    BLOCK_GAS_USED = Gauge "esker_chain_last_block_gas_used" ["chain"] "Gas that the last accepted block of an EVM chain used.";
    BLOCK_GAS_LIMIT = Gauge "esker_chain_last_block_gas_limit" ["chain"] "Gas limit of the last accepted block of an EVM chain.";
    BASE_FEE = Gauge "esker_chain_base_fee_wei" ["chain"] "Base fee of the last accepted block of an EVM chain, in wei a gas.";
    STORE_SIZE = Gauge "esker_store_size_bytes" [] "Bytes that the store occupies.";
    STORE_LIMIT = Gauge "esker_store_size_limit_bytes" [] "Largest size of the store (store-map-size).";
    DISK_FREE = Gauge "esker_store_disk_free_bytes" [] "Bytes that the node can still write to the disk of its data folder.";
    DISK_RESERVE = Gauge "esker_store_disk_reserve_bytes" []
        "Bytes of that disk that stay free: a write that would use them is refused (store-disk-reserve, on a small disk less).";
    OLDEST_READER = Gauge "esker_store_oldest_reader_seconds" []
        "Age of the oldest open snapshot. An open snapshot keeps the store from reusing space.";
    COMMITS = Counter "esker_store_commits_total" ["outcome"] "Write transactions: ok, failed.";
    COMMIT_SECONDS = Histogram "esker_store_commit_seconds" [] "Time of a write transaction.";
    STORE_WRITABLE = Gauge "esker_store_writable" []
        "1 while the store takes writes. 0 while the disk is full or fails: the node makes no blocks and refuses \
         writes.";
    FOLLOWERS = Gauge "esker_followers" [] "Followers of this node with an open stream.";
    FOLLOW_CONNECTED = Gauge "esker_follow_connected" []
        "1 while this node, a follower, is connected to a source. 0 on a node that makes blocks.";
    FOLLOW_LAG_BUNDLES = Gauge "esker_follow_lag_bundles" []
        "Bundles that this node, a follower, lacks, as far as it knows.";
    FOLLOW_LAG_SECONDS = Gauge "esker_follow_lag_seconds" []
        "How long this node, a follower, has been behind its sources or without one; 0 at the tip.";
    VALIDATOR_PEERS = Gauge "esker_validator_peers" []
        "Validators that this node is connected to as their peer.";
    VALIDATOR_QUORUM = Gauge "esker_validator_quorum" []
        "Validators that are needed to decide, this one counted. 0 on a node that is none of the current validators.";
    VALIDATOR_VOTING = Gauge "esker_validator_voting" []
        "1 while this validator votes; 0 while it waits because its earlier votes are lost, and on other nodes.";
    VALIDATOR_ROUND = Gauge "esker_validator_round" [] "The last round of the validators that has a result.";
    VALIDATOR_ROUNDS = Counter "esker_validator_rounds_total" ["result"]
        "Rounds of the validators by result, since this node's engine last started (with the node, when the validators change, when it begins to vote, after a full disk): notarized (a quorum voted for the bundle), final, skipped.";
    VALIDATOR_VOTES = Counter "esker_validator_votes_total" ["kind"]
        "Votes that this node has seen since its engine last started: notarize, finalize, skip, conflicting (of one validator, against each other).";
    VALIDATOR_VOTES_BY_VALIDATOR = Counter "esker_validator_votes_by_validator_total" ["validator"]
        "Votes that this node has seen since its engine last started, by the public key of the validator that sent them.";
    FORK_PROVEN = Gauge "esker_fork_proven" [] "1 on a forked chain whose values are proved against the state root of the source's block. 0 where they are the source's word, and on other nodes, which have 0 in all figures of forks.";
    FORK_REQUESTS = Counter "esker_fork_requests_total" [] "Requests to the source of a forked chain. A request has one or more calls.";
    FORK_CALLS = Counter "esker_fork_calls_total" [] "Calls of methods in these requests.";
    FORK_SENT = Counter "esker_fork_sent_bytes_total" [] "Bytes of the bodies of these requests.";
    FORK_RECEIVED = Counter "esker_fork_received_bytes_total" [] "Bytes of the bodies of their replies.";
    FORK_READS = Counter "esker_fork_reads_total" ["result"] "Reads of the forked state by what runs here: hit (known), miss (to be fetched). Reads of changes made here are not counted.";
    FORK_JOINED = Counter "esker_fork_joined_reads_total" [] "Misses for which another caller had asked already, so that both waited for one request.";
    FORK_RETRIES = Counter "esker_fork_retries_total" [] "Requests that were sent again after a fault.";
    FORK_FAILOVERS = Counter "esker_fork_failovers_total" [] "Requests that went to another URL than the one before.";
    FORK_FAULTS = Counter "esker_fork_faults_total" ["fault"] "Requests and calls without the wanted answer. Of requests: unreachable, timed_out, status (of HTTP), denied, rate_limited, too_long, batch_refused, garbage (not JSON-RPC), other_chain. Of calls: no_method, no_state, refused (another error), wrong (it contradicts a proof, a hash, or the request).";
    FORK_REQUEST_SECONDS = Counter "esker_fork_request_seconds_total" [] "Time in requests to the source; requests at the same time count each.";
    FORK_WAIT_SECONDS = Counter "esker_fork_wait_seconds_total" [] "Time that requests waited before they were sent: for the rate, for a free place, or after a fault.";
    FORK_STATE = Gauge "esker_fork_state_bytes" [] "Memory of the known part of the forked state, approximately.";
    FORK_CACHE = Gauge "esker_fork_cache_bytes" [] "Length of the file that keeps it; 0 without a data folder.";
    CHECKS_FAILING = Gauge "esker_health_checks_failing" [] "Health checks that failed when they last ran.";
}

/// Generates docs/metrics.md.
pub fn render_docs() -> String {
    let mut text = String::from(
        "# Metrics\n\n`GET /ext/metrics` answers in Prometheus' text form. This page is generated from\n\
         crates/node/src/metrics/families.rs.\n\n\
         `GET /ext/metrics?name[]=esker_chain_height&name[]=esker_store_size_bytes` answers with these families only. The others\n\
         are not read, so it costs the node less; names that no family has are left out.\n\n\
         | name | kind | labels | meaning |\n|---|---|---|---|\n",
    );
    for Family { name, kind, labels, help } in ALL {
        let kind = format!("{kind:?}").to_lowercase();
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "| `{name}` | {kind} | {} | {help} |", labels.join(", "));
    }
    text
}

impl Family {
    pub(super) fn counter(&self, registry: &Registry) -> Counter {
        self.register(registry, Counter::with_opts(self.opts(Kind::Counter)))
    }

    pub(super) fn gauge(&self, registry: &Registry) -> Gauge {
        self.register(registry, Gauge::with_opts(self.opts(Kind::Gauge)))
    }

    pub(super) fn int_counter(&self, registry: &Registry) -> IntCounter {
        self.register(registry, IntCounter::with_opts(self.opts(Kind::Counter)))
    }

    pub(super) fn int_counters(&self, registry: &Registry) -> IntCounterVec {
        self.register(registry, IntCounterVec::new(self.opts(Kind::Counter), self.labels))
    }

    pub(super) fn int_gauge(&self, registry: &Registry) -> IntGauge {
        self.register(registry, IntGauge::with_opts(self.opts(Kind::Gauge)))
    }

    pub(super) fn int_gauges(&self, registry: &Registry) -> IntGaugeVec {
        self.register(registry, IntGaugeVec::new(self.opts(Kind::Gauge), self.labels))
    }

    pub(super) fn histogram(&self, registry: &Registry) -> Histogram {
        self.register(registry, Histogram::with_opts(self.buckets()))
    }

    pub(super) fn histograms(&self, registry: &Registry) -> HistogramVec {
        self.register(registry, HistogramVec::new(self.buckets(), self.labels))
    }

    fn opts(&self, kind: Kind) -> Opts {
        assert_eq!(self.kind, kind, "{} is used as another kind than it is listed", self.name);
        Opts::new(self.name, self.help)
    }

    fn buckets(&self) -> HistogramOpts {
        HistogramOpts::from(self.opts(Kind::Histogram)).buckets(SECONDS.to_vec())
    }

    fn register<M: Collector + Clone + Sync + 'static>(
        &self,
        registry: &Registry,
        metric: prometheus::Result<M>,
    ) -> M {
        let metric = metric.expect("names and labels of the list are well-formed");
        registry.register(self.name, metric.clone());
        metric
    }
}
