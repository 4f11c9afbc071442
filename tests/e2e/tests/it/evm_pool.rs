//! The C-Chain's pool: a hash that was returned is mined, or named as dropped.

use std::path::Path;

use esker_client::RpcClient;
use esker_e2e::{Node, until};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::{json_lines, local};

const PATH: &str = "/ext/bc/C/rpc";
/// Accounts of `esker dev`.
const ALICE: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const OTHER: &str = "0x00000000000000000000000000000000000000aa";

fn call<R: DeserializeOwned>(rpc: &mut RpcClient, method: &str, params: Value) -> R {
    rpc.call(PATH, method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
}

/// Sends one transaction after another on one connection, each with the nonce that the node gives it.
fn send_in_turn(rpc: &mut RpcClient, from: &str, count: usize) -> Vec<String> {
    let tx = json!([{"from": from, "to": OTHER, "gas": "0x5208"}]);
    (0..count).map(|_| call(rpc, "eth_sendTransaction", tx.clone())).collect()
}

/// Waits until a transaction is mined.
fn wait_mined(rpc: &mut RpcClient, hash: &str) {
    until(&format!("{hash} is mined"), || {
        let receipt: Value = call(rpc, "eth_getTransactionReceipt", json!([hash]));
        (!receipt.is_null()).then_some(())
    });
}

#[test]
fn sequential_sends_are_all_mined() {
    const SENDS: usize = 3000;
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    let hashes = send_in_turn(&mut rpc, ALICE, SENDS);
    for hash in &hashes {
        wait_mined(&mut rpc, hash);
    }
    for tag in ["latest", "pending"] {
        let count: String = call(&mut rpc, "eth_getTransactionCount", json!([ALICE, tag]));
        assert_eq!(count, format!("{SENDS:#x}"), "{tag}");
    }
    let status: Value = call(&mut rpc, "txpool_status", json!([]));
    assert_eq!(status, json!({"pending": "0x0", "queued": "0x0"}));
}

/// A node that makes a block an hour.
fn slow(folder: &Path) -> Node {
    local().dev().data_dir(folder).arg("--block-time").arg("1h").start().unwrap()
}

fn send(rpc: &mut RpcClient, nonce: u64, gas_price: u64) -> String {
    let (nonce, gas_price) = (format!("{nonce:#x}"), format!("{gas_price:#x}"));
    let tx = json!([{"from": ALICE, "to": OTHER, "gas": "0x5208", "nonce": nonce, "gasPrice": gas_price}]);
    call(rpc, "eth_sendTransaction", tx)
}

const GWEI: u64 = 1_000_000_000;

/// A node that makes no block for an hour: its first one, which is not held back, holds Alice's nonce 0.
fn slow_after_one_block(folder: &Path) -> (Node, RpcClient) {
    let node = slow(folder);
    let mut rpc = node.rpc();
    let first = send(&mut rpc, 0, 2 * GWEI);
    wait_mined(&mut rpc, &first);
    (node, rpc)
}

#[test]
fn pending_transactions_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("pool.journal");
    let (node, mut rpc) = slow_after_one_block(folder.path());
    let waiting: Vec<String> = (1..6).map(|nonce| send(&mut rpc, nonce, 2 * GWEI)).collect();
    let replaced = &waiting[2];
    let dearer = send(&mut rpc, 3, 3 * GWEI);
    let gapped = send(&mut rpc, 9, 2 * GWEI);
    assert!(!journal.exists());
    assert!(node.stop().unwrap().success());
    assert!(journal.exists());

    let node = slow(folder.path());
    let mut rpc = node.rpc();
    assert!(!journal.exists(), "it was taken in");
    let status: Value = call(&mut rpc, "txpool_status", json!([]));
    assert_eq!(status, json!({"pending": "0x5", "queued": "0x1"}));
    let count: String = call(&mut rpc, "eth_getTransactionCount", json!([ALICE, "pending"]));
    assert_eq!(count, "0x6");
    let dropped: Value = call(&mut rpc, "txpool_dropReason", json!([replaced]));
    let text = format!("replaced by transaction {dearer} with the same nonce");
    assert_eq!(dropped["reason"], json!(text), "reasons last, too");
    assert!(node.stop().unwrap().success());
    let copy = std::fs::read(&journal).unwrap();

    let node = local().dev().data_dir(folder.path()).start().unwrap();
    let mut rpc = node.rpc();
    for hash in waiting.iter().filter(|hash| *hash != replaced).chain([&dearer]) {
        wait_mined(&mut rpc, hash);
    }
    assert!(node.stop().unwrap().success());

    // Taken in once more, as after a kill at the wrong moment: what was mined was not dropped.
    std::fs::write(&journal, copy).unwrap();
    let node = local().dev().data_dir(folder.path()).start().unwrap();
    let mut rpc = node.rpc();
    for hash in &waiting {
        let dropped: Value = call(&mut rpc, "txpool_dropReason", json!([hash]));
        assert_eq!(dropped.is_null(), hash != replaced, "{hash}: {dropped}");
    }
    let shown: Value = call(&mut rpc, "eth_getTransactionByHash", json!([gapped]));
    assert_eq!((&shown["nonce"], &shown["blockHash"]), (&json!("0x9"), &Value::Null));
}

#[test]
fn invalidated_transactions_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("pool.journal");
    let (node, mut rpc) = slow_after_one_block(folder.path());
    let cheap = send(&mut rpc, 1, 2 * GWEI);
    assert!(node.stop().unwrap().success());
    let old = std::fs::read(&journal).unwrap();
    std::fs::remove_file(&journal).unwrap();

    let node = local().dev().data_dir(folder.path()).start().unwrap();
    let mut rpc = node.rpc();
    let other = send(&mut rpc, 1, 3 * GWEI);
    wait_mined(&mut rpc, &other);
    assert!(node.stop().unwrap().success());
    std::fs::write(&journal, old).unwrap();
    let logs = folder.path().join("json-logs");
    let node = local().dev().data_dir(folder.path()).arg("--log-dir").arg(&logs);
    let node = node.args(&["--log-format", "json"]).start().unwrap();
    let mut rpc = node.rpc();
    let dropped: Value = call(&mut rpc, "txpool_dropReason", json!([cheap]));
    let text = "refused after a restart: nonce too low: next nonce 2, tx nonce 1";
    assert_eq!(dropped["reason"], json!(text));
    assert!(node.stop().unwrap().success());
    let lines = json_lines(&logs.join("C.log"));
    let dropped: Vec<_> =
        lines.iter().filter(|line| line["message"] == "transaction dropped").collect();
    let [line] = &dropped[..] else { panic!("{lines:?}") };
    assert_eq!((&line["level"], &line["logger"]), (&json!("INFO"), &json!("C")), "{line}");
    assert_eq!((&line["hash"], &line["reason"]), (&json!(cheap), &json!(text)), "{line}");
}

#[test]
fn a_damaged_journal_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("pool.journal");
    for content in [&b""[..], b"esker pool journal 1\nnothing of the kind"] {
        std::fs::write(&journal, content).unwrap();
        let node = local().dev().data_dir(folder.path()).start().unwrap();
        assert!(node.output().contains("the pool journal can't be read"), "{}", node.output());
        let hash = send_in_turn(&mut node.rpc(), ALICE, 1).remove(0);
        wait_mined(&mut node.rpc(), &hash);
        assert!(node.stop().unwrap().success());
        assert!(!journal.exists());
        let aside = folder.path().join("pool.journal.damaged");
        assert_eq!(std::fs::read(aside).unwrap(), content);
    }
}

#[test]
fn a_full_pool_refuses_at_one_price_and_names_what_it_drops() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("esker.toml");
    let limits = "tx-pool-global-slots = 2\ntx-pool-global-queue = 1\n";
    std::fs::write(&config, format!("[chains.C]\n{limits}")).unwrap();
    let logs = folder.path().join("logs");
    let node = local().dev().config(&config).arg("--block-time").arg("1h").arg("--log-dir");
    let node = node.arg(&logs).args(&["--log-format", "json", "--log-level", "debug"]);
    let node = node.start().unwrap();
    let mut rpc = node.rpc();
    let accounts: Vec<String> = call(&mut rpc, "eth_accounts", json!([]));
    let send = |rpc: &mut RpcClient, from: usize, gas_price: u64| {
        let gas_price = format!("{gas_price:#x}");
        let tx =
            json!([{"from": accounts[from], "to": OTHER, "gas": "0x5208", "gasPrice": gas_price}]);
        rpc.call::<String>(PATH, "eth_sendTransaction", tx).map_err(|error| error.to_string())
    };
    let first = send(&mut rpc, 9, 2 * GWEI).unwrap();
    wait_mined(&mut rpc, &first);
    // The pool follows a block a moment after it is shown.
    until("the pool is empty", || {
        let status: Value = call(&mut rpc, "txpool_status", json!([]));
        (status["pending"] == "0x0").then_some(())
    });
    let taken: Vec<_> = (0..3).map(|from| send(&mut rpc, from, 2 * GWEI).unwrap()).collect();
    let refused = send(&mut rpc, 3, 2 * GWEI).unwrap_err();
    assert!(refused.contains("txpool is full"), "{refused}");
    let better = send(&mut rpc, 4, 3 * GWEI).unwrap();
    let dropped: Value = call(&mut rpc, "txpool_dropReason", json!([taken[2]]));
    let text = format!("the pool is full, and transaction {better} pays more");
    assert_eq!(dropped["reason"], json!(text));
    let shown: Value = call(&mut rpc, "eth_getTransactionByHash", json!([taken[2]]));
    assert_eq!(shown, Value::Null);
    let figures = rpc.http().request("GET", "/ext/metrics", &[], b"").unwrap().text();
    for series in [
        "esker_chain_mempool_dropped_total{chain=\"C\",reason=\"outbid\"} 1",
        "esker_chain_mempool_refused_total{chain=\"C\",reason=\"full\"} 1",
        "esker_chain_mempool_transactions{chain=\"C\"} 3",
    ] {
        assert!(figures.contains(series), "{series}\n{figures}");
    }
    assert!(node.stop().unwrap().success());
    let lines = json_lines(&logs.join("C.log"));
    let with = |message: &str| {
        lines.iter().filter(|line| line["message"] == message).cloned().collect::<Vec<_>>()
    };
    let [line] = &with("transaction dropped")[..] else { panic!("{lines:?}") };
    assert_eq!((&line["level"], &line["logger"]), (&json!("DEBUG"), &json!("C")), "{line}");
    assert_eq!((&line["hash"], &line["reason"]), (&json!(taken[2]), &json!(text)), "{line}");
    assert_eq!(line["sender"].as_str().unwrap().to_lowercase(), accounts[2], "{line}");
    let [line] = &with("the pool dropped transactions; level debug names each")[..] else {
        panic!("{lines:?}")
    };
    assert_eq!((&line["level"], &line["logger"]), (&json!("INFO"), &json!("C")), "{line}");
    assert_eq!(line["count"], 1, "{line}");
}
