//! kill -9 while the C-Chain is under load, again and again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use esker_client::{CallError, RpcClient};
use esker_e2e::{Node, until};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::local;

const PATH: &str = "/ext/bc/C/rpc";
/// Accounts that send at the same time.
const CLIENTS: usize = 4;
/// Receipts after which the node is killed, in each round: at no particular moment of its work.
const ROUNDS: [usize; 12] = [1, 9, 2, 61, 5, 17, 3, 120, 24, 1, 43, 80];
/// Wei that each transaction moves.
const VALUE: u128 = 1_000_000_007;

/// The receipts that clients got, by transaction hash.
type Receipts = BTreeMap<String, Value>;

#[test]
fn what_had_a_receipt_survives_kills() {
    let folder = tempfile::tempdir().unwrap();
    let start = || local().dev().data_dir(folder.path()).start().unwrap();
    let mut node = start();
    let mut receipts = Receipts::new();
    let accounts: Vec<String> = call(&mut node.rpc(), "eth_accounts", json!([])).unwrap();
    let genesis = balances(&mut node.rpc(), &accounts, "0x0");
    for round in ROUNDS {
        receipts.extend(load_until(node, &accounts[..CLIENTS], round));
        // The start compares the state's root with the tip's header.
        node = start();
        let mut rpc = node.rpc();
        for (hash, receipt) in &receipts {
            let now: Value = call(&mut rpc, "eth_getTransactionReceipt", json!([hash])).unwrap();
            assert_eq!(&now, receipt, "{hash} had a receipt before the kill");
        }
        assert_balances_follow_from_blocks(&mut rpc, &accounts, &genesis, &receipts);
    }
    // It goes on, and a gentle end is one too.
    let (mut rpc, before) = (node.rpc(), receipts.len());
    let hash = send(&mut rpc, &accounts[0], &recipient(0)).unwrap();
    receipts.insert(hash.clone(), wait_receipt(&mut rpc, &hash).unwrap());
    assert_eq!(receipts.len(), before + 1);
    assert!(node.stop().unwrap().success());
    let node = start();
    assert_balances_follow_from_blocks(&mut node.rpc(), &accounts, &genesis, &receipts);
}

/// Sends from all accounts until so many receipts were served, then kills the node while they go on. Answers
/// every receipt that was served.
fn load_until(node: Node, accounts: &[String], target: usize) -> Receipts {
    let (address, stop) = (node.address(), AtomicBool::new(false));
    let (report, reports) = mpsc::channel();
    thread::scope(|scope| {
        for (n, account) in accounts.iter().enumerate() {
            let (report, stop) = (report.clone(), &stop);
            scope.spawn(move || {
                let mut rpc = RpcClient::new(address);
                while !stop.load(Ordering::Relaxed) {
                    // Two at a time: the node is killed with a pool that is not empty.
                    let sent: Vec<String> =
                        (0..2).filter_map(|_| send(&mut rpc, account, &recipient(n))).collect();
                    for hash in sent {
                        let Some(receipt) = wait_receipt(&mut rpc, &hash) else { return };
                        let _killed_already = report.send((hash, receipt));
                    }
                }
            });
        }
        drop(report);
        let mut seen: Receipts = reports.iter().take(target).collect();
        assert_eq!(seen.len(), target);
        node.kill().unwrap();
        stop.store(true, Ordering::Relaxed);
        seen.extend(reports);
        seen
    })
}

/// An address that nothing else sends to, one for each client.
fn recipient(client: usize) -> String {
    format!("0x{:040x}", 0xc0ffee00 + client)
}

/// Calls a method; `None` where the node is gone.
fn call<R: DeserializeOwned>(rpc: &mut RpcClient, method: &str, params: Value) -> Option<R> {
    match rpc.call(PATH, method, params) {
        Ok(result) => Some(result),
        Err(CallError::Http(_)) => None,
        Err(refused) => panic!("{method}: {refused}"),
    }
}

/// Sends [`VALUE`] from an account of the node; its hash.
fn send(rpc: &mut RpcClient, from: &str, to: &str) -> Option<String> {
    let value = format!("{VALUE:#x}");
    call(rpc, "eth_sendTransaction", json!([{"from": from, "to": to, "value": value}]))
}

/// Waits for a receipt; `None` where the node is gone.
fn wait_receipt(rpc: &mut RpcClient, hash: &str) -> Option<Value> {
    until(&format!("{hash} has a receipt, or the node is gone"), || {
        match call::<Option<Value>>(rpc, "eth_getTransactionReceipt", json!([hash])) {
            Some(None) => None,
            Some(receipt) => Some(receipt),
            None => Some(None),
        }
    })
}

fn balances(rpc: &mut RpcClient, accounts: &[String], at: &str) -> Vec<u128> {
    let mut balance =
        |account: &String| number(&call(rpc, "eth_getBalance", json!([account, at])).unwrap());
    accounts.iter().map(&mut balance).collect()
}

/// The balances at the tip are those of genesis, less what each account's transactions moved and paid. These are
/// taken from the receipts of every block: clients did not see all accepted transactions.
fn assert_balances_follow_from_blocks(
    rpc: &mut RpcClient,
    accounts: &[String],
    genesis: &[u128],
    served: &Receipts,
) {
    let mut expected: BTreeMap<String, u128> =
        accounts.iter().cloned().zip(genesis.iter().copied()).collect();
    let (mut missing, mut parent) = (served.clone(), None);
    let tip = number(&call(rpc, "eth_blockNumber", json!([])).unwrap());
    for height in 0..=tip {
        let height = json!([format!("{height:#x}"), false]);
        let block: Value = call(rpc, "eth_getBlockByNumber", height).unwrap();
        assert!(parent.is_none_or(|parent| parent == block["parentHash"]));
        let in_block: Vec<Value> =
            call(rpc, "eth_getBlockReceipts", json!([block["number"]])).unwrap();
        for receipt in in_block {
            assert_eq!(
                (&receipt["status"], &receipt["blockHash"]),
                (&json!("0x1"), &block["hash"])
            );
            let fee = number(&receipt["gasUsed"]) * number(&receipt["effectiveGasPrice"]);
            *expected.get_mut(text(&receipt["from"])).unwrap() -= VALUE + fee;
            *expected.entry(text(&receipt["to"]).to_owned()).or_default() += VALUE;
            if let Some(served) = missing.remove(text(&receipt["transactionHash"])) {
                assert_eq!(served, receipt);
            }
        }
        parent = Some(block["hash"].clone());
    }
    assert!(missing.is_empty(), "in no block: {missing:?}");
    let (accounts, expected): (Vec<String>, Vec<u128>) = expected.into_iter().unzip();
    assert_eq!(balances(rpc, &accounts, "latest"), expected);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn number(value: &Value) -> u128 {
    u128::from_str_radix(text(value).trim_start_matches("0x"), 16).unwrap()
}
