//! Transactions of accounts without a key.

use esker_e2e::Node;
use serde_json::{Value, json};

use super::{FIRST, OTHER, error, height, imported, receipt, result, start, verify};
use crate::support::local;

const CONTRACT: &str = "0x00000000000000000000000000000000000000c1";
const COIN: &str = "0xde0b6b3a7640000";

fn transfer(from: &str) -> Value {
    json!([{"from": from, "to": FIRST, "value": "0x7", "gas": "0x5208"}])
}

/// A transaction as clients see it.
fn see(node: &Node, hash: &Value) -> Value {
    let tracer = json!({"tracer": "callTracer"});
    json!({
        "receipt": receipt(node, hash),
        "tx": result(node, "eth_getTransactionByHash", json!([hash])),
        "trace": result(node, "debug_traceTransaction", json!([hash, tracer])),
        "raw": result(node, "eth_getRawTransactionByHash", json!([hash])),
    })
}

fn assert_sent_by(node: &Node, hash: &Value, sender: &str) {
    let seen = see(node, hash);
    assert_eq!(seen["receipt"]["status"], "0x1", "{seen}");
    for member in ["receipt", "tx", "trace"] {
        assert_eq!(seen[member]["from"], sender, "{seen}");
    }
    let block = json!([seen["receipt"]["blockNumber"], true]);
    let block = result(node, "eth_getBlockByNumber", block);
    assert_eq!(block["transactions"][0]["from"], sender);
}

#[test]
fn accounts_without_a_key_send() {
    let node = local().dev().start().unwrap();
    result(&node, "anvil_setBalance", json!([OTHER, COIN]));
    assert_eq!(error(&node, "eth_sendTransaction", transfer(OTHER)), "unknown account");
    assert_eq!(result(&node, "anvil_impersonateAccount", json!([OTHER])), Value::Null);
    let hash = result(&node, "eth_sendTransaction", transfer(OTHER));
    assert_sent_by(&node, &hash, OTHER);
    // A contract sends as well.
    result(&node, "hardhat_setBalance", json!([CONTRACT, COIN]));
    result(&node, "hardhat_setCode", json!([CONTRACT, "0x00"]));
    assert_eq!(result(&node, "hardhat_impersonateAccount", json!([CONTRACT])), true);
    let accounts = || result(&node, "eth_accounts", json!([]));
    let listed = accounts();
    let listed = &listed.as_array().unwrap()[10..];
    assert_eq!(listed.len(), 2);
    assert!([OTHER, CONTRACT].iter().all(|account| listed.contains(&json!(account))), "{listed:?}");
    let of_contract = result(&node, "eth_sendTransaction", transfer(CONTRACT));
    assert_sent_by(&node, &of_contract, CONTRACT);
    // Accounts of the node sign as before.
    let own = result(&node, "eth_sendTransaction", transfer(FIRST));
    assert_sent_by(&node, &own, FIRST);

    assert_eq!(result(&node, "anvil_stopImpersonatingAccount", json!([OTHER])), Value::Null);
    assert_eq!(result(&node, "hardhat_stopImpersonatingAccount", json!([CONTRACT])), true);
    assert_eq!(error(&node, "eth_sendTransaction", transfer(OTHER)), "unknown account");
    assert_eq!(result(&node, "hardhat_autoImpersonateAccount", json!([true])), Value::Null);
    assert_eq!(accounts().as_array().unwrap().len(), 10);
    assert_sent_by(&node, &result(&node, "eth_sendTransaction", transfer(CONTRACT)), CONTRACT);
    assert_eq!(result(&node, "anvil_autoImpersonateAccount", json!([false])), Value::Null);
    assert_eq!(error(&node, "eth_sendTransaction", transfer(CONTRACT)), "unknown account");
    // One transaction without its sender's key, whoever that is.
    let hash = result(&node, "eth_sendUnsignedTransaction", transfer(OTHER));
    assert_sent_by(&node, &hash, OTHER);
    let hash = result(&node, "evm_sendUnsignedTransaction", transfer(CONTRACT));
    assert_sent_by(&node, &hash, CONTRACT);
}

#[test]
fn only_transactions_are_impersonated() {
    let node = local().dev().start().unwrap();
    result(&node, "anvil_setBalance", json!([OTHER, COIN]));
    result(&node, "anvil_impersonateAccount", json!([OTHER]));
    let text = error(&node, "eth_sign", json!([OTHER, "0x12"]));
    assert!(text.ends_with("is impersonated: there is no key to sign with"), "{text}");
    result(&node, "anvil_setAutomine", json!([false]));
    let hash = result(&node, "eth_sendTransaction", transfer(OTHER));
    let raw = result(&node, "eth_getRawTransactionByHash", json!([hash]));
    result(&node, "anvil_dropTransaction", json!([hash]));
    result(&node, "anvil_stopImpersonatingAccount", json!([OTHER]));
    assert_eq!(error(&node, "eth_sendRawTransaction", json!([raw])), "invalid sender");
    // Other nodes of the network do not take it either, nor do other networks.
    for network in ["dev", "local"] {
        let other = local().network(network).start().unwrap();
        assert_eq!(error(&other, "eth_sendRawTransaction", json!([raw])), "invalid sender");
    }
    let before = height(&node);
    for (method, params, text) in [
        ("anvil_impersonateAccount", json!([]), "missing value for required argument 0"),
        ("hardhat_impersonateAccount", json!(["0x12"]), "want 40 for common.Address"),
        ("anvil_autoImpersonateAccount", json!(["all"]), "cannot unmarshal string"),
        ("eth_sendUnsignedTransaction", json!([{"to": OTHER}]), "missing from"),
        ("eth_sendUnsignedTransaction", json!([]), "missing value for required argument 0"),
        (
            "eth_sendUnsignedTransaction",
            json!([{"from": CONTRACT, "to": OTHER, "value": "0x1", "gas": "0x5208"}]),
            "insufficient funds",
        ),
    ] {
        let got = error(&node, method, params);
        assert!(got.contains(text), "{method}: {got}");
    }
    assert_eq!(height(&node), before);
}

#[test]
fn senders_outlast_restart_export_and_import() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    result(&node, "anvil_setBalance", json!([OTHER, COIN]));
    let first = result(&node, "eth_sendUnsignedTransaction", transfer(OTHER));
    let seen = see(&node, &first);
    // A transaction that waits when the node stops goes into a block afterwards.
    result(&node, "anvil_setAutomine", json!([false]));
    let waiting = result(&node, "eth_sendUnsignedTransaction", transfer(OTHER));
    node.stop().unwrap();
    verify(folder.path());
    let node = start(folder.path());
    assert_sent_by(&node, &waiting, OTHER);
    assert_eq!(see(&node, &first), seen);
    let seen = see(&node, &waiting);
    node.stop().unwrap();
    verify(folder.path());
    let copy = tempfile::tempdir().unwrap();
    let node = imported(folder.path(), copy.path());
    assert_eq!(see(&node, &waiting), seen);
}
