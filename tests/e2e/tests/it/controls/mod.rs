//! The controls of `esker dev`, in the forms of anvil and Hardhat.

mod beginning;
mod disk;
mod dump;
mod durable;
mod followers;
mod header;
mod impersonation;
mod mining;
mod old_states;
mod pending;
mod removed;
mod reorg;
mod snapshots;
mod state;
mod time;
mod tokens;
mod x_names;

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;

use esker_e2e::{Node, until};
use serde_json::{Value, json};

use crate::support::{esker, local};

const RPC: &str = "/ext/bc/C/rpc";
/// The first account of the phrase.
pub(crate) const FIRST: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
/// An account that nothing else uses.
const OTHER: &str = "0x00000000000000000000000000000000000000a1";

fn call(node: &Node, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let reply = node.rpc().post(RPC, body.to_string().as_bytes()).unwrap();
    serde_json::from_slice(&reply.body).unwrap()
}

/// A client that has sent a request and has read nothing of its answer.
fn waiting_client(node: &Node, method: &str, params: Value) -> TcpStream {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut client = TcpStream::connect(node.address()).unwrap();
    let head = format!(
        "POST {RPC} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    client.write_all((head + &body).as_bytes()).unwrap();
    client
}

pub(crate) fn result(node: &Node, method: &str, params: Value) -> Value {
    let reply = call(node, method, params);
    reply.get("result").unwrap_or_else(|| panic!("{method}: {reply}")).clone()
}

pub(crate) fn error(node: &Node, method: &str, params: Value) -> String {
    let reply = call(node, method, params);
    reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{method}: {reply}")).to_owned()
}

fn number(value: &Value) -> u64 {
    let text = value.as_str().unwrap_or_else(|| panic!("no quantity: {value}"));
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

pub(crate) fn height(node: &Node) -> u64 {
    number(&result(node, "eth_blockNumber", json!([])))
}

/// Time of the last block, Unix s.
fn last_time(node: &Node) -> u64 {
    number(&result(node, "eth_getBlockByNumber", json!(["latest", false]))["timestamp"])
}

/// Sends 7 wei from the first account; the hash.
fn send(node: &Node) -> Value {
    let tx = json!([{"from": FIRST, "to": OTHER, "value": "0x7", "gas": "0x5208"}]);
    result(node, "eth_sendTransaction", tx)
}

fn receipt(node: &Node, hash: &Value) -> Value {
    until("the transaction is in a block", || {
        Some(result(node, "eth_getTransactionReceipt", json!([hash]))).filter(|r| !r.is_null())
    })
}

fn start(folder: &Path) -> Node {
    local().dev().data_dir(folder).start().unwrap()
}

/// Verifies the folder of a stopped node.
fn verify(folder: &Path) {
    let (code, text) = esker(&["db", "verify", "--dev", "--data-dir"], &[folder]);
    assert!(code == Some(0) && text.ends_with("\nnothing is wrong\n"), "{text}");
}

/// Exports the blocks of a stopped node, imports them into a new folder, and starts a node there.
fn imported(folder: &Path, to: &Path) -> Node {
    let file = to.join("blocks");
    let (code, text) = esker(&["export", "--dev", "--data-dir"], &[folder, &file]);
    assert_eq!(code, Some(0), "{text}");
    let copy = to.join("copy");
    let (code, text) = esker(&["import", "--dev", "--data-dir"], &[&copy, &file]);
    assert_eq!(code, Some(0), "{text}");
    verify(&copy);
    start(&copy)
}
