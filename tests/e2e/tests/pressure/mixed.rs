//! One account that is used in every way at once: EVM transactions, exports, imports, from clients that know nothing of
//! each other.

use std::path::Path;
use std::thread;

use esker_e2e::funds::funded;
use esker_e2e::{Node, until};
use esker_evm::accounts::address_of_key;
use serde_json::{Value, json};

use crate::support::{
    C, CLIENTS, call, check_distinct, check_pool_is_empty, number, start, stop_and_verify,
};
use crate::users::{
    IMPORTS, Promise, check_transfers, create_user, export_to_c, export_to_x, import,
};

const RECEIVER: &str = "0x00000000000000000000000000000000000000bb";

/// Sends 1 wei at a time; the node chooses the nonces.
fn send(node: &Node, many: usize) -> Vec<String> {
    let mut rpc = node.rpc();
    let from = address_of_key(&funded().public_key()).to_string();
    let tx = json!([{ "from": from, "to": RECEIVER, "value": "0x1", "gas": "0x5208" }]);
    let sent = (0..many).map(|_| call(&mut rpc, C, "eth_sendTransaction", tx.clone()).unwrap());
    sent.map(|hash| hash.as_str().unwrap().to_owned()).collect()
}

/// Exports to the X-Chain and to the C-Chain, and imports on both now and then.
fn transfer(node: &Node, client: usize, many: usize) -> Vec<Promise> {
    let mut rpc = node.rpc();
    let mut promises = Vec::new();
    for round in 0..many {
        let order = match (client + round) % 3 {
            0 => export_to_c(),
            1 => export_to_x("nat.export"),
            _ => export_to_x("nat.exportNative"),
        };
        let given = order.give(&mut rpc);
        promises.push(given.unwrap_or_else(|why| panic!("{} {round}: {why}", order.method)));
        if round % 5 == client {
            let (method, nothing) = IMPORTS[round / 5 % IMPORTS.len()];
            match import(method).give(&mut rpc) {
                Ok(promise) => promises.push(promise),
                Err(refused) => assert_eq!(refused, nothing, "{method}"),
            }
        }
    }
    promises
}

/// Two clients that send and two that transfer, all from one account, back to back.
fn one_account(folder: &Path, many: usize) {
    let node = start(folder);
    create_user(&mut node.rpc());
    let (sent, moved) = thread::scope(|scope| {
        let node = &node;
        let senders: Vec<_> =
            (0..CLIENTS / 2).map(|_| scope.spawn(move || send(node, many))).collect();
        let movers: Vec<_> = (0..CLIENTS / 2)
            .map(|client| scope.spawn(move || transfer(node, client, many)))
            .collect();
        let sent: Vec<_> = senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect();
        let moved: Vec<_> = movers.into_iter().flat_map(|mover| mover.join().unwrap()).collect();
        (sent, moved)
    });
    let mut rpc = node.rpc();
    check_distinct(sent.iter());
    for hash in &sent {
        until(&format!("{hash} is mined"), || {
            let receipt: Value =
                call(&mut rpc, C, "eth_getTransactionReceipt", json!([hash])).unwrap();
            receipt.is_object().then(|| assert_eq!(receipt["status"], "0x1", "{receipt}"))
        });
    }
    let received = call(&mut rpc, C, "eth_getBalance", json!([RECEIVER, "latest"])).unwrap();
    assert_eq!(number(&received), u128::try_from(sent.len()).unwrap());
    check_pool_is_empty(&mut rpc);
    check_transfers(&node, moved);
    stop_and_verify(node, folder);
}

#[test]
fn transactions_and_transfers_of_one_account() {
    let folder = tempfile::tempdir().unwrap();
    one_account(folder.path(), 40);
}

#[test]
#[ignore = "takes minutes"]
fn slow_transactions_and_transfers_of_one_account() {
    let folder = tempfile::tempdir().unwrap();
    one_account(folder.path(), 1_000);
}
