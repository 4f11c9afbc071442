//! States in anvil's form.

use serde_json::{Value, json};

use super::{FIRST, OTHER, error, height, imported, receipt, result, send, start, verify};
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
    let (seen, state) = (see(&node), result(&node, "anvil_dumpState", json!([])));
    let folder = tempfile::tempdir().unwrap();
    let other = start(folder.path());
    assert_eq!(result(&other, "anvil_loadState", json!([state])), true);
    assert_eq!((see(&other), height(&other)), (seen.clone(), 1));
    // There is no difference any more.
    assert_eq!(result(&other, "anvil_loadState", json!([state])), true);
    assert_eq!(height(&other), 1);
    receipt(&other, &send(&other));
    result(&other, "anvil_loadState", json!([state]));
    // A nonce does not go back.
    assert_eq!(result(&other, "eth_getTransactionCount", json!([FIRST, "latest"])), "0x2");
    let seen = see(&other);
    other.stop().unwrap();
    verify(folder.path());
    let copy = tempfile::tempdir().unwrap();
    assert_eq!(see(&imported(folder.path(), copy.path())), seen);
}

#[test]
fn hostile_states_change_nothing() {
    let node = local().dev().start().unwrap();
    let hex = |state: &Value| {
        let bytes: String = state.to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
        json!([format!("0x{bytes}")])
    };
    let account = |address: &str, balance: &str, code: &str, storage: Value| {
        hex(
            &json!({"accounts": {address: {"nonce": 0, "balance": balance, "code": code, "storage": storage}}}),
        )
    };
    let long = format!("0x{}", "60".repeat(128 * 1024 + 1));
    let many: serde_json::Map<_, _> = (1..12_000)
        .map(|slot| (format!("0x1{slot:063x}"), json!(format!("0x{}", "1".repeat(64)))))
        .collect();
    for (params, text) in [
        (json!([]), "missing value for required argument"),
        (json!(["0x"]), "no state of anvil's form"),
        (json!(["0x1f8b0800"]), "no state of anvil's form"),
        (json!(["0x1"]), "odd length"),
        (hex(&json!([])), "no state of anvil's form"),
        (hex(&json!({"accounts": {OTHER: {}}})), "no state of anvil's form: missing field"),
        (account("0x12", "0x1", "0x", json!({})), "\"0x12\" is no address"),
        (account(OTHER, "-1", "0x", json!({})), "\"-1\" is no number"),
        (account(OTHER, "0x1", "zz", json!({})), "code is no hex data"),
        (account(OTHER, "0x1", "0x", json!({"a": "0x1"})), "\"a\" is no number"),
        (
            account(OTHER, "0x1", &long, json!({})),
            "code of 131073 bytes: at most 131072 can be set",
        ),
        (account(OTHER, "0x1", "0x", Value::Object(many)), "at most 1048576 are allowed"),
    ] {
        let got = error(&node, "anvil_loadState", params);
        assert!(got.contains(text), "{got}");
    }
    assert_eq!(height(&node), 0);
    assert_eq!(receipt(&node, &send(&node))["status"], "0x1");
}
