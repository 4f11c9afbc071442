//! Snapshots of a node whose folder is kept.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use esker_e2e::Node;
use esker_e2e::funds::funded;
use serde_json::{Value, json};

use super::snapshots::{see, send_x};
use super::{
    FIRST, OTHER, RPC, error, height, imported, number, receipt, result, send, start, verify,
};
use crate::support::{esker, local, wallet};

/// The IDs of the snapshots.
fn snapshots(node: &Node) -> Vec<String> {
    let metadata = result(node, "anvil_metadata", json!([]));
    metadata["snapshots"].as_object().unwrap().keys().cloned().collect()
}

fn revert(node: &Node, id: &str) -> Value {
    result(node, "evm_revert", json!([id]))
}

#[test]
fn snapshots_outlast_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    let wallet = wallet(&node, "X", funded());
    receipt(&node, &send(&node));
    result(&node, "anvil_impersonateAccount", json!([OTHER]));
    result(&node, "evm_setIntervalMining", json!([5000]));
    result(&node, "evm_setTime", json!([4_000_000_000_u64]));
    let waiting = send(&node);
    let seen = see(&node);
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x1");
    result(&node, "evm_mine", json!([]));
    receipt(&node, &waiting);
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x2");
    send_x(&node, &wallet);
    result(&node, "anvil_mine", json!([3, 100_000]));
    assert!(node.stop().unwrap().success());
    verify(folder.path());

    // Also after a kill, which the answer to a snapshot outlasts.
    let node = start(folder.path());
    assert_eq!(snapshots(&node), ["0x1", "0x2"]);
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x3");
    result(&node, "anvil_mine", json!([2]));
    node.kill().unwrap();
    let node = start(folder.path());
    assert_eq!(snapshots(&node), ["0x1", "0x2", "0x3"]);
    assert_eq!((revert(&node, "0x3"), height(&node)), (json!(true), 5));
    assert_eq!((revert(&node, "0x2"), height(&node)), (json!(true), 2));
    assert!(node.stop().unwrap().success());

    let node = start(folder.path());
    assert_eq!(snapshots(&node), ["0x1"]);
    assert_eq!((revert(&node, "0x2"), revert(&node, "0x3")), (json!(false), json!(false)));
    assert_eq!(revert(&node, "0x1"), true);
    assert_eq!(see(&node), seen);
    assert_eq!(result(&node, "anvil_getIntervalMining", json!([])), 5000);
    let tx = json!([{"from": OTHER, "to": OTHER, "gas": "0x5208", "gasPrice": "0x77359400"}]);
    assert!(error(&node, "eth_sendTransaction", tx).contains("insufficient funds"));
    result(&node, "evm_mine", json!([]));
    let time = super::last_time(&node);
    assert!((4_000_000_000..4_000_000_600).contains(&time), "{time}");
    assert_eq!(receipt(&node, &waiting)["blockNumber"], "0x2");
    // No ID is given twice.
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x4");
    let seen = see(&node)["block"].clone();
    assert!(node.stop().unwrap().success());
    verify(folder.path());
    let copy = tempfile::tempdir().unwrap();
    let node = imported(folder.path(), copy.path());
    assert_eq!(see(&node)["block"], seen);
    assert_eq!(snapshots(&node), [] as [&str; 0]);
}

#[test]
fn snapshots_that_cannot_be_reached_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let node = local().dev().data_dir(folder.path()).arg("--rewind-depth=3").start().unwrap();
    result(&node, "anvil_mine", json!([2]));
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x1");
    // More than without a snapshot.
    result(&node, "anvil_mine", json!([10]));
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x2");
    result(&node, "anvil_mine", json!([2]));
    let last = height(&node);
    assert!(node.stop().unwrap().success());
    // The list begins with a title and the last bundle.
    let (_, list) = esker(&["db", "rewind", "--dev", "--data-dir"], &[folder.path()]);
    let bundle = list.lines().nth(6).and_then(|line| line.split_whitespace().next()).unwrap();
    let rewind = ["db", "rewind", "--to-height", bundle, "--yes", "--dev", "--data-dir"];
    let (code, text) = esker(&rewind, &[folder.path()]);
    assert_eq!(code, Some(0), "{text}");
    let node = start(folder.path());
    assert_eq!(height(&node), last - 4);
    assert_eq!(snapshots(&node), ["0x1"]);
    result(&node, "anvil_mine", json!([4]));
    assert_eq!((revert(&node, "0x1"), height(&node)), (json!(true), 2));
    assert!(node.stop().unwrap().success());
    verify(folder.path());
    // The setting makes no difference.
    let node = start(folder.path());
    result(&node, "anvil_rollback", json!([1]));
    assert_eq!(height(&node), 1);
}

/// At the start they get blocks, which are no beginning of the network.
#[test]
fn transactions_that_wait_over_a_restart_leave_the_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    // Many accounts: their funding check at the start takes its time, during which the blocks are made.
    let accounts = |folder| {
        let dev = local().dev().data_dir(folder);
        dev.arg("--accounts=900").arg("--balance=10").start().unwrap()
    };
    let node = accounts(folder.path());
    receipt(&node, &send(&node));
    let seen = see(&node)["block"].clone();
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x1");
    receipt(&node, &send(&node));
    result(&node, "evm_setAutomine", json!([false]));
    let waiting: Vec<Value> = (0..30).map(|_| send(&node)).collect();
    assert!(node.stop().unwrap().success());

    let node = accounts(folder.path());
    for hash in &waiting {
        receipt(&node, hash);
    }
    assert_eq!(revert(&node, "0x1"), true);
    assert_eq!(see(&node)["block"], seen);
}

/// The blocks, pools and settings after a kill, separately.
fn blocks(seen: &Value) -> (Value, Value, Value, Value) {
    let of = |name: &str| seen[name].clone();
    (of("block"), of("balances"), of("logs"), of("x"))
}

/// Kills a node in the middle of reverts: afterwards it is before the revert, with its snapshot, or after it.
/// Returns how many kills came before the write, and after it.
fn kill_in_reverts(folder: &Path, rounds: u32) -> (u32, u32) {
    let mut node = start(folder);
    let mut takes = Duration::from_millis(20);
    let (mut before, mut after) = (0, 0);
    for round in 0..rounds {
        let id = result(&node, "evm_snapshot", json!([]));
        let id = id.as_str().unwrap();
        let begun = blocks(&see(&node));
        receipt(&node, &send(&node));
        result(&node, "anvil_setBalance", json!([OTHER, format!("{:#x}", round + 1)]));
        send_x(&node, &wallet(&node, "X", funded()));
        result(&node, "anvil_mine", json!([3]));
        let ended = blocks(&see(&node));
        if round == 0 {
            let now = Instant::now();
            assert_eq!(revert(&node, id), true);
            takes = now.elapsed();
            assert_eq!(blocks(&see(&node)), begun);
            continue;
        }
        let mut rpc = node.rpc();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "evm_revert", "params": [id]});
        let call = thread::spawn(move || drop(rpc.post(RPC, body.to_string().as_bytes())));
        thread::sleep(
            takes * (round % 8) / 6 + Duration::from_micros(u64::from(round * 137 % 500)),
        );
        node.kill().unwrap();
        call.join().unwrap();
        verify(folder);
        node = start(folder);
        if snapshots(&node).iter().any(|kept| kept == id) {
            before += 1;
            assert_eq!(blocks(&see(&node)), ended);
            assert_eq!(revert(&node, id), true);
        } else {
            after += 1;
        }
        assert_eq!(blocks(&see(&node)), begun);
        assert_eq!(revert(&node, id), false);
    }
    receipt(&node, &send(&node));
    assert!(node.stop().unwrap().success());
    verify(folder);
    (before, after)
}

/// Kills a node in the middle of reorgs: afterwards it has the old blocks, or the new ones. Returns how often each.
fn kill_in_reorgs(folder: &Path, rounds: u32) -> (u32, u32) {
    let mut node = start(folder);
    result(&node, "anvil_mine", json!([30]));
    send_x(&node, &wallet(&node, "X", funded()));
    let mut takes = Duration::from_millis(20);
    let (mut old, mut new) = (0, 0);
    for round in 0..rounds {
        receipt(&node, &send(&node));
        let id = result(&node, "evm_snapshot", json!([]));
        let begun = blocks(&see(&node));
        let depth = 20 + u64::from(round);
        if round == 0 {
            let now = Instant::now();
            result(&node, "anvil_reorg", json!([depth]));
            takes = now.elapsed();
            assert_ne!(blocks(&see(&node)), begun);
            continue;
        }
        let mut rpc = node.rpc();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "anvil_reorg", "params": [depth]});
        let call = thread::spawn(move || drop(rpc.post(RPC, body.to_string().as_bytes())));
        thread::sleep(takes * (round % 10) / 3);
        node.kill().unwrap();
        call.join().unwrap();
        verify(folder);
        node = start(folder);
        let now = blocks(&see(&node));
        let has_snapshot = snapshots(&node).iter().any(|kept| *kept == id.as_str().unwrap());
        assert_eq!(number(&now.0["number"]), number(&begun.0["number"]), "round {round}");
        if now == begun {
            old += 1;
            assert!(has_snapshot, "round {round}");
            // The state that was restored can be taken back again.
            assert_eq!(revert(&node, id.as_str().unwrap()), true);
            assert_eq!(blocks(&see(&node)), begun);
            result(&node, "anvil_rollback", json!([1]));
            receipt(&node, &send(&node));
        } else {
            new += 1;
            assert!(!has_snapshot, "round {round}");
            assert_eq!(now.0["transactions"], json!([]));
        }
    }
    receipt(&node, &send(&node));
    assert!(node.stop().unwrap().success());
    verify(folder);
    (old, new)
}

/// Kills a node in each of so many rounds but the first. Many kills come before the write, and after it.
fn check_kills(kill_in: fn(&Path, u32) -> (u32, u32), rounds: u32) {
    let (before, after) = kill_in(tempfile::tempdir().unwrap().path(), rounds);
    assert_eq!(before + after, rounds - 1);
    assert!(rounds < MANY_ROUNDS || (before > 0 && after > 0), "{before} {after}");
}

/// Rounds of kills that meet both sides of a write.
const MANY_ROUNDS: u32 = 51;

#[test]
fn kills_in_reorgs_leave_the_old_blocks_or_the_new_ones() {
    check_kills(kill_in_reorgs, 6);
}

#[test]
fn slow_kills_in_reorgs_leave_the_old_blocks_or_the_new_ones() {
    check_kills(kill_in_reorgs, MANY_ROUNDS);
}

#[test]
fn kills_in_reverts_leave_all_or_nothing() {
    check_kills(kill_in_reverts, 6);
}

#[test]
fn slow_kills_in_reverts_leave_all_or_nothing() {
    check_kills(kill_in_reverts, MANY_ROUNDS);
}

/// Contracts with all that an account can have, which go in one block: the coins of the audit add up.
#[test]
fn contracts_may_take_more_with_them_than_an_account_holds() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    let most = format!("0x{}", "ff".repeat(32));
    let [full, first, second] = ["31", "32", "33"].map(|byte| byte.repeat(20));
    result(&node, "anvil_setBalance", json!([format!("0x{full}"), most]));
    result(&node, "evm_setAutomine", json!([false]));
    let mut sent = Vec::new();
    for contract in [first, second].map(|address| format!("0x{address}")) {
        result(&node, "anvil_setBalance", json!([contract, most]));
        // PUSH20, SELFDESTRUCT: to one that can get nothing more.
        result(&node, "anvil_setCode", json!([contract, format!("0x73{full}ff")]));
        let tx = json!([{"from": FIRST, "to": contract, "gas": "0x186a0"}]);
        sent.push((result(&node, "eth_sendTransaction", tx), contract));
    }
    result(&node, "evm_mine", json!([]));
    for (hash, contract) in sent {
        assert_eq!(receipt(&node, &hash)["status"], "0x1");
        assert_eq!(result(&node, "eth_getBalance", json!([contract, "latest"])), "0x0");
    }
    assert!(node.stop().unwrap().success());
    verify(folder.path());
}
