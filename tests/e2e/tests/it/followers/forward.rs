//! Transactions that clients send to a follower.

use esker_client::{CallError, Wallet};
use esker_e2e::funds::funded;
use esker_e2e::{Proxy, until};
use esker_primitives::hexfmt;
use esker_utxo::TransferableOutput;
use serde_json::{Value, json};

use super::support::{assert_same, call, follower, heights, wait_for, writer};
use crate::load::{EVM, Mover};
use crate::support::{wait_accepted, wallet};

const WALLET: &str = "/ext/bc/X/wallet";
const KEYSTORE: &str = "/ext/keystore";
const PASSWORD: &str = "Str0ng-Pass-W0rd!";

/// An output of the native asset to the wallet itself.
fn output(wallet: &Wallet, amount: u64) -> TransferableOutput {
    Wallet::output(wallet.params().fee_asset_id, amount, wallet.owner())
}

#[test]
fn transactions_of_every_kind_are_accepted_through_a_follower() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let source = writer(folders[0].path()).start().unwrap();
    let near =
        follower(folders[1].path(), &source.url()).arg("--api-sync-enabled").start().unwrap();
    let node = follower(folders[2].path(), &near.url()).start().unwrap();
    wait_for(&node, &source);

    // X: by issueTx, which the second follower passes on to the first.
    let own = wallet(&node, "X", funded());
    let tx = own.base_tx(vec![output(&own, 5)], b"through a follower").unwrap();
    let id = node.x().issue_tx(&tx).unwrap();
    assert_eq!(id, tx.id());
    wait_accepted(&mut node.x(), &id);
    wait_accepted(&mut source.x(), &id);

    // C: signed by an account of the development network, sent raw.
    let accounts = call(&source, "evm_accounts", &json!([]));
    let fields = json!({
        "from": accounts[0], "to": accounts[1], "value": "0x7", "gas": "0x5208",
        "gasPrice": "0x77359400", "nonce": call(&source, "evm_getTransactionCount", &json!([accounts[0], "latest"])),
    });
    let signed = call(&source, "evm_signTransaction", &json!([fields]));
    let hash = call(&node, "evm_sendRawTransaction", &json!([signed["raw"]]));
    until("the receipt is at the follower", || {
        let receipt = call(&node, "evm_getTransactionReceipt", &json!([hash]));
        (!receipt.is_null()).then_some(())
    });

    // Between the chains, and by a user of the follower's keystore.
    let mover = Mover::new(&node);
    let (report, _reports) = std::sync::mpsc::channel();
    mover.move_funds(node.address(), &report).unwrap();
    let user = |mut params: Value| {
        params["username"] = json!("alice");
        params["password"] = json!(PASSWORD);
        params
    };
    let mut rpc = node.rpc();
    let _: Value = rpc.call(KEYSTORE, "keystore.createUser", user(json!({}))).unwrap();
    let key = json!({"privateKey": esker_e2e::funds::FUNDED});
    let imported: Value = rpc.call("/ext/bc/X", "xvm.importKey", user(key)).unwrap();
    let send = json!({"amount": 1000, "assetID": "NAT", "to": imported["address"]});
    let sent: Value = rpc.call("/ext/bc/X", "xvm.send", user(send)).unwrap();
    let sent = sent["txID"].as_str().unwrap().parse().unwrap();
    wait_accepted(&mut source.x(), &sent);
    // The next wallet counts on what the follower has accepted.
    wait_accepted(&mut node.x(), &sent);
    let own = wallet(&node, "X", funded());
    let tx = own.base_tx(vec![output(&own, 6)], b"of the wallet").unwrap();
    let params = json!({"tx": hexfmt::encode_checked(tx.bytes()), "encoding": "hex"});
    let issued: Value = rpc.call(WALLET, "wallet.issueTx", params).unwrap();
    assert_eq!(issued["txID"], tx.id().to_string());
    wait_accepted(&mut source.x(), &tx.id());

    wait_for(&node, &source);
    assert_same(&source, &node);
}

#[test]
fn the_answer_of_the_source_is_the_clients() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let source = writer(folders[0].path()).start().unwrap();
    let proxy = Proxy::start(source.address()).unwrap();
    let node = follower(folders[1].path(), &proxy.url()).start().unwrap();
    wait_for(&node, &source);
    let own = wallet(&node, "X", funded());
    let tx = own.base_tx(vec![output(&own, 5)], b"").unwrap();

    // Garbage is refused here, with the usual text.
    let garbage: Result<Value, CallError> =
        node.rpc().call(EVM, "evm_sendRawTransaction", json!(["0x00"]));
    let at_source: Result<Value, CallError> =
        source.rpc().call(EVM, "evm_sendRawTransaction", json!(["0x00"]));
    assert_eq!(garbage.unwrap_err().to_string(), at_source.unwrap_err().to_string());

    // No source: a clear error, and nothing is kept.
    proxy.set_target(([127, 0, 0, 1], 1).into());
    proxy.cut_all();
    let error = node.x().issue_tx(&tx).unwrap_err().to_string();
    assert!(error.contains("no source") || error.contains("may have the transaction"), "{error}");
    proxy.set_target(source.address());
    let id = node.x().issue_tx(&tx).unwrap();
    wait_accepted(&mut node.x(), &id);
    assert_eq!(heights(&node).0, heights(&source).0);
}
