//! The methods of `trace` on a fork: what was before it is the source's.

use serde_json::{Value, json};

use crate::fork::{Chain, FROM, OTHER, source, start, url};

#[tokio::test(flavor = "multi_thread")]
async fn the_source_answers_for_what_was_before_the_fork() {
    let (node, mut source, _) = source().await;
    let first = source.ask("eth_getBlockByNumber", json!(["0x1", true])).await;
    let tx = first["transactions"][0]["hash"].clone();
    let raw = source.ask("eth_getRawTransactionByHash", json!([tx])).await;
    let types = json!(["trace", "stateDiff", "vmTrace"]);
    let forked = start(&[("fork-url", &url(&node))]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let call = json!({"from": FROM, "to": OTHER, "value": "0x5"});
    for (method, params) in [
        ("trace_transaction", json!([tx])),
        ("trace_get", json!([tx, []])),
        ("trace_block", json!(["0x1"])),
        ("trace_block", json!([first["hash"]])),
        ("trace_replayTransaction", json!([tx, types])),
        ("trace_replayBlockTransactions", json!(["0x1", types])),
        ("trace_call", json!([call, types, "0x1"])),
        ("trace_callMany", json!([[[call, types], [call, types]], "0x1"])),
        ("trace_rawTransaction", json!([raw, types, "0x0"])),
        ("trace_filter", json!([{"fromBlock": "0x1", "toBlock": "0x2"}])),
    ] {
        let expected = source.ask(method, params.clone()).await;
        assert_ne!(expected, Value::Null, "{method}");
        assert_eq!(fork.ask(method, params.clone()).await, expected, "{method} {params}");
    }

    // Blocks and calls of the fork are its own.
    let own = fork.send(call.clone()).await;
    let traces = fork.ask("trace_transaction", json!([own["transactionHash"]])).await;
    assert_eq!(traces[0]["blockNumber"], 5);
    assert_eq!(fork.ask("trace_block", json!(["latest"])).await, traces);
    assert_eq!(fork.ask("trace_filter", json!([{"fromBlock": "0x5"}])).await, traces);
    let called = fork.ask("trace_call", json!([call, ["trace"]])).await;
    assert_eq!(called["trace"][0]["action"]["value"], "0x5");
    // A range that begins before the fork and ends after it has no answer.
    for filter in [json!({}), json!({"fromBlock": "0x1"})] {
        let reply = fork.reply("trace_filter", json!([filter])).await;
        assert_eq!(reply["error"]["code"], 4444, "{reply}");
    }
    let unknown = json!([format!("0x{}", "12".repeat(32))]);
    assert_eq!(fork.ask("trace_transaction", unknown).await, Value::Null);
}
