//! Snapshots of all chains, and the way back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use esker_client::Wallet;
use esker_e2e::funds::{FUNDED, funded};
use esker_e2e::{Node, until};
use esker_primitives::address;
use serde_json::{Value, json};

use super::{FIRST, OTHER, call, error, height, last_time, receipt, result, send, start, verify};
use crate::support::{accept, local, wallet};

/// Both chains as clients see them.
pub(super) fn see(node: &Node) -> Value {
    let mut x = node.x();
    let x_height = x.get_height().unwrap();
    json!({
        "block": result(node, "eth_getBlockByNumber", json!(["latest", true])),
        "balances": [
            result(node, "eth_getBalance", json!([FIRST, "latest"])),
            result(node, "eth_getBalance", json!([OTHER, "latest"])),
        ],
        "nonce": result(node, "eth_getTransactionCount", json!([FIRST, "pending"])),
        "logs": result(node, "eth_getLogs", json!([{"fromBlock": "0x0"}])),
        "pool": result(node, "txpool_status", json!([])),
        "automine": result(node, "anvil_getAutomine", json!([])),
        "x": [x_height, x.get_block_by_height(x_height).unwrap().id().to_string()],
    })
}

/// A transaction on the X-Chain.
pub(super) fn send_x(node: &Node, wallet: &Wallet) {
    let output = Wallet::output(wallet.params().fee_asset_id, 5, wallet.owner());
    accept(&mut node.x(), &wallet.base_tx(vec![output], b"").unwrap());
}

#[test]
fn all_chains_go_back() {
    let node = local().dev().start().unwrap();
    let wallet = wallet(&node, "X", funded());
    receipt(&node, &send(&node));
    let (seen, time) = (see(&node), last_time(&node));
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x1");
    send_x(&node, &wallet);
    let lost = send(&node);
    receipt(&node, &lost);
    result(&node, "evm_increaseTime", json!([100_000]));
    result(&node, "anvil_setBalance", json!([OTHER, "0x64"]));
    result(&node, "anvil_impersonateAccount", json!([OTHER]));
    result(&node, "evm_setAutomine", json!([false]));
    send(&node);
    result(&node, "anvil_mine", json!([20]));
    send(&node);
    assert_ne!(see(&node), seen);
    assert_eq!(result(&node, "evm_revert", json!(["0x1"])), true);
    assert_eq!(see(&node), seen);
    assert_eq!(result(&node, "eth_getTransactionReceipt", json!([lost])), Value::Null);
    let tx = json!([{"from": OTHER, "to": FIRST}]);
    assert_eq!(error(&node, "eth_sendTransaction", tx), "unknown account");
    // Both chains go on, with the clock of then.
    send_x(&node, &wallet);
    receipt(&node, &send(&node));
    assert!((time..time + 60).contains(&last_time(&node)));
    assert_eq!(height(&node), 2);
}

#[test]
fn snapshots_are_nested_and_used_once() {
    let node = local().dev().start().unwrap();
    result(&node, "anvil_mine", json!([]));
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x1");
    result(&node, "anvil_mine", json!([2]));
    assert_eq!(result(&node, "anvil_snapshot", json!([])), "0x2");
    let hash = result(&node, "eth_getBlockByNumber", json!(["latest", false]))["hash"].clone();
    result(&node, "anvil_mine", json!([3]));
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x3");
    let listed = result(&node, "anvil_metadata", json!([]))["snapshots"].clone();
    assert_eq!(listed["0x2"], json!([3, hash]));
    assert_eq!(listed.as_object().unwrap().len(), 3);
    assert_eq!(result(&node, "anvil_revert", json!([2])), true);
    assert_eq!(height(&node), 3);
    for used in ["0x2", "0x3", "0x4", "0x0", "0xffffffffffffffffffff"] {
        assert_eq!(result(&node, "evm_revert", json!([used])), false, "{used}");
    }
    assert_eq!(height(&node), 3);
    for params in [json!([]), json!(["first"]), json!([-1]), json!([{}])] {
        error(&node, "evm_revert", params);
    }
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x4");
    assert_eq!(result(&node, "evm_revert", json!(["0x4"])), true);
    assert_eq!(result(&node, "evm_revert", json!(["0x1"])), true);
    assert_eq!(height(&node), 1);
}

#[test]
fn what_waited_waits_again() {
    let node = local().dev().start().unwrap();
    result(&node, "evm_setAutomine", json!([false]));
    let waiting = send(&node);
    let seen = see(&node);
    result(&node, "evm_snapshot", json!([]));
    result(&node, "evm_mine", json!([]));
    receipt(&node, &waiting);
    send(&node);
    assert_eq!(result(&node, "evm_revert", json!(["0x1"])), true);
    assert_eq!(see(&node), seen);
    assert_eq!(result(&node, "eth_getTransactionReceipt", json!([waiting])), Value::Null);
    result(&node, "evm_mine", json!([]));
    assert_eq!(receipt(&node, &waiting)["status"], "0x1");
}

#[test]
fn the_folder_is_whole_after_reverts() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    let wallet = wallet(&node, "X", funded());
    receipt(&node, &send(&node));
    for round in 1..=5 {
        let id = result(&node, "evm_snapshot", json!([]));
        assert_eq!(id, format!("{round:#x}"));
        result(&node, "anvil_setBalance", json!([OTHER, "0x64"]));
        send_x(&node, &wallet);
        receipt(&node, &send(&node));
        assert_eq!(result(&node, "evm_revert", json!([id])), true);
    }
    receipt(&node, &send(&node));
    let seen = see(&node);
    node.stop().unwrap();
    verify(folder.path());
    let node = start(folder.path());
    assert_eq!(see(&node), seen);
    // All of them were used.
    assert_eq!(result(&node, "evm_revert", json!(["0x1"])), false);
}

#[test]
fn atomic_transactions_and_intervals_are_in_a_snapshot() {
    const NAT: &str = "/ext/bc/C/nat";
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    let user = json!({"username": "alice", "password": "Str0ng-Pass-W0rd!"});
    let with = |mut params: Value| {
        params["username"] = user["username"].clone();
        params["password"] = user["password"].clone();
        params
    };
    rpc.call::<Value>("/ext/keystore", "keystore.createUser", user.clone()).unwrap();
    rpc.call::<Value>(NAT, "nat.importKey", with(json!({"privateKey": FUNDED}))).unwrap();
    result(&node, "evm_setIntervalMining", json!([5000]));
    let to = address::format("X", "local", &funded().address());
    let export = with(json!({"to": to, "amount": "1000000", "assetID": "NAT"}));
    let export: Value = rpc.call(NAT, "nat.export", export).unwrap();
    let mut status = || {
        let params = json!({"txID": export["txID"]});
        let status: Value = rpc.call(NAT, "nat.getAtomicTxStatus", params).unwrap();
        status["status"].clone()
    };
    assert_eq!(status(), "Processing");
    result(&node, "evm_snapshot", json!([]));
    result(&node, "evm_setIntervalMining", json!([0]));
    result(&node, "evm_mine", json!([]));
    assert_eq!(status(), "Accepted");
    assert_eq!(result(&node, "anvil_getIntervalMining", json!([])), Value::Null);
    result(&node, "evm_setAutomine", json!([true]));
    assert_eq!(result(&node, "evm_revert", json!(["0x1"])), true);
    assert_eq!(status(), "Processing");
    assert_eq!(result(&node, "anvil_getIntervalMining", json!([])), 5000);
    assert_eq!(result(&node, "anvil_getAutomine", json!([])), false);
    result(&node, "evm_mine", json!([]));
    assert_eq!(status(), "Accepted");
}

/// The blocks that a snapshot's interval makes come after a revert as well.
#[test]
fn blocks_at_intervals_go_on_after_a_revert() {
    let node = local().dev().start().unwrap();
    result(&node, "evm_setIntervalMining", json!([1]));
    result(&node, "evm_snapshot", json!([]));
    result(&node, "evm_setIntervalMining", json!([0]));
    assert_eq!(result(&node, "evm_revert", json!(["0x1"])), true);
    let begun = height(&node);
    until("a block at its time", || (height(&node) > begun).then_some(()));
}

#[test]
fn timed_a_revert_is_quick() {
    let node = local().dev().start().unwrap();
    result(&node, "anvil_mine", json!([50]));
    let id = result(&node, "evm_snapshot", json!([]));
    result(&node, "anvil_mine", json!([200]));
    let begun = Instant::now();
    assert_eq!(result(&node, "evm_revert", json!([id])), true);
    // A debug build on a busy machine: milliseconds otherwise.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(height(&node), 50);
}

/// Ends threads when it is dropped.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn reverts_beside_blocks_and_moves_of_the_clock() {
    const ROUNDS: usize = 20;
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    let done = AtomicBool::new(false);
    // A revert takes back what they have just done: that the node answers is what counts.
    let until_done = |work: &dyn Fn()| {
        while !done.load(Ordering::Relaxed) {
            work();
        }
    };
    let transfer = json!([{"from": FIRST, "to": OTHER, "value": "0x1", "gas": "0x5208"}]);
    thread::scope(|scope| {
        // The threads end also where an assertion fails.
        let _done = Done(&done);
        scope.spawn(|| until_done(&|| drop(call(&node, "anvil_mine", json!([5, 20])))));
        scope.spawn(|| until_done(&|| drop(call(&node, "evm_increaseTime", json!([500])))));
        scope.spawn(|| until_done(&|| drop(call(&node, "eth_sendTransaction", transfer.clone()))));
        scope.spawn(|| {
            until_done(&|| {
                let wallet = wallet(&node, "X", funded());
                let output = Wallet::output(wallet.params().fee_asset_id, 5, wallet.owner());
                if let Ok(tx) = wallet.base_tx(vec![output], b"") {
                    let _outcome = node.x().issue_tx(&tx);
                }
            });
        });
        for _ in 0..ROUNDS {
            let id = result(&node, "evm_snapshot", json!([]));
            let begun = height(&node);
            until("blocks after the snapshot", || (height(&node) > begun + 2).then_some(()));
            assert_eq!(result(&node, "evm_revert", json!([id])), true);
        }
    });
    receipt(&node, &send(&node));
    assert!(node.stop().unwrap().success());
    verify(folder.path());
}
