//! `esker hardhat` in the place of `npx hardhat node`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Esker, run};

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const TO: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
/// How long the blocks of a test may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

fn height(node: &Esker) -> u64 {
    number(&node.evm("eth_blockNumber", json!([])))
}

/// The text of the error of a call.
fn refusal(node: &Esker, method: &str, params: Value) -> String {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let (_, body) = node.http("POST", "/", &request.to_string());
    let reply: Value = serde_json::from_str(&body).unwrap();
    reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
}

#[test]
fn its_banner_and_its_chain_are_those_of_hardhat() {
    let (node, banner, _) = Esker::start_hardhat(&["node", "--port", "0"]);
    let first = "Account #0: 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 (10000 ETH)";
    let at = banner.iter().position(|line| line == first).unwrap();
    let key = "Private Key: 0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    assert_eq!(banner[at + 1], key);
    let last = "Account #19: 0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199 (10000 ETH)";
    assert!(banner.iter().any(|line| line == last), "{banner:?}");
    assert_eq!(node.evm("eth_chainId", json!([])), "0x7a69");
    assert_eq!(node.evm("eth_accounts", json!([])).as_array().unwrap().len(), 20);
    let sent = node.evm("eth_sendTransaction", json!([{"from": FROM, "to": TO, "value": "0x1"}]));
    let receipt = node.receipt(&sent);
    assert_eq!(receipt["status"], "0x1");
    let block = node.evm("eth_getBlockByNumber", json!(["latest", false]));
    assert_eq!((number(&block["number"]), number(&block["gasLimit"])), (1, 60_000_000));
    assert!(node.stop("TERM").0.success());
}

#[test]
fn its_intervals_are_milliseconds() {
    let (node, ..) = Esker::start_hardhat(&["--port", "0"]);
    node.evm("evm_setIntervalMining", json!([3]));
    let begun = Instant::now();
    while height(&node) < 5 {
        assert!(begun.elapsed() < PATIENCE, "no 5 blocks within {PATIENCE:?}");
    }
    node.evm("evm_setIntervalMining", json!([[2, 4]]));
    let seen = height(&node);
    while height(&node) < seen + 3 {
        assert!(begun.elapsed() < PATIENCE, "no 3 further blocks within {PATIENCE:?}");
    }
    for (params, text) in [
        (json!([[5, 2]]), "the least interval 5 is greater than the greatest 2"),
        (json!([[0, 2]]), "an interval of blocks has at least a millisecond"),
        (json!([[1]]), "two numbers: the least and the greatest"),
        (json!([31_622_400_001_u64]), "an interval of 31622400001 ms is too long"),
    ] {
        let refused = refusal(&node, "evm_setIntervalMining", params);
        assert!(refused.contains(text), "{refused}");
    }
    node.evm("evm_setIntervalMining", json!([0]));
    assert_eq!(node.evm("anvil_getIntervalMining", json!([])), Value::Null);
    // The times of blocks are a second apart all the same.
    let times = [1, 2].map(|height| {
        let block = node.evm("eth_getBlockByNumber", json!([format!("{height:#x}"), false]));
        number(&block["timestamp"])
    });
    assert!(times[0] < times[1], "{times:?}");
}

#[test]
fn a_fork_of_no_url_is_refused() {
    let ended = run(&["hardhat", "node", "--port", "0", "--fork", "127.0.0.1"]);
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    let text = "fork-url: the fork URL is not valid (no http:// or https://)";
    assert!(ended.stderr.contains(text), "{}", ended.stderr);
}
