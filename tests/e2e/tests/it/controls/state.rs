//! Changes of the state that no transaction makes.

use esker_e2e::Node;
use serde_json::{Value, json};

use super::{OTHER, call, error, height, imported, receipt, result, send, start, verify};
use crate::support::local;

/// Returns what its slot 0 holds.
const READS_SLOT: &str = "0x60005460005260206000f3";
const OTHER_EMPTY: &str = "0x00000000000000000000000000000000000000e1";
const CONTRACT: &str = "0x00000000000000000000000000000000000000c1";
const VALUE: &str = "0x00000000000000000000000000000000000000000000000000000000000000ff";

/// The accounts that the tests change, as clients see them.
fn see(node: &Node) -> Value {
    let mut seen = json!({});
    for account in [OTHER, CONTRACT, super::FIRST] {
        for method in ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"] {
            seen[account][method] = result(node, method, json!([account, "latest"]));
        }
    }
    seen["slot"] = result(node, "eth_getStorageAt", json!([CONTRACT, "0x0", "latest"]));
    seen["call"] = result(node, "eth_call", json!([{"to": CONTRACT}, "latest"]));
    seen["block"] = result(node, "eth_getBlockByNumber", json!(["latest", true]));
    seen
}

fn change(node: &Node, nonce: u64) {
    for (method, params, reply) in [
        ("anvil_setBalance", json!([OTHER, "0x64"]), Value::Null),
        ("anvil_addBalance", json!([OTHER, 1]), Value::Null),
        ("tenderly_setBalance", json!([OTHER, "0x60"]), Value::Null),
        ("hardhat_addBalance", json!([OTHER, 2]), Value::Null),
        ("tenderly_addBalance", json!([OTHER, "0x3"]), Value::Null),
        ("hardhat_setBalance", json!([CONTRACT, "0xde0b6b3a7640000"]), json!(true)),
        ("hardhat_setCode", json!([CONTRACT, READS_SLOT]), json!(true)),
        ("anvil_setCode", json!([OTHER, "0x6000"]), Value::Null),
        ("anvil_setCode", json!([OTHER, "0x"]), Value::Null),
        ("hardhat_setNonce", json!([OTHER, nonce]), json!(true)),
        ("anvil_setNonce", json!([OTHER, nonce + 2]), Value::Null),
        ("anvil_setStorageAt", json!([CONTRACT, "0x0", VALUE]), json!(true)),
        ("hardhat_setStorageAt", json!([CONTRACT, "0x1", VALUE]), json!(true)),
        // Less than before: the difference is gone from the supply.
        ("anvil_setBalance", json!([super::FIRST, "0x8ac7230489e80000"]), Value::Null),
    ] {
        let before = height(node);
        assert_eq!(result(node, method, params), reply, "{method}");
        assert_eq!(height(node), before + 1, "{method}");
    }
}

#[test]
fn changes_are_in_blocks() {
    let node = local().dev().start().unwrap();
    change(&node, 5);
    let seen = see(&node);
    assert_eq!(seen[OTHER]["eth_getBalance"], "0x65");
    assert_eq!(seen[OTHER]["eth_getTransactionCount"], "0x7");
    assert_eq!(seen[OTHER]["eth_getCode"], "0x");
    assert_eq!(seen[CONTRACT]["eth_getCode"], READS_SLOT);
    assert_eq!((&seen["slot"], &seen["call"]), (&json!(VALUE), &json!(VALUE)));
    // Earlier states are as they were.
    assert_eq!(result(&node, "eth_getBalance", json!([OTHER, "0x1"])), "0x64");
    assert_eq!(result(&node, "eth_getBalance", json!([OTHER, "0x0"])), "0x0");
    assert_eq!(result(&node, "eth_getCode", json!([CONTRACT, "0x3"])), "0x");
    // The proof of a changed account holds against the state root.
    let proof = result(&node, "eth_getProof", json!([CONTRACT, ["0x0"], "latest"]));
    assert_eq!(proof["storageProof"][0]["value"], "0xff");
    // An account with a raised nonce sends with it.
    let (first, nonce) = (super::FIRST, "0x20");
    result(&node, "anvil_setNonce", json!([first, nonce]));
    let hash = send(&node);
    assert_eq!(receipt(&node, &hash)["status"], "0x1");
    assert_eq!(result(&node, "eth_getTransactionByHash", json!([hash]))["nonce"], nonce);
    // Without automatic blocks, a change makes one without the waiting transactions.
    result(&node, "evm_setAutomine", json!([false]));
    let waiting = send(&node);
    result(&node, "anvil_setBalance", json!([OTHER, 1]));
    assert_eq!(result(&node, "eth_getTransactionReceipt", json!([waiting])), Value::Null);
    result(&node, "evm_mine", json!([]));
    assert_eq!(receipt(&node, &waiting)["status"], "0x1");
    assert_eq!(result(&node, "eth_getBalance", json!([OTHER, "latest"])), "0x8");
}

#[test]
fn changes_outlast_restart_export_and_import() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    receipt(&node, &send(&node));
    change(&node, 5);
    receipt(&node, &send(&node));
    let seen = see(&node);
    node.stop().unwrap();
    verify(folder.path());
    let node = start(folder.path());
    assert_eq!(see(&node), seen);
    change(&node, 7);
    let seen = see(&node);
    node.stop().unwrap();
    verify(folder.path());
    let copy = tempfile::tempdir().unwrap();
    let node = imported(folder.path(), copy.path());
    assert_eq!(see(&node), seen);
}

#[test]
fn hostile_changes_change_nothing() {
    let node = local().dev().start().unwrap();
    result(&node, "anvil_setNonce", json!([OTHER, 5]));
    let before = see(&node);
    let max = format!("0x{}", "f".repeat(64));
    let above = format!("0x1{}", "0".repeat(64));
    let long = format!("0x{}", "60".repeat(128 * 1024 + 1));
    let size = "expected a number of at most 256 bits";
    let missing = "missing value for required argument";
    for (method, params, text) in [
        ("setBalance", json!([OTHER, above]), size),
        ("setBalance", json!([OTHER, -1]), size),
        ("setBalance", json!([OTHER]), missing),
        ("setBalance", json!([]), missing),
        ("setBalance", json!(["0x12", 1]), "want 40 for common.Address"),
        ("setBalance", json!([{}, 1]), "cannot unmarshal"),
        ("setNonce", json!([OTHER, max]), "has more than 64 bits"),
        ("setCode", json!([OTHER, "60"]), "without 0x prefix"),
        ("setCode", json!([OTHER, "0x6"]), "odd length"),
        ("setCode", json!([OTHER, long]), "code of 131073 bytes: at most 131072 can be set"),
        ("setStorageAt", json!([OTHER, "0x0"]), missing),
        ("setStorageAt", json!([OTHER, above, "0x1"]), size),
        ("setStorageAt", json!([CONTRACT, "0x0", "0x1"]), "does not exist: set its code"),
    ] {
        for namespace in ["anvil", "hardhat"] {
            let got = error(&node, &format!("{namespace}_{method}"), params.clone());
            assert!(got.contains(text), "{method}: {got}");
        }
    }
    let got = error(&node, "hardhat_setNonce", json!([OTHER, 4]));
    assert!(got.contains("New nonce (4) must not be smaller than the existing nonce (5)"), "{got}");
    let got = error(&node, "anvil_addBalance", json!([super::FIRST, max]));
    assert!(got.contains("the most that an account can have"), "{got}");
    assert_eq!(see(&node), before);
    assert_eq!(receipt(&node, &send(&node))["status"], "0x1");
}

#[test]
fn a_lower_nonce_repeats_no_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    let first = super::FIRST;
    let raw = |hash: &Value| result(&node, "eth_getRawTransactionByHash", json!([hash]));
    let sent = |value: &str| json!([{"from": first, "to": OTHER, "value": value, "gas": "0x5208"}]);
    let hashes = ["0x1", "0x2"].map(|value| result(&node, "eth_sendTransaction", sent(value)));
    let places = hashes.each_ref().map(|hash| receipt(&node, hash)["blockNumber"].clone());
    result(&node, "evm_setAutomine", json!([false]));
    // Nonce 2: it waits for the nonces before it, once they are free.
    let waiting = result(&node, "eth_sendTransaction", sent("0x3"));
    result(&node, "anvil_setNonce", json!([first, 0]));
    let transactions = |status: &str| {
        let status = result(&node, "txpool_status", json!([]))[status].clone();
        u64::from_str_radix(status.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
    };
    assert_eq!((transactions("pending"), transactions("queued")), (0, 1));
    for hash in &hashes {
        let got = error(&node, "eth_sendRawTransaction", json!([raw(hash)]));
        assert_eq!(got, "already known");
    }
    // The first one with nonce 0 again, and the second with nonce 1, as other transactions.
    let again = ["0x4", "0x5"].map(|value| result(&node, "eth_sendTransaction", sent(value)));
    assert_eq!((transactions("pending"), transactions("queued")), (3, 0));
    result(&node, "evm_mine", json!([]));
    for hash in [&again[0], &again[1], &waiting] {
        assert_eq!(receipt(&node, hash)["status"], "0x1");
    }
    assert_eq!(result(&node, "eth_getTransactionCount", json!([first, "latest"])), "0x3");
    let kept = || hashes.each_ref().map(|hash| receipt(&node, hash)["blockNumber"].clone());
    assert_eq!(kept(), places);
    // An account that is empty now is gone.
    result(&node, "anvil_setNonce", json!([OTHER_EMPTY, 1]));
    result(&node, "anvil_setNonce", json!([OTHER_EMPTY, 0]));
    let proof = result(&node, "eth_getProof", json!([OTHER_EMPTY, [], "latest"]));
    assert_eq!((&proof["nonce"], &proof["balance"]), (&json!("0x0"), &json!("0x0")));
    node.stop().unwrap();
    verify(folder.path());
}

#[test]
fn any_balance_is_accounted_for() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    let max = format!("0x{}", "f".repeat(64));
    // The second is the recipient of all fees.
    let coinbase = "0x0100000000000000000000000000000000000000";
    for account in [OTHER, coinbase, CONTRACT] {
        result(&node, "anvil_setBalance", json!([account, max]));
        assert_eq!(result(&node, "eth_getBalance", json!([account, "latest"])), max);
    }
    result(&node, "hardhat_setBalance", json!([super::FIRST, format!("0x1{}", "0".repeat(32))]));
    // No account can have more: what would come on top is lost.
    receipt(&node, &send(&node));
    let tx = json!([{"from": super::FIRST, "to": CONTRACT, "value": "0x7", "gas": "0x5208"}]);
    let failed = result(&node, "eth_sendTransaction", tx);
    assert_eq!(receipt(&node, &failed)["status"], "0x0");
    result(&node, "anvil_impersonateAccount", json!([OTHER]));
    let value = format!("0x8{}", "0".repeat(63));
    let tx = json!([{"from": OTHER, "to": super::FIRST, "value": value, "gas": "0x5208"}]);
    let sent = result(&node, "eth_sendTransaction", tx);
    assert_eq!(receipt(&node, &sent)["status"], "0x1");
    result(&node, "anvil_setBalance", json!([CONTRACT, "0x0"]));
    let seen = see(&node);
    node.stop().unwrap();
    verify(folder.path());
    let copy = tempfile::tempdir().unwrap();
    assert_eq!(see(&imported(folder.path(), copy.path())), seen);
}

#[test]
fn an_account_with_the_last_nonce_stops_nothing() {
    let node = local().dev().start().unwrap();
    result(&node, "anvil_setNonce", json!([super::FIRST, "0xffffffffffffffff"]));
    for _ in 0..2 {
        let tx = json!([{"from": super::FIRST, "to": OTHER, "value": "0x7", "gas": "0x5208"}]);
        call(&node, "eth_sendTransaction", tx);
    }
    let next = result(&node, "eth_getTransactionCount", json!([super::FIRST, "pending"]));
    assert_eq!(next, "0xffffffffffffffff");
    let second = result(&node, "eth_accounts", json!([]))[1].clone();
    let tx = json!([{"from": second, "to": OTHER, "value": "0x7", "gas": "0x5208"}]);
    assert_eq!(receipt(&node, &result(&node, "eth_sendTransaction", tx))["status"], "0x1");
}
