//! An estimate suffices for the next block.

use esker_client::{CallError, RpcClient};
use esker_e2e::{Node, until};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::{local, now_s};

const PATH: &str = "/ext/bc/C/rpc";
/// An account of `esker dev`.
const HELD: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
/// Transactions in a row.
const SENDS: usize = 5;
/// How long a time lock is shut, s: longer than a slow machine needs to ask once.
const SHUT_S: u64 = 4;

/// Init code of a contract that writes a checkpoint of its own for every new block number: slot 0 holds the last
/// one, the slot of its number is set.
const ONCE_A_BLOCK: &str = "0x601280600b6000396000f3600054431460105743600055600143555b00";
/// The same with the block's time.
const ONCE_A_SECOND: &str = "0x601280600b6000396000f3600054421460105742600055600142555b00";
/// Init code of a contract that reverts before the time that is its first argument, then writes.
const TIME_LOCK: &str = "0x601480600b6000396000f36000354210600e576001600055005b60006000fd";

fn try_call<R: DeserializeOwned>(
    rpc: &mut RpcClient,
    method: &str,
    params: Value,
) -> Result<R, CallError> {
    rpc.call(PATH, method, params)
}

fn call<R: DeserializeOwned>(rpc: &mut RpcClient, method: &str, params: Value) -> R {
    try_call(rpc, method, params).unwrap()
}

/// Sends a transaction whose gas the node chooses; its receipt.
fn send(rpc: &mut RpcClient, tx: Value) -> Value {
    let hash: String = call(rpc, "eth_sendTransaction", json!([tx]));
    until(&format!("{hash} has a receipt"), || {
        call::<Option<Value>>(rpc, "eth_getTransactionReceipt", json!([hash]))
    })
}

fn deploy(rpc: &mut RpcClient, code: &str) -> String {
    let receipt = send(rpc, json!({"from": HELD, "data": code}));
    assert_eq!(receipt["status"], "0x1", "{receipt}");
    receipt["contractAddress"].as_str().unwrap().to_owned()
}

fn sends_in_a_row_succeed(node: &Node) {
    let mut rpc = node.rpc();
    for code in [ONCE_A_BLOCK, ONCE_A_SECOND] {
        let contract = deploy(&mut rpc, code);
        for sent in 0..SENDS {
            let receipt = send(&mut rpc, json!({"from": HELD, "to": contract}));
            assert_eq!(receipt["status"], "0x1", "send {sent} to {code}: {receipt}");
        }
    }
}

#[test]
fn sends_to_a_contract_that_writes_once_a_block_succeed() {
    sends_in_a_row_succeed(&local().dev().start().unwrap());
}

#[test]
fn sends_to_a_contract_that_writes_once_a_block_succeed_at_intervals() {
    sends_in_a_row_succeed(&local().dev().arg("--block-time").arg("1s").start().unwrap());
}

#[test]
fn a_time_lock_opens_without_a_block() {
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    let lock = deploy(&mut rpc, TIME_LOCK);
    let tx = json!({"from": HELD, "to": lock, "data": format!("0x{:064x}", now_s() + SHUT_S)});
    let mut estimate = || try_call::<String>(&mut rpc, "eth_estimateGas", json!([tx]));
    assert_eq!(estimate().unwrap_err().rpc_message(), Some("execution reverted"));
    until("the time lock is open", || estimate().ok());
    let height: String = call(&mut rpc, "eth_blockNumber", json!([]));
    assert_eq!(height, "0x1", "no block was made");
    assert_eq!(call::<String>(&mut rpc, "eth_call", json!([tx, "pending"])), "0x");
    assert_eq!(send(&mut rpc, tx)["status"], "0x1");
}

#[test]
fn the_next_block_is_estimated_for_on_every_network() {
    let node = local().start().unwrap();
    let mut rpc = node.rpc();
    // Reverts unless the block's number is 1.
    let first = json!({"data": "0x43600114600a575f5ffd5b00"});
    assert!(try_call::<String>(&mut rpc, "eth_estimateGas", json!([first])).is_ok());
    let latest = try_call::<String>(&mut rpc, "eth_estimateGas", json!([first, "latest"]));
    assert_eq!(latest.unwrap_err().rpc_message(), Some("execution reverted"));
}
