//! The methods of `ots` on a fork: what was before it is the source's.

use serde_json::{Value, json};

use crate::fork::{Chain, FROM, OTHER, source, start, url};

fn hashes(page: &Value) -> Vec<&Value> {
    page["txs"].as_array().unwrap().iter().map(|tx| &tx["hash"]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_source_answers_for_what_was_before_the_fork() {
    let (node, mut source, [counter, _]) = source().await;
    let first = source.ask("eth_getBlockByNumber", json!(["0x1", true])).await;
    let tx = first["transactions"][0]["hash"].clone();
    let of_source = source.ask("ots_searchTransactionsBefore", json!([OTHER, 0, 25])).await;
    assert_eq!(hashes(&of_source), [&tx]);

    let forked = start(&[("fork-url", &url(&node))]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    // The source goes on: its later blocks are not those of the fork.
    source.send(json!({"from": FROM, "to": OTHER, "value": "0x5"})).await;
    for (method, params) in [
        ("ots_getBlockDetails", json!([1])),
        ("ots_getBlockDetailsByHash", json!([first["hash"]])),
        ("ots_getBlockTransactions", json!([1, 0, 25])),
        ("ots_getTransactionError", json!([tx])),
        ("ots_traceTransaction", json!([tx])),
        ("ots_getInternalOperations", json!([tx])),
        ("ots_hasCode", json!([counter, 1])),
        ("ots_getContractCreator", json!([counter])),
        ("ots_getTransactionBySenderAndNonce", json!([FROM, 0])),
        ("erigon_getHeaderByNumber", json!(["0x4"])),
    ] {
        let expected = source.ask(method, params.clone()).await;
        if method.starts_with("ots") {
            assert_eq!(fork.ask(method, params.clone()).await, expected, "{method} {params}");
        }
    }
    // Without transactions of its own the first page is the source's.
    let page = fork.ask("ots_searchTransactionsBefore", json!([OTHER, 0, 25])).await;
    assert_eq!(page, of_source);

    let own = fork.send(json!({"from": FROM, "to": OTHER, "value": "0x5"})).await;
    let page = fork.ask("ots_searchTransactionsBefore", json!([OTHER, 0, 25])).await;
    assert_eq!(hashes(&page), [&own["transactionHash"]]);
    assert_eq!((&page["firstPage"], &page["lastPage"]), (&json!(true), &json!(false)));
    let page = fork.ask("ots_searchTransactionsBefore", json!([OTHER, 5, 25])).await;
    assert_eq!(hashes(&page), [&tx]);
    assert_eq!((&page["firstPage"], &page["lastPage"]), (&json!(false), &json!(true)));
    let before = json!([OTHER, 1000, 25]);
    let page = fork.ask("ots_searchTransactionsBefore", before).await;
    assert_eq!(hashes(&page), [&own["transactionHash"]]);

    // The source's blocks after the fork can't be told from its older ones in this direction.
    let reply = fork.reply("ots_searchTransactionsAfter", json!([OTHER, 0, 25])).await;
    assert_eq!(reply["error"]["code"], 4444, "{reply}");
    let text = reply["error"]["message"].as_str().unwrap();
    assert!(text.contains("before block 5 are not known here"), "{text}");
    let page = fork.ask("ots_searchTransactionsAfter", json!([OTHER, 4, 25])).await;
    assert_eq!(hashes(&page), [&own["transactionHash"]]);
}
