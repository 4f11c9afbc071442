//! Filters for logs whose range begins before the fork.

use serde_json::{Value, json};

use crate::fork::{Chain, FROM, start, url};

/// Init code of a contract that writes a log with the topic that it is given.
const LOGGER: &str = "0x600980600b6000396000f360003560006000a100";

fn word(n: u64) -> String {
    format!("{n:#066x}")
}

async fn log(chain: &mut Chain, logger: &Value, topic: u64) -> Value {
    let tx = json!({"from": FROM, "to": logger, "data": word(topic), "gas": "0x30000"});
    chain.send(tx).await
}

/// The number of logs that a new filter finds. They are those of `eth_getLogs`.
async fn found(chain: &mut Chain, filter: Value) -> usize {
    let id = chain.ask("eth_newFilter", json!([filter])).await;
    let logs = chain.ask("eth_getFilterLogs", json!([id])).await;
    assert_eq!(logs, chain.ask("eth_getLogs", json!([filter])).await, "{filter}");
    assert_eq!(chain.ask("eth_getFilterChanges", json!([id])).await, json!([]), "{filter}");
    assert_eq!(chain.ask("eth_uninstallFilter", json!([id])).await, true);
    logs.as_array().unwrap().len()
}

async fn error(chain: &mut Chain, method: &str, params: Value) -> String {
    let reply = chain.reply(method, params).await;
    reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{method}: {reply}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_find_the_logs_of_both_chains() {
    let node = start(&[]).await.unwrap();
    let mut source = Chain::of(&node).await;
    let logger = source.deploy(LOGGER).await;
    let mut blocks = Vec::new();
    for topic in [1, 2, 1] {
        blocks.push(log(&mut source, &logger, topic).await["blockHash"].take());
    }
    let forked = start(&[("fork-url", &url(&node))]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let other = json!("0x00000000000000000000000000000000000000bb");
    // Without blocks of its own, and with two.
    for own in [0, 2] {
        for topic in (1..=2).filter(|_| own > 0) {
            log(&mut fork, &logger, topic).await;
        }
        for (filter, count) in [
            (json!({"fromBlock": "earliest"}), 3 + own),
            (json!({"fromBlock": "0x0", "toBlock": "latest"}), 3 + own),
            (json!({"fromBlock": "0x3", "toBlock": "latest"}), 2 + own),
            (json!({"fromBlock": "0x0", "toBlock": "0x3"}), 2),
            (json!({"fromBlock": "0x4", "toBlock": "0x4"}), 1),
            (json!({"fromBlock": "0x0", "topics": [word(1)]}), 2 + own / 2),
            (json!({"fromBlock": "0x0", "topics": [[word(1), word(2)]]}), 3 + own),
            (json!({"fromBlock": "0x0", "topics": [null]}), 3 + own),
            (json!({"fromBlock": "0x0", "topics": [null, word(1)]}), 0),
            (json!({"fromBlock": "0x0", "address": logger}), 3 + own),
            (json!({"fromBlock": "0x0", "address": [other, logger]}), 3 + own),
            (json!({"fromBlock": "0x0", "address": other}), 0),
            (json!({"blockHash": blocks[1]}), 1),
            (json!({"blockHash": blocks[2], "topics": [word(2)]}), 0),
        ] {
            assert_eq!(found(&mut fork, filter.clone()).await, count, "{own} own: {filter}");
        }
    }
    assert_eq!(found(&mut fork, json!({"fromBlock": "0x5"})).await, 2);
    let id = json!(["0x1"]);
    assert_eq!(error(&mut fork, "eth_getFilterLogs", id).await, "filter not found");
    let unknown = json!([{"blockHash": word(7)}]);
    assert!(error(&mut fork, "eth_getLogs", unknown).await.contains("unknown block"));
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_those_since_the_filter() {
    let node = start(&[]).await.unwrap();
    let mut source = Chain::of(&node).await;
    let logger = source.deploy(LOGGER).await;
    log(&mut source, &logger, 1).await;
    let forked = start(&[("fork-url", &url(&node))]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let logs = fork.ask("eth_newFilter", json!([{"fromBlock": "0x0"}])).await;
    let blocks = fork.ask("eth_newBlockFilter", json!([])).await;
    for round in 0..2 {
        assert_eq!(fork.ask("eth_getFilterChanges", json!([logs])).await, json!([]));
        let sent = log(&mut fork, &logger, 7).await;
        let changes = fork.ask("eth_getFilterChanges", json!([logs])).await;
        assert_eq!(changes[0]["transactionHash"], sent["transactionHash"], "{round}: {changes}");
        assert_eq!(changes.as_array().unwrap().len(), 1);
        let changes = fork.ask("eth_getFilterChanges", json!([blocks])).await;
        assert_eq!(changes, json!([sent["blockHash"]]));
    }
    // Back to the fork's block: the removed logs are reported.
    fork.ask("anvil_reset", json!([{"forking": {}}])).await;
    let changes = fork.ask("eth_getFilterChanges", json!([logs])).await;
    let removed = changes.as_array().unwrap();
    assert!(removed.len() == 2 && removed.iter().all(|log| log["removed"] == true), "{changes}");
    assert_eq!(fork.ask("eth_getFilterLogs", json!([logs])).await.as_array().unwrap().len(), 1);
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_source_filters_find_their_own_logs() {
    let node = start(&[]).await.unwrap();
    let mut source = Chain::of(&node).await;
    let logger = source.deploy(LOGGER).await;
    let (url_of, folder) = (url(&node), tempfile::tempdir().unwrap());
    let data = ("data-dir", folder.path().to_str().unwrap());
    let forked = start(&[data, ("fork-url", &url_of)]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    log(&mut fork, &logger, 1).await;
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
    let forked = start(&[data]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let id = fork.ask("eth_newFilter", json!([{"fromBlock": "0x0"}])).await;
    let text = error(&mut fork, "eth_getFilterLogs", json!([id])).await;
    assert!(text.contains("eth_getFilterLogs is about the other chain up to block 1"), "{text}");
    assert_eq!(found(&mut fork, json!({"fromBlock": "0x2"})).await, 1);
    forked.stop().await.unwrap();
}
