//! Other blocks in place of the last ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use esker_client::Wallet;
use esker_e2e::Node;
use esker_e2e::funds::funded;
use serde_json::{Value, json};

use super::removed::{EMITS, Subscriber, as_removed, emit};
use super::snapshots::{see, send_x};
use super::{
    FIRST, OTHER, call, error, height, imported, number, receipt, result, send, start, verify,
};
use crate::support::{local, wait_accepted, wallet};

fn block(node: &Node, number: u64) -> Value {
    result(node, "eth_getBlockByNumber", json!([format!("{number:#x}"), false]))
}

fn hashes(node: &Node) -> Vec<Value> {
    (0..=height(node)).map(|number| block(node, number)["hash"].clone()).collect()
}

#[test]
fn blocks_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x1");
    result(&node, "anvil_setCode", json!([OTHER, EMITS]));
    let written = [emit(&node), emit(&node), emit(&node)];
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x2");
    let before = hashes(&node);
    let mut logs = Subscriber::of(&node, &json!(["logs", {}]));
    let mut heads = Subscriber::of(&node, &json!(["newHeads"]));

    // One block has a signed transaction, one is empty, one has two that are described.
    let to_other = json!({"from": FIRST, "to": OTHER, "gas": "0x20000"});
    let signed = json!([{"from": FIRST, "to": OTHER, "gas": "0x20000", "nonce": "0x0", "gasPrice": "0x77359400"}]);
    let signed = result(&node, "eth_signTransaction", signed)["raw"].clone();
    let described = json!({"to": OTHER, "gas": "0x20000", "nonce": "0x1"});
    let pairs = json!([[described, 2], [signed, 0], [to_other, "0x2"]]);
    assert_eq!(result(&node, "anvil_reorg", json!([3, pairs])), Value::Null);
    let after = hashes(&node);
    assert_eq!((after.len(), &after[..2]), (5, &before[..2]));
    assert!((2..5).all(|number| after[number] != before[number]));
    let counts: Vec<usize> = (2..5)
        .map(|number| block(&node, number)["transactions"].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [1, 0, 2]);
    assert_eq!(logs.take(3), as_removed(&written));
    let new = logs.take(3);
    let is_new = |log: &Value| written.iter().all(|old| old["blockHash"] != log["blockHash"]);
    assert!(new.iter().all(|log| log["removed"] == false && is_new(log)), "{new:?}");
    let heads: Vec<Value> = heads.take(3).iter().map(|head| head["hash"].clone()).collect();
    assert_eq!(heads, after[2..]);
    // Snapshots of blocks that are gone are gone.
    assert_eq!(result(&node, "evm_revert", json!(["0x2"])), false);
    receipt(&node, &send(&node));
    let seen = see(&node);
    assert!(node.stop().unwrap().success());
    verify(folder.path());
    let node = start(folder.path());
    assert_eq!(see(&node), seen);
    assert_eq!(result(&node, "evm_revert", json!(["0x2"])), false);
    assert!(node.stop().unwrap().success());
    let copy = tempfile::tempdir().unwrap();
    let copied = imported(folder.path(), copy.path());
    assert_eq!(see(&copied)["block"], seen["block"]);
    let node = start(folder.path());
    assert_eq!(result(&node, "evm_revert", json!(["0x1"])), true);
    assert_eq!(height(&node), 0);
}

#[test]
fn pool_clock_and_settings_stay() {
    let node = local().dev().start().unwrap();
    let wallet = wallet(&node, "X", funded());
    result(&node, "evm_snapshot", json!([]));
    result(&node, "anvil_mine", json!([4]));
    send_x(&node, &wallet);
    result(&node, "evm_increaseTime", json!([5000]));
    result(&node, "evm_setIntervalMining", json!([5000]));
    result(&node, "anvil_impersonateAccount", json!([OTHER]));
    result(&node, "anvil_setBalance", json!([OTHER, "0xde0b6b3a7640000"]));
    let waiting = send(&node);
    let seen = see(&node);
    // The object of alloy, and a sender without a key.
    let tx = json!({"from": OTHER, "to": FIRST, "value": "0x1", "gas": "0x5208"});
    let refused = error(&node, "anvil_reorg", json!([{"depth": 2, "tx_block_pairs": [[tx, 0]]}]));
    assert!(refused.contains("insufficient funds"), "{refused}");
    assert_eq!(see(&node), seen);
    assert_eq!(result(&node, "anvil_reorg", json!([{"depth": "0x1"}])), Value::Null);
    assert_eq!(result(&node, "eth_getBalance", json!([OTHER, "latest"])), "0x0");
    assert_eq!(height(&node), 5);
    assert_eq!(result(&node, "txpool_status", json!([]))["pending"], "0x1");
    assert_eq!(result(&node, "anvil_getAutomine", json!([])), false);
    assert_eq!(result(&node, "anvil_getIntervalMining", json!([])), 5000);
    let time = |height| number(&block(&node, height)["timestamp"]);
    assert!(time(5) > time(4));
    result(&node, "evm_mine", json!([]));
    assert_eq!(receipt(&node, &waiting)["blockNumber"], "0x6");
}

/// Clients send while blocks are replaced, and while that fails: what the node took waits afterwards, or is in a block.
#[test]
fn transactions_that_come_during_a_reorg_are_kept() {
    let node = local().dev().start().unwrap();
    result(&node, "evm_setAutomine", json!([false]));
    result(&node, "evm_snapshot", json!([]));
    result(&node, "anvil_mine", json!([200]));
    let accounts = result(&node, "eth_accounts", json!([]));
    let accounts: Vec<&Value> = accounts.as_array().unwrap()[1..5].iter().collect();
    let late = json!({"from": FIRST, "to": OTHER, "gas": "0x5208", "nonce": "0x9"});
    for pairs in [json!([]), json!([[late, 199]])] {
        let is_over = AtomicBool::new(false);
        let sent: Vec<Value> = thread::scope(|scope| {
            let client = |from| {
                let (node, is_over) = (&node, &is_over);
                scope.spawn(move || {
                    let tx = json!([{"from": from, "to": OTHER, "value": "0x1", "gas": "0x5208"}]);
                    let mut sent = Vec::new();
                    while !is_over.load(Ordering::Relaxed) {
                        let reply = call(node, "eth_sendTransaction", tx.clone());
                        sent.extend(reply.get("result").cloned());
                    }
                    sent
                })
            };
            let clients: Vec<_> = accounts.iter().map(|from| client(*from)).collect();
            call(&node, "anvil_reorg", json!([200, pairs]));
            is_over.store(true, Ordering::Relaxed);
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
        });
        assert!(sent.len() > 8, "{}", sent.len());
        for hash in &sent {
            let found = result(&node, "eth_getTransactionByHash", json!([hash]));
            assert_eq!(found["hash"], *hash, "{pairs}: one of {}", sent.len());
        }
    }
    assert_eq!(height(&node), 200);
}

/// The old blocks are put back also where each block, as it is accepted, sets the clock for the next one.
#[test]
fn a_reorg_that_fails_puts_back_blocks_whose_times_are_far_apart() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    for _ in 0..3 {
        receipt(&node, &send(&node));
        result(&node, "evm_increaseTime", json!([100_000]));
    }
    result(&node, "evm_mine", json!([]));
    result(&node, "anvil_setBlockTimestampInterval", json!([7]));
    let (before, time) = (hashes(&node), super::last_time(&node));
    let late = json!({"from": FIRST, "to": OTHER, "gas": "0x5208", "nonce": "0x9"});
    let refused = error(&node, "anvil_reorg", json!([3, [[late, 2]]]));
    assert!(refused.contains("cannot be in block"), "{refused}");
    assert_eq!(hashes(&node), before);
    // The setting stays.
    let sent = receipt(&node, &send(&node));
    assert_eq!(super::last_time(&node), time + 7);
    assert!(node.stop().unwrap().success());
    let node = start(folder.path());
    assert_eq!(receipt(&node, &sent["transactionHash"]), sent);
    assert_eq!(hashes(&node)[..5], before);
}

/// A reorg that fails loses no transaction of the X-Chain, whether it came before or meanwhile.
#[test]
fn transactions_of_other_chains_are_kept_by_a_reorg_that_fails() {
    let node = local().dev().start().unwrap();
    let mut wallet = wallet(&node, "X", funded());
    result(&node, "anvil_mine", json!([200]));
    let late = json!({"from": FIRST, "to": OTHER, "gas": "0x5208", "nonce": "0x9"});
    let is_over = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let reorg = scope.spawn(|| {
            let refused = error(&node, "anvil_reorg", json!([200, [[late, 199]]]));
            is_over.store(true, Ordering::Relaxed);
            refused
        });
        let (mut x, mut sent) = (node.x(), Vec::new());
        while !is_over.load(Ordering::Relaxed) {
            let output = Wallet::output(wallet.params().fee_asset_id, 5, wallet.owner());
            let tx = wallet.base_tx(vec![output], b"").unwrap();
            // A transaction that spends the output of a waiting one is refused.
            if let Ok(id) = x.issue_tx(&tx) {
                sent.push(id);
                wallet.apply(&tx);
            }
        }
        let refused = reorg.join().unwrap();
        assert!(refused.contains("cannot be in block"), "{refused}");
        sent
    });
    assert!(!sent.is_empty());
    for id in sent {
        wait_accepted(&mut node.x(), &id);
    }
    assert_eq!(height(&node), 200);
}

#[test]
fn hostile_reorgs_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    result(&node, "anvil_mine", json!([2]));
    receipt(&node, &send(&node));
    result(&node, "anvil_mine", json!([2]));
    receipt(&node, &send(&node));
    let seen = see(&node);
    let tx = |value: &str| json!({"from": FIRST, "to": OTHER, "value": value, "gas": "0x5208"});
    let late = json!({"from": FIRST, "to": OTHER, "gas": "0x5208", "nonce": "0x9"});
    let poor = "0xffffffffffffffffffffffff";
    for (params, text) in [
        (json!([]), "missing value for required argument 0"),
        (json!([{}]), "missing depth"),
        (json!([null]), "expected a number"),
        (json!([-1]), "expected a number"),
        (json!(["0x10000000000000000"]), "more than 64 bits"),
        (json!([7]), "Reorg depth must not exceed current chain height: current height 6, depth 7"),
        (json!([2, {}]), "expected pairs"),
        (json!([2, [[]]]), "expected pairs"),
        (json!([2, [[tx("0x1"), 0, 0]]]), "expected pairs"),
        (json!([2, [[tx("0x1"), 2]]]), "Block number 2 must not exceed (depth-1) 1"),
        (json!([2, [[tx("0x1"), poor]]]), "must not exceed (depth-1) 1"),
        (json!([2, [["0x1234", 0]]]), "transaction type not supported"),
        (json!([2, [[{"from": OTHER, "to": OTHER}, 0]]]), "unknown account"),
        (json!([{"depth": 2, "tx_block_pairs": []}, []]), "transactions are given twice"),
        // Found only after the blocks were taken back.
        (json!([2, [[tx("0x1"), 0], [tx(poor), 1]]]), "insufficient funds"),
        (json!([3, [[tx("0x1"), 0], [late, 2]]]), "it waits"),
    ] {
        let refused = error(&node, "anvil_reorg", params.clone());
        assert!(refused.contains(text), "{params}: {refused}");
        assert_eq!(see(&node), seen, "{params}");
    }
    assert_eq!(result(&node, "anvil_reorg", json!([0])), Value::Null);
    assert_eq!(see(&node), seen);
    assert!(call(&node, "anvil_reorg", json!([2, []])).get("error").is_none());
    assert_ne!(see(&node), seen);
    receipt(&node, &send(&node));
    assert!(node.stop().unwrap().success());
    verify(folder.path());
}
