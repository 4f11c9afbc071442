//! The X-Chain, the index API and what a node says of itself, below the history.

use esker_client::{RpcClient, Wallet};
use esker_e2e::funds::funded;
use esker_e2e::{Node, NodeBuilder};
use serde_json::{Value, json};

use super::{Folders, ask, esker, node};
use crate::support::{accept, json_lines, wallet};

const X: &str = "/ext/bc/X";
const NAT: &str = "/ext/bc/C/nat";
const INDEX: &str = "/ext/index/X/block";

fn start(node: NodeBuilder) -> Node {
    node.args(&["--index-enabled", "--log-format", "json"]).start().unwrap()
}

/// An error of a method of the object dialect.
fn refused(text: impl Into<String>) -> Result<Value, (i64, String)> {
    Err((-32000, text.into()))
}

#[test]
fn methods_of_the_x_chain_begin_with_the_first_block() {
    let folders = Folders::new();
    let (whole, joined) = (start(node(&folders.whole)), start(node(&folders.joined)));
    let first = folders.start.x_block;
    let begins = format!("this node's history begins at block {first} (it joined from a snapshot)");
    for height in [1, first - 1] {
        let text = format!("couldn't get block at height {height}: not available: {begins}");
        let params = json!({ "height": height.to_string() });
        assert_eq!(ask(&joined, X, "xvm.getBlockByHeight", params), refused(text));
        let block = whole.x().get_block_by_height(height).unwrap();
        let params = json!({ "blockID": block.id() });
        let text = format!("couldn't get block with id {}: not found", block.id());
        assert_eq!(ask(&joined, X, "xvm.getBlock", params), refused(text));
        let tx = json!({ "txID": block.txs()[0].id() });
        assert_eq!(ask(&joined, X, "xvm.getTx", tx.clone()), refused("not found"));
        let status = ask(&joined, X, "xvm.getTxStatus", tx).unwrap();
        assert_eq!(status, json!({ "status": "Unknown" }));
        let params = json!({ "index": (height - 1).to_string(), "encoding": "hex" });
        let text = format!("block {height} is not available: {begins}");
        assert_eq!(ask(&joined, INDEX, "index.getContainerByIndex", params), refused(&text));
        let params = json!({ "startIndex": height - 1, "numToFetch": 10, "encoding": "hex" });
        assert_eq!(ask(&joined, INDEX, "index.getContainerRange", params), refused(&text));
    }
    for height in [0, first] {
        let block = |node: &Node| node.x().get_block_by_height(height).unwrap();
        assert_eq!(block(&joined).bytes(), block(&whole).bytes());
    }
    assert_eq!(joined.x().get_height().unwrap(), first);
    let last = |node: &Node| {
        let params = json!({ "encoding": "hex" });
        ask(node, INDEX, "index.getLastAccepted", params).unwrap()["id"].clone()
    };
    assert_eq!(last(&joined), last(&whole));
    let atomic = atomic_tx(&whole, folders.start.first_c_block);
    let params = json!({ "txID": atomic });
    let status = ask(&whole, NAT, "nat.getAtomicTxStatus", params.clone()).unwrap();
    assert_eq!(status["status"], "Accepted");
    let status = ask(&joined, NAT, "nat.getAtomicTxStatus", params.clone()).unwrap();
    assert_eq!(status, json!({ "status": "Unknown" }));
    let text = format!("could not find tx {atomic}");
    assert_eq!(ask(&joined, NAT, "nat.getAtomicTx", params), refused(text));

    // UTXOs, balances and assets are complete.
    let owner = wallet(&whole, "X", funded()).address();
    let utxos =
        |node: &Node| node.x().walk_utxos(std::slice::from_ref(&owner), 1024, None).unwrap();
    assert!(!utxos(&whole).is_empty());
    assert_eq!(utxos(&joined), utxos(&whole));
    let balances =
        |node: &Node| ask(node, X, "xvm.getAllBalances", json!({ "address": owner })).unwrap();
    assert_eq!(balances(&joined), balances(&whole));
}

/// The ID of an atomic transaction before a height of the C-Chain.
fn atomic_tx(whole: &Node, before: u64) -> String {
    let rpc: &mut RpcClient = &mut whole.rpc();
    let ids = (1..whole.x().get_height().unwrap()).flat_map(|height| {
        let block = whole.x().get_block_by_height(height).unwrap();
        block
            .txs()
            .iter()
            .flat_map(|tx| tx.unsigned().imported_inputs().to_vec())
            .collect::<Vec<_>>()
    });
    for input in ids {
        let id = input.utxo_id.tx_id.to_string();
        let found: Result<Value, _> = rpc.call(NAT, "nat.getAtomicTx", json!({ "txID": id }));
        if let Ok(tx) = found
            && tx["blockHeight"].as_str().unwrap().parse::<u64>().unwrap() < before
        {
            return id;
        }
    }
    panic!("no transaction of the recorded X-Chain imports from an early block of C");
}

#[test]
fn lists_of_an_address_begin_after_the_snapshot() {
    let folders = Folders::new();
    let first = folders.start.x_block;
    let joined = start(node(&folders.joined));
    let mut owner = wallet(&joined, "X", funded());
    let list = |node: &Node, address: &str| {
        let params = json!({ "address": address, "assetID": "NAT" });
        ask(node, X, "xvm.getAddressTxs", params)
    };
    let reply = |ids: &[String]| {
        let (cursor, first) = (ids.len().to_string(), first.to_string());
        Ok(json!({ "txIDs": ids, "cursor": cursor, "historyStart": first }))
    };
    assert_eq!(list(&joined, &owner.address()), reply(&[]));
    let send = |owner: &Wallet, amount: u64| {
        let output = Wallet::output(owner.params().fee_asset_id, amount, owner.owner());
        owner.base_tx(vec![output], b"").unwrap()
    };
    let mut ids = Vec::new();
    for amount in [1_000, 2_000] {
        let tx = send(&owner, amount);
        owner.apply(&tx);
        ids.push(accept(&mut joined.x(), &tx).to_string());
        assert_eq!(list(&joined, &owner.address()), reply(&ids));
    }
    assert!(joined.stop().unwrap().success());

    let joined = start(node(&folders.joined));
    assert_eq!(list(&joined, &owner.address()), reply(&ids), "after a restart");
    assert!(joined.stop().unwrap().success());
    let verified = esker(&["db", "verify"], &folders.joined).unwrap();
    assert!(verified.ends_with("\nnothing is wrong\n"), "{verified}");

    // Switched off for a block, it can't be filled any more.
    let config = folders.joined.join("off.toml");
    std::fs::write(&config, "[chains.X]\nindex-transactions = false\n").unwrap();
    let off = NodeBuilder::config(node(&folders.joined), &config).start().unwrap();
    accept(&mut off.x(), &send(&owner, 3_000));
    assert!(off.stop().unwrap().success());
    let joined = start(node(&folders.joined));
    let text = format!(
        "the address transaction index lacks blocks, and can't be filled: this node's history begins at block {first} \
         (it joined from a snapshot)"
    );
    assert_eq!(list(&joined, &owner.address()), refused(text));
}

#[test]
fn status_health_and_metrics_name_the_start_of_the_history() {
    let folders = Folders::new();
    let (whole, joined) = (start(node(&folders.whole)), start(node(&folders.joined)));
    let page = |node: &Node, path: &str| {
        let reply = node.rpc().http().request("GET", path, &[], b"").unwrap();
        assert_eq!(reply.status, 200, "{path}");
        String::from_utf8(reply.body).unwrap()
    };
    let start = folders.start;
    let status: Value = serde_json::from_str(&page(&joined, "/ext/status")).unwrap();
    assert_eq!(status["firstBundle"], start.bundle);
    let blocks = [&status["chains"][0]["firstBlock"], &status["chains"][1]["firstBlock"]];
    assert_eq!(blocks, [&json!(start.x_block), &json!(start.first_c_block)]);
    let shown = std::process::Command::new(crate::support::PROGRAM)
        .args(["status", "--url", &joined.url()])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let line = format!("history    from bundle {} (joined from a snapshot)\n", start.bundle);
    assert!(shown.contains(&line), "{shown}");
    let line = format!(", history from block {}\n", start.first_c_block);
    assert!(shown.contains(&line), "{shown}");
    let health = page(&joined, "/ext/health");
    for block in [start.x_block, start.first_c_block] {
        assert!(health.contains(&format!(", history from block {block}\"")), "{health}");
    }
    let lines = json_lines(&folders.joined.join("logs/main.log"));
    let text = "this node joined from a snapshot: its history begins there";
    let line = lines.iter().find(|line| line["message"] == text).unwrap();
    assert_eq!(line["bundle"], start.bundle);
    let metrics = page(&joined, "/ext/metrics");
    let gauge = format!("esker_chain_first_block{{chain=\"C\"}} {}\n", start.first_c_block);
    assert!(metrics.contains(&gauge));

    for path in ["/ext/status", "/ext/health"] {
        let text = page(&whole, path);
        assert!(!text.contains("first") && !text.contains("history"), "{text}");
    }
    assert!(page(&whole, "/ext/metrics").contains("esker_chain_first_block{chain=\"C\"} 0\n"));
}
