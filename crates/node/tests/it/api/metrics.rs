//! Each metric changes with the thing that it counts. The server's own tests show when the server counts.

use std::fs::File;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use esker_chain::{ChainStats, GasFigures, PoolFigures};
use esker_http::{CloseReason, HttpMetrics as _, Outcome};
use esker_keystore::{HashLimits, Hasher};
use esker_node::metrics::{MeteredStore, Metrics, families};
use esker_primitives::ClientAddress;
use esker_rpc::work::{RateLimitConfig, Work, WorkConfig};
use esker_storage::{
    CopyProgress, FailPoint, KvRead, KvStore, StorageError, StorageResult, StoreSpace, WriteSet,
};
use serde_json::json;

use super::{Node, metrics};

#[tokio::test]
async fn chains() {
    let node = Node::start().await;
    let series = |name: &str| metrics(&node.metrics)[&format!("esker_chain_{name}{{chain=\"X\"}}")];
    assert_eq!((series("height"), series("blocks_accepted_total")), (0.0, 0.0));
    let stats = ChainStats {
        height: 5,
        first_block: 3,
        last_block_s: 1_607_144_400,
        mempool_txs: 3,
        mempool_bytes: 700,
        accepted_txs: 9,
        gas: None,
    };
    node.vm.state.lock().stats = stats;
    for _ in 0..2 {
        let figures =
            ["height", "blocks_accepted_total", "transactions_accepted_total"].map(series);
        assert_eq!(figures, [5.0, 5.0, 9.0]);
        assert_eq!(series("first_block"), 3.0);
        assert_eq!(["mempool_transactions", "mempool_bytes"].map(series), [3.0, 700.0]);
        assert_eq!(series("last_block_timestamp_seconds"), 1_607_144_400.0);
    }
    node.vm.state.lock().stats = ChainStats { height: 6, ..stats };
    assert_eq!((series("height"), series("blocks_accepted_total")), (6.0, 6.0));
}

#[tokio::test]
async fn gas() {
    let node = Node::start().await;
    let series = |name: &str| {
        metrics(&node.metrics).get(&format!("esker_chain_{name}{{chain=\"X\"}}")).copied()
    };
    let names = ["gas_used_total", "last_block_gas_used", "last_block_gas_limit", "base_fee_wei"];
    assert_eq!(names.map(series), [None; 4], "a chain without gas has no series");
    let mut gas =
        GasFigures { used: 21_000, last_used: 21_000, last_limit: 8_000_000, base_fee: None };
    let set = |gas| node.vm.state.lock().stats.gas = Some(gas);
    set(gas);
    assert_eq!(names.map(series), [Some(21_000.0), Some(21_000.0), Some(8e6), None]);
    gas = GasFigures { used: 63_000, last_used: 42_000, base_fee: Some(25_000_000_000), ..gas };
    set(gas);
    for _ in 0..2 {
        assert_eq!(names.map(series), [Some(63_000.0), Some(42_000.0), Some(8e6), Some(25e9)]);
    }
}

#[tokio::test]
async fn atomic_pools() {
    let node = Node::start().await;
    let series = |name: &str| metrics(&node.metrics).get(name).copied();
    let waiting = "esker_chain_atomic_mempool_transactions{chain=\"X\"}";
    assert_eq!(series(waiting), None, "a chain without such a pool has no series");
    for (dropped, refused) in [(1, 2), (1, 2), (4, 9)] {
        let figures =
            PoolFigures { dropped: vec![("outbid", dropped)], refused: vec![("full", refused)] };
        node.vm.state.lock().atomic = Some((3, figures));
        assert_eq!(series(waiting), Some(3.0));
        let count = |name: &str, reason: &str| {
            series(&format!(
                "esker_chain_atomic_mempool_{name}_total{{chain=\"X\",reason=\"{reason}\"}}"
            ))
        };
        assert_eq!(count("dropped", "outbid"), Some(dropped as f64));
        assert_eq!(count("refused", "full"), Some(refused as f64));
    }
}

#[test]
fn the_process() {
    let figures = Metrics::new();
    let value = |name: &str| metrics(&figures)[&format!("process_{name}")];
    // The node of these metrics starts now.
    let age = metrics(&figures)["esker_start_time_seconds"] - value("start_time_seconds");
    assert!((-2.0..3600.0).contains(&age), "started {age} s ago");

    let before = value("cpu_seconds_total");
    let begin = Instant::now();
    let mut rounds = 0_u64;
    while begin.elapsed() < Duration::from_millis(60) {
        rounds = std::hint::black_box(rounds + 1);
    }
    let used = value("cpu_seconds_total") - before;
    assert!(used > 0.005, "{used} s of CPU time after {rounds} rounds");

    let before = value("open_fds");
    let files: Vec<_> = (0..200).map(|_| File::open("/dev/null").unwrap()).collect();
    let open = value("open_fds");
    assert!(open >= files.len() as f64 && open > before + 100.0, "{before} -> {open}");
    assert!(value("max_fds") >= open);

    let (stop, stopped) = (Arc::new(Barrier::new(41)), Arc::new(Barrier::new(41)));
    let threads: Vec<_> = (0..40)
        .map(|_| {
            let (stop, stopped) = (Arc::clone(&stop), Arc::clone(&stopped));
            std::thread::spawn(move || (stop.wait(), stopped.wait()))
        })
        .collect();
    stop.wait();
    assert!(value("threads") > threads.len() as f64);
    stopped.wait();
    threads.into_iter().for_each(|thread| drop(thread.join()));

    let anonymous = || metrics(&figures)["esker_process_anonymous_memory_bytes"];
    let before = (value("resident_memory_bytes"), anonymous());
    let filled = std::hint::black_box(vec![1_u8; 64 << 20]);
    let (resident, grown) = (value("resident_memory_bytes"), filled.len() as f64 / 2.0);
    assert!(resident > before.0 + grown && anonymous() > before.1 + grown, "{before:?}");
    assert!(value("virtual_memory_bytes") >= resident && resident >= anonymous());
}

#[tokio::test]
async fn password_checks() {
    let figures = Metrics::new();
    let series = |name: &str| {
        let of_users = format!("esker_password_hashes_{name}{{keys=\"users\"}}");
        metrics(&figures).get(&of_users).copied()
    };
    let all = || ["running", "waiting", "refused_total"].map(series);
    let limits = HashLimits { at_once: 1, queue: 1, max_wait: Duration::from_secs(20) };
    // The figures of two are added up.
    let (hasher, other) = (Arc::new(Hasher::new(limits)), Arc::new(Hasher::new(limits)));
    figures.watch_hasher("users", &hasher);
    figures.watch_hasher("users", &other);
    assert_eq!(all(), [Some(0.0); 3]);
    let (release, hold) = std::sync::mpsc::channel::<()>();
    let rest = async {
        assert_eq!(all(), [Some(1.0), Some(1.0), Some(0.0)]);
        hasher.run(ClientAddress::IN_PROCESS, || ()).await.unwrap_err();
        assert_eq!(all(), [Some(1.0), Some(1.0), Some(1.0)]);
        other.run(ClientAddress::IN_PROCESS, || ()).await.unwrap();
        release.send(()).unwrap();
    };
    let (first, second, ()) = tokio::join!(
        hasher.run(ClientAddress::IN_PROCESS, move || hold.recv().is_ok()),
        hasher.run(ClientAddress::IN_PROCESS, || ()),
        rest
    );
    first.unwrap();
    second.unwrap();
    assert_eq!(all(), [Some(0.0), Some(0.0), Some(1.0)]);
}

#[test]
fn subscriptions_and_filters() {
    let figures = Metrics::new();
    let open = Arc::new(AtomicU64::new(2));
    let (logs, filters) = (Arc::clone(&open), Arc::clone(&open));
    figures.watch_subscriptions("C", move || vec![("logs", logs.load(Relaxed)), ("newHeads", 0)]);
    figures.watch_filters("C", move || vec![("blocks", filters.load(Relaxed))]);
    for value in [2, 5, 0] {
        open.store(value, Relaxed);
        let shown = metrics(&figures);
        let of = |name: &str, kind: &str| {
            shown[&format!("esker_rpc_{name}{{chain=\"C\",kind=\"{kind}\"}}")]
        };
        assert_eq!(of("subscriptions", "logs"), value as f64);
        assert_eq!(of("subscriptions", "newHeads"), 0.0);
        assert_eq!(of("filters", "blocks"), value as f64);
    }
}

#[tokio::test]
async fn pools() {
    let node = Node::start().await;
    let series = |name: &str, reason: &str| {
        let name = format!("esker_chain_mempool_{name}_total{{chain=\"X\",reason=\"{reason}\"}}");
        metrics(&node.metrics).get(&name).copied()
    };
    assert_eq!(series("dropped", "outbid"), None, "a chain without reasons has no series");
    let figures = |outbid: u32, full: u32| PoolFigures {
        dropped: vec![("replaced", 0), ("outbid", outbid.into())],
        refused: vec![("full", full.into())],
    };
    for (outbid, full) in [(2, 1), (2, 1), (5, 9)] {
        node.vm.state.lock().pool = figures(outbid, full);
        assert_eq!(series("dropped", "replaced"), Some(0.0));
        assert_eq!(series("dropped", "outbid"), Some(f64::from(outbid)));
        assert_eq!(series("refused", "full"), Some(f64::from(full)));
    }
}

#[tokio::test]
async fn commits() {
    let node = Node::start().await;
    let figures = |series: &str| metrics(&node.metrics).remove(series).unwrap_or(0.0);
    let mut set = WriteSet::default();
    set.put(b"key", &[0; 1000]);
    node.store.commit(set.clone()).await.unwrap();
    assert_eq!(figures("esker_store_commits_total{outcome=\"ok\"}"), 1.0);
    assert_eq!(figures("esker_store_commit_seconds_count"), 1.0);
    node.failing.fail_nth_write(1, FailPoint::Before);
    node.store.commit(set).await.unwrap_err();
    assert_eq!(figures("esker_store_commits_total{outcome=\"failed\"}"), 1.0);
}

/// A store that is only used for its figures.
#[derive(Debug)]
struct Figures {
    bytes: u64,
    oldest_reader_ms: Option<u64>,
    space: StoreSpace,
}

impl KvStore for Figures {
    fn snapshot(&self) -> StorageResult<Box<dyn KvRead>> {
        Err(StorageError::Closed)
    }

    fn write_all(&self, _: &[&WriteSet]) -> StorageResult<()> {
        Err(StorageError::Closed)
    }

    fn backup(&self, _: &Path, _: &mut CopyProgress<'_>) -> StorageResult<()> {
        Err(StorageError::Closed)
    }

    fn size_on_disk(&self) -> StorageResult<u64> {
        Ok(self.bytes)
    }

    fn oldest_reader_ms(&self) -> Option<u64> {
        self.oldest_reader_ms
    }

    fn space(&self) -> StoreSpace {
        self.space
    }
}

#[test]
fn store() {
    let figures = Arc::new(Metrics::new());
    let said =
        StoreSpace { size_limit: Some(1 << 30), disk_free: Some(70_000), disk_reserve: Some(4096) };
    for (bytes, oldest_reader_ms, space) in
        [(4096, Some(1700), said), (8192, None, StoreSpace::default())]
    {
        let store = Arc::new(Figures { bytes, oldest_reader_ms, space });
        let _metered = MeteredStore::new(store, Arc::clone(&figures));
        let figures = metrics(&figures);
        assert_eq!(figures["esker_store_size_bytes"], bytes as f64);
        let oldest = oldest_reader_ms.unwrap_or(0) as f64 / 1000.0;
        assert_eq!(figures["esker_store_oldest_reader_seconds"], oldest);
        // A figure that the system does not report any more keeps its value.
        let names = ["size_limit", "disk_free", "disk_reserve"];
        let values = names.map(|name| figures[&format!("esker_store_{name}_bytes")]);
        assert_eq!(values, [f64::from(1 << 30), 70_000.0, 4096.0]);
    }
}

#[tokio::test]
async fn every_family_is_listed_and_shown() {
    let node = Node::start().await;
    node.failing.fail_nth_write(1, FailPoint::Before);
    assert_eq!(node.get("/ext/health").await.status, 503);
    let text = node.get("/ext/metrics").await.text().to_owned();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = line.split(' ').next().unwrap();
        assert!(families::ALL.iter().any(|family| family.name == name), "{name} is not listed");
    }
    for family in families::ALL.iter().filter(|family| family.labels.is_empty()) {
        let head =
            format!("# TYPE {} {}\n", family.name, format!("{:?}", family.kind).to_lowercase());
        assert!(text.contains(&head), "{head}");
    }
    assert!(text.contains("esker_health_checks_failing 1"), "{text}");
    for name in ["esker_build_info{commit=\"\",version=\"", "esker_start_time_seconds "] {
        assert!(text.contains(name), "{name}");
    }
}

#[tokio::test]
async fn metrics_over_http() {
    let node = Node::start().await;
    let reply = node.get("/ext/metrics").await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(reply.text().starts_with("# HELP "), "{}", reply.text());
    assert_eq!(node.get("/ext/metrics/").await.status, 404);
    // The reply itself is counted too, and its connection.
    let ping = node.call("/ext/X", "xvm.getHeight", json!({})).await;
    let figures = metrics(&node.metrics);
    let of_page = r#"{endpoint="metrics",method="""#;
    assert_eq!(figures[&format!("esker_http_requests_total{of_page},outcome=\"ok\"}}")], 1.0);
    assert_eq!(figures[&format!("esker_http_request_seconds_count{of_page}}}")], 1.0);
    assert!(figures["esker_http_connections_opened_total"] >= 3.0, "{ping}");
    assert!(figures["esker_http_received_bytes_total"] > 0.0);
    assert!(figures["esker_http_sent_bytes_total"] > reply.body.len() as f64);
}

/// The series have the names of the table, in the form that clients use, whatever names clients send.
#[tokio::test]
async fn families_by_name() {
    let node = Node::start().await;
    let get = async |query: &str| {
        let reply = node.get(&format!("/ext/metrics?{query}")).await;
        assert_eq!(reply.status, 200, "{query}");
        reply.text().to_owned()
    };
    let names = |text: &str| {
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        types.map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let height = "esker_chain_height";
    let text = get("name[]=esker_chain_height").await;
    assert!(text.contains("esker_chain_height{chain=\"X\"} "), "{text}");
    assert_eq!(names(&text), [height]);
    // Escaped, twice, with another parameter, in any order; as in the whole page, families are sorted by name.
    let seconds = "esker_http_request_seconds";
    for query in [
        "name%5B%5D=esker_http_request_seconds&name%5b%5d=esker_chain_height",
        "name[]=esker_chain_height&name[]=esker_http_request_seconds&name[]=esker_chain_height",
        "x=1&name[]=esker_http_request_seconds&name[]=none&name[]=&name[]=esker_chain_height",
    ] {
        let text = get(query).await;
        assert_eq!(names(&text), [height, seconds], "{query}");
        assert!(text.contains("esker_http_request_seconds_bucket{"), "{text}");
    }
    // No family has the name of a series, and none has a part of a name.
    for query in ["name[]=none", "name[]=", "name[]=esker_http_request_seconds_sum", "name[]=esker"]
    {
        assert_eq!(get(query).await, "", "{query}");
    }
    for query in ["", "name=esker_chain_height", "name[]", "names[]=x", "name[]=%ff"] {
        assert!(names(&get(query).await).len() > 50, "{query}: everything");
    }
    // What is asked for is as in the whole page, sample by sample.
    let whole = get("").await;
    for line in get("name[]=esker_build_info&name[]=esker_start_time_seconds").await.lines() {
        assert!(whole.lines().any(|other| other == line), "{line}");
    }
    // A query as long as the server takes.
    let many = "name[]=esker_chain_height&".repeat(2400);
    assert_eq!(names(&get(&many).await), [height]);
}

#[tokio::test]
async fn methods_are_labels_only_if_they_exist() {
    let node = Node::start().await;
    let count = |method: &str, outcome: &str| {
        let labels = format!("endpoint=\"X\",method=\"{method}\",outcome=\"{outcome}\"");
        metrics(&node.metrics).get(&format!("esker_http_requests_total{{{labels}}}")).copied()
    };
    node.result("/ext/X", "xvm.getHeight", json!({})).await;
    node.result("/ext/X", "avm.getHeight", json!({})).await;
    assert_eq!(count("xvm.getHeight", "ok"), Some(2.0), "an alias counts as the canonical name");
    node.call("/ext/X", "xvm.no0", json!({})).await;
    let before = metrics(&node.metrics).len();
    for n in 1..50 {
        for name in [format!("xvm.no{n}"), format!("no{n}.getHeight"), format!("xvm_{n}")] {
            node.call("/ext/X", &name, json!({})).await;
        }
    }
    assert_eq!(metrics(&node.metrics).len(), before, "no series for an unknown name");
    assert_eq!(count("", "error"), Some(148.0));
}

#[test]
fn methods_have_the_names_of_their_dialect() {
    let figures = Metrics::new();
    let endpoint = figures.endpoint("C/rpc", vec![(("evm", "chainId"), "evm_chainId".to_owned())]);
    endpoint.record(Some(("evm", "chainId")), Outcome::Ok, 0.5);
    endpoint.record(Some(("evm", "unknown")), Outcome::Ok, 0.5);
    let shown = metrics(&figures);
    let count = |method: &str| {
        let labels = format!("endpoint=\"C/rpc\",method=\"{method}\"");
        assert_eq!(shown[&format!("esker_http_request_seconds_count{{{labels}}}")], 1.0);
        shown[&format!("esker_http_requests_total{{{labels},outcome=\"ok\"}}")]
    };
    assert_eq!((count("evm_chainId"), count("")), (1.0, 1.0));
}

/// Each call of the port changes its series, and no other.
#[test]
fn what_the_server_counts() {
    let figures = Metrics::new();
    let moved = |count: &dyn Fn()| {
        let before = metrics(&figures);
        count();
        let after = metrics(&figures);
        let changed = after.into_iter().filter(|(name, value)| before.get(name) != Some(value));
        // A histogram has more series than its count.
        let changed = changed.filter(|(name, _)| {
            !name.contains("_bucket{") && !name.contains("_sum{") && !name.contains("process_")
        });
        changed.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join("; ")
    };
    let check = |count: &dyn Fn(), expected: &str| assert_eq!(moved(count), expected);
    check(
        &|| figures.connection_opened(),
        "esker_http_connections 1; esker_http_connections_opened_total 1",
    );
    check(&|| figures.connection_ended(), "esker_http_connections 0");
    for (why, reason) in [
        (CloseReason::Header, "header"),
        (CloseReason::Body, "body"),
        (CloseReason::Write, "write"),
        (CloseReason::Idle, "idle"),
        (CloseReason::Room, "room"),
        (CloseReason::Pong, "pong"),
        (CloseReason::Overrun, "overrun"),
        (CloseReason::Unread, "unread"),
    ] {
        let series = format!("esker_http_connections_closed_total{{reason=\"{reason}\"}} 1");
        check(&|| figures.connection_closed(why), &series);
    }
    check(&|| figures.sockets(3), "esker_http_websockets 3");
    check(&|| figures.sockets(-1), "esker_http_websockets 2");
    check(&|| figures.received(7), "esker_http_received_bytes_total 7");
    check(&|| figures.sent(9), "esker_http_sent_bytes_total 9");
    check(&|| figures.in_flight(2), "esker_http_requests_in_flight 2");
    check(&|| figures.in_flight(-1), "esker_http_requests_in_flight 1");
    check(&|| figures.body_memory(300), "esker_http_body_memory_bytes 300");
    check(&|| figures.body_memory(-300), "esker_http_body_memory_bytes 0");
    let units = NonZeroU32::MIN;
    let rate_limit = Some(RateLimitConfig { units_per_second: units, burst: units });
    let work = Work::new(WorkConfig { rate_limit, ..WorkConfig::default() });
    figures.watch_work(&work);
    let client = work.client(Some([192, 0, 2, 1].into()));
    let refuse = || while client.charge(1).is_ok() {};
    check(&refuse, "esker_http_rate_limited_total 1");
    let endpoint = figures.endpoint("X", Vec::new());
    for (outcome, label) in [
        (Outcome::Ok, "ok"),
        (Outcome::Error, "error"),
        (Outcome::Refused, "refused"),
        (Outcome::Failed, "failed"),
    ] {
        let series = format!(
            "esker_http_requests_total{{endpoint=\"X\",method=\"\",outcome=\"{label}\"}} 1"
        );
        let figures = moved(&|| endpoint.record(Some(("no", "method")), outcome, 0.5));
        assert!(
            figures.ends_with(&series) && figures.contains("request_seconds_count"),
            "{figures}"
        );
    }
}

/// `UPDATE_EXPECT=1` writes the page anew.
#[test]
fn the_documentation_is_current() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    expect_test::expect_file![page].assert_eq(&esker_node::metrics::render_docs());
}
