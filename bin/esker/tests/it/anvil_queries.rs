//! What `esker anvil` answers as anvil, and go-ethereum does not.

use serde_json::json;

use crate::harness::Esker;

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const TO: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

#[test]
fn what_go_ethereum_refuses_is_answered() {
    let (node, ..) = Esker::start_anvil(&["--port", "0"]);
    let call = json!({"from": FROM, "to": TO, "gasPrice": "0x1"});
    assert_eq!(node.evm("eth_call", json!([call])), "0x");
    assert_eq!(node.evm("eth_estimateGas", json!([call])), "0x5208");
    assert_eq!(node.evm("debug_traceCall", json!([call]))["gas"], 21000);
    assert_eq!(node.evm("eth_feeHistory", json!(["0x1", "latest"]))["oldestBlock"], "0x0");
    let pending = node.evm("eth_feeHistory", json!(["0x1", "pending", [50]]));
    let (oldest, reward) = (&pending["oldestBlock"], &pending["reward"]);
    assert_eq!((oldest, reward), (&json!("0x1"), &json!([["0x0"]])));
    let logs = json!([{"fromBlock": "0x0", "toBlock": "0x99"}]);
    assert_eq!(node.evm("eth_getLogs", logs), json!([]));
    node.evm("anvil_setCoinbase", json!([TO]));
    assert_eq!(node.evm("eth_coinbase", json!([])), TO);
}

#[test]
fn fees_are_those_of_anvil() {
    let (node, ..) = Esker::start_anvil(&["--port", "0"]);
    assert_eq!(node.evm("eth_maxPriorityFeePerGas", json!([])), "0x3b9aca00");
    let low = json!({"from": FROM, "to": TO, "gas": "0x5208", "gasPrice": "0x1"});
    let refused = node.evm_refusal("eth_sendTransaction", json!([low]));
    assert_eq!(refused, "max fee per gas less than block base fee");
    node.evm("evm_setAutomine", json!([false]));
    node.evm_refusal("eth_sendTransaction", json!([low]));
    // It may come before others.
    let early = json!([{"from": FROM, "to": TO, "nonce": "0x5"}]);
    let early = node.evm("eth_sendTransaction", early);
    let tx = node.evm("eth_getTransactionByHash", json!([early]));
    assert_eq!(tx["maxPriorityFeePerGas"], "0x3b9aca00");
    let (node, ..) = Esker::start_anvil(&["--port", "0", "--disable-min-priority-fee"]);
    assert_eq!(node.evm("eth_maxPriorityFeePerGas", json!([])), "0x1");
}

/// Code of a contract that stores what it is called with, and its init code.
const STORE: &str = "0x60058060095f395ff35f355f5500";

/// What anvil and Hardhat's node answer alike.
fn check_what_both_answer(node: &Esker) {
    let deployed = node.evm("eth_sendTransaction", json!([{"from": FROM, "data": STORE}]));
    let contract = node.receipt(&deployed)["contractAddress"].clone();
    let word = format!("0x{}", "11".repeat(32));
    let call = json!([{"from": FROM, "to": contract, "data": word}]);
    // The estimate is what the call uses.
    let estimate = node.evm("eth_estimateGas", call.clone());
    let sent = node.evm("eth_sendTransaction", call);
    assert_eq!(node.receipt(&sent)["gasUsed"], estimate);
    node.evm("hardhat_mine", json!([5]));
    let inverted = json!([{"fromBlock": "0x5", "toBlock": "0x1"}]);
    for range in [inverted, json!([{"toBlock": "0x1"}])] {
        assert_eq!(node.evm("eth_getLogs", range.clone()), json!([]), "{range}");
        let filter = node.evm("eth_newFilter", range);
        assert_eq!(node.evm("eth_getFilterLogs", json!([filter])), json!([]));
        assert_eq!(node.evm("eth_getFilterChanges", json!([filter])), json!([]));
    }
    for (method, params) in [
        ("eth_sendRawTransaction", json!(["0x1234"])),
        ("eth_sendRawTransaction", json!(["0x"])),
        ("eth_sendRawTransaction", json!(["0x03c0"])),
        ("eth_getBalance", json!([FROM, {}])),
    ] {
        assert_eq!(node.evm_error(method, params.clone())["code"], -32602, "{method} {params}");
    }
}

#[test]
fn what_anvil_and_hardhats_node_answer_alike() {
    check_what_both_answer(&Esker::start_anvil(&["--port", "0"]).0);
    check_what_both_answer(&Esker::start_hardhat(&["--port", "0"]).0);
}
