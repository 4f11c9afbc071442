//! What Otterscan asks a node, and its history of addresses across rewinds, restarts, kills and changes of the setting.

use std::fs;
use std::path::Path;

use esker_e2e::{Node, NodeBuilder, until};
use serde_json::{Value, json};

use crate::support::{esker, local};

const RPC: &str = "/ext/bc/C/rpc";
/// The first account of the phrase.
const FIRST: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
/// An account that nothing else uses.
const OTHER: &str = "0x00000000000000000000000000000000000000a1";
/// Init code of a contract that sends the value of its call to the account above, and reverts without one: the code
/// is CALLVALUE, PUSH1 7, JUMPI, 2 times PUSH0, REVERT, JUMPDEST, 4 times PUSH0, CALLVALUE, PUSH1 0xa1, GAS, CALL, STOP.
const FORWARDER: &str = "0x6012600c60003960126000f3346007575f5ffd5b5f5f5f5f3460a15af100";

/// A chain of a node, by its path.
#[derive(Clone, Copy)]
struct Chain<'n>(&'n Node, &'static str);

impl<'n> From<&'n Node> for Chain<'n> {
    fn from(node: &'n Node) -> Self {
        Self(node, RPC)
    }
}

fn reply<'a>(chain: impl Into<Chain<'a>>, method: &str, params: Value) -> Value {
    let Chain(node, path) = chain.into();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let reply = node.rpc().post(path, body.to_string().as_bytes()).unwrap();
    serde_json::from_slice(&reply.body).unwrap()
}

fn call<'a>(chain: impl Into<Chain<'a>>, method: &str, params: Value) -> Value {
    let reply = reply(chain, method, params);
    reply.get("result").unwrap_or_else(|| panic!("{method}: {reply}")).clone()
}

fn error<'a>(chain: impl Into<Chain<'a>>, method: &str, params: Value) -> (i64, String) {
    let reply = reply(chain, method, params);
    let error = &reply["error"];
    let text = error["message"].as_str().unwrap_or_else(|| panic!("{method}: {reply}"));
    (error["code"].as_i64().unwrap(), text.to_owned())
}

/// Sends a transaction and waits for its receipt; the hash.
fn send<'a>(chain: impl Into<Chain<'a>>, tx: Value) -> String {
    let node = chain.into();
    let hash = call(node, "eth_sendTransaction", json!([tx]));
    until("the transaction is in a block", || {
        Some(call(node, "eth_getTransactionReceipt", json!([hash]))).filter(|r| !r.is_null())
    });
    hash.as_str().unwrap().to_owned()
}

fn pay(node: &Node, to: &str) -> String {
    send(node, json!({"from": FIRST, "to": to, "value": "0x7"}))
}

/// The hashes of the transactions before a block, and whether it is the last page.
fn before<'a>(chain: impl Into<Chain<'a>>, address: &str, block: u64) -> (Vec<String>, bool) {
    let page = call(chain, "ots_searchTransactionsBefore", json!([address, block, 25]));
    let hash = |tx: &Value| tx["hash"].as_str().unwrap().to_owned();
    let hashes = page["txs"].as_array().unwrap().iter().map(hash).collect();
    (hashes, page["lastPage"].as_bool().unwrap())
}

fn verify(folder: &Path) {
    let (code, text) = esker(&["db", "verify", "--dev", "--data-dir"], &[folder]);
    assert!(code == Some(0) && text.ends_with("\nnothing is wrong\n"), "{text}");
}

/// The requests of the start, and of the pages about a block, a transaction and an address.
fn browse(node: Chain<'_>) {
    let number = call(node, "eth_blockNumber", json!([]));
    let number = u64::from_str_radix(&number.as_str().unwrap()[2..], 16).unwrap();
    assert!(call(node, "erigon_getHeaderByNumber", json!([number])).is_object());
    assert_eq!(call(node, "ots_getApiLevel", json!([])), 8);

    let deployed = send(node, json!({"from": FIRST, "data": FORWARDER}));
    let receipt = call(node, "eth_getTransactionReceipt", json!([deployed]));
    let contract = receipt["contractAddress"].as_str().unwrap();
    let forwarded = send(node, json!({"from": FIRST, "to": contract, "value": "0x5"}));
    let failed = send(node, json!({"from": FIRST, "to": contract, "gas": "0x186a0"}));
    let height = |hash: &str| {
        let receipt = call(node, "eth_getTransactionReceipt", json!([hash]));
        u64::from_str_radix(&receipt["blockNumber"].as_str().unwrap()[2..], 16).unwrap()
    };

    // A block, by its number as a JSON number and by its hash, and its transactions.
    let details = call(node, "ots_getBlockDetails", json!([height(&forwarded)]));
    assert_eq!(details["block"]["transactionCount"], 1);
    let by_hash = call(node, "ots_getBlockDetailsByHash", json!([details["block"]["hash"]]));
    assert_eq!(by_hash, details);
    let page = call(node, "ots_getBlockTransactions", json!([height(&forwarded), 0, 25]));
    assert_eq!(page["fullblock"]["transactions"][0]["hash"], forwarded);
    assert_eq!(page["receipts"][0]["transactionHash"], forwarded);

    // A transaction.
    let operations = call(node, "ots_getInternalOperations", json!([forwarded]));
    assert_eq!(operations, json!([{"type": 0, "from": contract, "to": OTHER, "value": "0x5"}]));
    let trace = call(node, "ots_traceTransaction", json!([forwarded]));
    let depths: Vec<_> = trace.as_array().unwrap().iter().map(|entry| &entry["depth"]).collect();
    assert_eq!(depths, [0, 1]);
    assert_eq!(call(node, "ots_getTransactionError", json!([forwarded])), "0x");
    assert_eq!(call(node, "ots_getTransactionError", json!([failed])), "0x");
    let nonce = call(node, "eth_getTransactionByHash", json!([forwarded]))["nonce"].clone();
    let nonce = u64::from_str_radix(&nonce.as_str().unwrap()[2..], 16).unwrap();
    let sent = call(node, "ots_getTransactionBySenderAndNonce", json!([FIRST, nonce]));
    assert_eq!(sent, forwarded);

    // An address: a contract, and what it was sent, and an account that only code sent to.
    assert_eq!(call(node, "ots_hasCode", json!([contract, "latest"])), true);
    assert_eq!(call(node, "ots_hasCode", json!([contract, height(&deployed) - 1])), false);
    let creator = call(node, "ots_getContractCreator", json!([contract]));
    assert_eq!(creator, json!({"hash": deployed, "creator": FIRST}));
    let all = vec![failed.clone(), forwarded.clone(), deployed.clone()];
    assert_eq!(before(node, contract, 0), (all, true));
    assert_eq!(before(node, OTHER, 0).0[0], forwarded);
    let after = call(node, "ots_searchTransactionsAfter", json!([contract, height(&deployed), 25]));
    assert_eq!((&after["txs"][0]["hash"], &after["firstPage"]), (&json!(failed), &json!(true)));
    assert_eq!(after["txs"].as_array().unwrap().len(), 2);
    assert_eq!(after["receipts"][0]["status"], "0x0");
    assert!(after["receipts"][0]["timestamp"].is_u64());
}

#[test]
fn its_requests_are_answered() {
    browse(Chain(&local().dev().start().unwrap(), RPC));
    let node = local().evm().start().unwrap();
    for path in ["/", "/ext/bc/evm/rpc"] {
        browse(Chain(&node, path));
    }
}

#[test]
fn other_nodes_serve_it_by_name_on_every_chain() {
    let dir = tempfile::tempdir().unwrap();
    let network = esker_e2e::files::tests_path("networks/ethereum-chain.json");
    let start = |config: &str| {
        let file = dir.path().join("esker.toml");
        fs::write(&file, config).unwrap();
        local().network(&network).config(file).start().unwrap()
    };
    let node = start("");
    for path in [RPC, "/ext/bc/ETH/rpc"] {
        let (code, _) = error(Chain(&node, path), "ots_getApiLevel", json!([]));
        assert_eq!(code, -32601, "{path}");
    }
    drop(node);
    let apis = "eth-apis = \"internal-blockchain,ots\"\nindex-addresses = true";
    let node = start(&format!("[chains.C]\n{apis}\n[chains.ETH]\n{apis}\n"));
    for path in [RPC, "/ext/bc/ETH/rpc"] {
        assert_eq!(call(Chain(&node, path), "ots_getApiLevel", json!([])), 8);
        assert_eq!(before(Chain(&node, path), OTHER, 0), (vec![], true), "{path}");
    }
}

#[test]
fn a_revert_takes_rows_back() {
    let folder = tempfile::tempdir().unwrap();
    let node = local().dev().data_dir(folder.path()).start().unwrap();
    let kept = pay(&node, OTHER);
    let snapshot = call(&node, "evm_snapshot", json!([]));
    let gone = pay(&node, OTHER);
    assert_eq!(before(&node, OTHER, 0), (vec![gone, kept.clone()], true));
    assert_eq!(call(&node, "evm_revert", json!([snapshot])), true);
    assert_eq!(before(&node, OTHER, 0), (vec![kept.clone()], true));
    // Another block of the same height.
    let other = "0x00000000000000000000000000000000000000a2";
    let instead = pay(&node, other);
    assert_eq!(before(&node, OTHER, 0), (vec![kept.clone()], true));
    assert_eq!(before(&node, other, 0), (vec![instead.clone()], true));
    assert_eq!(before(&node, FIRST, 0).0[..2], [instead, kept]);
    // A reorganization, which replaces the last two blocks.
    call(&node, "anvil_reorg", json!([2, []]));
    assert_eq!(before(&node, OTHER, 0), (vec![], true));
    assert_eq!(before(&node, other, 0), (vec![], true));
    assert!(node.stop().unwrap().success());
    verify(folder.path());
}

#[test]
fn a_history_outlasts_restarts_and_kills() {
    let folder = tempfile::tempdir().unwrap();
    let start = || local().dev().data_dir(folder.path()).start().unwrap();
    let mut node = start();
    let mut hashes = Vec::new();
    for round in 0..4 {
        for _ in 0..=round {
            hashes.insert(0, pay(&node, OTHER));
        }
        // One that nobody waits for.
        let last = json!({"from": FIRST, "to": OTHER, "value": "0x7"});
        let last = call(&node, "eth_sendTransaction", json!([last]));
        match round % 2 {
            0 => node.kill().unwrap(),
            _ => assert!(node.stop().unwrap().success()),
        }
        verify(folder.path());
        node = start();
        let found = before(&node, OTHER, 0);
        if found.0.len() > hashes.len() {
            hashes.insert(0, last.as_str().unwrap().to_owned());
        } else {
            // It waits again, or was never stored.
            let snapshot = call(&node, "eth_getTransactionReceipt", json!([last]));
            assert!(snapshot.is_null() || before(&node, OTHER, 0).0.len() > hashes.len());
            call(&node, "anvil_dropAllTransactions", json!([]));
            hashes = before(&node, OTHER, 0).0;
        }
        assert_eq!(before(&node, OTHER, 0), (hashes.clone(), true));
    }
}

/// A node of a folder with the setting.
fn with_index(folder: &Path, value: &str) -> NodeBuilder {
    let config = folder.join("esker.toml");
    fs::write(&config, format!("[chains.C]\nindex-addresses = {value}\n")).unwrap();
    local().dev().data_dir(folder.join("data")).config(config)
}

#[test]
fn an_index_that_begins_later_says_from_where_on_it_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let node = with_index(folder.path(), "false").start().unwrap();
    pay(&node, OTHER);
    pay(&node, OTHER);
    let (code, text) = error(&node, "ots_searchTransactionsBefore", json!([OTHER, 0, 25]));
    assert!(code == -32000 && text.contains("set index-addresses = true"), "{text}");
    assert!(node.stop().unwrap().success());

    let node = with_index(folder.path(), "true").start().unwrap();
    let incomplete = |node: &Node, method: &str, block: u64, start: u64| {
        let (code, text) = error(node, method, json!([OTHER, block, 25]));
        let expected = format!("before block {start} are not known here");
        assert!(code == 4444 && text.contains(&expected), "{text}");
    };
    incomplete(&node, "ots_searchTransactionsBefore", 0, 3);
    let hashes = [pay(&node, OTHER), pay(&node, OTHER)];
    let all: Vec<_> = hashes.iter().rev().cloned().collect();
    assert_eq!(before(&node, OTHER, 0), (all.clone(), false));
    assert_eq!(before(&node, OTHER, 4), (all[1..].to_vec(), false));
    incomplete(&node, "ots_searchTransactionsBefore", 3, 3);
    incomplete(&node, "ots_searchTransactionsAfter", 0, 3);
    incomplete(&node, "ots_searchTransactionsAfter", 1, 3);
    let after = call(&node, "ots_searchTransactionsAfter", json!([OTHER, 2, 25]));
    assert_eq!(after["txs"].as_array().unwrap().len(), 2);
    assert!(node.stop().unwrap().success());
    verify(&folder.path().join("data"));

    // A block without it ends it; what is left of it is not shown.
    let node = with_index(folder.path(), "false").start().unwrap();
    pay(&node, OTHER);
    assert!(node.stop().unwrap().success());
    let node = with_index(folder.path(), "\"auto\"").start().unwrap();
    incomplete(&node, "ots_searchTransactionsBefore", 0, 6);
    let last = pay(&node, OTHER);
    assert_eq!(before(&node, OTHER, 0), (vec![last], false));
    assert!(node.stop().unwrap().success());
    verify(&folder.path().join("data"));
}
