//! Resets of chains to blocks of other nodes.

use std::time::Duration;

use esker_node::{Replacements, RunningNode, StartError};
use esker_testkit::http_client::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::fork::{COUNTER, Chain, FROM, OTHER, source, start, url};

/// The longest wait of a test.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node that takes the place of the one before with each reset, as the program runs it.
pub(crate) struct Reset {
    pub(crate) url: String,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), StartError>>,
}

impl Reset {
    pub(crate) async fn new(flags: &[(&'static str, &str)]) -> Self {
        let mut node = start(flags).await.unwrap();
        let (url, replacements) = (url(&node), node.replacements());
        let (stop, stopped) = oneshot::channel();
        Self { url, stop, running: tokio::spawn(run(node, replacements, stopped)) }
    }

    /// A new connection.
    pub(crate) async fn chain(&self) -> Chain {
        let address = self.url.strip_prefix("http://").unwrap().parse().unwrap();
        Chain::to(Client::connect(address).await)
    }

    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let asked = async { self.chain().await.ask(method, params).await };
        timeout(PATIENCE, asked).await.unwrap_or_else(|_| panic!("no answer to {method}"))
    }

    pub(crate) async fn error(&self, method: &str, params: Value) -> String {
        let asked = async { self.chain().await.reply(method, params).await };
        let reply = timeout(PATIENCE, asked).await;
        let reply = reply.unwrap_or_else(|_| panic!("no answer to {method}"));
        reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
    }

    async fn balance(&self, account: &str) -> Value {
        self.ask("eth_getBalance", json!([account, "latest"])).await
    }

    /// Source and block of the fork, as anvil shows them, and the newest height.
    pub(crate) async fn place(&self) -> (Value, Value, Value) {
        let mut info = self.ask("anvil_nodeInfo", json!([])).await;
        let fork = info["forkConfig"].take();
        (
            fork["forkUrl"].clone(),
            fork["forkBlockNumber"].clone(),
            info["currentBlockNumber"].take(),
        )
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        timeout(PATIENCE, self.running).await.expect("the node did not stop").unwrap().unwrap();
    }
}

async fn run(
    mut node: RunningNode,
    mut replacements: Replacements,
    mut stopped: oneshot::Receiver<()>,
) -> Result<(), StartError> {
    loop {
        let replacement = tokio::select! {
            replacement = replacements.next() => replacement,
            _ = &mut stopped => return node.stop().await,
        };
        node = node.replaced_by(replacement).await;
        replacements = node.replacements();
    }
}

/// The reply of a connection of its own; `None` if it is closed before.
async fn try_ask(url: &str, method: &str, params: Value) -> Option<Value> {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).await.ok()?;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let (length, mut reply) = (body.len(), String::new());
    let request = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    stream.read_to_string(&mut reply).await.ok()?;
    let (_, body) = reply.split_once("\r\n\r\n")?;
    serde_json::from_str(body).ok()
}

fn on(url: &str, number: u64) -> Value {
    json!([{"forking": {"jsonRpcUrl": url, "blockNumber": number}}])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_without_a_fork_is_reset_onto_one_and_back() {
    let (node, mut at_source, [counter, _]) = source().await;
    let (url, reset) = (url(&node), Reset::new(&[]).await);
    assert_eq!(reset.place().await, (Value::Null, Value::Null, json!("0x0")));
    for number in [2, 4, 3] {
        assert_eq!(reset.ask("anvil_reset", on(&url, number)).await, Value::Null);
        let height = json!(format!("{number:#x}"));
        assert_eq!(reset.place().await, (json!(url), json!(number), height.clone()));
        let block = |chain: &'static str| (chain, json!([height, false]));
        let (method, params) = block("eth_getBlockByNumber");
        let hash = at_source.ask(method, params.clone()).await["hash"].take();
        assert_eq!(reset.ask(method, params).await["hash"], hash);
        let metadata = reset.ask("hardhat_metadata", json!([])).await;
        assert_eq!(metadata["forkedNetwork"]["forkBlockHash"], hash);
        assert_eq!(reset.balance(OTHER).await, "0x5");
        let code = reset.ask("eth_getCode", json!([counter, "latest"])).await;
        assert_eq!(code != "0x", number > 1, "{code}");
        reset.chain().await.send(json!({"from": FROM, "to": OTHER, "value": "0x1"})).await;
        assert_eq!(reset.balance(OTHER).await, "0x6");
    }
    assert_eq!(reset.ask("hardhat_reset", json!([])).await, true);
    assert_eq!(reset.place().await, (Value::Null, Value::Null, json!("0x0")));
    assert_eq!(reset.balance(OTHER).await, "0x0");
    reset.chain().await.send(json!({"from": FROM, "to": OTHER, "value": "0x1"})).await;
    assert_eq!(at_source.ask("eth_blockNumber", json!([])).await, "0x4");
    reset.stop().await;
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_block_of_a_fork_changes() {
    let (node, _, _) = source().await;
    let url = url(&node);
    let reset = Reset::new(&[("fork-url", &url), ("fork-block", "4")]).await;
    // The URL stays.
    reset.ask("anvil_reset", json!([{"forking": {"blockNumber": "0x2"}}])).await;
    assert_eq!(reset.place().await, (json!(url), json!(2), json!("0x2")));
    // An empty object goes back to the block of the fork.
    reset.ask("evm_mine", json!([])).await;
    reset.ask("anvil_reset", json!([{"forking": {}}])).await;
    assert_eq!(reset.place().await, (json!(url), json!(2), json!("0x2")));
    reset.ask("evm_mine", json!([])).await;
    reset.ask("anvil_reset", json!([{}])).await;
    assert_eq!(reset.place().await, (json!(url), json!(2), json!("0x2")));
    // Without a block it is the newest one.
    reset.ask("anvil_reset", json!([{"forking": {"jsonRpcUrl": url}}])).await;
    assert_eq!(reset.place().await, (json!(url), json!(4), json!("0x4")));
    // Without a parameter the fork ends.
    reset.ask("anvil_reset", json!([])).await;
    assert_eq!(reset.place().await, (Value::Null, Value::Null, json!("0x0")));
    let error = reset.error("anvil_reset", json!([{"forking": {"blockNumber": 2}}])).await;
    assert_eq!(error, "Forking not enabled and RPC URL not provided to start forking");
    reset.stop().await;
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_forgets_what_was_set() {
    let (node, _, _) = source().await;
    let url = url(&node);
    let reset = Reset::new(&[("fork-url", &url)]).await;
    reset.ask("evm_setAutomine", json!([false])).await;
    reset.ask("anvil_impersonateAccount", json!([OTHER])).await;
    let snapshot = reset.ask("evm_snapshot", json!([])).await;
    let filter = reset.ask("eth_newBlockFilter", json!([])).await;
    reset.ask("eth_sendTransaction", json!([{"from": FROM, "to": OTHER, "value": "0x1"}])).await;
    assert_eq!(reset.ask("txpool_status", json!([])).await["pending"], "0x1");
    reset.ask("hardhat_reset", on(&url, 4)).await;
    assert_eq!(reset.ask("txpool_status", json!([])).await["pending"], "0x0");
    assert_eq!(reset.ask("hardhat_getAutomine", json!([])).await, true);
    assert_eq!(reset.ask("evm_revert", json!([snapshot])).await, false);
    let error = reset.error("eth_getFilterChanges", json!([filter])).await;
    assert!(error.contains("filter not found"), "{error}");
    let tx = json!([{"from": OTHER, "to": FROM, "value": "0x1"}]);
    let error = reset.error("eth_sendTransaction", tx).await;
    assert!(error.contains("account"), "{error}");
    reset.stop().await;
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_that_fails_changes_nothing() {
    let (node, _, _) = source().await;
    let url = url(&node);
    let flags = [("fork-url", &*url), ("fork-block", "3"), ("fork-retries", "0")];
    let reset = Reset::new(&flags).await;
    let made = reset.chain().await.deploy(COUNTER).await;
    for (params, text) in [
        (on("http://127.0.0.1:1", 2), "cannot fork http://127.0.0.1:1"),
        (on(&url, 7_000), "there is no block 7000"),
        (on("file:///etc/passwd", 2), "fork URL is not valid"),
        (on("127.0.0.1", 2), "fork URL is not valid"),
        (on("", 2), "expected a URL"),
        (on(",", 2), "expected a URL"),
        (on(&reset.url, 2), "a node can't fork itself"),
        (on(&reset.url.replace("127.0.0.1", "localhost"), 2), "a node can't fork itself"),
        (on(&"x".repeat(5000), 2), "forking.jsonRpcUrl: expected a URL"),
        (json!([{"forking": {"jsonRpcUrl": 7}}]), "forking.jsonRpcUrl: expected a URL"),
        (json!([{"forking": {"blockNumber": []}}]), "forking.blockNumber: expected a number"),
        (json!([{"forking": {"blockNumber": "x"}}]), "forking.blockNumber: expected a number"),
        (json!([{"forking": 7}]), "forking: expected an object"),
    ] {
        let error = reset.error("anvil_reset", params.clone()).await;
        assert!(error.contains(text), "{params}: {error}");
        assert_eq!(reset.place().await, (json!(url), json!(3), json!("0x4")), "{params}");
        assert_ne!(reset.ask("eth_getCode", json!([made, "latest"])).await, "0x");
    }
    reset.stop().await;
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_meet_one_chain_or_the_other() {
    let (node, _, _) = source().await;
    let url = url(&node);
    let reset = Reset::new(&[("fork-url", &url), ("fork-block", "4")]).await;
    let (url_of_fork, (done, is_done)) = (reset.url.clone(), tokio::sync::watch::channel(false));
    let asking = tokio::spawn(async move {
        let mut heights = Vec::new();
        while !*is_done.borrow() || heights.is_empty() {
            // Connections of the chain before are closed.
            heights.extend(try_ask(&url_of_fork, "eth_blockNumber", json!([])).await);
            heights.dedup();
        }
        heights
    });
    for number in [2, 3, 4] {
        reset.ask("anvil_reset", on(&url, number)).await;
        // The answer comes when no request meets the chain before.
        assert_eq!(reset.ask("eth_blockNumber", json!([])).await, json!(format!("{number:#x}")));
    }
    done.send(true).unwrap();
    let heights = timeout(PATIENCE, asking).await.expect("the client goes on").unwrap();
    let known =
        ["0x2", "0x3", "0x4"].map(|height| json!({"jsonrpc": "2.0", "id": 1, "result": height}));
    assert!(heights.iter().all(|height| known.contains(height)), "{heights:?}");
    reset.stop().await;
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_from_before_meets_the_new_chain() {
    let (node, _, _) = source().await;
    let url = url(&node);
    let reset = Reset::new(&[("fork-url", &url)]).await;
    let mut waiting = Vec::new();
    for number in [2, 3, 1] {
        let mut chain = reset.chain().await;
        chain.ask("eth_blockNumber", json!([])).await;
        waiting.push(chain);
        reset.ask("anvil_reset", on(&url, number)).await;
    }
    for mut chain in waiting {
        let asked = timeout(PATIENCE, chain.ask("eth_blockNumber", json!([]))).await;
        assert_eq!(asked.expect("the new chain does not answer"), "0x1");
    }
    reset.stop().await;
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_sites_choose_no_source() {
    let (node, _, _) = source().await;
    let url = url(&node);
    let reset = Reset::new(&[("fork-url", &url)]).await;
    for method in ["anvil_reset", "hardhat_reset"] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": on(&url, 2)});
        let request = Client::post("/", &body.to_string());
        let request = request.replacen("\r\n", "\r\nOrigin: https://site.example\r\n", 1);
        let address = reset.url.strip_prefix("http://").unwrap().parse().unwrap();
        let reply = Client::connect(address).await.send(&request).await.json();
        let text = reply["error"]["message"].as_str().unwrap();
        assert!(text.starts_with("origin not allowed"), "{reply}");
    }
    assert_eq!(reset.place().await, (json!(url), json!(4), json!("0x4")));
    reset.stop().await;
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn resets_at_the_same_time_come_one_after_the_other() {
    let (node, _, _) = source().await;
    let url = url(&node);
    let reset = Reset::new(&[("fork-url", &url)]).await;
    let mut chains = Vec::new();
    for _ in 0..6 {
        chains.push(reset.chain().await);
    }
    let asked = chains.iter_mut().map(|chain| chain.reply("anvil_reset", on(&url, 2)));
    let replies = timeout(PATIENCE, futures_util::future::join_all(asked)).await.unwrap();
    assert!(replies.iter().any(|reply| reply.get("error").is_none()), "{replies:?}");
    for reply in replies.iter().filter_map(|reply| reply["error"]["message"].as_str()) {
        assert!(reply.contains("was reset by another request"), "{reply}");
    }
    assert_eq!(reset.place().await, (json!(url), json!(2), json!("0x2")));
    reset.stop().await;
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_folder_stays_on_its_block() {
    let (node, _, _) = source().await;
    let (url, folder) = (url(&node), tempfile::tempdir().unwrap());
    let path = folder.path().to_str().unwrap();
    let reset = Reset::new(&[("fork-url", &url), ("data-dir", path)]).await;
    let error = reset.error("anvil_reset", on(&url, 2)).await;
    assert!(error.contains("forks no other network: use esker evm, without"), "{error}");
    reset.ask("evm_mine", json!([])).await;
    reset.ask("anvil_reset", json!([])).await;
    assert_eq!(reset.place().await, (json!(url), json!(4), json!("0x4")));
    reset.stop().await;
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_a_reset() {
    // A source that answers nothing.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let reset = Reset::new(&[]).await;
    let asked = reset.url.clone();
    let asking = tokio::spawn(async move { try_ask(&asked, "anvil_reset", on(&url, 2)).await });
    // The reset has begun.
    timeout(PATIENCE, silent.accept()).await.expect("the source is asked").unwrap();
    assert_eq!(reset.ask("eth_blockNumber", json!([])).await, "0x0");
    reset.stop().await;
    let reply = timeout(PATIENCE, asking).await.expect("the request ends").unwrap();
    assert!(reply.is_none_or(|reply| reply.get("error").is_some()));
}
