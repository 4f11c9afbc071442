//! A filter from its creation to its end.

use esker_chain::{Undo, UndoLimits};
use esker_evm_rpc::evm::FilterConfig;
use esker_primitives::clock::Clock;
use serde_json::{Value, json};

use super::world::{World, blocks, heights};

const MINUTES: u64 = 60_000;

fn small(max_logs: usize) -> FilterConfig {
    FilterConfig { max_logs, ..FilterConfig::default() }
}

#[tokio::test]
async fn each_change_is_returned_once_in_whole_blocks() {
    let world = World::new(small(4));
    let logs = world.install("eth_newFilter", "[{}]").await;
    let hashes = world.install("eth_newBlockFilter", "[]").await;
    let from_six = world.install("eth_newFilter", r#"[{"fromBlock":"0x6"}]"#).await;
    let up_to_five =
        world.install("eth_newFilter", r#"[{"fromBlock":"0x0","toBlock":"0x5"}]"#).await;
    world.fill().await;
    // As much as an answer holds; what is left comes with the next ones.
    for expected in [&[4_u64, 5, 5] as &[_], &[6; 6], &[7], &[], &[]] {
        assert_eq!(world.heights("eth_getFilterChanges", &logs).await, expected);
    }
    for expected in [&[6_u64; 6] as &[_], &[7], &[]] {
        assert_eq!(world.heights("eth_getFilterChanges", &from_six).await, expected);
    }
    assert_eq!(world.heights("eth_getFilterChanges", &up_to_five).await, [4, 5, 5]);
    assert!(world.heights("eth_getFilterChanges", &up_to_five).await.is_empty());
    let changes = world.call("eth_getFilterChanges", &hashes).await;
    assert_eq!(changes.as_array().unwrap().len(), 8);
    assert_eq!(changes[7], world.evm.head().hash.to_string());
    assert_eq!(world.call("eth_getFilterChanges", &hashes).await, json!([]));
    // Both names of the namespace mean the same filters.
    assert_eq!(world.call("evm_uninstallFilter", &hashes).await, json!(true));
    assert_eq!(world.call("eth_uninstallFilter", &hashes).await, json!(false));
}

#[tokio::test]
async fn of_two_concurrent_requests_one_gets_the_changes() {
    let world = World::new(FilterConfig::default());
    let filter = world.install("eth_newFilter", "[{}]").await;
    world.fill().await;
    let ask = || world.call("eth_getFilterChanges", &filter);
    let (first, second, third) = tokio::join!(ask(), ask(), ask());
    let total: usize = [&first, &second, &third].iter().map(|logs| heights(logs).len()).sum();
    assert_eq!(total, 10);
    assert!(world.heights("eth_getFilterChanges", &filter).await.is_empty());
}

#[tokio::test]
async fn an_unused_filter_expires() {
    let world = World::new(FilterConfig::default());
    let filter = world.install("eth_newFilter", "[{}]").await;
    world.clock.advance(5 * MINUTES - 1);
    assert_eq!(world.call("eth_getFilterChanges", &filter).await, json!([]));
    world.clock.advance(5 * MINUTES - 1);
    assert_eq!(world.call("eth_getFilterLogs", &filter).await, json!([]));
    world.clock.advance(5 * MINUTES);
    let gone = json!({"code": -32000, "message": "filter not found"});
    for method in ["eth_getFilterChanges", "eth_getFilterLogs"] {
        assert_eq!(world.error(method, &filter).await, gone);
    }
    let filter = world.install("eth_newBlockFilter", "[]").await;
    world.clock.advance(5 * MINUTES);
    assert_eq!(world.call("eth_uninstallFilter", &filter).await, json!(false));
    // A clock that is set back ends none.
    let filter = world.install("eth_newBlockFilter", "[]").await;
    world.clock.set(world.clock.now_ms() - MINUTES);
    assert_eq!(world.call("eth_getFilterChanges", &filter).await, json!([]));
}

#[tokio::test]
async fn filters_in_use_are_counted_by_kind() {
    let world = World::new(FilterConfig::default());
    let counts = |blocks, logs, txs| [("blocks", blocks), ("logs", logs), ("transactions", txs)];
    assert_eq!(world.filters.counts(), counts(0, 0, 0));
    let first = world.install("eth_newFilter", "[{}]").await;
    world.install("eth_newFilter", "[{}]").await;
    world.install("eth_newPendingTransactionFilter", "[]").await;
    assert_eq!(world.filters.counts(), counts(0, 2, 1));
    assert_eq!(world.call("eth_uninstallFilter", &first).await, json!(true));
    assert_eq!(world.filters.counts(), counts(0, 1, 1));
    world.clock.advance(4 * MINUTES);
    world.install("eth_newBlockFilter", "[]").await;
    world.clock.advance(MINUTES);
    assert_eq!(world.filters.counts(), counts(1, 0, 0), "idle ones do not count");
}

#[tokio::test]
async fn the_number_of_filters_is_limited() {
    let world = World::new(FilterConfig { max_filters: 2, ..FilterConfig::default() });
    let first = world.install("eth_newBlockFilter", "[]").await;
    world.install("eth_newPendingTransactionFilter", "[]").await;
    let text = "too many filters: the node keeps 2 filters, each until it is uninstalled or not asked for 300 s";
    let full = json!({"code": -32005, "message": text});
    for method in ["eth_newBlockFilter", "eth_newPendingTransactionFilter"] {
        assert_eq!(world.error(method, "[]").await, full);
    }
    assert_eq!(world.call("eth_uninstallFilter", &first).await, json!(true));
    world.install("eth_newFilter", "[{}]").await;
    assert_eq!(world.error("eth_newFilter", "[{}]").await, full);
    // Those that nobody asks make room by themselves.
    world.clock.advance(5 * MINUTES);
    world.install("eth_newFilter", "[{}]").await;
    world.install("eth_newFilter", "[{}]").await;
    assert_eq!(world.error("eth_newFilter", "[{}]").await, full);
}

#[tokio::test]
async fn the_bytes_of_all_criteria_are_limited() {
    let world = World::new(FilterConfig { max_criteria_bytes: 100, ..FilterConfig::default() });
    let topics = |numbers: std::ops::Range<u32>| {
        let topics: Vec<_> = numbers.map(|number| format!("\"0x{number:064x}\"")).collect();
        format!("[{{\"topics\":[[{}]]}}]", topics.join(","))
    };
    let text = "too many filters: the node keeps filters with 100 bytes of addresses and topics, each until it is \
                uninstalled or not asked for 300 s";
    let full = json!({"code": -32005, "message": text});
    assert_eq!(world.error("eth_newFilter", &topics(0..4)).await, full);
    let two = world.install("eth_newFilter", &topics(0..2)).await;
    assert_eq!(world.error("eth_newFilter", &topics(0..2)).await, full);
    world.install("eth_newFilter", &topics(0..1)).await;
    world.install("eth_newFilter", "[{}]").await;
    assert_eq!(world.call("eth_uninstallFilter", &two).await, json!(true));
    world.install("eth_newFilter", &topics(5..7)).await;
    world.clock.advance(5 * MINUTES);
    world.install("eth_newFilter", &topics(0..3)).await;
}

#[tokio::test]
async fn one_client_cannot_take_all_filters() {
    let world = World::new(FilterConfig {
        max_filters: 5,
        max_client_filters: 2,
        max_criteria_bytes: 200,
        max_client_criteria_bytes: 64,
        ..FilterConfig::default()
    });
    let topics = format!("[{{\"topics\":[[\"0x{:064x}\",\"0x{:064x}\"]]}}]", 1, 2);
    let text = |what: &str| {
        format!(
            "too many filters: the node keeps {what}, each until it is uninstalled or not asked for 300 s"
        )
    };
    let message = |reply: &Value| reply["error"]["message"].as_str().unwrap_or_default().to_owned();
    let first = world.reply_to(1, "eth_newFilter", &topics).await["result"].clone();
    let more = world.reply_to(1, "eth_newFilter", &topics).await;
    assert_eq!(message(&more), text("filters with 64 bytes of addresses and topics of one client"));
    world.reply_to(1, "eth_newPendingTransactionFilter", "[]").await;
    for method in ["eth_newBlockFilter", "eth_newPendingTransactionFilter", "eth_newFilter"] {
        let params = if method == "eth_newFilter" { "[{}]" } else { "[]" };
        let refused = world.reply_to(1, method, params).await;
        assert_eq!(message(&refused), text("2 filters of one client"), "{method}");
        assert_eq!(refused["error"]["code"], -32005);
    }
    // Others have theirs, up to what there is for all.
    for last in [2, 2, 3] {
        let reply = world.reply_to(last, "eth_newBlockFilter", "[]").await;
        assert!(reply["result"].is_string(), "{reply}");
    }
    let full = world.reply_to(4, "eth_newBlockFilter", "[]").await;
    assert_eq!(message(&full), text("5 filters"));
    // Whoever uninstalls it, it is its client's that is free.
    assert_eq!(
        world.reply_to(2, "eth_uninstallFilter", &format!("[{first}]")).await["result"],
        true
    );
    let again = world.reply_to(1, "eth_newFilter", &topics).await;
    assert!(again["result"].is_string(), "{again}");
    world.clock.advance(5 * MINUTES);
    for _ in 0..2 {
        let reply = world.reply_to(1, "eth_newBlockFilter", "[]").await;
        assert!(reply["result"].is_string(), "idle ones do not count: {reply}");
    }
}

#[tokio::test]
async fn ids_are_random_and_short() {
    let world = World::new(FilterConfig::default());
    let id = world.call("eth_newBlockFilter", "[]").await;
    // The test's randomness is 01 01 ...
    assert_eq!(id, format!("0x1{}", "01".repeat(15)));
    let padded = format!("[\"0x{}\"]", "01".repeat(16));
    let error = world.error("eth_getFilterChanges", &padded).await;
    assert_eq!(error["message"], "filter not found");
}

#[tokio::test]
async fn logs_of_a_block_by_its_hash() {
    let world = World::new(FilterConfig::default());
    let mut blocks = blocks();
    let later = blocks.split_off(6);
    for transactions in blocks {
        world.block(transactions).await;
    }
    let hash = world.evm.head().hash;
    let criteria = format!("[{{\"blockHash\":\"{hash}\"}}]");
    assert_eq!(world.heights("eth_getLogs", &criteria).await, [6; 6]);
    let filter = world.install("eth_newFilter", &criteria).await;
    for transactions in later {
        world.block(transactions).await;
    }
    assert_eq!(world.heights("eth_getFilterLogs", &filter).await, [6; 6]);
    // As in the reference, such a filter returns all new logs.
    assert_eq!(world.heights("eth_getFilterChanges", &filter).await, [7]);
    let unknown = format!("[{{\"blockHash\":\"0x{}\"}}]", "12".repeat(32));
    assert_eq!(world.error("eth_getLogs", &unknown).await["message"], "unknown block");
    let filter = world.install("eth_newFilter", &unknown).await;
    assert_eq!(world.error("eth_getFilterLogs", &filter).await["message"], "unknown block");
}

#[tokio::test]
async fn a_log_names_its_block_and_transaction() {
    let world = World::new(FilterConfig::default());
    world.fill().await;
    let logs = world.call("eth_getLogs", r#"[{"fromBlock":"0x6","toBlock":"0x6"}]"#).await;
    let place = |log: &Value| {
        (log["transactionIndex"].clone(), log["logIndex"].clone(), log["removed"].clone())
    };
    let places: Vec<_> = logs.as_array().unwrap().iter().map(place).collect();
    let expected = [(0, 0), (1, 1), (1, 2), (2, 3), (2, 4), (2, 5)]
        .map(|(tx, log)| (json!(format!("{tx:#x}")), json!(format!("{log:#x}")), json!(false)));
    assert_eq!(places, expected);
}

/// After a rewind a filter continues above the older head; logs that it has returned come again, as removed.
#[tokio::test]
async fn filters_go_on_after_blocks_were_taken_back() {
    let world = World::new(FilterConfig::default());
    world.machine.set_undo(Undo::Keep(UndoLimits::bundles(20))).await.unwrap();
    let logs = world.install("eth_newFilter", "[{}]").await;
    let hashes = world.install("eth_newBlockFilter", "[]").await;
    let slow = world.install("eth_newBlockFilter", "[]").await;
    world.fill().await;
    assert_eq!(world.heights("eth_getFilterChanges", &logs).await.len(), 10);
    let first = world.call("eth_getFilterChanges", &hashes).await;
    assert_eq!(first.as_array().unwrap().len(), 8);
    world.machine.rewind(5).await.unwrap();
    let removed = world.call("eth_getFilterChanges", &logs).await;
    let removed: Vec<_> = removed
        .as_array()
        .unwrap()
        .iter()
        .map(|log| (&log["blockNumber"], &log["removed"]))
        .collect();
    let (six, seven, yes) = (json!("0x6"), json!("0x7"), json!(true));
    assert_eq!((removed.len(), removed[0], removed[6]), (7, (&six, &yes), (&seven, &yes)));
    for filter in [&logs, &hashes] {
        assert_eq!(world.call("eth_getFilterChanges", filter).await, json!([]));
    }
    // One is never asked until the end; the other one between.
    let again: Vec<_> = blocks().into_iter().skip(5).collect();
    world.block(again[0].clone()).await;
    let changes = world.call("eth_getFilterChanges", &hashes).await;
    assert_eq!(changes, json!([world.evm.head().hash.to_string()]));
    assert_eq!(world.heights("eth_getFilterChanges", &logs).await, [6; 6]);
    world.machine.rewind(4).await.unwrap();
    world.machine.rewind(3).await.unwrap();
    for transactions in blocks().into_iter().skip(3) {
        world.block(transactions).await;
    }
    let changes = world.call("eth_getFilterChanges", &hashes).await;
    assert_eq!(changes.as_array().unwrap().len(), 5, "blocks 4 to 8");
    // First what was removed with the first of the two rewinds, then what with the second.
    let expected = [5, 5, 6, 6, 6, 6, 6, 6, 4, 4, 5, 5, 6, 6, 6, 6, 6, 6, 7];
    assert_eq!(world.heights("eth_getFilterChanges", &logs).await, expected);
    let all = world.call("eth_getFilterChanges", &slow).await;
    let (all, first) = (all.as_array().unwrap(), first.as_array().unwrap());
    assert_eq!((all.len(), &all[..3]), (8, &first[..3]));
    assert_eq!(all[3..], changes.as_array().unwrap()[..]);
    for filter in [&logs, &hashes, &slow] {
        assert_eq!(world.call("eth_getFilterChanges", filter).await, json!([]));
    }
    // A search without a filter is over the chain as it is.
    assert_eq!(world.heights("eth_getLogs", r#"[{"fromBlock":"0x0"}]"#).await.len(), 10);
}
