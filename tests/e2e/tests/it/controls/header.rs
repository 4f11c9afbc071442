//! The members of the next block's header: base fee, gas limit, coinbase, random value.

use esker_e2e::Node;
use serde_json::{Value, json};

use super::{
    FIRST, OTHER, call, error, height, imported, number, receipt, result, send, start, verify,
};
use crate::support::local;

/// Returns what PREVRANDAO does.
const RANDOM: &str = "0x4460005260206000f3";
const USUAL_COINBASE: &str = "0x0100000000000000000000000000000000000000";

fn block(node: &Node, tag: &str) -> Value {
    result(node, "eth_getBlockByNumber", json!([tag, false]))
}

/// A transfer at this price; its receipt.
fn pay(node: &Node, price: &str) -> Value {
    let tx =
        json!([{"from": FIRST, "to": OTHER, "value": "0x7", "gas": "0x5208", "gasPrice": price}]);
    let hash = result(node, "eth_sendTransaction", tx);
    receipt(node, &hash)
}

fn change(node: &Node) {
    let value = format!("0x{}", "5a".repeat(32));
    for (method, params, reply) in [
        ("anvil_setNextBlockBaseFeePerGas", json!(["0x77359400"]), Value::Null),
        ("evm_setBlockGasLimit", json!(["0x1c9c380"]), json!(true)),
        ("anvil_setCoinbase", json!([OTHER]), Value::Null),
        ("hardhat_setPrevRandao", json!([value]), json!(true)),
    ] {
        assert_eq!(result(node, method, params), reply, "{method}");
    }
    let pending = block(node, "pending");
    let fee = result(node, "eth_gasPrice", json!([]));
    assert!(number(&fee) >= 2_000_000_000, "{fee}");
    // A change of the state leaves it for the next block.
    result(node, "anvil_setNonce", json!([OTHER, height(node) + 100]));
    let changed = block(node, "latest");
    assert_eq!(
        (&changed["mixHash"], &changed["miner"]),
        (&json!(format!("0x{:064x}", 0)), &json!(OTHER))
    );
    let before = result(node, "eth_getBalance", json!([OTHER, "latest"]));
    // With a tip of 1 wei.
    assert_eq!(receipt(node, &send(node))["effectiveGasPrice"], "0x77359401");
    let mined = block(node, "latest");
    for member in ["baseFeePerGas", "gasLimit", "miner", "mixHash"] {
        assert_eq!(mined[member], pending[member], "{member}");
    }
    let members = ["baseFeePerGas", "gasLimit", "miner", "mixHash"].map(|member| &mined[member]);
    assert_eq!(json!(members), json!(["0x77359400", "0x1c9c380", OTHER, value]));
    // The fee went to the coinbase: 21,000 gas at 2 gwei, and the 7 wei.
    let after = result(node, "eth_getBalance", json!([OTHER, "latest"]));
    assert_eq!(number(&after) - number(&before), 21_000 * 2_000_000_001 + 7);
    assert_eq!(result(node, "eth_call", json!([{"data": RANDOM}, "latest"])), value);
    // Fee and value were of one block, limit and coinbase stay.
    result(node, "evm_mine", json!([]));
    let next = block(node, "latest");
    assert_eq!(next["mixHash"], format!("0x{:064x}", 0));
    assert_ne!(next["baseFeePerGas"], "0x77359400");
    assert_eq!((&next["gasLimit"], &next["miner"]), (&json!("0x1c9c380"), &json!(OTHER)));
    result(node, "hardhat_setCoinbase", json!([USUAL_COINBASE]));
    result(node, "anvil_setBlockGasLimit", json!([15_000_000]));
    assert_eq!(result(node, "anvil_setNextBlockPrevRandao", json!([value])), Value::Null);
    result(node, "evm_mine", json!([]));
    let next = block(node, "latest");
    assert_eq!(next["mixHash"], value);
    assert_eq!((&next["gasLimit"], &next["miner"]), (&json!("0xe4e1c0"), &json!(USUAL_COINBASE)));
}

#[test]
fn headers_are_as_controls_say() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    change(&node);
    // Free transactions, once.
    assert_eq!(result(&node, "hardhat_setNextBlockBaseFeePerGas", json!(["0x0"])), json!(true));
    assert_eq!(pay(&node, "0x0")["effectiveGasPrice"], "0x0");
    assert_eq!(block(&node, "latest")["baseFeePerGas"], "0x0");
    assert_eq!(receipt(&node, &send(&node))["status"], "0x1");
    let seen: Vec<_> = (0..=height(&node)).map(|at| block(&node, &format!("{at:#x}"))).collect();
    node.stop().unwrap();
    verify(folder.path());
    let node = start(folder.path());
    let again: Vec<_> = (0..=height(&node)).map(|at| block(&node, &format!("{at:#x}"))).collect();
    assert_eq!(again, seen);
    change(&node);
    node.stop().unwrap();
    verify(folder.path());
    let copy = tempfile::tempdir().unwrap();
    let copied = imported(folder.path(), copy.path());
    assert_eq!(block(&copied, "0x4"), seen[4]);
}

#[test]
fn after_a_block_without_a_base_fee_suggested_prices_do_for_the_next_second() {
    let node = local().dev().start().unwrap();
    result(&node, "hardhat_setNextBlockBaseFeePerGas", json!(["0x0"]));
    pay(&node, "0x0");
    // The next block in the same second has no base fee either; a later one has the least of the rules.
    result(&node, "evm_setAutomine", json!([false]));
    let price = result(&node, "eth_gasPrice", json!([]));
    let tx = json!([{"from": FIRST, "to": OTHER, "gas": "0x5208", "gasPrice": price}]);
    let hashes = [send(&node), result(&node, "eth_sendTransaction", tx)];
    result(&node, "evm_increaseTime", json!([5]));
    result(&node, "evm_mine", json!([]));
    let block = block(&node, "latest");
    assert_eq!(
        (&block["transactions"], &block["baseFeePerGas"]),
        (&json!(hashes), &json!("0x3b9aca00"))
    );
}

#[test]
fn a_gas_limit_bounds_blocks() {
    let node = local().dev().start().unwrap();
    result(&node, "evm_setBlockGasLimit", json!([100_000]));
    result(&node, "evm_mine", json!([]));
    assert_eq!(block(&node, "latest")["gasLimit"], "0x186a0");
    let tx = json!([{"from": FIRST, "to": OTHER, "gas": "0x186a1"}]);
    assert!(error(&node, "eth_sendTransaction", tx).contains("exceeds block gas limit"));
    // As much as the block has, and no more.
    result(&node, "evm_setAutomine", json!([false]));
    let hashes: Vec<_> = (0..5).map(|_| send(&node)).collect();
    result(&node, "evm_mine", json!([]));
    assert_eq!(block(&node, "latest")["transactions"], json!(hashes[..4]));
    // A snapshot holds what is set.
    let snapshot = result(&node, "evm_snapshot", json!([]));
    result(&node, "evm_setBlockGasLimit", json!([200_000]));
    result(&node, "evm_mine", json!([]));
    result(&node, "evm_revert", json!([snapshot]));
    result(&node, "evm_mine", json!([]));
    assert_eq!(block(&node, "latest")["gasLimit"], "0x186a0");
}

/// The contract of EIP-4788, which keeps the roots of 8,191 blocks by their time.
const BEACON_ROOTS: &str = "0x000f3df6d732807ef1319fb7b8bb8522d0beac02";
const BEACON_ROOTS_CODE: &str = "0x3373fffffffffffffffffffffffffffffffffffffffe14604d57602036146024575f5ffd5b5f35801560495762001fff810690815414603c575f5ffd5b62001fff01545f5260205ff35b5f5ffd5b62001fff42064281555f359062001fff015500";

/// The root that the contract has for the last block.
fn stored_root(node: &Node) -> Value {
    let time = number(&block(node, "latest")["timestamp"]);
    let asks = json!([{"to": BEACON_ROOTS, "data": format!("0x{time:064x}")}, "latest"]);
    result(node, "eth_call", asks)
}

#[test]
fn a_beacon_root_is_that_of_the_next_block() {
    let (zero, root) = (format!("0x{:064x}", 0), format!("0x{}", "5b".repeat(32)));
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    let set = |node: &Node, root: &str| {
        result(node, "anvil_setNextBlockParentBeaconBlockRoot", json!([root]))
    };
    assert_eq!(set(&node, &root), Value::Null);
    // A change of the state leaves it for the next block.
    result(&node, "anvil_setCode", json!([BEACON_ROOTS, BEACON_ROOTS_CODE]));
    assert_eq!(block(&node, "latest")["parentBeaconBlockRoot"], json!(zero));
    assert_eq!(block(&node, "pending")["parentBeaconBlockRoot"], json!(root));
    // A snapshot holds it.
    let snapshot = result(&node, "evm_snapshot", json!([]));
    assert_eq!(receipt(&node, &send(&node))["status"], "0x1");
    assert_eq!(block(&node, "latest")["parentBeaconBlockRoot"], json!(root));
    assert_eq!(stored_root(&node), json!(root));
    result(&node, "evm_mine", json!([]));
    assert_eq!(block(&node, "latest")["parentBeaconBlockRoot"], json!(zero));
    assert_eq!(stored_root(&node), json!(zero));
    result(&node, "evm_revert", json!([snapshot]));
    result(&node, "evm_mine", json!([]));
    assert_eq!(block(&node, "latest")["parentBeaconBlockRoot"], json!(root));
    set(&node, &zero);
    result(&node, "evm_mine", json!([]));
    assert_eq!(block(&node, "latest")["parentBeaconBlockRoot"], json!(zero));
    let seen: Vec<_> = (0..=height(&node)).map(|at| block(&node, &format!("{at:#x}"))).collect();
    node.stop().unwrap();
    verify(folder.path());
    let copy = tempfile::tempdir().unwrap();
    let copied = imported(folder.path(), copy.path());
    assert_eq!(block(&copied, "0x2"), seen[2]);
}

#[test]
fn hostile_headers_change_nothing() {
    let node = local().dev().start().unwrap();
    let before = block(&node, "pending");
    let max = format!("0x{}", "f".repeat(64));
    let size = "expected a number of at most 256 bits";
    for (method, params, text) in [
        ("anvil_setNextBlockBaseFeePerGas", json!([max]), "is too high: at most"),
        ("hardhat_setNextBlockBaseFeePerGas", json!([-1]), size),
        ("anvil_setNextBlockBaseFeePerGas", json!([]), "missing value for required argument"),
        ("evm_setBlockGasLimit", json!([0]), "cannot set a gas limit of 0: 1 to 1000000000000"),
        ("anvil_setBlockGasLimit", json!([1_000_000_000_001_u64]), "cannot set a gas limit of"),
        ("evm_setBlockGasLimit", json!([max]), "has more than 64 bits"),
        ("anvil_setCoinbase", json!(["0x12"]), "want 40 for common.Address"),
        ("hardhat_setCoinbase", json!([null]), "cannot unmarshal non-string"),
        ("hardhat_setPrevRandao", json!(["0x12"]), "want 64 for common.Hash"),
        ("anvil_setPrevRandao", json!([format!("0x{:064x}", 0)]), "a random value of 0"),
        ("anvil_setNextBlockPrevRandao", json!(["0x12"]), "want 64 for common.Hash"),
        ("anvil_setNextBlockParentBeaconBlockRoot", json!(["0x12"]), "want 64 for common.Hash"),
        ("anvil_setMinGasPrice", json!(["0x1"]), "there is no least gas price"),
        ("hardhat_setMinGasPrice", json!([1]), "there is no least gas price"),
        ("anvil_setRpcUrl", json!(["http://127.0.0.1:1"]), "this node forks no other network"),
    ] {
        let got = error(&node, method, params);
        assert!(got.contains(text), "{method}: {got}");
    }
    assert_eq!(result(&node, "anvil_enableTraces", json!([])), Value::Null);
    let after = block(&node, "pending");
    for member in ["number", "baseFeePerGas", "gasLimit", "miner", "mixHash"] {
        assert_eq!(after[member], before[member], "{member}");
    }
    // A price that nobody can pay holds transactions up, no blocks.
    let most = json!(["0xffffffffffffffffffffffffffffffff"]);
    result(&node, "anvil_setNextBlockBaseFeePerGas", most);
    call(
        &node,
        "eth_sendTransaction",
        json!([{"from": FIRST, "to": OTHER, "gas": "0x5208", "gasPrice": "0x77359400"}]),
    );
    result(&node, "evm_mine", json!([]));
    result(&node, "anvil_setNextBlockBaseFeePerGas", json!(["0x3b9aca00"]));
    assert_eq!(receipt(&node, &send(&node))["status"], "0x1");
}
