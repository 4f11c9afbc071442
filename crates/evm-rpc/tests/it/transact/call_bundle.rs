//! `callBundle`: signed transactions in sequence, without sending them.

use alloy_primitives::{Address, B256, address, keccak256};
use esker_evm_rpc::evm::TransactConfig;
use serde_json::{Value, json};

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");
const A: Address = address!("0xc000000000000000000000000000000000000000");
/// More than the base fee, wei.
const PRICE: u64 = 300_000_000_000;

fn world() -> World {
    World::new(TransactConfig::default(), false)
}

/// A transaction of the node's account, signed; `changes` are members that differ from those of a transfer.
async fn raw(world: &World, nonce: u64, changes: Value) -> Value {
    let mut tx = json!({
        "from": HELD, "to": A, "gas": "0x5208", "gasPrice": format!("{PRICE:#x}"), "nonce": format!("{nonce:#x}"),
    });
    for (name, value) in changes.as_object().unwrap() {
        tx[name] = value.clone();
    }
    let signed = world.call("eth_signTransaction", &json!([tx]).to_string()).await;
    signed["result"]["raw"].as_str().unwrap_or_else(|| panic!("{signed}")).into()
}

/// Init code, in place of a recipient.
fn creates(code: &str) -> Value {
    json!({"to": null, "data": code, "gas": "0x30d40"})
}

async fn ask(world: &World, bundle: &Value) -> Value {
    world.call("eth_callBundle", &json!([bundle]).to_string()).await
}

async fn run(world: &World, bundle: Value) -> Value {
    let reply = ask(world, &bundle).await;
    reply.get("result").unwrap_or_else(|| panic!("{reply}")).clone()
}

/// Code and text of an error.
async fn error(world: &World, bundle: &Value) -> (i64, String) {
    let reply = ask(world, bundle).await;
    let text = reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{reply}"));
    (reply["error"]["code"].as_i64().unwrap(), text.to_owned())
}

fn hash_of(raw: &Value) -> B256 {
    keccak256(alloy_primitives::hex::decode(raw.as_str().unwrap()).unwrap())
}

#[tokio::test]
async fn transactions_see_those_before_them() {
    let world = world();
    let txs = [raw(&world, 0, json!({})).await, raw(&world, 1, json!({"value": "0x7"})).await];
    let reply = run(&world, json!({"txs": txs, "blockNumber": "0x1", "coinbase": A})).await;
    let hashes = txs.each_ref().map(hash_of);
    let fee = u128::from(PRICE) * 21_000;
    let result = |hash: B256, sent: u128| {
        json!({
            "coinbaseDiff": (fee + sent).to_string(),
            "ethSentToCoinbase": sent.to_string(),
            "fromAddress": HELD.to_string().to_lowercase(),
            "gasFees": fee.to_string(),
            "gasPrice": PRICE.to_string(),
            "gasUsed": 21_000,
            "toAddress": A.to_string().to_lowercase(),
            "txHash": hash,
            "value": "0x",
        })
    };
    let expected = json!({
        "bundleGasPrice": PRICE.to_string(),
        "bundleHash": keccak256(hashes.concat()),
        "coinbaseDiff": (2 * fee + 7).to_string(),
        "ethSentToCoinbase": "7",
        "gasFees": (2 * fee).to_string(),
        "results": [result(hashes[0], 0), result(hashes[1], 7)],
        "stateBlockNumber": 0,
        "totalGasUsed": 42_000,
    });
    assert_eq!(reply, expected);
    // Nothing is left of it.
    let nonce = world.call("eth_getTransactionCount", &json!([HELD, "pending"]).to_string()).await;
    assert_eq!(nonce["result"], "0x0");
}

#[tokio::test]
async fn the_block_is_the_given_one() {
    let world = world();
    // NUMBER, TIMESTAMP, GASLIMIT, COINBASE, BASEFEE, a word each.
    let code = "0x4360005242602052456040524160605248608052 60a06000f3".replace(' ', "");
    let txs = [raw(&world, 0, creates(&code)).await];
    let given = json!({
        "txs": txs, "blockNumber": 100, "stateBlockNumber": "latest", "timestamp": "0x77359400", "timeout": 1000,
        "coinbase": A, "gasLimit": "0xf4240", "difficulty": "0x1", "baseFee": "0x3b9aca00",
    });
    let reply = run(&world, given).await;
    let coinbase = &A.to_string()[2..].to_lowercase();
    let words = [0x64_u64, 0x7735_9400, 0xf_4240].map(|word| format!("{word:064x}")).concat();
    let seen = format!("0x{words}{coinbase:0>64}{:064x}", 1_000_000_000);
    assert_eq!(reply["results"][0]["value"], seen);
    assert_eq!(reply["results"][0]["toAddress"], Value::Null);
    // Without a time, it is that of the next block: blocks of this chain are 2 s apart.
    let first = world.call("eth_getBlockByNumber", "[\"0x0\",false]").await;
    let time = first["result"]["timestamp"].as_str().unwrap();
    let time = u64::from_str_radix(&time[2..], 16).unwrap();
    let reply = run(&world, json!({"txs": txs, "blockNumber": "0x1"})).await;
    let value = reply["results"][0]["value"].as_str().unwrap();
    assert_eq!(&value[2 + 64..2 + 128], format!("{:064x}", time + 2));
}

#[tokio::test]
async fn failed_code_is_an_outcome() {
    let world = world();
    // REVERT with 1 byte; INVALID.
    let txs = [
        raw(&world, 0, creates("0x60016000fd")).await,
        raw(&world, 1, creates("0xfe")).await,
        raw(&world, 2, json!({})).await,
    ];
    let reply = run(&world, json!({"txs": txs, "blockNumber": "0x1"})).await;
    let of = |index: usize| {
        let result = &reply["results"][index];
        ["value", "error", "revert"].map(|name| result.get(name).cloned().unwrap_or_default())
    };
    assert_eq!(of(0), [json!(null), json!("execution reverted"), json!("0x00")]);
    assert_eq!(of(1), [json!(null), json!("invalid opcode: INVALID"), json!(null)]);
    assert_eq!(of(2), [json!("0x"), json!(null), json!(null)]);
}

#[tokio::test]
async fn wrong_bundles_are_refused() {
    let world = world();
    let tx = raw(&world, 0, json!({})).await;
    let later = raw(&world, 1, json!({})).await;
    let large = raw(&world, 0, json!({"gas": "0x1000000"})).await;
    let cheap = raw(&world, 0, json!({"gasPrice": "0x1"})).await;
    let nonce =
        format!("err: nonce too high: address {HELD}, tx: 1 state: 0; txhash {}", hash_of(&later));
    for (bundle, code, text) in [
        (json!({}), -32000, "bundle missing txs"),
        (json!({"txs": [], "blockNumber": "0x1"}), -32000, "bundle missing txs"),
        (json!({"txs": [tx]}), -32000, "bundle missing blockNumber"),
        (json!({"txs": [tx], "blockNumber": "0x0"}), -32000, "bundle missing blockNumber"),
        (json!({"txs": ["0x"], "blockNumber": "0x1"}), -32000, "typed transaction too short"),
        (
            json!({"txs": ["0x05c0"], "blockNumber": "0x1"}),
            -32000,
            "transaction type not supported",
        ),
        (json!({"txs": [later], "blockNumber": "0x1"}), -32000, &nonce),
        (json!({"txs": [tx, tx], "blockNumber": "0x1"}), -32000, "err: nonce too low: "),
        (
            json!({"txs": [large], "blockNumber": "0x1"}),
            -32000,
            "err: gas limit reached; txhash 0x",
        ),
        (
            json!({"txs": [cheap], "blockNumber": "0x1"}),
            -32000,
            "err: max fee per gas less than block base fee: ",
        ),
        (
            json!({"txs": [tx], "blockNumber": "0x1", "gasLimit": "0x5207"}),
            -32000,
            "err: gas limit reached",
        ),
        (
            json!({"txs": [tx], "blockNumber": "0x1", "stateBlockNumber": "0x9"}),
            -32000,
            "cannot query unfinalized data",
        ),
        (json!({"txs": tx, "blockNumber": "0x1"}), -32602, "cannot unmarshal string"),
        (json!({"txs": [tx], "blockNumber": "one"}), -32602, "invalid hex or decimal integer"),
        (
            json!([tx]),
            -32602,
            "cannot unmarshal array into Go value of type jsonrpc.CallBundleArgs",
        ),
    ] {
        let (found, message) = error(&world, &bundle).await;
        assert!(found == code && message.contains(text), "{bundle}: {found} {message}");
    }
}

#[tokio::test]
async fn what_bundles_may_use_is_limited() {
    let config = TransactConfig { gas_cap: 30_000, ..TransactConfig::default() };
    let limited = World::new(config, false);
    let txs = [raw(&limited, 0, json!({})).await, raw(&limited, 1, json!({})).await];
    let text = "gas cap of 30000 for all calls of the request is used up: 9000 left, want 21000";
    let bundle = json!({"txs": txs, "blockNumber": "0x1"});
    assert_eq!(error(&limited, &bundle).await, (-32000, text.to_owned()));

    // Time: its own limit, or that of all calls.
    for (timeout, text) in [(2000, "2s"), (0, "5s"), (60_000, "5s")] {
        let world = World::with_endless_gas();
        // JUMPDEST, PUSH1 0, JUMP.
        let endless =
            json!({"to": null, "data": "0x5b600056", "gas": "0x2540be400", "gasPrice": "0x1"});
        let bundle = json!([{
            "txs": [raw(&world, 0, endless).await], "blockNumber": "0x1", "timeout": timeout, "baseFee": "0x0",
            "gasLimit": "0xffffffffffff",
        }]);
        let reply = world.call_while_time_passes("eth_callBundle", &bundle.to_string()).await;
        let text = format!("execution aborted (timeout = {text})");
        assert_eq!(reply["error"]["message"], text);
    }
}
