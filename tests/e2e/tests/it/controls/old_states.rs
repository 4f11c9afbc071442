//! States of blocks before the last one, in states of anvil's form.

use std::io::Read as _;

use esker_e2e::Node;
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

use super::{FIRST, OTHER, error, height, receipt, result, send};
use crate::support::local;

const CONTRACT: &str = "0x00000000000000000000000000000000000000c1";
const GONE: &str = "0x00000000000000000000000000000000000000c2";
/// Returns what its slot 0 holds.
const READS_SLOT: &str = "0x60005460005260206000f3";

/// Eight blocks, and one that they replace.
fn make_blocks(node: &Node) {
    result(node, "anvil_setBalance", json!([GONE, "0x7"]));
    result(node, "anvil_setCode", json!([CONTRACT, READS_SLOT]));
    result(node, "anvil_setStorageAt", json!([CONTRACT, "0x0", "0xff"]));
    let snapshot = result(node, "evm_snapshot", json!([]));
    result(node, "anvil_setBalance", json!([CONTRACT, "0x9"]));
    result(node, "evm_revert", json!([snapshot]));
    receipt(node, &send(node));
    result(node, "anvil_setStorageAt", json!([CONTRACT, "0x0", "0x0"]));
    result(node, "anvil_setNonce", json!([CONTRACT, "0x9"]));
    result(node, "anvil_setBalance", json!([GONE, "0x0"]));
    result(node, "anvil_setNonce", json!([CONTRACT, "0x3"]));
    assert_eq!(height(node), 8);
}

/// What readers see at a block.
fn see(node: &Node, number: u64) -> Value {
    let at = format!("{number:#x}");
    let of = |account| {
        ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"]
            .map(|method| result(node, method, json!([account, at])))
    };
    let slot = result(node, "eth_getStorageAt", json!([CONTRACT, "0x0", at]));
    let call = result(node, "eth_call", json!([{"to": CONTRACT}, at]));
    json!([of(FIRST), of(OTHER), of(CONTRACT), of(GONE), slot, call])
}

fn see_all(node: &Node) -> Vec<Value> {
    (1..=height(node)).map(|number| see(node, number)).collect()
}

fn dump(node: &Node) -> Value {
    let state = result(node, "anvil_dumpState", json!([true]));
    let bytes = alloy_primitives::hex::decode(state.as_str().unwrap()).unwrap();
    let mut json = Vec::new();
    MultiGzDecoder::new(&bytes[..]).read_to_end(&mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

fn load(node: &Node, state: &Value) -> Value {
    result(node, "anvil_loadState", encoded(state))
}

fn encoded(state: &Value) -> Value {
    json!([alloy_primitives::hex::encode_prefixed(state.to_string())])
}

#[test]
fn old_states_are_loaded_elsewhere() {
    let node = local().dev().start().unwrap();
    make_blocks(&node);
    let (seen, state) = (see_all(&node), dump(&node));
    assert_ne!(seen[2], seen[4]);
    assert_eq!(state["historical_states"].as_array().unwrap().len(), 8);
    let other = local().dev().start().unwrap();
    assert_eq!(load(&other, &state), true);
    assert_eq!(see_all(&other), seen);
    // They go on from there into another state, by the blocks that were loaded.
    receipt(&other, &send(&other));
    let (seen, state) = (see_all(&other), dump(&other));
    let third = local().dev().start().unwrap();
    // The blocks that it has stay as they are.
    result(&third, "anvil_mine", json!([2]));
    let own = see(&third, 2);
    assert_eq!(load(&third, &state), true);
    assert_eq!(height(&third), 9);
    assert_eq!((see(&third, 2), &see_all(&third)[2..]), (own, &seen[2..]));
    // Without states the last one is loaded as before.
    let fourth = local().dev().start().unwrap();
    let mut without = state;
    without["historical_states"] = Value::Null;
    assert_eq!(load(&fourth, &without), true);
    assert_eq!((height(&fourth), see(&fourth, 9)), (9, seen[8].clone()));
    assert_ne!(see(&fourth, 4), seen[3]);
}

#[test]
fn the_newest_old_states_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let start = |flags: &[&str]| {
        let node = local().dev().temporary().arg(format!("--dump-state={}", file.display()));
        flags.iter().fold(node, |node, flag| node.arg(*flag)).start().unwrap()
    };
    let read = || -> Value { serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap() };
    let node = start(&["--preserve-historical-states"]);
    result(&node, "anvil_mine", json!([510]));
    assert!(node.stop().unwrap().success());
    let state = read();
    let states = state["historical_states"].as_array().unwrap();
    assert_eq!(states.len(), 500);
    for (pair, block) in states.iter().zip(&state["blocks"].as_array().unwrap()[1..]) {
        let number = block["header"]["number"].as_str().unwrap();
        assert_eq!(pair[1]["block_hashes"][number], pair[0]);
    }
    let node = start(&[]);
    assert!(node.stop().unwrap().success());
    assert_eq!(read()["historical_states"], Value::Null);
}

#[test]
fn odd_old_states_are_left_out_and_bad_ones_change_nothing() {
    let node = local().dev().start().unwrap();
    make_blocks(&node);
    let (seen, good) = (see_all(&node), dump(&node));
    let with_states = |edit: &dyn Fn(&mut Vec<Value>)| {
        let mut state = good.clone();
        edit(state["historical_states"].as_array_mut().unwrap());
        state
    };
    let empty = json!({"accounts": {}, "storage": {}});
    let unknown = json!([format!("0x{:064x}", 1), {"accounts": 7}]);
    let odd = with_states(&|states| {
        // The last one of a block counts.
        states.insert(0, json!([states[0][0], empty]));
        states.push(unknown.clone());
    });
    let other = local().dev().start().unwrap();
    assert_eq!(load(&other, &odd), true);
    assert_eq!(see_all(&other), seen);

    let third = local().dev().start().unwrap();
    let long = format!("0x{}", "60".repeat(128 * 1024 + 1));
    let info = |name: &str, value: Value| {
        let mut info = json!({"balance": "0x1", "nonce": 1, "code": null});
        info[name] = value;
        json!({"accounts": {OTHER: info}})
    };
    let analyzed = json!({"LegacyAnalyzed": {"bytecode": "0x00", "original_len": 2}});
    for (state, text) in [
        (json!(7), "invalid type: integer `7`, expected a state"),
        (json!({"accounts": []}), "expected accounts by their addresses"),
        (json!({"accounts": {"0x12": {}}}), "\"0x12\" is no Address"),
        (json!({"storage": {OTHER: {"0x1": "x"}}}), "\"x\" is no number"),
        (info("nonce", json!("0x10000000000000000")), "a nonce has more than 64 bits"),
        (info("code", json!({"Eof": "0x"})), "unknown variant `Eof`"),
        (info("code", analyzed), "a code is shorter than its length"),
        (info("code", json!({"LegacyRaw": long})), "code of 131073 bytes"),
    ] {
        let bad = with_states(&|states| states[3][1] = state.clone());
        let got = error(&third, "anvil_loadState", encoded(&bad));
        assert!(got.contains("no state of anvil's form") && got.contains(text), "{got}");
    }
    for states in [json!(7), json!([7]), json!([[]]), json!([["0x1", {}]]), json!([[unknown[0]]])] {
        let mut bad = good.clone();
        bad["historical_states"] = states;
        let got = error(&third, "anvil_loadState", encoded(&bad));
        assert!(got.contains("no state of anvil's form"), "{got}");
    }
    assert_eq!(height(&third), 0);
}
