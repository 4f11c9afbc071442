//! A chain on which no block is valid: its genesis lacks contracts that each block calls.

use esker_e2e::until;
use serde_json::json;

use super::{ETH, VALUE, genesis, height, network_content, pay_on_x, send, txs, waiting};
use crate::support::local;

/// The contract of withdrawal requests (EIP-7002).
const WITHDRAWALS: &str = "00000961Ef480Eb55e80D19ad83579A64c007002";

#[test]
fn a_genesis_without_its_contracts_is_logged_and_stops_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut network = network_content();
    let mut genesis = genesis(&network);
    genesis["alloc"].as_object_mut().unwrap().remove(WITHDRAWALS).unwrap();
    network["esker"]["chains"][0]["genesis"] = json!(genesis.to_string());
    let file = folder.path().join("network.json");
    std::fs::write(&file, network.to_string()).unwrap();
    let data = folder.path().join("data");
    let node = local().network(&file).data_dir(&data).start().unwrap();
    let logged = |text: &str| {
        until(&format!("the log has {text:?}"), || node.output().contains(text).then_some(()));
    };
    logged("no block can be made or imported: the genesis has no code");
    send(&node, &txs::transfer(0, VALUE));
    logged("no block can be built on this one");
    logged("empty system contract");
    // The other chains go on, and the transaction waits.
    pay_on_x(&node);
    send(&node, &txs::transfer(1, VALUE));
    pay_on_x(&node);
    assert_eq!(height(&node), 0);
    assert_eq!(waiting(&node), 2);
    let failures = node.output().matches("no block can be built on this one").count();
    assert_eq!(failures, 1, "it is logged once: {}", node.output());
    assert!(node.ready()["chains"][ETH].is_string());
    assert!(node.stop().unwrap().success());
}
