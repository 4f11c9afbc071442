//! Chains that begin on a block of another node.

use std::fs;
use std::path::Path;
use std::time::Duration;

use esker_node::{Environment, Node, RunningNode, StartError};
use esker_settings::config::{Config, Flags, Mode};
use esker_testkit::http_client::Client;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

/// The first account for development.
pub(super) const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
/// An account that nobody has used.
pub(super) const OTHER: &str = "0x00000000000000000000000000000000000000aa";
/// The flags of a source that has the account `UNREAD` besides those for development that its forks read.
pub(super) const ELEVEN_ACCOUNTS: [(&str, &str); 1] = [("accounts", "11")];
/// The eleventh account for development. A fork has to ask its source for it, as it has a balance: that other accounts do not
/// exist may be proved by what the fork has read.
pub(super) const UNREAD: &str = "0xbcd4042de499d14e55001ccbb24a551f3b954096";
/// Longest time in which a node that has ended lets go of its folder.
const FREE: Duration = Duration::from_secs(20);
/// How many accounts of `unread` there are.
const UNREAD_ACCOUNTS: usize = 2_000;
/// Init code of a contract that counts its calls in slot 0.
pub(super) const COUNTER: &str = "0x600b80600b6000396000f360005460010180600055005b";
/// Init code of a contract that returns the hash of the block whose number it is given.
const HASHES: &str = "0x600c80600b6000396000f36000354060005260206000f3";

pub(super) async fn start(flags: &[(&'static str, &str)]) -> Result<RunningNode, StartError> {
    start_as(Mode::Evm, flags).await
}

pub(super) async fn start_as(
    mode: Mode,
    flags: &[(&'static str, &str)],
) -> Result<RunningNode, StartError> {
    let flags: Flags = flags
        .iter()
        .chain(&[("http-port", "0"), ("evm-port", "0")])
        .map(|(name, text)| (*name, (*text).to_owned()))
        .collect();
    let config = Config::load(mode, flags, []).unwrap();
    Node::start(config, Environment::system()).await
}

/// The error of a start. A start that failed before in this process may hold the folder for a moment, until its threads have
/// ended.
pub(crate) async fn refusal(flags: &[(&'static str, &str)]) -> String {
    refusal_as(Mode::Evm, flags).await
}

pub(crate) async fn refusal_as(mode: Mode, flags: &[(&'static str, &str)]) -> String {
    start_when_free(mode, flags).await.unwrap_err().to_string()
}

/// Starts a node. A node of this process that has just ended may hold the folder for some ms.
pub(crate) async fn start_when_free(
    mode: Mode,
    flags: &[(&'static str, &str)],
) -> Result<RunningNode, StartError> {
    let free = async {
        loop {
            match start_as(mode, flags).await {
                Err(error) if error.is_folder_in_use() => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                ended => return ended,
            }
        }
    };
    timeout(FREE, free).await.expect("the folder is free")
}

/// A client of the chain of a node.
pub(super) struct Chain(Client);

impl Chain {
    pub(super) fn to(client: Client) -> Self {
        Self(client)
    }

    pub(super) async fn of(node: &RunningNode) -> Self {
        Self(Client::connect(node.evm_addr().unwrap_or(node.http_addr())).await)
    }

    pub(super) async fn reply(&mut self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.0.send(&Client::post("/", &body.to_string())).await.json()
    }

    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let mut reply = self.reply(method, params).await;
        assert!(reply.get("error").is_none(), "{method}: {reply}");
        reply["result"].take()
    }

    /// Sends a transaction; its receipt.
    pub(super) async fn send(&mut self, tx: Value) -> Value {
        let hash = self.ask("eth_sendTransaction", json!([tx])).await;
        let receipt = self.ask("eth_getTransactionReceipt", json!([hash])).await;
        assert_eq!(receipt["status"], "0x1", "{receipt}");
        receipt
    }

    /// Deploys a contract.
    pub(super) async fn deploy(&mut self, code: &str) -> Value {
        let mut receipt = self.send(json!({"from": FROM, "data": code, "gas": "0x50000"})).await;
        receipt["contractAddress"].take()
    }

    pub(super) async fn newest(&mut self) -> Value {
        self.ask("eth_getBlockByNumber", json!(["latest", true])).await
    }
}

pub(super) fn url(node: &RunningNode) -> String {
    format!("http://{}", node.http_addr())
}

/// The URL of the chain's JSON-RPC, of a node in this mode.
pub(super) fn c_chain_url(node: &RunningNode, mode: Mode) -> String {
    match mode {
        Mode::Evm => url(node),
        Mode::Dev | Mode::Node => format!("{}/ext/bc/C/rpc", url(node)),
    }
}

/// A source with a transfer and the two contracts, at block 4.
pub(super) async fn source() -> (RunningNode, Chain, [Value; 2]) {
    source_as(Mode::Evm, &[]).await
}

/// An account of `source_with_unread` with a balance of 1 wei. A fork has to ask for each of them.
pub(super) fn unread(n: usize) -> String {
    assert!(n < UNREAD_ACCOUNTS, "there is no such account: {n}");
    format!("{:#042x}", 0xb000 + n)
}

/// A source as `source` with the accounts of `unread`.
pub(super) async fn source_with_unread() -> (RunningNode, Chain, [Value; 2]) {
    let alloc: Map<String, Value> =
        (0..UNREAD_ACCOUNTS).map(|n| (unread(n), json!({"balance": "0x1"}))).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), json!({"alloc": alloc}).to_string()).unwrap();
    source_as(Mode::Evm, &[("alloc", file.path().to_str().unwrap())]).await
}

pub(super) async fn source_as(
    mode: Mode,
    flags: &[(&'static str, &str)],
) -> (RunningNode, Chain, [Value; 2]) {
    let node = start_as(mode, flags).await.unwrap();
    let mut chain = Chain::of(&node).await;
    chain.send(json!({"from": FROM, "to": OTHER, "value": "0x5"})).await;
    let counter = chain.deploy(COUNTER).await;
    let hashes = chain.deploy(HASHES).await;
    chain.send(json!({"from": FROM, "to": counter, "gas": "0x30000"})).await;
    (node, chain, [counter, hashes])
}

/// The answers to the same requests on both chains.
pub(super) async fn assert_equal(source: &mut Chain, fork: &mut Chain, requests: &[(&str, Value)]) {
    for (method, params) in requests {
        let (at_source, at_fork) =
            (source.ask(method, params.clone()).await, fork.ask(method, params.clone()).await);
        assert_eq!(at_fork, at_source, "{method} {params}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_answers_as_its_source() {
    let (node, mut source, [counter, hashes]) = source().await;
    let forked = start(&[("fork-url", &url(&node)), ("fork-keep-balances", "true")]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let first = source.ask("eth_getBlockByNumber", json!(["0x1", true])).await;
    let (hash, tx) = (first["hash"].clone(), first["transactions"][0]["hash"].clone());
    let word = |number: u64| format!("{:#066x}", number);
    assert_equal(
        &mut source,
        &mut fork,
        &[
            ("eth_chainId", json!([])),
            ("eth_blockNumber", json!([])),
            ("eth_getBalance", json!([FROM, "latest"])),
            ("eth_getBalance", json!([FROM, "0x1"])),
            ("eth_getBalance", json!([OTHER, "latest"])),
            ("eth_getTransactionCount", json!([FROM, "latest"])),
            ("eth_getCode", json!([counter, "latest"])),
            ("eth_getStorageAt", json!([counter, "0x0", "latest"])),
            ("eth_getProof", json!([counter, ["0x0"], "latest"])),
            ("eth_getBlockByNumber", json!(["0x0", false])),
            ("eth_getBlockByNumber", json!(["latest", true])),
            ("eth_getBlockByHash", json!([hash, false])),
            ("eth_getTransactionByHash", json!([tx])),
            ("eth_getTransactionReceipt", json!([tx])),
            ("eth_getBlockReceipts", json!(["0x2"])),
            ("eth_getLogs", json!([{"fromBlock": "0x0", "toBlock": "latest"}])),
            ("debug_traceTransaction", json!([tx, {"tracer": "callTracer"}])),
            ("eth_feeHistory", json!(["0x3", "latest", [50]])),
            ("eth_call", json!([{"to": hashes, "data": word(2)}, "latest"])),
            ("eth_call", json!([{"to": hashes, "data": word(0)}, "latest"])),
            ("eth_estimateGas", json!([{"from": FROM, "to": counter}])),
            ("eth_getTransactionByHash", json!([word(7)])),
        ],
    )
    .await;
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_transactions_give_the_same_roots() {
    let (node, mut source, [counter, _]) = source().await;
    let forked = start(&[("fork-url", &url(&node)), ("fork-keep-balances", "true")]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    fork.ask("anvil_impersonateAccount", json!([FROM])).await;
    source.ask("anvil_impersonateAccount", json!([FROM])).await;
    let txs = [
        json!({"from": FROM, "to": counter, "gas": "0x30000"}),
        json!({"from": FROM, "to": OTHER, "value": "0x7", "gas": "0x5208"}),
        json!({"from": FROM, "data": COUNTER, "gas": "0x50000"}),
        json!({"from": FROM, "to": counter, "gas": "0x30000"}),
    ];
    for (at, tx) in (0_u64..).zip(txs) {
        let time = json!([4_000_000_000_u64 + 10 * at]);
        for chain in [&mut source, &mut fork] {
            chain.ask("evm_setNextBlockTimestamp", time.clone()).await;
            chain.send(tx.clone()).await;
        }
        let (at_source, at_fork) = (source.newest().await, fork.newest().await);
        assert_eq!(at_fork, at_source, "after transaction {at}");
    }
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_for_development_have_their_balances() {
    let (node, mut source, _) = source().await;
    let flags = [("fork-url", url(&node)), ("balance", "5".to_owned())];
    let flags = flags.each_ref().map(|(name, text)| (*name, text.as_str()));
    let forked = start(&flags).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let number = source.ask("eth_blockNumber", json!([])).await;
    assert_eq!(fork.ask("eth_blockNumber", json!([])).await, number);
    let five = json!("0x4563918244f40000");
    assert_eq!(fork.ask("eth_getBalance", json!([FROM, "latest"])).await, five);
    assert_eq!(fork.ask("eth_getProof", json!([FROM, [], "latest"])).await["balance"], five);
    let receipt = fork.send(json!({"from": FROM, "to": OTHER, "value": "0x5"})).await;
    assert_eq!(receipt["blockNumber"], "0x5");
    assert_eq!(fork.ask("eth_getBalance", json!([OTHER, "latest"])).await, "0xa");
    let info = fork.ask("anvil_nodeInfo", json!([])).await;
    assert_eq!(info["forkConfig"]["forkUrl"], url(&node));
    let block = source.ask("eth_getBlockByNumber", json!(["0x4", false])).await;
    let network = fork.ask("hardhat_metadata", json!([])).await["forkedNetwork"].take();
    let expected = json!({"chainId": 31337, "forkBlockNumber": 4, "forkBlockHash": block["hash"]});
    assert_eq!(network, expected);
    // Back to the fork's block, and on from there.
    fork.ask("anvil_reset", json!([])).await;
    assert_eq!(fork.ask("eth_blockNumber", json!([])).await, number);
    assert_eq!(fork.ask("eth_getBalance", json!([FROM, "latest"])).await, five);
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

/// The flags of a fork in a folder.
fn kept<'a>(folder: &'a Path, url: &'a str) -> [(&'static str, &'a str); 2] {
    [("fork-url", url), ("data-dir", folder.to_str().unwrap())]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_fork_goes_on_at_its_block() {
    let (node, mut source, [counter, _]) = source().await;
    let (folder, url) = (tempfile::tempdir().unwrap(), url(&node));
    let forked = start(&kept(folder.path(), &url)).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    fork.send(json!({"from": FROM, "to": counter, "gas": "0x30000"})).await;
    let newest = fork.newest().await;
    drop(fork);
    forked.stop().await.unwrap();
    // The source goes on meanwhile.
    source.send(json!({"from": FROM, "to": OTHER, "value": "0x1"})).await;

    let forked = start(&kept(folder.path(), &url)).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    assert_eq!(fork.newest().await, newest);
    assert_eq!(fork.ask("eth_getBalance", json!([OTHER, "latest"])).await, "0x5");
    fork.send(json!({"from": FROM, "to": counter, "gas": "0x30000"})).await;
    let count = fork.ask("eth_getStorageAt", json!([counter, "0x0", "latest"])).await;
    assert!(count.as_str().unwrap().ends_with("03"), "{count}");
    drop(fork);
    forked.stop().await.unwrap();

    let path = folder.path().to_str().unwrap();
    let flags = [("fork-url", url.as_str()), ("data-dir", path), ("fork-block", "1")];
    let error = refusal(&flags).await;
    assert!(error.contains("leave it out"), "{error}");
    let other = tempfile::tempdir().unwrap();
    let path = other.path().to_str().unwrap();
    start(&[("data-dir", path)]).await.unwrap().stop().await.unwrap();
    let error = refusal(&kept(other.path(), &url)).await;
    assert!(error.contains("made without a fork"), "{error}");
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_proofs_values_are_the_sources_word() {
    let (node, mut source, [counter, _]) = source().await;
    let url = url(&node);
    let forked = start(&[("fork-url", &url), ("fork-proofs", "false")]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    for _ in 0..2 {
        fork.send(json!({"from": FROM, "to": counter, "gas": "0x30000"})).await;
    }
    let count = fork.ask("eth_getStorageAt", json!([counter, "0x0", "latest"])).await;
    assert!(count.as_str().unwrap().ends_with("03"), "{count}");
    let made = fork.deploy(COUNTER).await;
    fork.send(json!({"from": FROM, "to": made, "gas": "0x30000"})).await;
    let refused = fork.reply("eth_getProof", json!([FROM, [], "latest"])).await;
    assert!(refused["error"]["message"].as_str().unwrap().starts_with("no proofs"), "{refused}");
    assert_eq!(source.ask("eth_getBalance", json!([OTHER, "latest"])).await, "0x5");
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_gone_stops_only_what_needs_it() {
    let (node, _, [counter, _]) = source().await;
    let forked = start(&[("fork-url", &url(&node)), ("fork-retries", "0")]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let address = node.http_addr();
    node.stop().await.unwrap();
    let refused = fork.reply("eth_getBalance", json!([OTHER, "latest"])).await;
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains(&format!("http://{address}: eth_get")), "{text}");
    let sent = json!([{"from": FROM, "to": counter, "gas": "0x30000"}]);
    let refused = fork.reply("eth_sendTransaction", sent).await;
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains(&format!("http://{address}")), "{text}");
    // What is known is answered, and nothing was made.
    assert_ne!(fork.ask("eth_getBalance", json!([FROM, "latest"])).await, "0x0");
    assert_eq!(fork.ask("eth_getTransactionCount", json!([FROM, "latest"])).await, "0x4");
    assert_eq!(fork.ask("txpool_status", json!([])).await["pending"], "0x0");
    forked.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn contracts_that_blocks_call_are_added() {
    // Cancun has no requests of the execution layer.
    let node = start(&[("hardfork", "cancun")]).await.unwrap();
    let forked = start(&[("fork-url", &url(&node)), ("hardfork", "osaka")]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let receipt = fork.send(json!({"from": FROM, "to": OTHER, "value": "0x5"})).await;
    assert_eq!(receipt["blockNumber"], "0x1");
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_the_whole_state_is_refused() {
    let (node, _, _) = source().await;
    let forked = start(&[("fork-url", &url(&node))]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    for (method, params) in [
        ("debug_dumpBlock", json!(["latest"])),
        ("debug_accountRange", json!(["latest", "0x", 5, true, true, false])),
        ("anvil_dumpState", json!([])),
    ] {
        let reply = fork.reply(method, params).await;
        let text = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(text.contains("forked chain can't be listed"), "{method}: {reply}");
    }
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_can_not_be_read_is_named() {
    let error = start(&[("fork-url", "http://127.0.0.1:1"), ("fork-retries", "0")]).await;
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("cannot fork http://127.0.0.1:1: eth_chainId:"), "{text}");
    for (name, value, reason) in [
        ("fork-block", "newest", "expected a number, a hash, latest, safe or finalized"),
        ("fork-block", "7000", "there is no block 7000"),
        ("fork-header", "none", "no colon"),
    ] {
        let node = start(&[]).await.unwrap();
        let error = start(&[("fork-url", &url(&node)), (name, value)]).await;
        let text = error.unwrap_err().to_string();
        assert!(text.contains(reason), "{text}");
        node.stop().await.unwrap();
    }
}
