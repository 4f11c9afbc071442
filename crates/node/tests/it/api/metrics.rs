//! Every metric is moved by what it counts; when the server counts is in its own tests.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use esker_chain::{ChainStats, PoolFigures};
use esker_http::{CloseReason, HttpMetrics as _, Outcome};
use esker_node::metrics::{MeteredStore, Metrics, families};
use esker_rpc::work::{RateLimitConfig, Work, WorkConfig};
use esker_storage::{
    CopyProgress, FailPoint, KvRead, KvStore, StorageError, StorageResult, WriteSet,
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
        mempool_txs: 3,
        mempool_bytes: 700,
        accepted_txs: 9,
        ..ChainStats::default()
    };
    node.vm.state.lock().stats = stats;
    for _ in 0..2 {
        let figures =
            ["height", "blocks_accepted_total", "transactions_accepted_total"].map(series);
        assert_eq!(figures, [5.0, 5.0, 9.0]);
        assert_eq!(["mempool_transactions", "mempool_bytes"].map(series), [3.0, 700.0]);
    }
    node.vm.state.lock().stats = ChainStats { height: 6, ..stats };
    assert_eq!((series("height"), series("blocks_accepted_total")), (6.0, 6.0));
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

/// A store of which only its figures are asked.
#[derive(Debug)]
struct Figures {
    bytes: u64,
    oldest_reader_ms: Option<u64>,
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
}

#[test]
fn store() {
    let figures = Arc::new(Metrics::new());
    for (bytes, oldest_reader_ms) in [(4096, Some(17)), (8192, None)] {
        let store = Arc::new(Figures { bytes, oldest_reader_ms });
        let _metered = MeteredStore::new(store, Arc::clone(&figures));
        let figures = metrics(&figures);
        assert_eq!(figures["esker_store_size_bytes"], bytes as f64);
        let oldest = oldest_reader_ms.unwrap_or(0) as f64;
        assert_eq!(figures["esker_store_oldest_reader_ms"], oldest);
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

/// Each call of the port moves its series, and no other.
#[test]
fn what_the_server_counts() {
    let figures = Metrics::new();
    let moved = |count: &dyn Fn()| {
        let before = metrics(&figures);
        count();
        let after = metrics(&figures);
        let changed = after.into_iter().filter(|(name, value)| before.get(name) != Some(value));
        // A histogram has more series than its count.
        let changed =
            changed.filter(|(name, _)| !name.contains("_bucket{") && !name.contains("_sum{"));
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
    let endpoint = figures.endpoint("X", None);
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
