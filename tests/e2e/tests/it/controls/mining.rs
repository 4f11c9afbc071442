//! Blocks on request, and transactions that wait for them.

use std::thread;

use esker_e2e::{Node, until};
use serde_json::{Value, json};

use super::{OTHER, call, error, height, last_time, receipt, result, send, waiting_client};
use crate::support::local;

#[test]
fn blocks_are_made_on_request() {
    let node = local().dev().start().unwrap();
    assert_eq!(result(&node, "evm_mine", json!([])), "0x0");
    assert_eq!(height(&node), 1);
    let block = result(&node, "eth_getBlockByNumber", json!(["latest", true]));
    assert_eq!((&block["transactions"], &block["gasUsed"]), (&json!([]), &json!("0x0")));
    assert_eq!(result(&node, "anvil_mine", json!([])), Value::Null);
    assert_eq!(result(&node, "anvil_mine", json!(["0x3"])), Value::Null);
    assert_eq!(result(&node, "hardhat_mine", json!([0])), true);
    assert_eq!(height(&node), 5);
    let before = last_time(&node);
    assert_eq!(result(&node, "hardhat_mine", json!(["0xa", "0x3c"])), true);
    assert_eq!(height(&node), 15);
    let times: Vec<_> = (5..=15)
        .map(|height| {
            let block =
                result(&node, "eth_getBlockByNumber", json!([format!("{height:#x}"), false]));
            super::number(&block["timestamp"])
        })
        .collect();
    assert!(times.windows(2).all(|pair| (60..90).contains(&(pair[1] - pair[0]))), "{times:?}");
    assert_eq!(times[0], before);
    let at = last_time(&node) + 1000;
    assert_eq!(result(&node, "evm_mine", json!([at])), "0x0");
    assert_eq!(last_time(&node), at);
    assert_eq!(result(&node, "evm_mine", json!([{"timestamp": at + 50, "blocks": 4}])), "0x0");
    assert_eq!(height(&node), 20);
    assert!((at + 50..at + 80).contains(&last_time(&node)));
    // Transactions go on as before.
    assert_eq!(receipt(&node, &send(&node))["status"], "0x1");
}

#[test]
fn hostile_requests_for_blocks_change_nothing() {
    let node = local().dev().start().unwrap();
    let time = last_time(&node);
    let huge = format!("0x1{}", "0".repeat(64));
    let most = "0xffffffffffffffff";
    for (method, params, text) in [
        ("anvil_mine", json!([100_001]), "cannot mine 100001 blocks at once: at most 100000"),
        ("hardhat_mine", json!([most]), "cannot mine 18446744073709551615 blocks at once"),
        ("anvil_mine", json!(["0x10000000000000000"]), "has more than 64 bits"),
        ("anvil_mine", json!([2, most]), "is too late: at most 253370764800"),
        ("anvil_mine", json!([huge]), "expected a number of at most 256 bits"),
        ("anvil_mine", json!([-1]), "expected a number of at most 256 bits"),
        ("anvil_mine", json!([[]]), "expected a number of at most 256 bits"),
        ("evm_mine", json!([{"blocks": 100_001}]), "cannot mine 100001 blocks at once"),
        ("evm_mine", json!([{"timestamp": "soon"}]), "expected a number of at most 256 bits"),
        (
            "evm_mine",
            json!([{"timestamp": 1, "blocks": 2}]),
            "is lower than previous block's timestamp",
        ),
        ("evm_mine", json!([253_370_764_801_u64]), "is too late: at most 253370764800"),
        ("evm_setAutomine", json!([]), "missing value for required argument 0"),
        ("evm_setAutomine", json!(["yes"]), "cannot unmarshal string"),
        ("evm_setIntervalMining", json!([]), "missing value for required argument 0"),
        ("evm_setIntervalMining", json!([31_622_401]), "is too long: at most 31622400 s"),
        ("anvil_dropTransaction", json!(["0x12"]), "want 64 for common.Hash"),
    ] {
        let got = error(&node, method, params.clone());
        assert!(got.contains(text), "{method} {params}: {got}");
    }
    assert_eq!((height(&node), last_time(&node)), (0, time));
    assert_eq!(result(&node, "anvil_getAutomine", json!([])), true);
    assert_eq!(result(&node, "anvil_getIntervalMining", json!([])), Value::Null);
    assert_eq!(receipt(&node, &send(&node))["status"], "0x1");
}

/// A client that leaves takes its request with it, and what others asked for meanwhile follows.
#[test]
fn blocks_end_when_their_client_leaves() {
    let node = local().dev().start().unwrap();
    let client = waiting_client(&node, "anvil_mine", json!([100_000]));
    until("blocks are made", || (height(&node) > 20).then_some(()));
    let later = last_time(&node) + 100_000;
    let moved = thread::scope(|scope| {
        let moved = scope.spawn(|| result(&node, "evm_setNextBlockTimestamp", json!([later])));
        let seen = height(&node);
        until("more blocks are made", || (height(&node) > seen + 20).then_some(()));
        assert!(last_time(&node) < later, "the time is not that of a block in the middle");
        drop(client);
        moved.join().unwrap()
    });
    assert_eq!(moved, Value::Null);
    let ended = height(&node);
    assert!(ended < 100_000 && last_time(&node) < later);
    result(&node, "evm_mine", json!([]));
    assert_eq!((height(&node), last_time(&node)), (ended + 1, later));
}

#[test]
fn transactions_wait_for_a_request() {
    let node = local().dev().start().unwrap();
    assert_eq!(result(&node, "evm_setAutomine", json!([false])), Value::Null);
    assert_eq!(result(&node, "hardhat_getAutomine", json!([])), false);
    let (first, second) = (send(&node), send(&node));
    // Were a block built for them, it would come before this one.
    assert_eq!(result(&node, "eth_getTransactionReceipt", json!([first])), Value::Null);
    assert_eq!(result(&node, "anvil_dropTransaction", json!([second])), second);
    assert_eq!(result(&node, "anvil_dropTransaction", json!([second])), Value::Null);
    assert_eq!(result(&node, "hardhat_dropTransaction", json!([second])), false);
    assert_eq!(result(&node, "evm_mine", json!([])), "0x0");
    assert_eq!(height(&node), 1);
    let mined = result(&node, "eth_getTransactionReceipt", json!([first]));
    assert_eq!((&mined["blockNumber"], &mined["status"]), (&json!("0x1"), &json!("0x1")));
    let text = error(&node, "hardhat_dropTransaction", json!([first]));
    assert!(text.ends_with("cannot be dropped because it's already mined"), "{text}");

    send(&node);
    send(&node);
    assert_eq!(result(&node, "txpool_status", json!([]))["pending"], "0x2");
    assert_eq!(result(&node, "anvil_dropAllTransactions", json!([])), Value::Null);
    assert_eq!(result(&node, "txpool_status", json!([]))["pending"], "0x0");
    assert_eq!(result(&node, "anvil_mine", json!([2])), Value::Null);
    assert_eq!(result(&node, "eth_getBalance", json!([OTHER, "latest"])), "0x7");

    // A waiting transaction goes into a block as soon as blocks are made again.
    let waiting = send(&node);
    assert_eq!(result(&node, "anvil_setAutomine", json!([true])), Value::Null);
    assert_eq!(receipt(&node, &waiting)["blockNumber"], "0x4");
}

/// Anvil's methods that reply with the blocks, and that remove the transactions of one account.
#[test]
fn made_blocks_are_shown() {
    let node = local().dev().start().unwrap();
    result(&node, "evm_setAutomine", json!([false]));
    let sent = send(&node);
    let time = last_time(&node) + 100;
    let options = json!([{"timestamp": time, "blocks": 2}]);
    let made = result(&node, "anvil_mine_detailed", options);
    let by_number = |number| result(&node, "eth_getBlockByNumber", json!([number, true]));
    assert_eq!(made, json!([by_number("0x1"), by_number("0x2")]));
    assert_eq!(made[0]["transactions"][0]["hash"], sent);
    assert_eq!(made[0]["timestamp"], format!("{time:#x}"));
    let made = result(&node, "evm_mine_detailed", json!([]));
    assert_eq!(made, json!([by_number("0x3")]));
    assert_eq!(result(&node, "evm_mine_detailed", json!([{"blocks": 0}])), json!([]));
    let text = error(&node, "anvil_mine_detailed", json!([{"blocks": 257}]));
    assert_eq!(text, "cannot mine 257 blocks at once: at most 256");
    assert_eq!(height(&node), 3);

    send(&node);
    let other = json!([OTHER]);
    assert_eq!(result(&node, "anvil_removePoolTransactions", other), Value::Null);
    assert_eq!(result(&node, "txpool_status", json!([]))["pending"], "0x1");
    let sender = json!([made_by(&node)]);
    assert_eq!(result(&node, "anvil_removePoolTransactions", sender), Value::Null);
    assert_eq!(result(&node, "txpool_status", json!([]))["pending"], "0x0");
    for method in ["debug_clearTxpool", "hardhat_dropAllTransactions"] {
        send(&node);
        assert_eq!(result(&node, method, json!([])), Value::Null);
        assert_eq!(result(&node, "txpool_status", json!([]))["pending"], "0x0", "{method}");
    }

    let first = by_number("0x0");
    let genesis = result(&node, "anvil_getGenesisTime", json!([])).as_u64().unwrap();
    assert_eq!(first["timestamp"], format!("{genesis:#x}"));
    assert_eq!(result(&node, "evm_setAccountNonce", json!([OTHER, "0x5"])), Value::Null);
    assert_eq!(result(&node, "eth_getTransactionCount", json!([OTHER, "latest"])), "0x5");
    assert_eq!(result(&node, "eth_protocolVersion", json!([])), 1);
    assert_eq!(result(&node, "eth_hashrate", json!([])), "0x0");
    for automine in [false, true] {
        result(&node, "evm_setAutomine", json!([automine]));
        assert_eq!(result(&node, "eth_mining", json!([])), automine);
    }
    assert_eq!(result(&node, "hardhat_getStackTraceFailuresCount", json!([])), 0);
    let id = result(&node, "net_version", json!([]));
    assert_eq!(result(&node, "eth_networkId", json!([])), id);
    let last = result(&node, "eth_getBlockByNumber", json!(["latest", false]));
    assert_eq!(result(&node, "erigon_getHeaderByNumber", json!(["latest"])), last);
    assert_eq!(result(&node, "erigon_getHeaderByNumber", json!(["0x99"])), Value::Null);
}

/// The sender of the waiting transactions.
fn made_by(node: &Node) -> Value {
    let pool = result(node, "txpool_content", json!([]));
    json!(pool["pending"].as_object().unwrap().keys().next().unwrap())
}

#[test]
fn blocks_come_at_intervals() {
    let node = local().dev().start().unwrap();
    assert_eq!(result(&node, "evm_setIntervalMining", json!([1])), Value::Null);
    assert_eq!(result(&node, "anvil_getAutomine", json!([])), false);
    assert_eq!(result(&node, "anvil_getIntervalMining", json!([])), 1);
    let hash = send(&node);
    until("two blocks are made", || (height(&node) >= 2).then_some(()));
    assert_eq!(receipt(&node, &hash)["blockNumber"], "0x1");
    assert_eq!(result(&node, "anvil_setIntervalMining", json!([0])), Value::Null);
    assert_eq!(result(&node, "anvil_getIntervalMining", json!([])), Value::Null);
    assert_eq!(result(&node, "evm_setIntervalMining", json!([3600])), Value::Null);
    assert_eq!(result(&node, "evm_setAutomine", json!([true])), Value::Null);
    assert_eq!(result(&node, "anvil_getIntervalMining", json!([])), Value::Null);
    assert_eq!(receipt(&node, &send(&node))["status"], "0x1");
}

#[test]
fn the_screen_is_silent_without_logging() {
    let node = local().dev().start().unwrap();
    let sent = || {
        let hash = receipt(&node, &send(&node))["transactionHash"].clone();
        format!("Transaction: {}", hash.as_str().unwrap())
    };
    assert_eq!(result(&node, "anvil_setLoggingEnabled", json!([false])), Value::Null);
    let silent = sent();
    call(&node, "eth_sendRawTransaction", json!(["0x00"]));
    // The setting decides when the screen comes to a block. A revert is always shown, after what came before it.
    let snapshot = result(&node, "evm_snapshot", json!([]));
    result(&node, "evm_mine", json!([]));
    assert_eq!(result(&node, "evm_revert", json!([snapshot])), json!(true));
    until("the screen shows the revert", || node.output().contains("Rewound: 1 ").then_some(()));
    assert_eq!(result(&node, "hardhat_setLoggingEnabled", json!([true])), true);
    let shown = sent();
    until("the screen shows the second transaction", || {
        node.output().contains(&shown).then_some(())
    });
    assert!(!node.output().contains(&silent), "{}", node.output());
}
