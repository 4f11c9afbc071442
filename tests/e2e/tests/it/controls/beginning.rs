//! Back to the beginning, and back by some blocks.

use esker_e2e::funds::funded;
use serde_json::{Value, json};

use super::snapshots::{see, send_x};
use super::{FIRST, OTHER, error, height, last_time, receipt, result, send, start, verify};
use crate::support::{local, wallet};

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
        // As viem asks for it.
        ask(reset, json!([{"forking": {"blockNumber": null}}]));
        assert_eq!(ask("eth_getBlockByNumber", json!(["latest", true])), beginning);
        assert_eq!(ask("eth_getBalance", json!([OTHER, "latest"])), "0x0");
        assert_eq!(ask("txpool_status", json!([])), json!({"pending": "0x0", "queued": "0x0"}));
        assert_eq!(ask("anvil_getAutomine", json!([])), true);
        assert_eq!(ask("evm_revert", json!([snapshot])), false);
        assert_eq!(x().unwrap().body, x_before);
        // The clock and the settings are as they were.
        assert_eq!(receipt(&node, &send(&node))["blockNumber"], "0x1");
        assert_eq!(ask("eth_getBlockByNumber", json!(["latest", false]))["gasLimit"], "0x1c9c380");
        assert!(last_time(&node) < moved);
        let unsigned = json!([{"from": OTHER, "to": FIRST, "gas": "0x5208", "value": "0x1"}]);
        error(&node, "eth_sendTransaction", unsigned);
    }
}

#[test]
fn everything_of_a_run_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    let genesis = see(&node);
    receipt(&node, &send(&node));
    send_x(&node, &wallet(&node, "X", funded()));
    result(&node, "anvil_mine", json!([500]));
    assert_eq!(result(&node, "anvil_rollback", json!([495])), Value::Null);
    let six = see(&node);
    assert_eq!(height(&node), 6);
    receipt(&node, &send(&node));
    assert!(node.stop().unwrap().success());

    // The beginning of a kept folder is the start.
    let node = start(folder.path());
    let begun = see(&node);
    receipt(&node, &send(&node));
    send_x(&node, &wallet(&node, "X", funded()));
    assert_eq!(result(&node, "hardhat_reset", json!([])), true);
    assert_eq!(see(&node), begun);
    receipt(&node, &send(&node));
    node.kill().unwrap();
    verify(folder.path());

    // The blocks before it can be taken back one by one. Then the chain is at its beginning.
    let node = start(folder.path());
    assert_eq!(height(&node), 8);
    result(&node, "anvil_rollback", json!([2]));
    assert_eq!((see(&node)["block"].clone(), height(&node)), (six["block"].clone(), 6));
    result(&node, "anvil_mine", json!([3]));
    result(&node, "anvil_reset", json!([]));
    assert_eq!(see(&node)["block"], six["block"]);
    result(&node, "anvil_rollback", json!([6]));
    assert_eq!(see(&node)["block"], genesis["block"]);
    receipt(&node, &send(&node));
    assert!(node.stop().unwrap().success());
    verify(folder.path());
}

#[test]
fn hostile_resets_change_nothing() {
    let node = local().dev().start().unwrap();
    receipt(&node, &send(&node));
    let fork = json!([{"forking": {"jsonRpcUrl": "http://127.0.0.1:1"}}]);
    for method in ["anvil_reset", "hardhat_reset"] {
        let text = error(&node, method, fork.clone());
        assert!(text.contains("forks no other network: use esker evm, without"), "{text}");
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
fn the_head_is_set_by_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    let ask = |method: &str, params: Value| result(&node, method, params);
    let first = ask("evm_snapshot", json!([]));
    for _ in 0..4 {
        receipt(&node, &send(&node));
    }
    let lost = ask("evm_snapshot", json!([]));
    let kept = ask("eth_getBlockByNumber", json!(["0x2", true]));
    // Where it is, it stays.
    assert_eq!(ask("debug_setHead", json!(["0x4"])), Value::Null);
    assert_eq!(height(&node), 4);
    assert_eq!(ask("debug_setHead", json!(["0x2"])), Value::Null);
    assert_eq!(ask("eth_getBlockByNumber", json!(["latest", true])), kept);
    assert_eq!(ask("eth_getTransactionCount", json!([FIRST, "latest"])), "0x2");
    assert_eq!(ask("evm_revert", json!([lost])), false);
    for (params, expected) in [
        (json!(["0x3"]), "not allowed to rewind to a future block: 3, the last one is 2"),
        (
            json!(["0xffffffffffffffff"]),
            "not allowed to rewind to a future block: 18446744073709551615, the last one is 2",
        ),
        (json!([]), "missing value for required argument 0"),
        (json!([-1]), "cannot unmarshal non-string into Go value of type hexutil.Uint64"),
        (json!(["a"]), "hex string without 0x prefix"),
        // Numbers may have any form, also that of decimal digits.
        (json!(["03"]), "a future block: 3, the last one is 2"),
        (json!([3]), "a future block: 3, the last one is 2"),
        (json!(["latest"]), "hex string without 0x prefix"),
        (json!(["0x10000000000000000"]), "hex number > 64 bits"),
        (json!(["0x1", "0x1"]), "too many arguments, want at most 1"),
    ] {
        let text = error(&node, "debug_setHead", params.clone());
        assert!(text.contains(expected), "{params}: {text}");
    }
    assert_eq!(receipt(&node, &send(&node))["blockNumber"], "0x3");
    // Block 0 stays: what comes after it is gone, also on the other chains.
    send_x(&node, &wallet(&node, "X", funded()));
    ask("debug_setHead", json!(["0x0"]));
    assert_eq!((height(&node), ask("evm_revert", json!([first]))), (0, json!(true)));
    receipt(&node, &send(&node));
    node.stop().unwrap();
    verify(folder.path());
}

#[test]
fn only_nodes_with_controls_set_their_head() {
    // A development node that others can follow has no controls; other nodes do not have the method.
    let source = local().dev().arg("--api-sync-enabled").start().unwrap();
    let text = error(&source, "debug_setHead", json!(["0x0"]));
    assert!(text.contains("a node that others can follow has no controls"), "{text}");
    let apis = "eth,debug,internal-debug,debug-tracer,debug-handler";
    for network in ["dev", "local"] {
        let node = local().network(network).env("ESKER_ETH_APIS", apis).start().unwrap();
        let text = error(&node, "debug_setHead", json!(["0x0"]));
        assert_eq!(text, "the method debug_setHead does not exist/is not available");
    }
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
