//! Payments that a user of the keystore sends back to back: every answer is a separate transaction that is accepted.

use std::collections::BTreeSet;
use std::thread;

use esker_client::RpcClient;
use esker_e2e::funds::{FUNDED, funded, key};
use esker_e2e::{Node, until};
use esker_evm::accounts::address_of_key;
use esker_primitives::address;
use serde_json::{Value, json};

use crate::support::local;

const X: &str = "/ext/bc/X";
const NAT: &str = "/ext/bc/C/nat";
const C: &str = "/ext/bc/C/rpc";
const WALLET: &str = "/ext/bc/X/wallet";
const PASSWORD: &str = "Str0ng-Pass-W0rd!";
/// The fee of a transaction on the X-Chain, in billionths.
const FEE: u64 = 1_000_000;

fn call(rpc: &mut RpcClient, path: &str, method: &str, params: Value) -> Result<Value, String> {
    rpc.call(path, method, params)
        .map_err(|error| error.rpc_message().unwrap_or_else(|| panic!("{error}")).to_owned())
}

fn as_user(name: &str, mut params: Value) -> Value {
    params["username"] = json!(name);
    params["password"] = json!(PASSWORD);
    params
}

/// A node of the development network with a user of that name, who has the funded key.
fn start(users: &[&str]) -> Node {
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    for name in users {
        call(&mut rpc, "/ext/keystore", "keystore.createUser", as_user(name, json!({}))).unwrap();
        let import = as_user(name, json!({ "privateKey": FUNDED }));
        call(&mut rpc, X, "xvm.importKey", import.clone()).unwrap();
        call(&mut rpc, NAT, "nat.importKey", import).unwrap();
    }
    node
}

fn on_x(number: u8) -> String {
    address::format("X", "local", &key(number).address())
}

fn send(name: &str, amount: u64, to: &str) -> Value {
    as_user(name, json!({ "amount": amount, "assetID": "NAT", "to": to }))
}

fn id_of(reply: &Value) -> String {
    let id = reply.get("txID").or_else(|| reply.get("assetID")).unwrap();
    id.as_str().unwrap().to_owned()
}

/// Waits until all of them are accepted on the X-Chain; they are distinct.
fn check_accepted(rpc: &mut RpcClient, ids: &[String]) {
    check_statuses(rpc, X, "xvm.getTxStatus", ids);
}

/// Waits until all atomic transactions are accepted on the C-Chain; they are distinct.
fn check_atomic(rpc: &mut RpcClient, ids: &[String]) {
    check_statuses(rpc, NAT, "nat.getAtomicTxStatus", ids);
}

fn check_statuses(rpc: &mut RpcClient, path: &str, method: &str, ids: &[String]) {
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "distinct");
    for id in ids {
        until(&format!("{id} is accepted"), || {
            let params = json!({ "txID": id, "includeReason": true });
            let status = call(rpc, path, method, params).unwrap();
            assert!(["Accepted", "Processing"].contains(&status["status"].as_str()?), "{status}");
            (status["status"] == "Accepted").then_some(())
        });
    }
}

fn balance(node: &Node, number: u8) -> u64 {
    node.x().get_balance(&on_x(number), "NAT").unwrap().balance
}

#[test]
fn three_hundred_sends_of_one_amount_arrive() {
    let node = start(&["alice"]);
    let mut rpc = node.rpc();
    let order = send("alice", 77, &on_x(9));
    let mut ids = Vec::new();
    for _ in 0..300 {
        ids.push(id_of(&call(&mut rpc, X, "xvm.send", order.clone()).unwrap()));
    }
    check_accepted(&mut rpc, &ids);
    assert_eq!(balance(&node, 9), 300 * 77);
}

#[test]
fn sends_of_many_amounts_arrive_or_are_refused_truthfully() {
    let node = start(&["alice"]);
    let mut rpc = node.rpc();
    let (mut ids, mut sum) = (Vec::new(), 0);
    for count in 0..300 {
        let (method, path) = [("xvm.send", X), ("wallet.send", WALLET)][count % 5 / 4];
        let amount = 1 + u64::try_from(count * 7919 % 1000).unwrap() * 1000;
        ids.push(id_of(&call(&mut rpc, path, method, send("alice", amount, &on_x(9))).unwrap()));
        sum += amount;
    }
    check_accepted(&mut rpc, &ids);
    assert_eq!(balance(&node, 9), sum);
    // All that is left, twice.
    let own = address::format("X", "local", &funded().address());
    let rest = node.x().get_balance(&own, "NAT").unwrap().balance - FEE;
    let all = send("alice", rest, &on_x(8));
    let id = id_of(&call(&mut rpc, X, "xvm.send", all.clone()).unwrap());
    let refused = call(&mut rpc, X, "xvm.send", all).unwrap_err();
    assert!(refused.starts_with("want to spend "), "{refused}");
    assert!(refused.ends_with(" but only have 0"), "{refused}");
    check_accepted(&mut rpc, &[id]);
    assert_eq!(balance(&node, 8), rest);
}

#[test]
fn four_clients_at_once_and_users_who_share_a_key() {
    let node = start(&["alice", "bob"]);
    let client = |number: u64| {
        let mut rpc = node.rpc();
        let name = ["alice", "alice", "alice", "bob"][usize::try_from(number).unwrap()];
        (0..75)
            .map(|count| {
                // Two of them always the same, two always another one.
                let amount = if number < 2 { 5 } else { 1000 + number + 4 * count };
                let order = send(name, amount, &on_x(9));
                id_of(&call(&mut rpc, X, "xvm.send", order).unwrap())
            })
            .collect::<Vec<_>>()
    };
    let ids = thread::scope(|scope| {
        let clients: Vec<_> = (0..4).map(|number| scope.spawn(move || client(number))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>()
    });
    check_accepted(&mut node.rpc(), &ids);
    let varied: u64 = (0..75).map(|count| 2 * 1000 + 2 + 3 + 8 * count).sum();
    assert_eq!(balance(&node, 9), 2 * 75 * 5 + varied);
}

#[test]
fn every_answered_mint_is_accepted() {
    let node = start(&["alice"]);
    let mut rpc = node.rpc();
    let own = address::format("X", "local", &funded().address());
    let minters = json!([{ "minters": [own], "threshold": 1 }]);
    let create = json!({ "name": "Coin", "symbol": "COIN", "minterSets": minters });
    let asset = call(&mut rpc, X, "xvm.createVariableCapAsset", as_user("alice", create)).unwrap();
    let asset = id_of(&asset);
    let mint = json!({ "amount": 3, "assetID": asset, "to": on_x(9) });
    let mut ids = vec![asset.clone()];
    for _ in 0..100 {
        let minted = call(&mut rpc, X, "xvm.mint", as_user("alice", mint.clone())).unwrap();
        ids.push(id_of(&minted));
    }
    let export = json!({ "amount": 11, "assetID": "NAT", "to": address::format("C", "local", &key(9).address()) });
    for _ in 0..50 {
        let exported = call(&mut rpc, X, "xvm.export", as_user("alice", export.clone())).unwrap();
        ids.push(id_of(&exported));
    }
    check_accepted(&mut rpc, &ids);
    assert_eq!(node.x().get_balance(&on_x(9), &asset).unwrap().balance, 300);
}

fn exported_to_x(node: &Node, number: u8) -> u64 {
    let utxos = node.x().walk_utxos(&[on_x(number)], 1024, Some("C")).unwrap();
    utxos.iter().map(|utxo| utxo.output.as_transfer().unwrap().amount).sum()
}

/// Exports of two clients, while a third one sends from the same account: all of them arrive.
#[test]
fn exports_to_x_and_sends_of_one_account_arrive() {
    let node = start(&["alice"]);
    let from = address_of_key(&funded().public_key()).to_string();
    let there = "0x00000000000000000000000000000000000000aa";
    let export = as_user("alice", json!({ "to": on_x(9), "amount": 5, "assetID": "NAT" }));
    let client = |number: usize| {
        let mut rpc = node.rpc();
        (0..60)
            .map(|_| match number {
                0 => {
                    let send = json!([{ "from": from, "to": there, "value": "0x1" }]);
                    let sent = call(&mut rpc, C, "evm_sendTransaction", send).unwrap();
                    (true, sent.as_str().unwrap().to_owned())
                }
                _ => (false, id_of(&call(&mut rpc, NAT, "nat.export", export.clone()).unwrap())),
            })
            .collect::<Vec<_>>()
    };
    let sent = thread::scope(|scope| {
        let clients: Vec<_> = (0..3).map(|number| scope.spawn(move || client(number))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>()
    });
    let mut rpc = node.rpc();
    let exports: Vec<String> =
        sent.iter().filter(|(is_evm, _)| !is_evm).map(|(_, id)| id.clone()).collect();
    check_atomic(&mut rpc, &exports);
    assert_eq!(exported_to_x(&node, 9), 120 * 5);
    for (_, hash) in sent.iter().filter(|(is_evm, _)| *is_evm) {
        until(&format!("{hash} is mined"), || {
            let receipt = call(&mut rpc, C, "evm_getTransactionReceipt", json!([hash])).unwrap();
            (receipt["status"] == "0x1").then_some(())
        });
    }
    let balance = call(&mut rpc, C, "evm_getBalance", json!([there, "latest"])).unwrap();
    assert_eq!(balance, "0x3c");
}

#[test]
fn imports_to_c_take_everything_once() {
    let node = start(&["alice"]);
    let mut rpc = node.rpc();
    let export = json!({ "amount": 1_000_000_000, "assetID": "NAT", "to": address::format("C", "local", &funded().address()) });
    let ids: Vec<String> = (0..100)
        .map(|_| id_of(&call(&mut rpc, X, "xvm.export", as_user("alice", export.clone())).unwrap()))
        .collect();
    check_accepted(&mut rpc, &ids);
    let import = as_user(
        "alice",
        json!({ "sourceChain": "X", "to": "0x00000000000000000000000000000000000000aa" }),
    );
    let mut imported = Vec::new();
    // Some eighty go into one transaction.
    let refused = loop {
        match call(&mut rpc, NAT, "nat.import", import.clone()) {
            Ok(reply) => imported.push(id_of(&reply)),
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused, "insufficient AVAX funds to pay transaction fee");
    assert_eq!(imported.len(), 2);
    check_atomic(&mut rpc, &imported);
}
