//! Back to the beginning, and back by some blocks.

use serde_json::{Value, json};

use super::{FIRST, OTHER, error, height, last_time, receipt, result, send, start, verify};
use crate::support::local;

#[test]
fn a_reset_goes_back_to_the_beginning() {
    let node = local().dev().start().unwrap();
    let ask = |method: &str, params: Value| result(&node, method, params);
    let beginning = ask("eth_getBlockByNumber", json!(["latest", true]));
    let x =
        || node.rpc().post("/ext/bc/X", br#"{"jsonrpc":"2.0","id":1,"method":"xvm.getHeight"}"#);
    let x_before = x().unwrap().body;
    assert_eq!(ask("hardhat_reset", json!([])), true);
    for reset in ["hardhat_reset", "anvil_reset"] {
        ask("evm_increaseTime", json!([5000]));
        ask("anvil_setBalance", json!([OTHER, "0x64"]));
        ask("anvil_impersonateAccount", json!([OTHER]));
        ask("evm_setBlockGasLimit", json!([1_000_000]));
        receipt(&node, &send(&node));
        let moved = last_time(&node);
        let snapshot = ask("evm_snapshot", json!([]));
        ask("evm_setAutomine", json!([false]));
        send(&node);
        ask(reset, json!([{}]));
        assert_eq!(ask("eth_getBlockByNumber", json!(["latest", true])), beginning);
        assert_eq!(ask("eth_getBalance", json!([OTHER, "latest"])), "0x0");
        assert_eq!(ask("txpool_status", json!([])), json!({"pending": "0x0", "queued": "0x0"}));
        assert_eq!(ask("anvil_getAutomine", json!([])), true);
        assert_eq!(ask("evm_revert", json!([snapshot])), false);
        assert_eq!(x().unwrap().body, x_before);
        // The clock and the settings are as they were.
        assert_eq!(receipt(&node, &send(&node))["blockNumber"], "0x1");
        assert_eq!(ask("eth_getBlockByNumber", json!(["latest", false]))["gasLimit"], "0xe4e1c0");
        assert!(last_time(&node) < moved);
        let unsigned = json!([{"from": OTHER, "to": FIRST, "gas": "0x5208", "value": "0x1"}]);
        error(&node, "eth_sendTransaction", unsigned);
    }
}

#[test]
fn what_was_not_kept_is_not_taken_back() {
    let node = local().dev().start().unwrap();
    receipt(&node, &send(&node));
    let kept = "blocks from before the first snapshot or reset can't be taken back";
    for (method, params) in [("anvil_reset", json!([])), ("anvil_rollback", json!([1]))] {
        let text = error(&node, method, params);
        assert!(text.starts_with(kept), "{text}");
    }
    let fork = json!([{"forking": {"jsonRpcUrl": "http://127.0.0.1:1"}}]);
    for method in ["anvil_reset", "hardhat_reset"] {
        assert_eq!(error(&node, method, fork.clone()), "this node forks no other network");
        let text = error(&node, method, json!([7]));
        assert!(text.contains("expected an object"), "{text}");
    }
    let text = error(&node, "anvil_rollback", json!([2]));
    assert_eq!(text, "cannot take back 2 blocks: the chain has 1");
    let text = error(&node, "anvil_rollback", json!([format!("0x1{}", "0".repeat(64))]));
    assert!(text.contains("at most 256 bits"), "{text}");
    assert_eq!(height(&node), 1);
    assert_eq!(receipt(&node, &send(&node))["status"], "0x1");
}

#[test]
fn the_last_blocks_are_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    let ask = |method: &str, params: Value| result(&node, method, params);
    let first = ask("evm_snapshot", json!([]));
    for _ in 0..3 {
        receipt(&node, &send(&node));
    }
    let kept = ask("eth_getBlockByNumber", json!(["0x2", true]));
    let lost = ask("evm_snapshot", json!([]));
    assert_eq!(ask("anvil_rollback", json!([])), Value::Null);
    assert_eq!((height(&node), ask("evm_revert", json!([lost]))), (2, json!(false)));
    assert_eq!(ask("anvil_rollback", json!([0])), Value::Null);
    assert_eq!(ask("eth_getBlockByNumber", json!(["latest", true])), kept);
    assert_eq!(ask("eth_getTransactionCount", json!([FIRST, "latest"])), "0x2");
    assert_eq!(receipt(&node, &send(&node))["blockNumber"], "0x3");
    ask("anvil_rollback", json!(["0x2"]));
    assert_eq!((height(&node), ask("evm_revert", json!([first]))), (1, json!(true)));
    assert_eq!(height(&node), 0);
    receipt(&node, &send(&node));
    node.stop().unwrap();
    verify(folder.path());
}
