//! Sends that are answered when their block is there.

use std::time::Duration;

use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, address, hex};
use esker_chain::forward::SendAnswer;
use esker_evm_state::types::Transaction;
use futures_util::FutureExt;
use serde_json::json;
use tokio::time::timeout;

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");
/// More than the base fee, wei.
const PRICE: u64 = 300_000_000_000;
/// No wait of these tests takes longer unless something is broken.
const DEADLINE: Duration = Duration::from_secs(20);

async fn signed(world: &World, nonce: u64, price: u64) -> Transaction {
    let args = json!([{
        "from": HELD, "to": HELD, "gas": "0x5208", "gasPrice": format!("{price:#x}"), "nonce": format!("{nonce:#x}"),
    }]);
    let reply = world.call("eth_signTransaction", &args.to_string()).await;
    let raw = hex::decode(reply["result"]["raw"].as_str().unwrap()).unwrap();
    Transaction::decode_2718_exact(&raw).unwrap()
}

#[tokio::test]
async fn what_the_next_block_can_have_waits_for_it() {
    let world = World::waiting();
    let mut answers = Vec::new();
    for (nonce, price) in [(0, PRICE), (1, PRICE), (2, 1_000_000_000), (3, PRICE), (5, PRICE)] {
        let tx = signed(&world, nonce, price).await;
        answers.push(world.evm.submit_and_forward(tx).unwrap().answer);
    }
    let waits: Vec<_> =
        answers.iter().map(|answer| matches!(answer, SendAnswer::Block(_))).collect();
    // One whose price is too low, and one whose nonce is, wait for something else than the next block.
    assert_eq!(waits, [true, true, false, true, false]);
    let [first, second, _, behind, _] = answers.try_into().unwrap();
    world.settle().await;
    for answer in [first, second] {
        assert_eq!(answer.wait().now_or_never(), Some(Ok(())));
    }
    // It is behind the one with the low price. A build that makes no block lets it go.
    let SendAnswer::Block(wait) = behind else { panic!("it waits") };
    let build = async {
        loop {
            let (height, parent) = world.last_final();
            world.propose_at(height + 1, parent).await;
        }
    };
    let over = async {
        tokio::select! {
            () = wait.over() => {}
            () = build => unreachable!("there is nothing to build"),
        }
    };
    timeout(DEADLINE, over).await.expect("the wait ends");
}

#[tokio::test]
async fn a_replaced_transaction_waits_no_longer() {
    let world = World::waiting();
    let tx = signed(&world, 0, PRICE).await;
    let replaced = world.evm.submit_and_forward(tx).unwrap().answer;
    let tx = signed(&world, 0, 2 * PRICE).await;
    let replacement = world.evm.submit_and_forward(tx).unwrap().answer;
    assert!(matches!(replaced, SendAnswer::Block(_)));
    world.settle().await;
    for answer in [replaced, replacement] {
        assert_eq!(answer.wait().now_or_never(), Some(Ok(())));
    }
}

#[tokio::test]
async fn a_synchronous_send_has_its_own_time() {
    let world = World::waiting();
    let args = json!([{
        "from": HELD, "to": HELD, "gas": "0x5208", "gasPrice": format!("{PRICE:#x}"), "nonce": "0x0",
    }]);
    let reply = world.call("eth_signTransaction", &args.to_string()).await;
    let raw = reply["result"]["raw"].clone();
    let late = world.call("eth_sendRawTransactionSync", &json!([raw, 1]).to_string()).await;
    assert_eq!(late["error"]["code"], 4, "{late}");
}
