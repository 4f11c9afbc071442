//! Flags of anvil that change how blocks are made, where the node listens, and how a fork asks its source.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Esker, anvil_command, names, run_command};

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const POOR: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const TO: &str = "0x00000000000000000000000000000000000000aa";
const PATIENCE: Duration = Duration::from_secs(60);

fn start(args: &[&str]) -> Esker {
    Esker::start_anvil(&[&["--port", "0"], args].concat()).0
}

fn ask(node: &Esker, address: &str, method: &str, params: Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let (_, body) = node.http_at(address, "POST", "/", &request.to_string());
    serde_json::from_str(&body).unwrap()
}

fn send(node: &Esker, from: &str, more: &Value) -> Value {
    let mut tx = json!({"from": from, "to": TO, "value": "0x1", "gas": "0x5208"});
    tx.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    node.evm("eth_sendTransaction", json!([tx]))
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::yield_now();
    }
}

fn txs_of(node: &Esker, height: u64) -> usize {
    let block = node.evm("eth_getBlockByNumber", json!([format!("{height:#x}"), false]));
    block["transactions"].as_array().map_or(0, Vec::len)
}

#[test]
fn it_listens_at_several_hosts() {
    let args = ["--port", "0", "--host", "127.0.0.1,127.0.0.2"];
    let (mut node, banner, _) = Esker::start_anvil(&args);
    let last = banner.last().unwrap().strip_prefix("Listening on ").unwrap().to_owned();
    let (first, second) = last.split_once(", ").unwrap();
    assert!(first.starts_with("127.0.0.1:") && second.starts_with("127.0.0.2:"), "{last}");
    node.ready = json!({"http": first, "evm": first});
    for address in [first, second] {
        assert_eq!(ask(&node, address, "eth_chainId", json!([]))["result"], "0x7a69");
    }
    // Also after another chain has taken the place.
    let source = start(&[]);
    source.evm("anvil_mine", json!(["0x3"]));
    let url = format!("http://{}", source.ready["evm"].as_str().unwrap());
    let reset = json!([{"forking": {"jsonRpcUrl": url}}]);
    assert!(ask(&node, second, "anvil_reset", reset)["error"].is_null());
    for address in [first, second] {
        assert_eq!(ask(&node, address, "eth_blockNumber", json!([]))["result"], "0x3");
    }
    // A node can't fork itself, whatever its address.
    let own = json!([{"forking": {"jsonRpcUrl": format!("http://{second}")}}]);
    let refused = ask(&node, first, "anvil_reset", own)["error"]["message"].clone();
    assert!(refused.as_str().unwrap().contains("itself"), "{refused}");
    assert!(node.stop("TERM").0.success());
}

#[test]
fn a_host_twice_is_a_port_in_use() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let (temp, link) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let args = ["--port", &port, "--host", "127.0.0.1,127.0.0.1"];
    let ended = run_command(anvil_command(&args, (temp.path(), link.path())));
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains(&format!("port in use: 127.0.0.1:{port}")), "{}", ended.stderr);
}

#[test]
fn blocks_have_so_many_transactions_at_most() {
    let node = start(&["--max-transactions", "2"]);
    // All are ready at once with the last one.
    for nonce in [1, 2, 3, 4, 0] {
        send(&node, FROM, &json!({"nonce": format!("{nonce:#x}")}));
    }
    let nonce = || node.evm("eth_getTransactionCount", json!([FROM, "latest"]));
    until("five transactions", || nonce() == "0x5");
    assert_eq!([1, 2, 3].map(|height| txs_of(&node, height)), [2, 2, 1]);
    // A block on request has all.
    node.evm("evm_setAutomine", json!([false]));
    for _ in 0..3 {
        send(&node, FROM, &json!({}));
    }
    node.evm("evm_mine", json!([]));
    assert_eq!(txs_of(&node, 4), 3);
}

#[test]
fn a_sender_without_balance_is_dropped_by_its_block() {
    let node = start(&["--disable-pool-balance-checks"]);
    let pending = || node.evm("txpool_status", json!([]))["pending"].clone();
    node.evm("anvil_setBalance", json!([POOR, "0x0"]));
    node.evm("evm_setAutomine", json!([false]));
    let hash = send(&node, POOR, &json!({}));
    assert_eq!(pending(), "0x1");
    // Blocks of others leave it there, as a change of its balance does.
    node.evm("anvil_setBalance", json!([POOR, "0x1"]));
    assert_eq!(pending(), "0x1");
    node.evm("evm_mine", json!([]));
    assert_eq!(pending(), "0x0");
    assert_eq!(node.evm("eth_getTransactionReceipt", json!([hash])), Value::Null);
    let why = node.evm("txpool_dropReason", json!([hash]));
    assert!(why.to_string().contains("insufficient funds"), "{why}");
    // With the balance in time it is in the block.
    let hash = send(&node, POOR, &json!({}));
    node.evm("anvil_setBalance", json!([POOR, "0xde0b6b3a7640000"]));
    node.evm("evm_mine", json!([]));
    assert_eq!(node.receipt(&hash)["status"], "0x1");
    // With a block for each transaction it is answered with its hash, and gone.
    node.evm("evm_setAutomine", json!([true]));
    node.evm("anvil_setBalance", json!([POOR, "0x0"]));
    let hash = send(&node, POOR, &json!({}));
    assert!(hash.is_string());
    until("the transaction is dropped", || pending() == "0x0");
    let hash = send(&node, FROM, &json!({}));
    assert_eq!(node.receipt(&hash)["status"], "0x1");
    let usual = start(&[]);
    usual.evm("anvil_setBalance", json!([POOR, "0x0"]));
    let tx = json!([{"from": POOR, "to": TO, "value": "0x1", "gas": "0x5208"}]);
    let address = usual.ready["evm"].as_str().unwrap();
    let refused = ask(&usual, address, "eth_sendTransaction", tx);
    let text = refused["error"]["message"].as_str().unwrap();
    assert_eq!(text, "Insufficient funds for gas * price + value", "{refused}");
}

#[test]
fn a_silent_source_has_the_time_of_the_flag() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let (temp, link) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let args = ["--port", "0", "--fork-url", &url, "--timeout", "150", "--retries", "1"];
    let args = [&args[..], &["--fork-retry-backoff", "1"]].concat();
    let ended = run_command(anvil_command(&args, (temp.path(), link.path())));
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("150 ms"), "{}", ended.stderr);
}

#[test]
fn a_fork_has_the_chain_id_of_the_flag() {
    let source = start(&[]);
    source.evm("anvil_mine", json!(["0x3"]));
    let url = format!("http://{}", source.ready["evm"].as_str().unwrap());
    let of = ["--fork-url", &url, "--fork-block-number", "2", "--fork-chain-id", "77"];
    let fork = start(&of);
    assert_eq!(fork.evm("eth_chainId", json!([])), "0x4d");
    assert_eq!(fork.evm("eth_blockNumber", json!([])), "0x2");
    let hash = send(&fork, FROM, &json!({}));
    assert_eq!(fork.receipt(&hash)["status"], "0x1");
}

/// Whether a fork leaves a cache in the user's folder.
fn leaves_cache(args: &[&str]) -> bool {
    let source = start(&[]);
    let url = format!("http://{}", source.ready["evm"].as_str().unwrap());
    let fork = start(&[&["--fork-url", &url], args].concat());
    fork.evm("eth_getBalance", json!([TO, "latest"]));
    let (status, _, home) = fork.stop("TERM");
    assert!(status.success());
    home.path().join(".cache/esker/forks").exists()
}

#[test]
fn a_fork_shares_no_cache_on_request() {
    assert!(leaves_cache(&[]));
    assert!(!leaves_cache(&["--no-storage-caching"]));
}

#[test]
fn states_are_in_the_folder_of_the_flag_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/states");
    let node = start(&["--cache-path", path.to_str().unwrap()]);
    let inside = |path: &Path| names(path);
    assert!(inside(&path)[0].starts_with("esker-"), "{:?}", inside(&path));
    let (status, _, temp) = node.stop("TERM");
    assert!(status.success());
    assert!(inside(&path).is_empty() && inside(temp.path()).is_empty());
    let file = tempfile::NamedTempFile::new().unwrap();
    let (temp, link) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let args = ["--port", "0", "--cache-path", file.path().to_str().unwrap()];
    let ended = run_command(anvil_command(&args, (temp.path(), link.path())));
    assert_ne!(ended.code(), Some(0));
    assert!(ended.stderr.contains("cannot create folder"), "{}", ended.stderr);
}
