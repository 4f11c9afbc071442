//! Answers of `esker hardhat` that are those of Hardhat's node, where anvil's differ.

use serde_json::{Value, json};

use crate::harness::Esker;

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const OTHER: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
/// Init code of a contract that reverts with the call data.
const REVERTER: &str = "0x60078060095f395ff3365f5f37365ffd";
/// `Error("a reason")`.
const REASON: &str = "0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000086120726561736f6e000000000000000000000000000000000000000000000000";
const REVERTED: &str =
    "Error: VM Exception while processing transaction: reverted with reason string 'a reason'";

fn start() -> Esker {
    Esker::start_hardhat(&["--port", "0"]).0
}

impl Esker {
    fn refuses(&self, method: &str, params: Value, code: i64, text: &str) {
        let error = self.evm_error(method, params);
        assert_eq!(error["code"], code, "{error}");
        assert!(error["message"].as_str().unwrap().contains(text), "{error}");
    }
}

#[test]
fn controls_reply_as_hardhats() {
    let node = start();
    for (method, params, reply) in [
        ("evm_snapshot", json!([]), json!("0x1")),
        ("evm_increaseTime", json!([123]), json!("123")),
        ("evm_mine", json!([]), json!("0")),
        ("evm_setNextBlockTimestamp", json!([4_000_000_000_u64]), json!("4000000000")),
        ("hardhat_mine", json!(["0x2", "0x3"]), json!(true)),
        ("evm_setAutomine", json!([true]), json!(true)),
        ("evm_setIntervalMining", json!([0]), json!(true)),
        ("hardhat_setLoggingEnabled", json!([false]), json!(true)),
        ("hardhat_impersonateAccount", json!([OTHER]), json!(true)),
        ("hardhat_stopImpersonatingAccount", json!([OTHER]), json!(true)),
        ("hardhat_stopImpersonatingAccount", json!([OTHER]), json!(false)),
        ("hardhat_setCoinbase", json!([OTHER]), json!(true)),
        ("eth_coinbase", json!([]), json!(OTHER)),
        ("evm_revert", json!(["0x1"]), json!(true)),
        ("evm_revert", json!(["0x1"]), json!(false)),
        ("eth_maxPriorityFeePerGas", json!([]), json!("0x3b9aca00")),
    ] {
        assert_eq!(node.evm(method, params), reply, "{method}");
    }
    node.evm("evm_mine", json!([4_100_000_000_u64]));
    let same = json!([4_100_000_000_u64]);
    node.refuses("evm_setNextBlockTimestamp", same, -32000, "equal to the previous");
    let short = json!([OTHER, "0x0", "0xff"]);
    node.refuses("hardhat_setStorageAt", short, -32000, "must be exactly 32 bytes long");
    let whole = json!([OTHER, "0x0", format!("0x{}", "ff".repeat(32))]);
    assert_eq!(node.evm("hardhat_setStorageAt", whole), true);
}

#[test]
fn failures_have_the_form_of_hardhats() {
    let node = start();
    let deployed = node.evm("eth_sendTransaction", json!([{"from": FROM, "data": REVERTER}]));
    let contract = node.receipt(&deployed)["contractAddress"].clone();
    let call = json!({"from": FROM, "to": contract, "data": REASON});
    for method in ["eth_call", "eth_estimateGas"] {
        let data = json!({"message": REVERTED, "data": REASON});
        let expected = json!({"code": -32603, "message": REVERTED, "data": data});
        assert_eq!(node.evm_error(method, json!([call])), expected);
    }
    // It is sent without an estimate, and fails in its block.
    let sent = node.evm_error("eth_sendTransaction", json!([call]));
    assert_eq!((&sent["code"], &sent["message"]), (&json!(-32603), &json!(REVERTED)));
    assert_eq!(
        (&sent["data"]["message"], &sent["data"]["data"]),
        (&json!(REVERTED), &json!(REASON))
    );
    let hash = &sent["data"]["txHash"];
    assert_eq!(node.receipt(hash)["status"], "0x0");
    let tx = node.evm("eth_getTransactionByHash", json!([hash]));
    assert_eq!(tx["gas"], "0x1000000");
    let silent = json!([{"from": FROM, "to": contract}]);
    node.refuses("eth_call", silent, -32603, "Transaction reverted without a reason string");
    let endless = json!([{"from": FROM, "data": "0x5b5f56", "gas": "0x186a0"}]);
    node.refuses("eth_sendTransaction", endless, -32000, "Transaction ran out of gas");
}

#[test]
fn what_the_next_block_cannot_have_is_refused_while_blocks_are_made_at_once() {
    let node = start();
    let early = json!([{"from": FROM, "to": OTHER, "nonce": "0x1"}]);
    let text = "Nonce too high. Expected nonce to be 0 but got 1. Note that transactions can't be queued when automining.";
    node.refuses("eth_sendTransaction", early.clone(), -32000, text);
    let cheap = json!([{"from": FROM, "to": OTHER, "gasPrice": "0x1"}]);
    let text = "1 is too low for the next block, which has a baseFeePerGas of";
    node.refuses("eth_sendTransaction", cheap.clone(), -32000, text);
    assert_eq!(node.evm("eth_pendingTransactions", json!([])), json!([]));
    node.evm("evm_setAutomine", json!([false]));
    let (queued, first) =
        (node.evm("eth_sendTransaction", early), node.evm("eth_sendTransaction", cheap));
    let waiting = node.evm("eth_pendingTransactions", json!([]));
    let hashes: Vec<_> = waiting.as_array().unwrap().iter().map(|tx| &tx["hash"]).collect();
    assert_eq!(hashes, [&first, &queued]);
    let nonce = json!([FROM, "0xff"]);
    node.refuses("hardhat_setNonce", nonce, -32603, "the transaction pool is not empty");
}

#[test]
fn queries_are_answered_as_hardhats() {
    let node = start();
    node.evm("evm_mine", json!([]));
    for range in [["0x0", "0x99"], ["0x99", "0x99"], ["0x1", "0x0"]] {
        let filter = json!([{"fromBlock": range[0], "toBlock": range[1]}]);
        assert_eq!(node.evm("eth_getLogs", filter), json!([]), "{range:?}");
    }
    // Nobody has so much.
    let rich = json!([{"from": OTHER, "to": FROM, "value": "0xd3c21bcecceda1000000"}]);
    assert_eq!(node.evm("eth_call", rich.clone()), "0x");
    assert_eq!(node.evm("eth_estimateGas", rich), "0x5209");
    let cheap = json!([{"from": OTHER, "to": FROM, "gasPrice": "0x1"}]);
    assert_eq!(node.evm("eth_call", cheap), "0x");
    // A price leaves room for the tip.
    let tx = json!([{"from": FROM, "to": OTHER, "maxFeePerGas": "0x3ada0760"}]);
    let sent = node.evm("eth_sendTransaction", tx);
    let sent = node.evm("eth_getTransactionByHash", json!([sent]));
    assert_eq!(sent["maxPriorityFeePerGas"], "0x3ada0760");
    node.evm("evm_setAutomine", json!([false]));
    let tx = json!([{"from": FROM, "to": OTHER, "gas": "0x5208"}]);
    node.evm("eth_sendTransaction", tx);
    let history = node.evm("eth_feeHistory", json!(["0x2", "pending", [50]]));
    assert_eq!(history["oldestBlock"], "0x2");
    assert_eq!(history["reward"].as_array().unwrap().len(), 2);
    assert_eq!(history["reward"][1], json!(["0x0"]));
    assert_eq!(history["gasUsedRatio"], json!([0.00035, 0.00035]));
    assert_eq!(history["baseFeePerGas"].as_array().unwrap().len(), 3);
    let alone = node.evm("eth_feeHistory", json!(["0x1", "pending"]));
    assert_eq!((&alone["oldestBlock"], &alone["gasUsedRatio"]), (&json!("0x3"), &json!([0.00035])));
}

#[test]
fn what_does_not_exist_is_answered_as_by_hardhats() {
    let node = start();
    let error = node.evm_error("eth_fooBar", json!([]));
    assert_eq!(error, json!({"code": -32004, "message": "Method eth_fooBar is not supported"}));
    for method in ["eth_getFilterChanges", "eth_getFilterLogs"] {
        assert_eq!(node.evm(method, json!(["0x99"])), Value::Null, "{method}");
    }
    assert_eq!(node.evm("eth_uninstallFilter", json!(["0x99"])), false);
    assert_eq!(node.evm("eth_mining", json!([])), false);
    assert_eq!(node.evm("hardhat_getStackTraceFailuresCount", json!([])), 0);
}

#[test]
fn a_filter_for_blocks_begins_with_the_last_one() {
    let node = start();
    node.evm("hardhat_mine", json!([2]));
    let hash = || node.evm("eth_getBlockByNumber", json!(["latest", false]))["hash"].clone();
    let last = hash();
    let filter = node.evm("eth_newBlockFilter", json!([]));
    assert_eq!(node.evm("eth_getFilterChanges", json!([filter])), json!([last]));
    assert_eq!(node.evm("eth_getFilterChanges", json!([filter])), json!([]));
    node.evm("evm_mine", json!([]));
    assert_eq!(node.evm("eth_getFilterChanges", json!([filter])), json!([hash()]));
}
