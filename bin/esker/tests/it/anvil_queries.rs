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
    assert!(refused.starts_with("max fee per gas less than block base fee: 1 is "), "{refused}");
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
