//! Transactions that wait.

use alloy_primitives::hex;
use serde_json::json;

use crate::golden;
use crate::world::{Setup, World};

/// The second and the first transaction of one account, as recorded.
fn raw() -> [Vec<u8>; 2] {
    let sent = golden::exchanges("golden/c/state-1.io").into_iter().filter_map(|exchange| {
        let request: serde_json::Value = serde_json::from_str(&exchange.body).ok()?;
        let sends = request["method"] == "eth_sendRawTransaction";
        sends.then(|| hex::decode(request["params"][0].as_str().unwrap()).unwrap())
    });
    let [first, second]: [_; 2] = sent.take(2).collect::<Vec<_>>().try_into().unwrap();
    [second, first]
}

#[tokio::test]
async fn a_waiting_transaction_is_shown_without_a_block() {
    let world = World::new(Setup::ARCHIVE);
    let sender = r#""0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc""#;
    let [second, first] = raw();
    let hash = world.submit(&second).unwrap();
    let shown = world.call("eth_getTransactionByHash", &format!("[\"{hash}\"]")).await;
    for member in ["blockHash", "blockNumber", "transactionIndex"] {
        assert_eq!(shown[member], json!(null), "{member}");
    }
    assert_eq!((&shown["nonce"], &shown["gasPrice"]), (&json!("0x1"), &json!("0x12309ce54000")));
    assert_eq!(shown["from"], "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");
    let raw = world.call("eth_getRawTransactionByHash", &format!("[\"{hash}\"]")).await;
    assert_eq!(raw, hex::encode_prefixed(&second));
    assert_eq!(
        world.call("eth_getTransactionReceipt", &format!("[\"{hash}\"]")).await,
        json!(null)
    );

    // A gap: only what is executable counts.
    let count = |tag: &str| format!("[{sender},\"{tag}\"]");
    assert_eq!(world.call("eth_getTransactionCount", &count("pending")).await, "0x0");
    world.submit(&first).unwrap();
    assert_eq!(world.call("eth_getTransactionCount", &count("pending")).await, "0x2");
    assert_eq!(world.call("eth_getTransactionCount", &count("latest")).await, "0x0");
    world.settle().await;
    assert_eq!(world.call("eth_getTransactionCount", &count("latest")).await, "0x2");
    assert_eq!(world.call("eth_getTransactionCount", &count("pending")).await, "0x2");
    let shown = world.call("eth_getTransactionByHash", &format!("[\"{hash}\"]")).await;
    assert_eq!(shown["transactionIndex"], "0x1");
    assert_eq!(shown["blockHash"], world.head().hash.to_string());
}

#[tokio::test]
async fn both_names_of_the_namespace_are_served() {
    let world = World::new(Setup::ARCHIVE);
    for method in ["evm_chainId", "eth_chainId"] {
        assert_eq!(world.call(method, "[]").await, "0xa868");
    }
    assert_eq!(world.call("evm_blobBaseFee", "[]").await, "0x1");
    assert_eq!(world.call("eth_getBadBlocks", "[]").await, json!([]));
}
