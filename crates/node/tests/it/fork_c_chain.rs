//! Development networks whose C-Chain begins on a block of another C-Chain.

use std::fs;
use std::path::Path;

use esker_fork::cache::{cache_files, pack_cache};
use esker_node::RunningNode;
use esker_settings::config::Mode;
use esker_testkit::http_client::Client;
use serde_json::{Value, json};

use crate::fork::{
    COUNTER, Chain, ELEVEN_ACCOUNTS, FROM, OTHER, UNREAD, assert_equal, c_chain_url, refusal_as,
    source_as, start_as, start_when_free,
};

type Setting<'a> = (&'static str, &'a str);

/// Nothing listens there.
const NOBODY: &str = "http://127.0.0.1:1";

/// A source with a transfer and two contracts, and the URL of its C-Chain.
async fn c_chain() -> (RunningNode, Chain, [Value; 2], String) {
    let (node, chain, contracts) = source_as(Mode::Dev, &ELEVEN_ACCOUNTS).await;
    let url = c_chain_url(&node, Mode::Dev);
    (node, chain, contracts, url)
}

/// A start that failed before in this process may hold the folder for a moment.
async fn dev(flags: &[Setting<'_>]) -> (RunningNode, Chain) {
    let node = start_when_free(Mode::Dev, flags).await.unwrap();
    let chain = Chain::of(&node).await;
    (node, chain)
}

async fn on_x(node: &RunningNode, method: &str, params: Value) -> Value {
    let mut client = Client::connect(node.http_addr()).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    client.send(&Client::post("/ext/bc/X", &body.to_string())).await.json()["result"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_answers_as_its_source() {
    let (node, mut source, [counter, hashes], url) = c_chain().await;
    let (forked, mut fork) = dev(&[("fork-url", &url), ("fork-keep-balances", "true")]).await;
    let first = source.ask("eth_getBlockByNumber", json!(["0x1", true])).await;
    let (hash, tx) = (first["hash"].clone(), first["transactions"][0]["hash"].clone());
    let word = |number: u64| format!("{number:#066x}");
    let requests = [
        ("eth_chainId", json!([])),
        ("net_version", json!([])),
        ("eth_blockNumber", json!([])),
        ("eth_getChainConfig", json!([])),
        ("eth_gasPrice", json!([])),
        ("eth_getBalance", json!([FROM, "latest"])),
        ("eth_getBalance", json!([FROM, "0x1"])),
        ("eth_getTransactionCount", json!([FROM, "latest"])),
        ("eth_getCode", json!([counter, "latest"])),
        ("eth_getStorageAt", json!([counter, "0x0", "latest"])),
        ("eth_getProof", json!([counter, ["0x0"], "latest"])),
        ("eth_getProof", json!([OTHER, [], "latest"])),
        ("eth_getBlockByNumber", json!(["0x0", false])),
        ("eth_getBlockByNumber", json!(["0x3", true])),
        ("eth_getBlockByNumber", json!(["latest", false])),
        ("eth_getBlockByHash", json!([hash, false])),
        ("eth_getHeaderByNumber", json!(["latest"])),
        ("eth_getTransactionByHash", json!([tx])),
        ("eth_getTransactionReceipt", json!([tx])),
        ("eth_getBlockReceipts", json!(["0x2"])),
        ("eth_getLogs", json!([{"fromBlock": "0x0", "toBlock": "latest"}])),
        ("debug_traceTransaction", json!([tx, {"tracer": "callTracer"}])),
        ("eth_feeHistory", json!(["0x3", "latest", [50]])),
        ("eth_call", json!([{"to": hashes, "data": word(2)}, "latest"])),
        ("eth_call", json!([{"to": hashes, "data": word(0)}, "latest"])),
        ("eth_estimateGas", json!([{"from": FROM, "to": counter}])),
    ];
    assert_equal(&mut source, &mut fork, &requests).await;
    // The X-Chain is the network's own.
    assert_eq!(on_x(&forked, "xvm.getBlockchainID", json!({})).await, Value::Null);
    let height = on_x(&forked, "xvm.getHeight", json!({})).await;
    assert!(height["height"].is_string(), "{height}");
    let receipt = fork.send(json!({"from": FROM, "to": OTHER, "value": "0x5"})).await;
    assert_eq!(receipt["blockNumber"], "0x5");
    let (own, parent) = (fork.newest().await, source.newest().await);
    assert_eq!(own["parentHash"], parent["hash"]);
    for field in ["baseFeePerGas", "gasLimit", "extDataHash", "blockGasCost"] {
        assert_eq!(own[field], parent[field], "{field}");
    }
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

/// Init code of a contract that logs nothing, without a topic.
const LOGGER: &str = "0x600680600b6000396000f360006000a000";

#[tokio::test(flavor = "multi_thread")]
async fn logs_reach_across_the_fork() {
    let (node, mut source, _, url) = c_chain().await;
    let logger = source.deploy(LOGGER).await;
    let call = json!({"from": FROM, "to": logger, "gas": "0x30000"});
    source.send(call.clone()).await;
    let range = json!([{"fromBlock": "0x0", "toBlock": "latest"}]);
    let before = source.ask("eth_getLogs", range.clone()).await;
    let (forked, mut fork) = dev(&[("fork-url", &url)]).await;
    assert_eq!(fork.ask("eth_getLogs", range.clone()).await, before);
    let own = fork.send(call).await;
    let both = fork.ask("eth_getLogs", range).await;
    assert_eq!(both.as_array().unwrap().len(), 2, "{both}");
    assert_eq!((&both[0], &both[1]), (&before[0], &own["logs"][0]));
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_of_block_0_begins_there() {
    let node = start_as(Mode::Dev, &[("chain-id", "777")]).await.unwrap();
    let mut source = Chain::of(&node).await;
    let url = c_chain_url(&node, Mode::Dev);
    let (forked, mut fork) = dev(&[("fork-url", &url)]).await;
    assert_eq!(fork.ask("eth_chainId", json!([])).await, json!("0x309"));
    assert_eq!(fork.newest().await["hash"], source.newest().await["hash"]);
    let receipt = fork.send(json!({"from": FROM, "to": OTHER, "value": "0x5"})).await;
    assert_eq!(receipt["blockNumber"], "0x1");
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn controls_work_on_the_state_of_the_source() {
    let (node, _, [counter, _], url) = c_chain().await;
    let (forked, mut fork) = dev(&[("fork-url", &url)]).await;
    let five = fork.ask("eth_getBalance", json!([OTHER, "latest"])).await;
    assert_eq!(five, "0x5");
    fork.ask("anvil_setBalance", json!([OTHER, "0xde0b6b3a7640000"])).await;
    fork.ask("anvil_impersonateAccount", json!([OTHER])).await;
    let snapshot = fork.ask("evm_snapshot", json!([])).await;
    fork.send(json!({"from": OTHER, "to": counter, "gas": "0x30000"})).await;
    let count = json!([counter, "0x0", "latest"]);
    let counted = fork.ask("eth_getStorageAt", count.clone()).await;
    assert!(counted.as_str().unwrap().ends_with("02"), "{counted}");
    assert_eq!(fork.ask("evm_revert", json!([snapshot])).await, true);
    let counted = fork.ask("eth_getStorageAt", count.clone()).await;
    assert!(counted.as_str().unwrap().ends_with("01"), "{counted}");
    for method in ["anvil_reset", "hardhat_reset"] {
        fork.send(json!({"from": FROM, "to": counter, "gas": "0x30000"})).await;
        fork.ask(method, json!([])).await;
        assert_eq!(fork.ask("eth_blockNumber", json!([])).await, "0x4", "{method}");
        assert_eq!(fork.ask("eth_getBalance", json!([OTHER, "latest"])).await, five);
    }
    let forking = json!([{"forking": {"jsonRpcUrl": url, "blockNumber": 1}}]);
    let refused = fork.reply("anvil_reset", forking).await;
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains("esker evm"), "{text}");
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
async fn without_proofs_values_are_the_sources_word() {
    let (node, _, [counter, _], url) = c_chain().await;
    let (forked, mut fork) = dev(&[("fork-url", &url), ("fork-proofs", "false")]).await;
    for _ in 0..2 {
        fork.send(json!({"from": FROM, "to": counter, "gas": "0x30000"})).await;
    }
    let count = fork.ask("eth_getStorageAt", json!([counter, "0x0", "latest"])).await;
    assert!(count.as_str().unwrap().ends_with("03"), "{count}");
    let made = fork.deploy(COUNTER).await;
    fork.send(json!({"from": FROM, "to": made, "gas": "0x30000"})).await;
    let refused = fork.reply("eth_getProof", json!([FROM, [], "latest"])).await;
    assert!(refused["error"]["message"].as_str().unwrap().starts_with("no proofs"), "{refused}");
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

/// The balance of an account at the other chain of the virtual machine.
async fn third(node: &RunningNode, method: &str, params: Value) -> Value {
    let mut client = Client::connect(node.http_addr()).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    client.send(&Client::post("/ext/bc/T/rpc", &body.to_string())).await.json()["result"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_c_chain_begins_on_the_block() {
    let (node, _, _) = source_as(Mode::Dev, &[("chain-id", "777")]).await;
    let url = c_chain_url(&node, Mode::Dev);
    let folder = tempfile::tempdir().unwrap();
    let genesis = r#"{"config":{"chainId":9},"gasLimit":"0xe4e1c0","difficulty":"0x0","alloc":{}}"#;
    fs::write(folder.path().join("third.json"), genesis).unwrap();
    let config = folder.path().join("esker.toml");
    let text =
        "[chains.Third]\nvm = 'evm'\ngenesis = 'third.json'\nasset = 'X:AVAX'\naliases = 'T'\n";
    fs::write(&config, text).unwrap();
    let config = config.to_str().unwrap();
    let (forked, mut fork) = dev(&[("fork-url", &url), ("config", config)]).await;
    assert_eq!(fork.ask("eth_getBalance", json!([OTHER, "latest"])).await, "0x5");
    assert_eq!(third(&forked, "eth_chainId", json!([])).await, "0x9");
    assert_eq!(third(&forked, "eth_blockNumber", json!([])).await, "0x0");
    assert_eq!(third(&forked, "eth_getBalance", json!([OTHER, "latest"])).await, "0x0");
    forked.stop().await.unwrap();
    // Two chains can't have one ID.
    fs::write(folder.path().join("third.json"), genesis.replace(":9", ":777")).unwrap();
    let flags = [("fork-url", url.as_str()), ("config", config)];
    let error = refusal_as(Mode::Dev, &flags).await;
    assert!(error.contains("EVM chain ID 777 is that of chain"), "{error}");
    node.stop().await.unwrap();
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_fork_goes_on_with_and_without_its_source() {
    let (node, mut source, [counter, _], url) = c_chain().await;
    let folder = tempfile::tempdir().unwrap();
    let data = ("data-dir", text(folder.path()));
    let count = json!({"from": FROM, "to": counter, "gas": "0x30000"});
    let (forked, mut fork) = dev(&[("fork-url", &url), data]).await;
    fork.send(count.clone()).await;
    let newest = fork.newest().await;
    drop(fork);
    forked.stop().await.unwrap();
    source.send(json!({"from": FROM, "to": OTHER, "value": "0x1"})).await;

    let (forked, mut fork) = dev(&[("fork-url", &url), data]).await;
    assert_eq!(fork.newest().await, newest);
    assert_eq!(fork.ask("eth_getBalance", json!([OTHER, "latest"])).await, "0x5");
    drop(fork);
    forked.stop().await.unwrap();
    // Other commands don't run the folder.
    let as_evm = refusal_as(Mode::Evm, &[data]).await;
    assert!(as_evm.contains("the network that the folder was made for"), "{as_evm}");
    let as_node = refusal_as(Mode::Node, &[data, ("network", "dev")]).await;
    assert!(as_node.contains("only esker dev and esker evm"), "{as_node}");
    node.stop().await.unwrap();

    for flags in [&[data][..], &[data, ("fork-url", NOBODY), ("fork-retries", "0")]] {
        let (forked, mut fork) = dev(flags).await;
        assert_eq!(fork.ask("eth_chainId", json!([])).await, "0xa868");
        let receipt = fork.send(count.clone()).await;
        assert_eq!(receipt["status"], "0x1");
        let unread = fork.reply("eth_getBalance", json!([UNREAD, "latest"])).await;
        let text = unread["error"]["message"].as_str().unwrap();
        assert!(text.to_lowercase().contains(UNREAD), "{text}");
        drop(fork);
        forked.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_runs_alone() {
    let (node, _, [counter, _], url) = c_chain().await;
    let folder = tempfile::tempdir().unwrap();
    let count = json!({"from": FROM, "to": counter, "gas": "0x30000"});
    let (forked, mut fork) = dev(&[("fork-url", &url), ("data-dir", text(folder.path()))]).await;
    let of_run = fork.send(count.clone()).await;
    drop(fork);
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
    let cache = cache_files(&folder.path().join("fork")).unwrap().remove(0);
    let pack = folder.path().join("run.pack");
    pack_cache(&cache.path, 1 << 30, &pack).unwrap();
    let (forked, mut fork) = dev(&[("fork-from", text(&pack))]).await;
    let alone = fork.send(count).await;
    assert_eq!((&alone["gasUsed"], &alone["blockNumber"]), (&of_run["gasUsed"], &json!("0x5")));
    let before = fork.reply("eth_getBlockByNumber", json!(["0x1", false])).await;
    assert!(before["error"]["message"].as_str().unwrap().contains("run.pack"), "{before}");
    forked.stop().await.unwrap();
    let as_evm = refusal_as(Mode::Evm, &[("fork-from", text(&pack))]).await;
    assert!(as_evm.contains("use esker dev --fork-from"), "{as_evm}");
}
