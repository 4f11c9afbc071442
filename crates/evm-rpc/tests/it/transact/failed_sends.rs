//! Sends whose transaction fails in its block, answered to Hardhat as by its own node.

use std::time::Duration;

use esker_evm_rpc::evm::{FailedSends, TransactConfig};
use esker_rpc::Caller;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::world::World;

const HELD: &str = "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc";
const HARDHAT: &str = "hardhat 2.29.1";
/// Makes a contract whose constructor ends with `revert("closed")`.
const REVERTS: &str = "0x6064600c60003960646000fd08c379a000000000000000000000000000000000000000000000000000000000000000200000000000000000000000000000000000000000000000000000000000000006636c6f7365640000000000000000000000000000000000000000000000000000";
/// Makes a contract without code.
const STOPS: &str = "0x00";
/// No wait of these tests takes longer unless something is broken.
const DEADLINE: Duration = Duration::from_secs(20);

fn world(failed_sends: FailedSends) -> World {
    World::waiting_with(TransactConfig { failed_sends, ..TransactConfig::default() })
}

fn program(name: &str) -> Caller {
    let program = (!name.is_empty()).then(|| bytes::Bytes::copy_from_slice(name.as_bytes()));
    Caller { program, ..Caller::default() }
}

fn body(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// The reply to a message of a program, while blocks are made of what waits.
async fn reply(world: &World, name: &str, message: &Value) -> Value {
    let (caller, message) = (program(name), message.to_string());
    let blocks = async {
        loop {
            world.settle().await;
            tokio::task::yield_now().await;
        }
    };
    let replied = async {
        tokio::select! {
            reply = world.reply_to(&caller, &message) => reply,
            () = blocks => unreachable!("blocks are made for ever"),
        }
    };
    timeout(DEADLINE, replied).await.expect("the send is answered")
}

fn tx(data: &str, nonce: u64) -> Value {
    json!({
        "from": HELD, "data": data, "gas": "0x186a0", "gasPrice": "0x45d964b800",
        "nonce": format!("{nonce:#x}"),
    })
}

async fn raw(world: &World, tx: &Value) -> Value {
    let signed = world.call("eth_signTransaction", &json!([tx]).to_string()).await;
    signed["result"]["raw"].clone()
}

/// Status of the only transaction in the last block.
async fn last_status(world: &World) -> Value {
    let block = world.call("eth_getBlockByNumber", r#"["latest",false]"#).await;
    let hash = &block["result"]["transactions"][0];
    status(world, hash).await
}

/// Status of a transaction; null without a receipt.
async fn status(world: &World, hash: &Value) -> Value {
    let receipt = world.call("eth_getTransactionReceipt", &json!([hash]).to_string()).await;
    receipt["result"]["status"].clone()
}

fn assert_refused(reply: &Value) {
    let error = &reply["error"];
    assert_eq!(error["code"], 3, "{reply}");
    assert_eq!(
        error["message"],
        "VM Exception while processing transaction: reverted with reason string 'closed'"
    );
    assert_eq!(error["data"], format!("0x{}", &REVERTS[26..]));
}

#[tokio::test]
async fn hardhat_gets_an_error_of_a_transaction_that_is_mined() {
    let world = world(FailedSends::ErrorToHardhat);
    let mut nonce = 0;
    for name in [HARDHAT, "Hardhat 3.1.0"] {
        let send = body("eth_sendTransaction", &json!([tx(REVERTS, nonce)]));
        assert_refused(&reply(&world, name, &send).await);
        assert_eq!(last_status(&world).await, "0x0");
        let bytes = raw(&world, &tx(REVERTS, nonce + 1)).await;
        let send = body("eth_sendRawTransaction", &json!([bytes]));
        assert_refused(&reply(&world, name, &send).await);
        assert_eq!(last_status(&world).await, "0x0");
        // Out of gas, which has no data of its own.
        let send = body("eth_sendTransaction", &json!([tx("0x5b600056", nonce + 2)]));
        let refused = reply(&world, name, &send).await;
        assert_eq!(refused["error"]["code"], -32000, "{refused}");
        assert_eq!(refused["error"]["data"], "0x");
        nonce += 3;
        let height = world.call("eth_blockNumber", "[]").await;
        assert_eq!(height["result"], format!("{nonce:#x}"));
    }
    // A transaction that succeeds is answered with its hash.
    let send = body("eth_sendTransaction", &json!([tx(STOPS, nonce)]));
    let sent = reply(&world, HARDHAT, &send).await;
    assert_eq!(status(&world, &sent["result"]).await, "0x1", "{sent}");
}

#[tokio::test]
async fn other_programs_get_its_hash() {
    for (setting, name) in [
        (FailedSends::ErrorToHardhat, ""),
        (FailedSends::ErrorToHardhat, "node"),
        (FailedSends::ErrorToHardhat, "hardhat-deploy/1"),
        (FailedSends::Hash, HARDHAT),
    ] {
        let world = world(setting);
        let bytes = raw(&world, &tx(REVERTS, 0)).await;
        let sends = [
            body("eth_sendRawTransaction", &json!([bytes])),
            body("eth_sendTransaction", &json!([tx(REVERTS, 1)])),
        ];
        for send in sends {
            let sent = reply(&world, name, &send).await;
            assert_eq!(status(&world, &sent["result"]).await, "0x0", "{setting:?} {name}: {sent}");
        }
    }
    let world = world(FailedSends::Error);
    let send = body("eth_sendTransaction", &json!([tx(REVERTS, 0)]));
    assert_refused(&reply(&world, "", &send).await);
}

#[tokio::test]
async fn each_call_of_a_batch_has_its_own_answer() {
    let world = world(FailedSends::ErrorToHardhat);
    let sends = [REVERTS, STOPS, REVERTS, STOPS].into_iter().enumerate();
    let sends = sends.map(|(at, data)| {
        let nonce = u64::try_from(at).unwrap();
        body("eth_sendTransaction", &json!([tx(data, nonce)]))
    });
    let replies = reply(&world, HARDHAT, &Value::Array(sends.collect())).await;
    let replies = replies.as_array().unwrap();
    assert_eq!(replies.len(), 4);
    for (at, reply) in replies.iter().enumerate() {
        match at % 2 {
            0 => assert_refused(reply),
            _ => assert!(reply["result"].is_string(), "{reply}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_send_that_misses_the_wait_is_answered_with_its_hash() {
    let world = world(FailedSends::ErrorToHardhat);
    // No block comes, so its wait has an end.
    let send = body("eth_sendTransaction", &json!([tx(REVERTS, 0)])).to_string();
    let late = world.reply_to(&program(HARDHAT), &send).await;
    // This one can't get into the next block.
    let send = body("eth_sendTransaction", &json!([tx(REVERTS, 2)])).to_string();
    let gapped = world.reply_to(&program(HARDHAT), &send).await;
    for sent in [&late, &gapped] {
        assert!(sent["result"].is_string(), "{sent}");
        assert_eq!(status(&world, &sent["result"]).await, Value::Null, "{sent}");
    }
    world.settle().await;
    assert_eq!(status(&world, &late["result"]).await, "0x0", "{late}");
}

#[tokio::test]
async fn a_resent_transaction_is_answered_in_the_same_way() {
    let world = world(FailedSends::ErrorToHardhat);
    // Below the base fee: it waits, until it is sent again at a better price.
    let mut waiting = tx(REVERTS, 0);
    waiting["gasPrice"] = json!("0x3b9aca00");
    let send = body("eth_sendTransaction", &json!([waiting]));
    let sent = reply(&world, HARDHAT, &send).await;
    assert!(sent["result"].is_string(), "{sent}");
    let resend = body("eth_resend", &json!([waiting, "0x45d964b800"]));
    assert_refused(&reply(&world, HARDHAT, &resend).await);
    assert_eq!(last_status(&world).await, "0x0");
}
