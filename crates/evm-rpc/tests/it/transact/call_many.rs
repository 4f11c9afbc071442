//! `callMany`: calls in bundles, each on the state that those before it left.

use alloy_primitives::{Address, address};
use esker_evm_rpc::evm::TransactConfig;
use serde_json::{Value, json};

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");
const A: Address = address!("0xc000000000000000000000000000000000000000");
const CODE: Address = address!("0xc0de000000000000000000000000000000000000");

/// Adds 1 to slot 0 and returns it.
const COUNTS: &str = "0x6000546001018060005560005260206000f3";
/// JUMPDEST, PUSH1 0, JUMP.
const ENDLESS: &str = "0x5b600056";

fn world() -> World {
    World::new(TransactConfig::default(), false)
}

async fn ask(world: &World, params: Value) -> Value {
    world.call("eth_callMany", &params.to_string()).await
}

async fn run(world: &World, params: Value) -> Value {
    let reply = ask(world, params).await;
    reply.get("result").unwrap_or_else(|| panic!("{reply}")).clone()
}

/// Code and text of an error.
async fn error(world: &World, params: Value) -> (i64, String) {
    let reply = ask(world, params).await;
    let error = &reply["error"];
    let text = error["message"].as_str().unwrap_or_else(|| panic!("{reply}"));
    (error["code"].as_i64().unwrap(), text.to_owned())
}

fn code(code: &str) -> Value {
    json!({CODE.to_string(): {"code": code}})
}

fn bundle(calls: usize) -> Value {
    json!({"transactions": vec![json!({"to": CODE}); calls]})
}

/// What calls return.
fn words(values: &[u64]) -> Value {
    values.iter().map(|value| json!({"value": format!("0x{value:064x}")})).collect()
}

/// Code that returns what these instructions push, a word each.
fn returning(instructions: &[&str]) -> String {
    let store = |(at, instruction): (usize, &&str)| format!("{instruction}60{:02x}52", 32 * at);
    let stores: String = instructions.iter().enumerate().map(store).collect();
    format!("0x{stores}60{:02x}6000f3", 32 * instructions.len())
}

#[tokio::test]
async fn calls_see_those_before_them() {
    let world = world();
    let bundles = json!([bundle(2), {"transactions": []}, bundle(1)]);
    let counted = json!([words(&[1, 2]), [], words(&[3])]);
    for context in [json!(null), json!({}), json!({"blockNumber": "latest"})] {
        let params = json!([bundles, context, code(COUNTS)]);
        assert_eq!(run(&world, params).await, counted, "{context}");
    }
    // Nothing is left of it.
    assert_eq!(run(&world, json!([[bundle(1)], null, code(COUNTS)])).await, json!([words(&[1])]));
    assert_eq!(run(&world, json!([[bundle(1)]])).await, json!([[{"value": "0x"}]]));
    // A failed call leaves nothing, and the others run.
    let fails = json!({"to": CODE, "gas": "0x55f0"});
    let mixed = json!([{"transactions": [{"to": CODE}, fails, {"to": CODE}]}]);
    let replies = run(&world, json!([mixed, null, code(COUNTS)])).await;
    let failed = json!({"error": "out of gas"});
    assert_eq!(replies, json!([[words(&[1])[0], failed, words(&[2])[0]]]));
    // What the sender has is spent.
    let all = json!({"from": HELD, "to": A, "value": "0x1", "gas": "0x5208"});
    let balance = returning(&[&format!("73{}31", &A.to_string()[2..].to_lowercase())]);
    let sends = json!([{"transactions": [all, all, {"to": CODE}]}]);
    let replies = run(&world, json!([sends, null, code(&balance)])).await;
    assert_eq!(replies, json!([[{"value": "0x"}, {"value": "0x"}, words(&[2])[0]]]));
}

#[tokio::test]
async fn reasons_of_failures_are_shown() {
    let world = world();
    for (runs, text) in [
        ("0x60006000fd", "execution reverted"),
        ("0xfe", "invalid opcode: INVALID"),
        // REVERT with Error("no").
        (
            "0x6308c379a060e01b6000526020600452600260245261 6e6f60f01b60445260646000fd",
            "execution reverted: no",
        ),
    ] {
        let replies = run(&world, json!([[bundle(1)], null, code(&runs.replace(' ', ""))])).await;
        assert_eq!(replies, json!([[{"error": text}]]));
    }
}

#[tokio::test]
async fn each_bundle_has_its_block() {
    let world = world();
    let send = json!([{"from": HELD, "to": A, "value": "0x9", "gas": "0x5208", "gasPrice": "0x12309ce54000"}]);
    assert!(world.call("eth_sendTransaction", &send.to_string()).await["result"].is_string());
    world.settle().await;
    let latest = world.call("eth_getBlockByNumber", "[\"latest\",false]").await["result"].clone();
    let number = |value: &Value| u64::from_str_radix(&value.as_str().unwrap()[2..], 16).unwrap();
    let (height, time) = (number(&latest["number"]), number(&latest["timestamp"]));
    // NUMBER, TIMESTAMP.
    let block = returning(&["43", "42"]);
    let of = |number: u64, time: u64| json!([{"value": format!("0x{number:064x}{time:064x}")}]);
    let given = |given: Value| json!({"transactions": [{"to": CODE}], "blockOverride": given});
    let bundles = json!([
        bundle(1),
        given(json!({"blockNumber": "0x64", "timestamp": "0x77359400"})),
        given(json!({"number": "0x65", "time": "0x77359401"})),
        bundle(1),
    ]);
    // Blocks of this chain are 2 s apart.
    let seen = json!([
        of(height, time),
        of(0x64, 0x7735_9400),
        of(0x65, 0x7735_9401),
        of(height + 3, time + 6)
    ]);
    assert_eq!(run(&world, json!([bundles, null, code(&block)])).await, seen);

    // COINBASE, GASLIMIT, BASEFEE, PREVRANDAO.
    let block = returning(&["41", "45", "48", "44"]);
    let random = format!("0x{:064x}", 0xabc);
    let by_call = json!({
        "coinbase": A, "gasLimit": "0x1234", "baseFee": "0x0", "difficulty": "0xabc", "blockHash": null,
    });
    let by_simulation = json!({
        "feeRecipient": A, "gasLimit": "0x1234", "baseFeePerGas": "0x0", "prevRandao": random,
    });
    let by_anvil = json!({"coinbase": A, "gasLimit": "0x1234", "baseFee": "0x0", "random": random});
    let coinbase = &A.to_string()[2..].to_lowercase();
    let seen = format!("0x{coinbase:0>64}{:064x}{:064x}{:064x}", 0x1234, 0, 0xabc);
    for overrides in [by_call, by_simulation, by_anvil] {
        let params = json!([[given(overrides)], null, code(&block)]);
        assert_eq!(run(&world, params).await, json!([[{"value": seen}]]));
    }
}

#[tokio::test]
async fn calls_begin_between_two_transactions() {
    let world = world();
    for nonce in ["0x0", "0x1"] {
        let send = json!([{
            "from": HELD, "to": A, "value": "0x5", "gas": "0x5208", "gasPrice": "0x12309ce54000", "nonce": nonce,
        }]);
        assert!(world.call("eth_sendTransaction", &send.to_string()).await["result"].is_string());
    }
    world.settle().await;
    let block = world.call("eth_getBlockByNumber", "[\"0x1\",false]").await["result"].clone();
    assert_eq!(block["transactions"].as_array().unwrap().len(), 2);
    let balance = returning(&[&format!("73{}31", &A.to_string()[2..].to_lowercase()), "43"]);
    let wei = async |context: Value| {
        run(&world, json!([[bundle(1)], context, code(&balance)])).await[0][0]["value"].clone()
    };
    for at in [json!("0x1"), json!("latest"), block["hash"].clone()] {
        for (index, expected) in [(0, 0), (1, 5), (2, 10), (-1, 10)] {
            let found = wei(json!({"blockNumber": at, "transactionIndex": index})).await;
            assert_eq!(found, format!("0x{expected:064x}{:064x}", 1), "{at} {index}");
        }
    }
    let of = |context: Value| json!([[bundle(1)], context]);
    for (context, text) in [
        (json!({"transactionIndex": 3}), "transaction index 3 out of range for block 0x"),
        (json!({"transactionIndex": -2}), "transaction index -2 out of range for block 0x"),
        (json!({"blockNumber": "0x0", "transactionIndex": 0}), "no transaction in genesis"),
        (json!({"blockNumber": "0x9"}), "cannot query unfinalized data"),
        (json!({"blockNumber": "0x9", "transactionIndex": 0}), "cannot query unfinalized data"),
        (json!({"blockNumber": format!("0x{:064x}", 7)}), "header for hash not found"),
    ] {
        let (code, found) = error(&world, of(context.clone())).await;
        assert!(code == -32000 && found.starts_with(text), "{context}: {found}");
    }
}

#[tokio::test]
async fn what_calls_may_use_is_limited() {
    // The gas of all calls together.
    let config = TransactConfig { gas_cap: 100_000, ..TransactConfig::default() };
    let world = World::new(config, false);
    let params = json!([[bundle(1)], null, code(ENDLESS)]);
    assert_eq!(run(&world, params).await, json!([[{"error": "out of gas"}]]));
    let params = json!([[bundle(1), bundle(1)], null, code(ENDLESS)]);
    let text = "gas cap of 100000 for all calls of the request is used up: 0 left, want 21000";
    assert_eq!(error(&world, params).await, (-32000, text.to_owned()));
    // A call that asks for too little is refused for that.
    let little = json!({"transactions": [{"to": CODE}, {"to": CODE, "gas": "0x5207"}]});
    let text = "err: intrinsic gas too low: have 20999, want 21000 (supplied gas 20999)";
    assert_eq!(error(&world, json!([[little]])).await, (-32000, text.to_owned()));

    let world = self::world();
    // Returns 1,000,000 bytes: PUSH4, PUSH1 0, RETURN.
    let params = json!([[bundle(13)], null, code("0x63000f42406000f3")]);
    let text = "the calls return more than 12000000 bytes";
    assert_eq!(error(&world, params).await, (-32000, text.to_owned()));
    let bundles = vec![bundle(1); 257];
    let text = "257 bundles are too many: at most 256";
    assert_eq!(error(&world, json!([bundles])).await, (-32000, text.to_owned()));
    let replies = run(&world, json!([vec![bundle(1); 256]])).await;
    assert_eq!(replies.as_array().unwrap().len(), 256);

    // Time.
    let world = World::with_endless_gas();
    let params = json!([[bundle(1)], null, code(ENDLESS)]);
    let reply = world.call_while_time_passes("eth_callMany", &params.to_string()).await;
    assert_eq!(reply["error"]["message"], "execution aborted (timeout = 5s)");
}

#[tokio::test]
async fn wrong_bundles_are_refused() {
    let world = world();
    let call = json!({"to": CODE});
    let poor = json!({"from": A, "to": CODE, "value": "0x1"});
    let both = json!({"to": CODE, "gasPrice": "0x1", "maxFeePerGas": "0x1"});
    let hashes = json!({"transactions": [call], "blockOverride": {"blockHash": {}}});
    for (params, code, text) in [
        (json!([]), -32602, "missing value for required argument 0"),
        (json!([[bundle(1)], null, null, 1]), -32602, "too many arguments, want at most 3"),
        (json!([{}]), -32602, "cannot unmarshal object into Go value of type []jsonrpc.Bundle"),
        (json!([[1]]), -32602, "cannot unmarshal number into Go value of type jsonrpc.Bundle"),
        (json!([[{"transactions": [1]}]]), -32602, "cannot unmarshal number into Go"),
        (json!([[hashes]]), -32602, "overrides of \"blockHash\" are not supported"),
        (json!([[bundle(1)], 1]), -32602, "of type jsonrpc.StateContext"),
        (json!([[bundle(1)], {"transactionIndex": "0x1"}]), -32602, "cannot unmarshal string"),
        (json!([[]]), -32000, "empty bundles"),
        (json!([[{}, {"transactions": null}]]), -32000, "empty bundles"),
        (
            json!([[{"transactions": [call, poor]}]]),
            -32000,
            "err: insufficient funds for gas * price + value",
        ),
        (
            json!([[{"transactions": [both]}]]),
            -32000,
            "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified",
        ),
    ] {
        let (found, message) = error(&world, params.clone()).await;
        assert!(found == code && message.contains(text), "{params}: {found} {message}");
    }
}
