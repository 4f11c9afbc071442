//! `esker dev` answers a send when its block is there: what is asked for next finds it.

use std::thread;

use esker_client::RpcClient;
use esker_e2e::hostile::Wire;
use esker_e2e::hostile::requests::{ENDLESS, request};
use esker_e2e::{Node, until};
use serde_json::{Value, json};

use crate::support::local;

const C: &str = "/ext/bc/C/rpc";
const X: &str = "/ext/bc/X";
const NAT: &str = "/ext/bc/C/nat";
const SENDS: usize = 200;

fn call(rpc: &mut RpcClient, path: &str, method: &str, params: Value) -> Value {
    rpc.call(path, method, &params).unwrap_or_else(|error| panic!("{method}{params}: {error}"))
}

fn c(rpc: &mut RpcClient, method: &str, params: Value) -> Value {
    call(rpc, C, method, params)
}

/// Nodes without and with a data folder.
fn nodes() -> [Node; 2] {
    [local().dev().temporary(), local().dev()].map(|node| node.start().unwrap())
}

#[test]
fn every_receipt_is_there_at_the_first_read() {
    for node in nodes() {
        let mut rpc = node.rpc();
        let accounts: Vec<String> =
            serde_json::from_value(c(&mut rpc, "eth_accounts", json!([]))).unwrap();
        for number in 0..SENDS {
            let tx = json!([{"from": accounts[0], "to": accounts[1], "value": "0x1"}]);
            let hash = match number % 3 {
                0 => c(&mut rpc, "eth_sendUnsignedTransaction", tx),
                1 => {
                    let mut tx = tx[0].clone();
                    let nonce = json!([accounts[0], "latest"]);
                    tx["nonce"] = c(&mut rpc, "eth_getTransactionCount", nonce);
                    tx["gas"] = json!("0x5208");
                    tx["gasPrice"] = json!("0x77359400");
                    let raw = c(&mut rpc, "eth_signTransaction", json!([tx]))["raw"].clone();
                    c(&mut rpc, "eth_sendRawTransaction", json!([raw]))
                }
                _ => c(&mut rpc, "eth_sendTransaction", tx),
            };
            let receipt = c(&mut rpc, "eth_getTransactionReceipt", json!([hash]));
            assert_eq!(receipt["status"], "0x1", "{number}: {receipt}");
        }
        batch(&node, &accounts);
    }
}

/// Sends of several kinds in one batch, and what is read after them in it.
fn batch(node: &Node, accounts: &[String]) {
    let mut messages = Vec::new();
    let mut add = |method: &str, params: Value| {
        let id = messages.len();
        messages.push(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    };
    for number in 0..SENDS {
        let from = &accounts[number % 10];
        add("eth_sendTransaction", json!([{"from": from, "to": from, "gas": "0x5208"}]));
    }
    // This contract is called by what follows, whose gas is estimated: it is there by then.
    let creates =
        json!([{"from": accounts[2], "input": "0x69602a60005260206000f3600052600a6016f3"}]);
    add("eth_sendTransaction", creates);
    add("eth_getTransactionCount", json!([accounts[2], "latest"]));
    let body = Value::from(messages).to_string();
    let answer = node.rpc().post(C, body.as_bytes()).unwrap();
    let replies: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(replies.last().unwrap()["result"], json!(format!("{:#x}", SENDS / 10 + 1)));
    let mut rpc = node.rpc();
    for reply in &replies[..=SENDS] {
        let receipt = c(&mut rpc, "eth_getTransactionReceipt", json!([reply["result"]]));
        assert_eq!(receipt["status"], "0x1", "{reply}");
    }
}

#[test]
fn transactions_of_the_other_chains_are_accepted_at_the_first_read() {
    const USER: [&str; 2] = ["alice", "Str0ng-Pass-W0rd!"];
    let with = |mut args: Value| {
        (args["username"], args["password"]) = (json!(USER[0]), json!(USER[1]));
        args
    };
    for node in nodes() {
        let mut rpc = node.rpc();
        call(&mut rpc, "/ext/keystore", "keystore.createUser", with(json!({})));
        let key =
            json!({"privateKey": "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN"});
        let address = call(&mut rpc, X, "xvm.importKey", with(key.clone()))["address"].clone();
        let evm = call(&mut rpc, NAT, "nat.importKey", with(key))["address"].clone();
        let status = |rpc: &mut RpcClient, sent: Value| {
            let id = json!({"txID": sent["txID"]});
            assert_eq!(call(rpc, X, "xvm.getTxStatus", id)["status"], "Accepted", "{sent}");
        };
        let send = with(json!({"assetID": "NAT", "amount": 5, "to": address}));
        for _ in 0..20 {
            let sent = call(&mut rpc, X, "xvm.send", send.clone());
            status(&mut rpc, sent);
            let sent = call(&mut rpc, "/ext/bc/X/wallet", "wallet.send", send.clone());
            status(&mut rpc, sent);
        }
        let made = json!({"name": "Coin", "symbol": "C", "initialHolders": [{"address": address, "amount": 1}]});
        let made = call(&mut rpc, X, "xvm.createFixedCapAsset", with(made));
        status(&mut rpc, json!({"txID": made["assetID"]}));
        let to_c = address.as_str().unwrap().replacen('X', "C", 1);
        let export = with(json!({"assetID": "NAT", "amount": 5_000_000_000u64, "to": to_c}));
        for _ in 0..5 {
            let sent = call(&mut rpc, X, "xvm.export", export.clone());
            status(&mut rpc, sent);
            let import = with(json!({"sourceChain": "X", "to": evm}));
            let sent = call(&mut rpc, NAT, "nat.import", import);
            let id = json!({"txID": sent["txID"]});
            let status = call(&mut rpc, NAT, "nat.getAtomicTxStatus", id);
            assert_eq!(status["status"], "Accepted", "{sent}");
        }
    }
}

/// A transaction that can't be mined now is answered, and waits in the pool.
#[test]
fn what_can_not_be_mined_now_is_answered_without_its_block() {
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    let accounts = c(&mut rpc, "eth_accounts", json!([]));
    let send = |rpc: &mut RpcClient, from: usize, more: Value| {
        let mut tx = json!({"from": accounts[from], "to": accounts[0], "gas": "0x5208"});
        tx.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        c(rpc, "eth_sendTransaction", json!([tx]))
    };
    let mut waiting = vec![send(&mut rpc, 1, json!({"nonce": "0x5"}))];
    c(&mut rpc, "evm_setAutomine", json!([false]));
    waiting.push(send(&mut rpc, 2, json!({})));
    c(&mut rpc, "evm_setIntervalMining", json!([3600]));
    waiting.push(send(&mut rpc, 3, json!({})));
    for hash in &waiting {
        let receipt = c(&mut rpc, "eth_getTransactionReceipt", json!([hash]));
        assert_eq!(receipt, Value::Null, "{hash}");
    }
    c(&mut rpc, "evm_setAutomine", json!([true]));
    // With this one those that it can be mined with come, too.
    let last = send(&mut rpc, 4, json!({}));
    for hash in waiting[1..].iter().chain([&last]) {
        let receipt = c(&mut rpc, "eth_getTransactionReceipt", json!([hash]));
        assert_eq!(receipt["status"], "0x1", "{hash}");
    }
    let gapped = c(&mut rpc, "eth_getTransactionReceipt", json!([waiting[0]]));
    assert_eq!(gapped, Value::Null);
}

/// Makes a contract whose constructor reverts with four bytes.
const REVERTS: &str = "0x63deadbeef6000526004601cfd";

/// The reply to a message of a program of this name.
fn reply_to(rpc: &mut RpcClient, program: &str, message: &Value) -> Value {
    let headers = [("Content-Type", "application/json"), ("User-Agent", program)];
    let body = message.to_string();
    let reply = rpc.http().request("POST", C, &headers, body.as_bytes()).unwrap();
    serde_json::from_slice(&reply.body).unwrap()
}

fn message(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// Hash and status of the last block's only transaction.
fn last(rpc: &mut RpcClient) -> (Value, Value) {
    let block = c(rpc, "eth_getBlockByNumber", json!(["latest", false]));
    let hash = block["transactions"][0].clone();
    let receipt = c(rpc, "eth_getTransactionReceipt", json!([hash]));
    (hash, receipt["status"].clone())
}

/// Hardhat's network `localhost` sends without an estimate, and expects the error that Hardhat's node gives.
#[test]
fn hardhat_gets_an_error_of_what_fails_and_others_its_hash() {
    for args in [&[][..], &["--refuse-failed-sends"], &["--refuse-failed-sends=false"]] {
        let node = local().dev().temporary().args(args).start().unwrap();
        let mut rpc = node.rpc();
        let accounts = c(&mut rpc, "eth_accounts", json!([]));
        let tx = json!([{"from": accounts[0], "data": REVERTS, "gas": "0x1000000"}]);
        let (to_hardhat, to_others) =
            (args != ["--refuse-failed-sends=false"], args == ["--refuse-failed-sends"]);
        for (program, is_refused) in
            [("hardhat 2.29.1", to_hardhat), ("Hardhat 3.1.9", to_hardhat), ("node", to_others)]
        {
            for method in ["eth_sendTransaction", "eth_sendUnsignedTransaction"] {
                let reply = reply_to(&mut rpc, program, &message(method, &tx));
                let (hash, status) = last(&mut rpc);
                assert_eq!(status, "0x0");
                if is_refused {
                    let error = &reply["error"];
                    assert_eq!(
                        (&error["code"], &error["data"]),
                        (&json!(3), &json!("0xdeadbeef")),
                        "{reply}"
                    );
                } else {
                    assert_eq!(reply["result"], hash, "{args:?} {program} {method}: {reply}");
                }
            }
        }
        let well = json!([{"from": accounts[0], "to": accounts[1], "gas": "0x1000000"}]);
        let reply = reply_to(&mut rpc, "hardhat 2.29.1", &message("eth_sendTransaction", &well));
        assert_eq!((reply["result"].clone(), json!("0x1")), last(&mut rpc), "{reply}");
        // Blocks on request: there is none yet that the transaction failed in.
        c(&mut rpc, "evm_setAutomine", json!([false]));
        let reply = reply_to(&mut rpc, "hardhat 2.29.1", &message("eth_sendTransaction", &tx));
        c(&mut rpc, "evm_mine", json!([]));
        assert_eq!((reply["result"].clone(), json!("0x0")), last(&mut rpc), "{reply}");
    }
}

/// Each of these transactions fills a block, and the node stops before most of the blocks: what is sent is answered, and kept.
#[test]
fn sends_that_wait_are_answered_when_the_node_stops() {
    const WAITING: usize = 20;
    let folder = tempfile::tempdir().unwrap();
    let start = || local().dev().data_dir(folder.path()).start().unwrap();
    let node = start();
    let address = node.address();
    let mut rpc = node.rpc();
    let accounts = c(&mut rpc, "eth_accounts", json!([]));
    let clients: Vec<_> = (0..WAITING)
        .map(|number| {
            let from = &accounts[number % 10];
            let tx = json!([{"from": from, "data": ENDLESS, "gas": "0x1c9c380", "gasPrice": "0x77359400"}]);
            let body = request("eth_sendTransaction", &tx).to_string();
            thread::spawn(move || Wire::open(address).unwrap().call(C, &body).unwrap().json().unwrap())
        })
        .collect();
    until("all are in the pool or in a block", || {
        let number =
            |text: &Value| usize::from_str_radix(&text.as_str().unwrap()[2..], 16).unwrap();
        let waiting = number(&c(&mut rpc, "txpool_status", json!([]))["pending"]);
        (number(&c(&mut rpc, "eth_blockNumber", json!([]))) + waiting >= WAITING).then_some(())
    });
    assert!(node.stop().unwrap().success());
    let answers: Vec<Value> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    let node = start();
    let mut rpc = node.rpc();
    for answer in answers {
        let sent = c(&mut rpc, "eth_getTransactionByHash", json!([answer["result"]]));
        assert_eq!(sent["hash"], answer["result"], "{answer}");
    }
}
