//! A follower that joined from a snapshot: it goes on from there, and serves others from there on.

use esker_client::Wallet;
use esker_e2e::files::copy_folder;
use esker_e2e::funds::funded;
use esker_e2e::history::forget_history;
use esker_e2e::{Node, until};
use serde_json::{Value, json};

use super::ask;
use crate::followers::support::{follower, follower_health, heights, wait_for, writer};
use crate::load::EVM;
use crate::support::{accept, wallet};

/// A transfer on each chain.
fn transfers(writer: &Node, count: u64) {
    let mut owner = wallet(writer, "X", funded());
    let accounts = ask(writer, EVM, "evm_accounts", json!([])).unwrap();
    for amount in 1..=count {
        let output = Wallet::output(owner.params().fee_asset_id, amount, owner.owner());
        let tx = owner.base_tx(vec![output], b"").unwrap();
        owner.apply(&tx);
        accept(&mut writer.x(), &tx);
        let tx = json!([{ "from": accounts[0], "to": accounts[1], "value": "0x1" }]);
        let hash = ask(writer, EVM, "evm_sendTransaction", tx).unwrap();
        until(&format!("transfer {amount} is mined"), || {
            let receipt = ask(writer, EVM, "evm_getTransactionReceipt", json!([hash])).unwrap();
            receipt.is_object().then_some(())
        });
    }
}

/// Status and body of a request for the stream that is refused.
fn refused(node: &Node, from: u64) -> (u16, String) {
    let path = format!("/ext/sync/bundles?from={from}");
    let reply = node.rpc().http().request("GET", &path, &[], b"").unwrap();
    (reply.status, String::from_utf8(reply.body).unwrap())
}

#[test]
fn a_joined_follower_serves_bundles_after_its_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let folder = |name: &str| dir.path().join(name);
    let first_run = writer(&folder("writer")).start().unwrap();
    transfers(&first_run, 4);
    assert!(first_run.stop().unwrap().success());
    copy_folder(&folder("writer"), &folder("joined")).unwrap();
    let start = forget_history(&folder("joined"), 2).unwrap();
    let writer = writer(&folder("writer")).start().unwrap();
    let joined = follower(&folder("joined"), &writer.url()).arg("--api-sync-enabled");
    let joined = joined.start().unwrap();
    transfers(&writer, 3);
    wait_for(&joined, &writer);
    let (x, c) = heights(&writer);
    assert!(x > start.x_block && c > start.c_block);
    for height in start.x_block..=x {
        let block = |node: &Node| node.x().get_block_by_height(height).unwrap().id();
        assert_eq!(block(&joined), block(&writer), "X {height}");
    }
    for height in start.first_c_block..=c {
        let params = json!([format!("{height:#x}"), true]);
        let block = |node: &Node| ask(node, EVM, "evm_getBlockByNumber", params.clone());
        assert_eq!(block(&joined), block(&writer), "C {height}");
    }

    // Below the snapshot the stream is refused, after it another follower gets it.
    let text = format!(
        "the history here begins at bundle {} (joined from a snapshot); a stream can begin at {} or later",
        start.bundle,
        start.bundle + 1
    );
    for from in [1, start.bundle] {
        assert_eq!(refused(&joined, from), (410, format!("{text}\n")));
    }
    let second = follower(&folder("second"), &joined.url()).start().unwrap();
    let url = joined.url();
    let reason = format!(
        "{url}: source refused: 410: {text}; follow a node that has the whole history, or join from a snapshot"
    );
    until("the follower reports that its source lacks the beginning", || {
        let status: Value = status(&second);
        (status["following"]["error"] == reason).then_some(())
    });
    assert_eq!(heights(&second), (0, 0));
    assert!(second.stop().unwrap().success());
    let sources = format!("{},{}", joined.url(), writer.url());
    let second = follower(&folder("second"), &sources).start().unwrap();
    wait_for(&second, &writer);
    assert_eq!(follower_health(&second).1, None);
    drop(second);

    // A follower of the follower that has the same snapshot.
    assert!(joined.stop().unwrap().success());
    copy_folder(&folder("joined"), &folder("third")).unwrap();
    forget_history(&folder("third"), 2).unwrap();
    let joined = follower(&folder("joined"), &writer.url()).arg("--api-sync-enabled");
    let joined = joined.start().unwrap();
    let third = follower(&folder("third"), &joined.url()).start().unwrap();
    transfers(&writer, 2);
    wait_for(&third, &writer);
    for (name, node) in [("third", third), ("joined", joined)] {
        assert!(node.stop().unwrap().success());
        crate::followers::support::verify(&folder(name));
    }
}

fn status(node: &Node) -> Value {
    let reply = node.rpc().http().request("GET", "/ext/status", &[], b"").unwrap();
    serde_json::from_slice(&reply.body).unwrap()
}
