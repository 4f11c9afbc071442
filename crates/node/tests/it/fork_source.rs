//! What is shown of the source of a forked chain, and how it is asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use esker_node::RunningNode;
use esker_primitives::sync::Mutex;
use esker_testkit::http_client::Client;
use serde_json::{Value, json};

use crate::fork::{Chain, OTHER, source, start, url};

/// A page of the node.
async fn page(node: &RunningNode, path: &str) -> String {
    let mut client = Client::connect(node.http_addr()).await;
    let request = format!("GET {path} HTTP/1.1\r\nHost: node\r\n\r\n");
    client.send(&request).await.text().to_owned()
}

async fn status(node: &RunningNode) -> Value {
    serde_json::from_str(&page(node, "/ext/status").await).unwrap()
}

/// The value of a series of the metrics.
async fn metric(node: &RunningNode, series: &str) -> f64 {
    let text = page(node, "/ext/metrics").await;
    let line = text.lines().find(|line| line.starts_with(&format!("{series} ")));
    let line = line.unwrap_or_else(|| panic!("{series} is not among {text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn status_and_metrics_show_the_source() {
    let (node, mut source, _) = source().await;
    let block = source.ask("eth_getBlockByNumber", json!(["latest", false])).await;
    let forked = start(&[("fork-url", &url(&node))]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    for _ in 0..2 {
        assert_eq!(fork.ask("eth_getBalance", json!([OTHER, "latest"])).await, "0x5");
    }
    let shown = status(&forked).await["fork"].take();
    assert_eq!(shown["url"], url(&node));
    assert_eq!((&shown["chainId"], &shown["blockNumber"]), (&json!(31337), &json!(4)));
    assert_eq!((&shown["blockHash"], &shown["isProven"]), (&block["hash"], &json!(true)));
    assert!(shown.get("lastFault").is_none(), "{shown}");
    for (series, name) in [
        ("esker_fork_requests_total", "requests"),
        ("esker_fork_calls_total", "calls"),
        ("esker_fork_received_bytes_total", "receivedBytes"),
        ("esker_fork_sent_bytes_total", "sentBytes"),
        ("esker_fork_reads_total{result=\"hit\"}", "hits"),
        ("esker_fork_reads_total{result=\"miss\"}", "misses"),
    ] {
        assert!(shown[name].as_f64().unwrap() > 0.0, "{name}: {shown}");
        assert_eq!(metric(&forked, series).await, shown[name].as_f64().unwrap(), "{series}");
    }
    assert_eq!(metric(&forked, "esker_fork_proven").await, 1.0);
    assert!(metric(&forked, "esker_fork_request_seconds_total").await > 0.0);
    assert!(metric(&forked, "esker_fork_state_bytes").await > 0.0);
    // A node that has no source shows none.
    assert!(status(&node).await.get("fork").is_none());
    assert_eq!(metric(&node, "esker_fork_requests_total").await, 0.0);
    let block = forked.forked_block().unwrap();
    assert!(block.is_proven && block.number == 4 && block.url == Some(url(&node)), "{block:?}");
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_says_what_values_rest_on_and_the_last_fault() {
    let (node, _, _) = source().await;
    let address = url(&node);
    let flags = [("fork-url", address.as_str()), ("fork-proofs", "false"), ("fork-retries", "0")];
    let forked = start(&flags).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let shown = status(&forked).await["fork"].take();
    assert_eq!(shown["isProven"], false);
    assert_eq!(shown["notProvenReason"], "proofs are turned off");
    assert_eq!(metric(&forked, "esker_fork_proven").await, 0.0);
    // An error that answers a call is no fault of the source.
    let unknown = json!([{"to": OTHER, "gas": "0x1"}, "0x1"]);
    assert!(fork.reply("eth_call", unknown).await.get("error").is_some());
    assert!(status(&forked).await["fork"].get("lastFault").is_none());
    node.stop().await.unwrap();
    let refused = fork.reply("eth_getBalance", json!([OTHER, "latest"])).await;
    assert!(refused.get("error").is_some(), "{refused}");
    let fault = status(&forked).await["fork"]["lastFault"].take();
    let text = fault["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("{address}: unreachable: ")), "{text}");
    assert!(fault["msAgo"].as_u64().unwrap() < 60_000, "{fault}");
    let series = "esker_fork_faults_total{fault=\"unreachable\"}";
    assert!(metric(&forked, series).await >= 1.0);
    forked.stop().await.unwrap();
}

/// Collects what the screen shows.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<String>>);

impl std::io::Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_shows_that_much_is_read() {
    let (node, _, _) = source().await;
    let forked = start(&[("fork-url", &url(&node))]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let shown = Shown::default();
    let activity = forked.show_activity(shown.clone());
    let line = format!("\nreading from {}: ", url(&node));
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut account = 1_u64 << 40;
    while !shown.0.lock().contains(&line) {
        assert!(Instant::now() < deadline, "no line after a minute: {}", shown.0.lock());
        account += 1;
        fork.ask("eth_getBalance", json!([format!("{account:#042x}"), "latest"])).await;
    }
    activity.stop().await;
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}
