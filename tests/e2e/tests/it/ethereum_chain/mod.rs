//! A chain with Ethereum's rules beside X and C, of tests/networks/ethereum-chain.json.

mod development;
mod folder;
mod follow;
mod names;
mod no_blocks;
mod txs;
mod validate;

use std::path::Path;
use std::process::{Command, Stdio};

use alloy_primitives::{Address, U256, hex};
use esker_client::Wallet;
use esker_e2e::files::tests_path;
use esker_e2e::funds::{funded, key};
use esker_e2e::{Node, NodeBuilder, until};
use esker_evm::accounts::address_of_key;
use serde_json::{Value, json};

use crate::support::{PROGRAM, accept, local, now_s, wallet};

/// The chain's alias.
const ETH: &str = "ETH";
/// Its EVM chain ID.
const CHAIN_ID: u64 = 43_202;
/// Wei that a transfer moves.
const VALUE: u64 = 1_000_007;

/// The network file.
fn network() -> String {
    tests_path("networks/ethereum-chain.json").display().to_string()
}

/// The network file's content.
fn network_content() -> Value {
    serde_json::from_slice(&std::fs::read(network()).unwrap()).unwrap()
}

/// The genesis of the chain in a network file.
fn genesis(network: &Value) -> Value {
    let text = network["esker"]["chains"][0]["genesis"].as_str().unwrap();
    serde_json::from_str(text).unwrap()
}

/// A node of the network that is not started yet.
fn builder(folder: &Path) -> NodeBuilder {
    local().network(network()).data_dir(folder)
}

/// A method of an EVM chain, by any of its names.
fn call(node: &Node, chain: &str, method: &str, params: Value) -> Result<Value, String> {
    let path = format!("/ext/bc/{chain}/rpc");
    let result: Result<Option<Value>, _> = node.rpc().call(&path, method, params);
    result
        .map(Option::unwrap_or_default)
        .map_err(|error| error.rpc_message().unwrap_or_else(|| panic!("{error}")).to_owned())
}

/// A method of the chain that must succeed.
fn eth(node: &Node, method: &str, params: Value) -> Value {
    call(node, ETH, method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
}

fn number(value: &Value) -> u64 {
    let text = value.as_str().unwrap_or_else(|| panic!("no quantity: {value}"));
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

fn height(node: &Node) -> u64 {
    number(&eth(node, "eth_blockNumber", json!([])))
}

/// The account of the funded key.
fn payer() -> Address {
    address_of_key(&funded().public_key())
}

/// The receiver of transfers.
fn receiver() -> Address {
    address_of_key(&key(7).public_key())
}

fn nonce(node: &Node) -> u64 {
    number(&eth(node, "eth_getTransactionCount", json!([payer(), "pending"])))
}

/// Transactions of the funded key's account that wait.
fn waiting(node: &Node) -> u64 {
    let accepted = number(&eth(node, "eth_getTransactionCount", json!([payer(), "latest"])));
    nonce(node) - accepted
}

fn balance(node: &Node, of: Address) -> U256 {
    let balance = eth(node, "eth_getBalance", json!([of, "latest"]));
    balance.as_str().unwrap().parse().unwrap()
}

/// Sends a transaction; its hash.
fn send(node: &Node, raw: &str) -> Value {
    let mut is_repeated = false;
    until("the node takes a transaction", || {
        match call(node, ETH, "eth_sendRawTransaction", json!([raw])) {
            Ok(hash) => Some(hash),
            // The first blob of a process waits until the proofs can be checked.
            Err(error) if error == "request timed out" => {
                is_repeated = true;
                None
            }
            Err(error) if is_repeated && is_taken(&error) => Some(json!(txs::hash(raw))),
            Err(error) => panic!("{error}"),
        }
    })
}

/// Whether a transaction is refused because it is in the pool or in a block.
fn is_taken(error: &str) -> bool {
    error == "already known" || error.starts_with("nonce too low")
}

/// The receipt of a transaction, once a block has it.
fn receipt(node: &Node, hash: &Value) -> Value {
    until(&format!("{hash} is in a block"), || {
        Some(eth(node, "eth_getTransactionReceipt", json!([hash]))).filter(|found| !found.is_null())
    })
}

/// Sends a transfer, a transaction with a blob and one that sets code; until all are accepted.
fn send_each_kind(node: &Node) {
    let first = nonce(node);
    let authority = txs::authority().address();
    let of_authority = number(&eth(node, "eth_getTransactionCount", json!([authority, "latest"])));
    let sent = [
        txs::transfer(first, VALUE),
        txs::blob(first + 1).pooled,
        txs::set_code(first + 2, of_authority),
    ]
    .map(|raw| send(node, &raw));
    for (hash, kind) in sent.iter().zip(["0x0", "0x3", "0x4"]) {
        let receipt = receipt(node, hash);
        assert_eq!((&receipt["type"], &receipt["status"]), (&json!(kind), &json!("0x1")));
        if kind == "0x3" {
            assert_eq!(receipt["blobGasUsed"], "0x20000");
        }
    }
    let delegated = format!("0xef0100{}", hex::encode(receiver()));
    assert_eq!(eth(node, "eth_getCode", json!([authority, "latest"])), delegated);
}

/// Makes a block of the X-Chain.
fn pay_on_x(node: &Node) {
    let own = wallet(node, "X", funded());
    let output = Wallet::output(own.params().fee_asset_id, 5, own.owner());
    accept(&mut node.x(), &own.base_tx(vec![output], b"beside Ethereum").unwrap());
}

/// All blocks of the chain with their receipts, and the last blocks of X and C.
fn blocks(node: &Node) -> Vec<Value> {
    let mut all: Vec<Value> = (0..=height(node))
        .map(|height| {
            let number = format!("{height:#x}");
            let block = eth(node, "eth_getBlockByNumber", json!([number, true]));
            json!([block, eth(node, "eth_getBlockReceipts", json!([number]))])
        })
        .collect();
    let x = node.x().get_height().unwrap();
    all.push(json!(node.x().get_block_by_height(x).unwrap().id().to_string()));
    all.push(call(node, "C", "eth_getBlockByNumber", json!(["latest", true])).unwrap());
    all
}

/// The times of the chain's blocks rise, and none is ahead of the clock.
fn assert_times(node: &Node) {
    let times: Vec<u64> = (1..=height(node))
        .map(|height| {
            let block = eth(node, "eth_getBlockByNumber", json!([format!("{height:#x}"), false]));
            number(&block["timestamp"])
        })
        .collect();
    assert!(times.is_sorted_by(|one, next| one < next), "{times:?}");
    let now_s = now_s();
    assert!(times.last().is_none_or(|last| *last <= now_s), "{times:?}, and it is {now_s}");
}

/// Waits until a node has the blocks of another; they are the same then.
fn assert_follows(node: &Node, source: &Node) {
    let x = source.x().get_height().unwrap();
    let wanted = height(source);
    until(&format!("the node has block {wanted} of {ETH} and {x} of X"), || {
        (height(node) >= wanted && node.x().get_height().unwrap() >= x).then_some(())
    });
    assert_eq!(blocks(node), blocks(source));
    for account in [payer(), receiver()] {
        assert_eq!(balance(node, account), balance(source, account), "{account}");
    }
}

/// Runs a command of the program over a folder: exit code, and both outputs.
fn command(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(PROGRAM);
    command.args(args).args(["--network", &network(), "--rewind-depth", "1000", "--data-dir"]);
    command.arg(folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout) + &text(output.stderr))
}

/// `esker db verify` finds nothing; what it prints.
fn verify(folder: &Path) -> String {
    let (code, printed) = command(folder, &["db", "verify"]);
    assert!(code == Some(0) && printed.ends_with("\nnothing is wrong\n"), "{printed}");
    printed
}
