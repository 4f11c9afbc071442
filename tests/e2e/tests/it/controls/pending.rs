//! The tag `pending`: the block that would be built now.

use esker_e2e::Node;
use serde_json::{Value, json};

use super::{FIRST, OTHER, error, height, number, receipt, result, send};
use crate::support::local;

const CONTRACT: &str = "0x00000000000000000000000000000000000000c1";
/// With data: stores the number of the block in slot 0, and writes a log. Without: returns slot 0.
const CODE: &str = "0x3615600f574360005560006000a0005b60005460005260206000f3";
/// Returns the number of the block.
const NUMBER: &str = "0x4360005260206000f3";

fn word(value: u64) -> String {
    format!("0x{value:064x}")
}

/// Sends a transaction that calls the contract; the hash.
fn store(node: &Node) -> Value {
    let tx = json!([{"from": FIRST, "to": CONTRACT, "data": "0x01", "gas": "0x186a0"}]);
    result(node, "eth_sendTransaction", tx)
}

#[test]
fn pending_is_the_block_that_would_be_built() {
    let node = local().dev().start().unwrap();
    let ask = |method: &str, params: Value| result(&node, method, params);
    ask("anvil_setCode", json!([CONTRACT, CODE]));
    ask("evm_setAutomine", json!([false]));
    let next = height(&node) + 1;
    let latest = ask("eth_getBlockByNumber", json!(["latest", false]));
    let hashes = json!([send(&node), store(&node)]);

    let block = ask("eth_getBlockByNumber", json!(["pending", false]));
    assert_eq!(number(&block["number"]), next);
    assert_eq!((&block["hash"], &block["nonce"]), (&Value::Null, &Value::Null));
    assert_eq!(block["parentHash"], latest["hash"]);
    assert_eq!(block["transactions"], hashes);
    assert_ne!(block["stateRoot"], latest["stateRoot"]);
    let header = ask("eth_getHeaderByNumber", json!(["pending"]));
    assert_eq!((&header["number"], &header["hash"]), (&block["number"], &Value::Null));
    let full = ask("eth_getBlockByNumber", json!(["pending", true]));
    let one = ask("eth_getTransactionByBlockNumberAndIndex", json!(["pending", "0x1"]));
    assert_eq!(full["transactions"][1], one);
    assert_eq!((&one["hash"], &one["from"]), (&hashes[1], &json!(FIRST)));
    for member in ["blockHash", "blockNumber", "transactionIndex"] {
        assert_eq!(one[member], Value::Null, "{member}");
    }
    assert_eq!(ask("eth_getBlockTransactionCountByNumber", json!(["pending"])), "0x2");
    let receipts = ask("eth_getBlockReceipts", json!(["pending"]));
    assert_eq!(receipts.as_array().map(Vec::len), Some(2));
    assert_eq!((&receipts[1]["status"], &receipts[1]["blockHash"]), (&json!("0x1"), &Value::Null));
    assert_eq!(receipts[1]["logs"][0]["blockHash"], Value::Null);
    assert_eq!(ask("eth_getTransactionReceipt", json!([hashes[1]])), Value::Null);

    // Its state.
    let balance = |tag: &str| ask("eth_getBalance", json!([OTHER, tag]));
    assert_eq!((balance("latest"), balance("pending")), (json!("0x0"), json!("0x7")));
    let slot = |tag: &str| ask("eth_getStorageAt", json!([CONTRACT, "0x0", tag]));
    assert_eq!((slot("latest"), slot("pending")), (json!(word(0)), json!(word(next))));
    let call = |tag: &str| ask("eth_call", json!([{"to": CONTRACT}, tag]));
    assert_eq!((call("latest"), call("pending")), (json!(word(0)), json!(word(next))));
    let at = ask("eth_call", json!([{"data": NUMBER}, "pending"]));
    assert_eq!(at, word(next));
    let count = |tag: &str| ask("eth_getTransactionCount", json!([FIRST, tag]));
    assert_eq!((count("latest"), count("pending")), (json!("0x0"), json!("0x2")));
    let tx = json!({"from": FIRST, "to": CONTRACT, "data": "0x01"});
    let gas = |tag: &str| number(&ask("eth_estimateGas", json!([tx, tag])));
    // The slot has a value by then.
    assert!(gas("latest") > gas("pending") + 10_000);
    let proof = ask("eth_getProof", json!([OTHER, [], "pending"]));
    assert_eq!(proof["balance"], "0x7");
    assert!(ask("eth_createAccessList", json!([tx, "pending"]))["error"].is_null());
    let simulated = ask("eth_simulateV1", json!([{"blockStateCalls": [{}]}, "pending"]));
    assert_eq!(number(&simulated[0]["number"]), next + 1);

    // As the debugger sees it.
    let traced = ask("debug_traceCall", json!([{"to": CONTRACT}, "pending"]));
    assert_eq!(traced["returnValue"].as_str().unwrap().trim_start_matches("0x"), &word(next)[2..]);
    let traces = ask("debug_traceBlockByNumber", json!(["pending"]));
    assert_eq!(traces.as_array().map(Vec::len), Some(2));
    assert!(ask("debug_getRawBlock", json!(["pending"])).as_str().unwrap().len() > 1000);
    let receipts = ask("debug_getRawReceipts", json!(["pending"]));
    assert_eq!(receipts.as_array().map(Vec::len), Some(2));
    let dump = ask("debug_dumpBlock", json!(["pending"]));
    assert_eq!(dump["root"], json!(block["stateRoot"].as_str().unwrap().trim_start_matches("0x")));

    // And so it is built.
    ask("evm_mine", json!([]));
    let mined = ask("eth_getBlockByNumber", json!(["latest", false]));
    for member in ["number", "transactions", "stateRoot", "receiptsRoot", "gasUsed", "logsBloom"] {
        assert_eq!(mined[member], block[member], "{member}");
    }
    assert_eq!(receipt(&node, &hashes[1])["status"], "0x1");
    let after = ask("eth_getBlockByNumber", json!(["pending", true]));
    assert_eq!((number(&after["number"]), &after["transactions"]), (next + 1, &json!([])));
    assert_eq!((&after["parentHash"], balance("pending")), (&mined["hash"], json!("0x7")));
}

#[test]
fn pending_follows_the_pool_and_the_clock() {
    let node = local().dev().start().unwrap();
    let ask = |method: &str, params: Value| result(&node, method, params);
    let count = || ask("eth_getBlockTransactionCountByNumber", json!(["pending"]));
    let block = || ask("eth_getBlockByNumber", json!(["pending", false]));
    assert_eq!((number(&block()["number"]), count()), (1, json!("0x0")));
    ask("evm_setAutomine", json!([false]));
    // One that waits for a nonce is not in it; an impersonated one is.
    let gap =
        json!([{"from": FIRST, "to": OTHER, "value": "0x1", "gas": "0x5208", "nonce": "0x5"}]);
    ask("eth_sendTransaction", gap);
    assert_eq!(count(), "0x0");
    ask("anvil_setBalance", json!([OTHER, "0xde0b6b3a7640000"]));
    ask("anvil_impersonateAccount", json!([OTHER]));
    let tx = json!([{"from": OTHER, "to": FIRST, "value": "0x1", "gas": "0x5208"}]);
    let hash = ask("eth_sendTransaction", tx);
    assert_eq!(block()["transactions"], json!([hash]));
    let from = ask("eth_getTransactionByBlockNumberAndIndex", json!(["pending", "0x0"]));
    assert_eq!(from["from"], OTHER);
    ask("anvil_dropTransaction", json!([hash]));
    assert_eq!(count(), "0x0");
    ask("evm_setNextBlockTimestamp", json!([4_000_000_000_u64]));
    assert_eq!(number(&block()["timestamp"]), 4_000_000_000);
    // After a revert it is on the block that is the last one then.
    let snapshot = ask("evm_snapshot", json!([]));
    let before = block();
    ask("anvil_setBalance", json!([OTHER, "0x1"]));
    assert_eq!(ask("eth_getBalance", json!([OTHER, "pending"])), "0x1");
    ask("evm_revert", json!([snapshot]));
    assert_eq!(block(), before);
    // Out of range, and no such place.
    let nothing = ask("eth_getTransactionByBlockNumberAndIndex", json!(["pending", "0x1"]));
    assert_eq!(nothing, Value::Null);
    let above = format!("{:#x}", number(&before["number"]));
    assert_eq!(ask("eth_getBlockByNumber", json!([above, false])), Value::Null);
    let text = error(&node, "eth_getBalance", json!([OTHER, above]));
    assert_eq!(text, "cannot query unfinalized data");
}

#[test]
fn a_pending_block_is_full_at_the_gas_limit() {
    let node = local().dev().start().unwrap();
    result(&node, "evm_setAutomine", json!([false]));
    // Two loops that use all of their gas: 30,000,000 is all that a block has.
    result(&node, "anvil_setCode", json!([CONTRACT, "0x5b600056"]));
    for _ in 0..2 {
        let tx = json!([{"from": FIRST, "to": CONTRACT, "gas": "0x1312d00"}]);
        result(&node, "eth_sendTransaction", tx);
    }
    let block = result(&node, "eth_getBlockByNumber", json!(["pending", false]));
    assert_eq!(block["transactions"].as_array().map(Vec::len), Some(1));
    assert_eq!(block["gasUsed"], "0x1312d00");
    let receipts = result(&node, "eth_getBlockReceipts", json!(["pending"]));
    assert_eq!(receipts[0]["status"], "0x0");
    // The nonce after all that waits.
    assert_eq!(result(&node, "eth_getTransactionCount", json!([FIRST, "pending"])), "0x2");
}
