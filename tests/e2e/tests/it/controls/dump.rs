//! States in anvil's form.

use esker_e2e::until;
use serde_json::{Value, json};

use super::{
    FIRST, OTHER, error, height, imported, receipt, result, send, start, verify, waiting_client,
};
use crate::support::local;

const CONTRACT: &str = "0x00000000000000000000000000000000000000c1";
/// Returns what its slot 0 holds.
const READS_SLOT: &str = "0x60005460005260206000f3";

#[test]
fn a_state_is_loaded_elsewhere() {
    let node = local().dev().start().unwrap();
    receipt(&node, &send(&node));
    result(&node, "anvil_setCode", json!([CONTRACT, READS_SLOT]));
    result(&node, "anvil_setStorageAt", json!([CONTRACT, "0x0", "0xff"]));
    result(&node, "anvil_setBalance", json!([CONTRACT, format!("0x{}", "f".repeat(64))]));
    let see = |node: &_| {
        let of = |account| {
            ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"]
                .map(|method| result(node, method, json!([account, "latest"])))
        };
        let slot = result(node, "eth_getStorageAt", json!([CONTRACT, "0x0", "latest"]));
        json!([of(FIRST), of(OTHER), of(CONTRACT), slot])
    };
    let (seen, state) = (see(&node), result(&node, "hardhat_dumpState", json!([])));
    assert_eq!(height(&node), 4);
    let folder = tempfile::tempdir().unwrap();
    let other = start(folder.path());
    assert_eq!(result(&other, "hardhat_loadState", json!([state])), true);
    assert_eq!((see(&other), height(&other)), (seen.clone(), 4));
    // There is no difference any more.
    assert_eq!(result(&other, "anvil_loadState", json!([state])), true);
    assert_eq!(height(&other), 4);
    receipt(&other, &send(&other));
    result(&other, "anvil_loadState", json!([state]));
    // A nonce does not go back.
    assert_eq!(result(&other, "eth_getTransactionCount", json!([FIRST, "latest"])), "0x2");
    assert_eq!(height(&other), 6);
    let seen = see(&other);
    other.stop().unwrap();
    verify(folder.path());
    let copy = tempfile::tempdir().unwrap();
    assert_eq!(see(&imported(folder.path(), copy.path())), seen);
}

/// The blocks in the state of another chain are readable. Its hashes are those of that chain.
#[test]
fn blocks_of_a_loaded_state_are_read() {
    let node = local().dev().start().unwrap();
    let creation = json!([{"from": FIRST, "data": "0x600160005260206000a05f5ff3"}]);
    let hash = result(&node, "eth_sendTransaction", creation);
    let there = receipt(&node, &hash);
    result(&node, "anvil_mine", json!([3]));
    let state = result(&node, "anvil_dumpState", json!([]));

    let other = local().dev().start().unwrap();
    let snapshot = result(&other, "evm_snapshot", json!([]));
    let read = |method: &str, of: &Value| result(&other, method, json!([of]));
    result(&other, "anvil_loadState", json!([state]));
    assert_eq!(height(&other), 4);
    let here = read("eth_getTransactionReceipt", &hash);
    for (name, value) in there.as_object().unwrap() {
        if name != "blockHash" && name != "logs" {
            assert_eq!(&here[name], value, "{name}");
        }
    }
    assert_eq!(here["logs"][0]["data"], there["logs"][0]["data"]);
    let block = result(&other, "eth_getBlockByNumber", json!(["0x1", true]));
    assert_eq!(block["hash"], here["blockHash"]);
    assert_eq!(block["transactions"][0]["hash"], hash);
    assert_eq!(block["transactions"][0]["from"], FIRST);
    assert_eq!(
        result(&other, "eth_getBlockByHash", json!([block["hash"], true]))["transactions"],
        block["transactions"]
    );
    assert_eq!(read("eth_getTransactionByHash", &hash)["blockNumber"], "0x1");
    assert_eq!(read("eth_getBlockReceipts", &json!("0x1")), json!([here]));
    // They go on with the chain, into another state as well.
    let again = result(&other, "anvil_dumpState", json!([]));
    let third = local().dev().start().unwrap();
    result(&third, "anvil_loadState", json!([again]));
    assert_eq!(
        result(&third, "eth_getTransactionReceipt", json!([hash]))["logs"][0]["data"],
        here["logs"][0]["data"]
    );
    // They are gone with the load.
    assert_eq!(result(&other, "evm_revert", json!([snapshot])), true);
    assert_eq!(read("eth_getTransactionReceipt", &hash), Value::Null);
    assert_eq!(result(&other, "eth_getBlockByNumber", json!(["0x1", false])), Value::Null);
    receipt(&other, &send(&other));
    assert_eq!(read("eth_getTransactionReceipt", &hash), Value::Null);
}

#[test]
fn a_file_holds_the_state_between_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let with = |flag: &str| local().dev().temporary().arg(format!("--{flag}={}", file.display()));
    let Err(missing) = with("load-state").start() else { panic!("there is no file") };
    assert!(missing.to_string().contains("cannot load the state"), "{missing}");
    let node = with("state").start().unwrap();
    let hash = send(&node);
    receipt(&node, &hash);
    result(&node, "anvil_setCode", json!([CONTRACT, READS_SLOT]));
    result(&node, "anvil_setStorageAt", json!([CONTRACT, "0x0", "0xff"]));
    result(&node, "evm_increaseTime", json!([1_000_000]));
    result(&node, "anvil_mine", json!([10]));
    let time = super::last_time(&node);
    assert!(node.stop().unwrap().success());
    let json: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(json["best_block_number"], 13);
    assert_eq!(json["blocks"].as_array().unwrap().len(), 14);
    assert_eq!(json["transactions"].as_array().unwrap().len(), 1);

    // A folder stands for the file in it.
    let in_folder = local().dev().temporary().arg(format!("--state={}", folder.path().display()));
    let node = in_folder.start().unwrap();
    assert_eq!(height(&node), 13);
    assert!((time..time + 60).contains(&super::last_time(&node)));
    assert_eq!(receipt(&node, &hash)["blockNumber"], "0x1");
    let call = result(&node, "eth_call", json!([{"to": CONTRACT}, "latest"]));
    assert!(call.as_str().unwrap().ends_with("ff"), "{call}");
    // The loaded state is the beginning.
    receipt(&node, &send(&node));
    result(&node, "anvil_reset", json!([]));
    assert_eq!(height(&node), 13);
    receipt(&node, &send(&node));
    assert!(node.stop().unwrap().success());
    std::fs::write(&file, "{").unwrap();
    let Err(bad) = with("load-state").start() else { panic!("the file is damaged") };
    assert!(bad.to_string().contains("no state of anvil's form"), "{bad}");
}

/// A start is refused if the file could not be written at the end.
#[test]
fn a_state_that_cannot_be_written_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("missing").join("state.json");
    for flag in ["state", "dump-state"] {
        let dev = local().dev().temporary().arg(format!("--{flag}={}", file.display()));
        let Err(refused) = dev.start() else { panic!("--{flag}: there is no folder") };
        let text = format!("cannot dump the state {}: ", file.display());
        assert!(refused.to_string().contains(&text), "{refused}");
    }
    let good = local().dev().temporary().arg(format!("--state={}", folder.path().display()));
    let node = good.start().unwrap();
    // The check leaves nothing.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(node.stop().unwrap().success());
    assert!(folder.path().join("state.json").exists());
}

/// A client that leaves while its state is loaded leaves the whole state behind.
#[test]
fn a_state_is_loaded_whole_when_its_client_leaves() {
    let node = local().dev().start().unwrap();
    let accounts = json!({OTHER: {"nonce": 0, "balance": "0x7", "code": "0x", "storage": {}}});
    let state = json!({"accounts": accounts, "best_block_number": "0xbb8"});
    let client = waiting_client(&node, "anvil_loadState", encoded(&state));
    until("blocks are made", || (height(&node) > 20).then_some(()));
    drop(client);
    until("all blocks are made", || (height(&node) == 3000).then_some(()));
    assert_eq!(result(&node, "eth_getBalance", json!([OTHER, "latest"])), "0x7");
    assert_eq!(result(&node, "anvil_loadState", encoded(&state)), true);
    assert_eq!(height(&node), 3000);
}

/// A state as the argument.
fn encoded(state: &Value) -> Value {
    let bytes: String = state.to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
    json!([format!("0x{bytes}")])
}

#[test]
fn hostile_states_change_nothing() {
    let node = local().dev().start().unwrap();
    let hex = encoded;
    let account = |address: &str, balance: &str, code: &str, storage: Value| {
        hex(
            &json!({"accounts": {address: {"nonce": 0, "balance": balance, "code": code, "storage": storage}}}),
        )
    };
    let long = format!("0x{}", "60".repeat(128 * 1024 + 1));
    for (params, text) in [
        (json!([]), "missing value for required argument"),
        (json!(["0x"]), "no state of anvil's form"),
        (json!(["0x1f8b0800"]), "no state of anvil's form"),
        (json!(["0x1"]), "odd length"),
        (hex(&json!([])), "no state of anvil's form"),
        (hex(&json!({"accounts": {OTHER: {}}})), "no state of anvil's form: missing field"),
        (account("0x12", "0x1", "0x", json!({})), "\"0x12\" is no Address"),
        (account(OTHER, "-1", "0x", json!({})), "\"-1\" is no number"),
        (account(OTHER, "0x1", "zz", json!({})), "\"zz\" is no Bytes"),
        (account(OTHER, "0x0", "0x", json!({"0x1": "0x1"})), "neither code, balance nor nonce"),
        (account(OTHER, "0x1", "0x", json!({"a": "0x1"})), "\"a\" is no number"),
        (
            account(OTHER, "0x1", &long, json!({})),
            "code of 131073 bytes: at most 131072 can be set",
        ),
    ] {
        let got = error(&node, "anvil_loadState", params);
        assert!(got.contains(text), "{got}");
    }
    assert_eq!(height(&node), 0);
    // More than one block can change comes in several.
    let many: serde_json::Map<_, _> = (1..12_000)
        .map(|slot| (format!("0x1{slot:063x}"), json!(format!("0x{}", "1".repeat(64)))))
        .collect();
    let many = account(OTHER, "0x1", "0x", Value::Object(many));
    assert_eq!(result(&node, "anvil_loadState", many), true);
    let last = json!([OTHER, format!("0x1{:063x}", 11_999), "latest"]);
    assert_eq!(result(&node, "eth_getStorageAt", last), format!("0x{}", "1".repeat(64)));
    assert_eq!(receipt(&node, &send(&node))["status"], "0x1");
}
