//! What is shown of the source of a forked chain, and how it is asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use esker_node::RunningNode;
use esker_primitives::sync::Mutex;
use esker_testkit::http_client::Client;
use serde_json::{Value, json};

use crate::fork::{Chain, FROM, OTHER, source, source_with_unread, start, unread, url};
use crate::proxy::{Lie, Proxy};

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
    let (node, _, _) = source_with_unread().await;
    let forked = start(&[("fork-url", &url(&node))]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let shown = Shown::default();
    let activity = forked.show_activity(shown.clone());
    let line = format!("\nreading from {}: ", url(&node));
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut accounts = 0;
    while !shown.0.lock().contains(&line) {
        assert!(Instant::now() < deadline, "no line after a minute: {}", shown.0.lock());
        fork.ask("eth_getBalance", json!([unread(accounts), "latest"])).await;
        accounts += 1;
    }
    activity.stop().await;
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

async fn requests(node: &RunningNode) -> f64 {
    metric(node, "esker_fork_requests_total").await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_before_the_fork_is_asked_once() {
    let (node, mut source, [counter, _]) = source().await;
    let forked = start(&[("fork-url", &url(&node))]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let block = source.ask("eth_getBlockByNumber", json!(["0x1", true])).await;
    let (hash, tx) = (block["hash"].clone(), block["transactions"][0]["hash"].clone());
    for (method, params, asked) in [
        ("eth_getBlockByNumber", json!(["0x1", true]), 1.0),
        ("eth_getBlockByHash", json!([hash, false]), 1.0),
        ("eth_getTransactionByHash", json!([tx]), 1.0),
        ("eth_getTransactionReceipt", json!([tx]), 1.0),
        // With the header, whose receipts root they must have.
        ("eth_getBlockReceipts", json!(["0x1"]), 2.0),
        ("eth_getBlockReceipts", json!([hash]), 2.0),
        ("eth_getLogs", json!([{"fromBlock": "0x0", "toBlock": "0x3"}]), 1.0),
        ("eth_getBalance", json!([FROM, "0x1"]), 1.0),
        ("eth_call", json!([{"to": counter}, "0x3"]), 1.0),
        ("debug_traceTransaction", json!([tx, {"tracer": "callTracer"}]), 1.0),
    ] {
        let before = requests(&forked).await;
        let at_source = source.ask(method, params.clone()).await;
        for _ in 0..3 {
            assert_eq!(fork.ask(method, params.clone()).await, at_source, "{method}");
        }
        assert_eq!(requests(&forked).await - before, asked, "{method} {params}");
    }
    // What does not exist may exist later.
    let unknown = json!([format!("{:#066x}", 7)]);
    let before = requests(&forked).await;
    for _ in 0..2 {
        assert_eq!(fork.ask("eth_getTransactionByHash", unknown.clone()).await, Value::Null);
    }
    assert_eq!(requests(&forked).await - before, 2.0);
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_bodies_are_refused_with_the_source_and_the_fault() {
    let (node, _source, _) = source().await;
    let proxy = Proxy::start(node.http_addr()).await;
    let block = ("eth_getBlockByNumber", json!(["0x1", true]));
    let receipts = ("eth_getBlockReceipts", json!(["0x1"]));
    let lies: [(&(&str, Value), Lie, &str); 8] = [
        (
            &block,
            |r| r["transactions"][0]["value"] = json!("0x6"),
            "entry 0 of the transactions: the hash is",
        ),
        (&block, |r| r["transactions"] = json!([]), "the transactions give the root"),
        (&block, |r| r["gasUsed"] = json!("0x1"), "which its fields don't give"),
        (&block, |r| r["number"] = json!("0x2"), "which its fields don't give"),
        (&receipts, |r| r[0]["status"] = json!("0x0"), "the receipts give the root"),
        (&receipts, |r| r[0]["cumulativeGasUsed"] = json!("0x1"), "the receipts give the root"),
        (&receipts, |r| *r = json!([]), "the receipts give the root"),
        (
            &receipts,
            |r| r[0]["logs"] = json!([{"address": OTHER, "topics": [], "data": "0x"}]),
            "logsBloom",
        ),
    ];
    for ((method, params), lie, fault) in lies {
        let forked = start(&[("fork-url", &proxy.url)]).await.unwrap();
        let mut fork = Chain::of(&forked).await;
        proxy.lie(method, Some(lie));
        let reply = fork.reply(method, params.clone()).await;
        let text = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(text.starts_with(&format!("{}: {method}: ", proxy.url)), "{reply}");
        assert!(text.contains(fault), "{fault}: {text}");
        // A wrong answer is not kept.
        proxy.lie(method, None);
        assert!(!fork.ask(method, params.clone()).await.is_null());
        forked.stop().await.unwrap();
    }
    node.stop().await.unwrap();
}

/// Init code of a contract that reads the slot of the block's number, and puts the number into slot 0.
const BY_NUMBER: &str = "0x600780600b6000396000f3435450435f5500";

/// Waits for a receipt.
async fn receipt(chain: &mut Chain, hash: &Value) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let receipt = chain.ask("eth_getTransactionReceipt", json!([hash])).await;
        if !receipt.is_null() {
            return receipt;
        }
        assert!(Instant::now() < deadline, "no receipt of {hash} after a minute");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_lacks_state_does_not_hold_up_others() {
    // No contract of later forks has a slot for each block.
    let node = start(&[("hardfork", "shanghai")]).await.unwrap();
    let mut source = Chain::of(&node).await;
    let contract = source.deploy(BY_NUMBER).await;
    // The slots of the next blocks have values, so no proof of other slots shows what they have. Each takes a block.
    for slot in 40..80_u64 {
        let (slot, value) = (format!("{slot:#x}"), format!("{:#066x}", 1));
        source.ask("anvil_setStorageAt", json!([contract, slot, value])).await;
    }
    let number = source.ask("eth_blockNumber", json!([])).await;
    assert_eq!(number, json!("0x29"));
    let proxy = Proxy::start(node.http_addr()).await;
    let forked = start(&[("fork-url", &proxy.url), ("hardfork", "shanghai")]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let accounts = fork.ask("eth_accounts", json!([])).await;
    // What the block of the other transaction needs is known.
    let other = json!({"from": accounts[1], "to": accounts[2], "value": "0x1"});
    fork.send(other.clone()).await;
    fork.ask("evm_setAutomine", json!([false])).await;
    let tx = json!([{"from": FROM, "to": contract, "gas": "0x30000"}]);
    let waiting = fork.ask("eth_sendTransaction", tx).await;
    // The slot of the next block is known by now, but not that of the one after it.
    let number = fork.ask("eth_blockNumber", json!([])).await;
    fork.ask("anvil_setBalance", json!([accounts[2], "0x7"])).await;
    assert_ne!(fork.ask("eth_blockNumber", json!([])).await, number);
    proxy.hold(true);
    let passing = fork.ask("eth_sendTransaction", json!([other])).await;
    fork.ask("evm_setAutomine", json!([true])).await;
    let passed = receipt(&mut fork, &passing).await;
    let block = fork.ask("eth_getBlockByNumber", json!([passed["blockNumber"], false])).await;
    assert_eq!(block["transactions"], json!([passing]));
    assert!(fork.ask("eth_getTransactionReceipt", json!([waiting])).await.is_null());
    assert_eq!(fork.ask("txpool_status", json!([])).await["pending"], "0x1");
    proxy.hold(false);
    let receipt = receipt(&mut fork, &waiting).await;
    assert_eq!(receipt["status"], "0x1");
    assert_ne!(receipt["blockNumber"], passed["blockNumber"]);
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_reads_become_few_requests() {
    let (node, _, _) = source_with_unread().await;
    let proxy = Proxy::start(node.http_addr()).await;
    let forked = start(&[("fork-url", &proxy.url)]).await.unwrap();
    let before = requests(&forked).await;
    proxy.hold(true);
    let mut reads = tokio::task::JoinSet::new();
    for n in 0..200 {
        let mut fork = Chain::of(&forked).await;
        reads.spawn(async move { fork.ask("eth_getBalance", json!([unread(n), "latest"])).await });
    }
    // All of them lack their account.
    let deadline = Instant::now() + Duration::from_secs(60);
    while metric(&forked, "esker_fork_reads_total{result=\"miss\"}").await < 200.0 {
        assert!(Instant::now() < deadline, "200 reads do not miss within a minute");
    }
    proxy.hold(false);
    while let Some(balance) = reads.join_next().await {
        assert_eq!(balance.unwrap(), "0x1");
    }
    let asked = requests(&forked).await - before;
    assert!(asked <= 120.0, "{asked} requests");
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}
