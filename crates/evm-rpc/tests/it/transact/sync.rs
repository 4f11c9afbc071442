//! Sending and waiting for the receipt in one call.

use std::time::Duration;

use alloy_consensus::{TxLegacy, TypedTransaction};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, Bytes, TxKind, U256, hex};
use esker_evm::accounts::{AccountManager, KeyRing, WELL_KNOWN_KEY, sign_transaction};
use esker_evm_rpc::evm::{MAX_RECEIPT_WAITS, TransactConfig};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::world::World;

fn world() -> World {
    World::new(TransactConfig::default(), false)
}

/// A signed transfer and its hash.
fn transfer(nonce: u64) -> (String, String) {
    let keys = KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap();
    let tx = TxLegacy {
        chain_id: Some(43112),
        nonce,
        gas_price: 1_000_000_000_000,
        gas_limit: 21_000,
        to: TxKind::Call(Address::repeat_byte(2)),
        value: U256::from(1),
        input: Bytes::new(),
    };
    let tx = sign_transaction(&keys, &keys.accounts()[0], TypedTransaction::Legacy(tx)).unwrap();
    (hex::encode_prefixed(tx.encoded_2718()), tx.tx_hash().to_string())
}

/// The account of the node.
fn holder() -> Address {
    KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap().accounts()[0]
}

async fn send(world: &World, params: Value) -> Value {
    world.call("eth_sendRawTransactionSync", &params.to_string()).await
}

/// Sends a transaction that the node signs.
async fn send_own(world: &World, params: Value) -> Value {
    world.call("eth_sendTransactionSync", &params.to_string()).await
}

/// Makes blocks as soon as something waits, and gives the answer.
async fn send_while_blocks_come(world: &World, params: Value) -> Value {
    while_blocks_come(world, send(world, params)).await
}

async fn while_blocks_come(world: &World, sent: impl Future<Output = Value>) -> Value {
    tokio::pin!(sent);
    loop {
        tokio::select! {
            biased;
            reply = &mut sent => return reply,
            () = world.settle() => tokio::task::yield_now().await,
        }
    }
}

fn timed_out(hash: &str, wait: &str) -> Value {
    let text =
        format!("The transaction was added to the transaction pool but wasn't processed in {wait}");
    json!({"code": 4, "message": text, "data": hash})
}

#[tokio::test]
async fn the_receipt_is_the_answer() {
    let world = world();
    for (nonce, wait) in
        [json!([]), json!([null]), json!([5000]), json!(["0x1388"])].iter().enumerate()
    {
        let (raw, hash) = transfer(nonce as u64);
        let mut params = vec![json!(raw)];
        params.extend(wait.as_array().unwrap().clone());
        let reply = send_while_blocks_come(&world, json!(params)).await;
        let receipt = world.call("eth_getTransactionReceipt", &json!([hash]).to_string()).await;
        assert_eq!(reply["result"], receipt["result"], "{reply}");
        assert_eq!(reply["result"]["transactionHash"], hash);
    }
    let (raw, _) = transfer(0);
    let reply = send(&world, json!([raw])).await;
    let text = "nonce too low: next nonce 4, tx nonce 0";
    assert_eq!(reply["error"], json!({"code": -32000, "message": text}), "returned at once");
}

#[tokio::test]
async fn the_node_completes_and_signs() {
    let world = world();
    let (from, to) = (holder(), Address::repeat_byte(2));
    let complete = json!({"from": from, "to": to, "gas": "0x5208", "gasPrice": "0xe8d4a51000", "nonce": "0x1"});
    for (nonce, params) in [
        json!([{"from": from, "to": to, "value": "0x1"}]),
        json!([complete, null]),
        json!([{"from": from, "to": to}, 5000]),
        json!([{"from": from, "input": "0x00"}, "0x1388"]),
    ]
    .into_iter()
    .enumerate()
    {
        let reply = while_blocks_come(&world, send_own(&world, params)).await;
        let hash = &reply["result"]["transactionHash"];
        let receipt = world.call("eth_getTransactionReceipt", &json!([hash]).to_string()).await;
        assert_eq!(reply["result"], receipt["result"], "{reply}");
        let sent = world.call("eth_getTransactionByHash", &json!([hash]).to_string()).await;
        assert_eq!(sent["result"]["nonce"], format!("{nonce:#x}"), "{sent}");
    }
    // One that fails in its block has a receipt, too.
    let fails = json!([{"from": from, "input": "0xfe", "gas": "0x186a0"}]);
    let reply = while_blocks_come(&world, send_own(&world, fails)).await;
    assert_eq!(reply["result"]["status"], "0x0", "{reply}");
}

#[tokio::test]
async fn what_the_node_cannot_send_is_refused_at_once() {
    let world = world();
    let to = Address::repeat_byte(2);
    let tx = json!({"from": holder(), "to": to});
    let check = async |params: Value, code: i64, text: &str| {
        let reply = send_own(&world, params.clone()).await;
        assert_eq!(reply["error"]["code"], code, "{params}: {reply}");
        assert_eq!(reply["error"]["message"], text, "{params}");
    };
    check(json!([]), -32602, "missing value for required argument 0").await;
    check(json!([tx, 1, 2]), -32602, "too many arguments, want at most 2").await;
    check(json!([tx, 1.5]), -32602, "invalid argument 1: invalid hex or decimal integer \"1.5\"")
        .await;
    check(json!([{"from": to, "to": to}]), -32000, "unknown account").await;
    check(json!([{"from": holder()}]), -32000, "contract creation without any data provided").await;
    check(json!([{"from": holder(), "input": "0x60006000fd"}]), -32000, "execution reverted").await;
    assert_eq!(world.call("txpool_status", "[]").await["result"]["pending"], "0x0");
}

#[tokio::test(start_paused = true)]
async fn a_timed_out_wait_returns_the_hash() {
    let world = world();
    let (raw, hash) = transfer(0);
    let reply = send(&world, json!([raw, 1500])).await;
    assert_eq!(reply["error"], timed_out(&hash, "1.5s"));
    // It waits in the pool all the same.
    let status = world.call("txpool_status", "[]").await;
    assert_eq!(status["result"]["pending"], "0x1");
    let reply = send(&world, json!([raw])).await;
    assert_eq!(reply["error"], json!({"code": -32000, "message": "already known"}));

    let tx = json!({"from": holder(), "to": Address::repeat_byte(2)});
    let reply = send_own(&world, json!([tx, 1500])).await;
    let hash = reply["error"]["data"].as_str().unwrap();
    assert_eq!(reply["error"], timed_out(hash, "1.5s"));
    let sent = world.call("eth_getTransactionByHash", &json!([hash]).to_string()).await;
    assert_eq!(sent["result"]["nonce"], "0x1");

    // Without a time, with none, with more than there is.
    for (nonce, wait, text) in
        [(5, json!(null), "20s"), (6, json!(0), "20s"), (7, json!(60_000), "25s")]
    {
        let (raw, hash) = transfer(nonce);
        let reply = send(&world, json!([raw, wait])).await;
        assert_eq!(reply["error"], timed_out(&hash, text));
    }
}

#[tokio::test]
async fn what_is_no_transaction_is_refused_at_once() {
    let world = world();
    let check = async |params: Value, code: i64, text: &str| {
        let reply = send(&world, params.clone()).await;
        assert_eq!(reply["error"], json!({"code": code, "message": text}), "{params}");
    };
    check(json!([]), -32602, "missing value for required argument 0").await;
    check(json!(["0x"]), -32000, "typed transaction too short").await;
    check(json!(["0x", -1]), -32602, "invalid argument 1: invalid hex or decimal integer \"-1\"")
        .await;
    check(json!(["0x", 1.5]), -32602, "invalid argument 1: invalid hex or decimal integer \"1.5\"")
        .await;
    check(json!(["0x", 1, 2]), -32602, "too many arguments, want at most 2").await;
}

// In real time: the senders are recovered on threads that a paused clock would not wait for.
#[tokio::test]
async fn the_number_of_waits_is_limited() {
    const REFUSAL: &str = "too many calls wait for a receipt: use sendRawTransaction";
    let world = world();
    // No block is made, so that they wait until their clients leave.
    let waiting = join_all((0..MAX_RECEIPT_WAITS as u64).map(|nonce| {
        let (raw, _) = transfer(nonce);
        send(&world, json!([raw, 25_000]))
    }));
    // Whoever waits has put its transaction into the pool.
    let all_wait = async {
        let all = json!(format!("{MAX_RECEIPT_WAITS:#x}"));
        while world.call("txpool_status", "[]").await["result"]["pending"] != all {
            tokio::task::yield_now().await;
        }
    };
    let (raw, hash) = transfer(MAX_RECEIPT_WAITS as u64);
    tokio::select! {
        replies = waiting => panic!("nobody waited: {replies:?}"),
        waited = timeout(Duration::from_secs(60), async {
            all_wait.await;
            let refused = send(&world, json!([raw, 25_000])).await;
            assert_eq!(refused["error"]["message"], REFUSAL);
            let own = send_own(&world, json!([{"from": holder(), "to": holder()}])).await;
            let text = REFUSAL.replace("Raw", "");
            assert_eq!(own["error"]["message"], text);
        }) => waited.expect("all places are taken"),
    }
    // The places of clients that left are free.
    assert_eq!(send(&world, json!([raw, 1])).await["error"], timed_out(&hash, "1ms"));
}

/// Waits for all of them at once.
async fn join_all(calls: impl Iterator<Item = impl Future<Output = Value>>) -> Vec<Value> {
    let mut calls: Vec<_> = calls.map(Box::pin).collect();
    let mut replies = vec![None; calls.len()];
    std::future::poll_fn(|cx| {
        for (call, reply) in calls.iter_mut().zip(&mut replies) {
            if reply.is_none()
                && let std::task::Poll::Ready(answer) = call.as_mut().poll(cx)
            {
                *reply = Some(answer);
            }
        }
        match replies.iter().all(Option::is_some) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    replies.into_iter().flatten().collect()
}
