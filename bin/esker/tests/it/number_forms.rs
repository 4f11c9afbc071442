//! Numbers in the forms of tools for anvil and Hardhat, which other networks refuse as go-ethereum does.

use serde_json::{Value, json};

use crate::harness::Esker;

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const OTHER: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
/// Code that returns the time.
const TIME: &str = "0x425f5260205ff3";

/// 3,000,000,000 in each form.
fn forms() -> [Value; 6] {
    let exponent = serde_json::from_str("3e9").unwrap();
    let hex = ["0xb2d05e00", "0x00b2d05e00", "0Xb2d05e00"];
    let [plain, zeros, capital] = hex.map(|text| json!(text));
    [plain, zeros, capital, json!("3000000000"), json!(3_000_000_000_u64), exponent]
}

/// Forms of 1.
fn forms_of_one() -> [Value; 4] {
    [json!("0x1"), json!("0x0001"), json!("1"), json!(1)]
}

fn check_transactions(node: &Esker) {
    for price in forms() {
        let tx = json!({"from": FROM, "to": OTHER, "value": price, "maxFeePerGas": price});
        assert_eq!(node.evm("eth_call", json!([tx])), "0x", "{price}");
        node.evm("eth_estimateGas", json!([tx]));
        let sent = node.evm("eth_sendTransaction", json!([tx]));
        let sent = node.evm("eth_getTransactionByHash", json!([sent]));
        assert_eq!(
            (&sent["value"], &sent["maxFeePerGas"]),
            (&json!("0xb2d05e00"), &json!("0xb2d05e00"))
        );
    }
    let next = node.evm("eth_getTransactionCount", json!([FROM, "latest"]));
    let next = u64::from_str_radix(&next.as_str().unwrap()[2..], 16).unwrap();
    let tx = json!({
        "from": FROM, "to": OTHER, "value": "0x", "gas": 21000, "gasPrice": "3000000000", "nonce": next.to_string(),
        "chainId": 31337, "type": 0,
    });
    let sent = node.evm("eth_sendTransaction", json!([tx]));
    let sent = node.evm("eth_getTransactionByHash", json!([sent]));
    let (value, gas, nonce) = (&sent["value"], &sent["gas"], &sent["nonce"]);
    assert_eq!(
        (value, gas, nonce),
        (&json!("0x0"), &json!("0x5208"), &json!(format!("{next:#x}")))
    );
}

fn check_queries(node: &Esker) {
    let first = node.evm("eth_getBlockByNumber", json!(["0x1", false]));
    let balance = node.evm("eth_getBalance", json!([FROM, "0x1"]));
    for one in forms_of_one() {
        assert_eq!(node.evm("eth_getBlockByNumber", json!([one, false])), first, "{one}");
        assert_eq!(node.evm("eth_getBalance", json!([FROM, one])), balance, "{one}");
        let named = json!({ "blockNumber": one });
        assert_eq!(node.evm("eth_getBalance", json!([FROM, named])), balance, "{one}");
        node.evm("eth_getLogs", json!([{"fromBlock": one, "toBlock": one}]));
        node.evm("eth_newFilter", json!([{"fromBlock": one}]));
        let at = json!([one, one]);
        assert_eq!(node.evm("eth_getTransactionByBlockNumberAndIndex", at), Value::Null);
        let fees = node.evm("eth_feeHistory", json!([one, one, []]));
        assert_eq!(fees["oldestBlock"], "0x1", "{one}");
    }
    for time in forms() {
        let overrides = json!({ FROM: {"balance": time, "nonce": time} });
        let call = json!([{"data": TIME}, "latest", overrides, {"time": time, "baseFee": 0}]);
        let seen = node.evm("eth_call", call);
        assert!(seen.as_str().unwrap().ends_with("b2d05e00"), "{time}: {seen}");
    }
    for wrong in [json!("a"), json!("0xg"), json!(-1), json!(1.5), json!("1.0"), json!(true)] {
        let tx = json!([{"from": FROM, "to": OTHER, "value": wrong}]);
        let error = node.evm_error("eth_call", tx);
        assert_eq!(error["code"], -32602, "{wrong}");
    }
}

#[test]
fn esker_anvil_takes_numbers_as_anvil() {
    let (node, ..) = Esker::start_anvil(&["--port", "0"]);
    check_transactions(&node);
    check_queries(&node);
}

#[test]
fn esker_hardhat_takes_numbers_as_hardhats_node() {
    let (node, ..) = Esker::start_hardhat(&["--port", "0"]);
    check_transactions(&node);
    check_queries(&node);
}
