//! The chain on a development node: its controls, and snapshots of all chains.

use std::path::Path;

use esker_e2e::{Node, until};
use serde_json::{Value, json};

use super::{ETH, call, eth, genesis, height, network_content, number};
use crate::controls::FIRST;
use crate::support::{esker, local};

const OTHER: &str = "0x00000000000000000000000000000000000000a1";
/// The contract of withdrawal requests (EIP-7002), which each block calls.
const WITHDRAWALS: &str = "0x00000961Ef480Eb55e80D19ad83579A64c007002";

/// A configuration that declares the chain, with coins for the first development account.
fn configuration(folder: &Path) -> std::path::PathBuf {
    let mut genesis = genesis(&network_content());
    genesis["alloc"][&FIRST[2..]] = json!({"balance": "0x21e19e0c9bab2400000"});
    std::fs::write(folder.join("genesis.json"), genesis.to_string()).unwrap();
    let file = folder.join("esker.toml");
    let table = "[chains.Ethereum]\nvm = \"evm\"\nrules = \"ethereum\"\naliases = \"ETH\"\n";
    let path = folder.join("genesis.json");
    std::fs::write(&file, format!("{table}genesis = \"{}\"\n", path.display())).unwrap();
    file
}

/// Sends 7 wei on a chain; returns when a block has it.
fn pay(node: &Node, chain: &str) {
    let tx = json!([{"from": FIRST, "to": OTHER, "value": "0x7"}]);
    let hash = call(node, chain, "eth_sendTransaction", tx).unwrap();
    until("the transfer is in a block", || {
        let receipt = call(node, chain, "eth_getTransactionReceipt", json!([hash])).unwrap();
        (!receipt.is_null()).then_some(())
    });
}

/// What a client reads of both EVM chains.
fn state(node: &Node) -> Vec<Value> {
    [ETH, "C"]
        .iter()
        .flat_map(|chain| {
            let block = json!(["latest", true]);
            [
                call(node, chain, "eth_getBlockByNumber", block).unwrap(),
                call(node, chain, "eth_getBalance", json!([OTHER, "latest"])).unwrap(),
            ]
        })
        .collect()
}

#[test]
fn snapshots_and_controls_include_it() {
    let folder = tempfile::tempdir().unwrap();
    let (config, data) = (configuration(folder.path()), folder.path().join("data"));
    let node = local().dev().config(&config).data_dir(&data).start().unwrap();
    pay(&node, ETH);
    let before = state(&node);
    // A snapshot by one chain is one of all.
    for by in [ETH, "C"] {
        let snapshot = call(&node, by, "evm_snapshot", json!([])).unwrap();
        pay(&node, ETH);
        pay(&node, "C");
        eth(&node, "anvil_setBalance", json!([OTHER, "0x55"]));
        eth(&node, "evm_mine", json!([]));
        assert_eq!(number(&eth(&node, "eth_getBalance", json!([OTHER, "latest"]))), 0x55);
        assert_eq!(call(&node, by, "evm_revert", json!([snapshot])).unwrap(), true);
        assert_eq!(state(&node), before);
    }
    eth(&node, "anvil_setBalance", json!([OTHER, "0x55"]));
    pay(&node, ETH);
    assert_eq!(number(&eth(&node, "eth_getBalance", json!([OTHER, "latest"]))), 0x5c);
    let last = height(&node);
    assert!(node.stop().unwrap().success());
    let args = ["db", "verify", "--dev", "--config", config.to_str().unwrap(), "--data-dir"];
    let (code, printed) = esker(&args, &[&data]);
    assert!(code == Some(0) && printed.ends_with("\nnothing is wrong\n"), "{printed}");
    let node = local().dev().config(&config).data_dir(&data).start().unwrap();
    assert_eq!(height(&node), last);
}

#[test]
fn a_change_after_which_no_block_is_valid_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = configuration(folder.path());
    let node = local().dev().config(config).temporary().start().unwrap();
    let before = eth(&node, "eth_getCode", json!([WITHDRAWALS, "latest"]));
    for code in ["0x", "0x60006000fd"] {
        let refused = call(&node, ETH, "anvil_setCode", json!([WITHDRAWALS, code])).unwrap_err();
        assert!(refused.contains("system c"), "{refused}");
    }
    assert_eq!(eth(&node, "eth_getCode", json!([WITHDRAWALS, "latest"])), before);
    pay(&node, ETH);
}
