//! `sendRawTransactionConditional`: sends under conditions.

use alloy_primitives::{Address, address};
use esker_evm_rpc::evm::TransactConfig;
use serde_json::{Value, json};

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");
const A: Address = address!("0xc000000000000000000000000000000000000000");
/// The contract that [`world`] creates.
const CONTRACT: Address = address!("0x52c84043cd9c865236f11d9fc9f56aa003c1f922");

async fn ask(world: &World, method: &str, params: Value) -> Value {
    let reply = world.call(method, &params.to_string()).await;
    reply.get("result").unwrap_or_else(|| panic!("{reply}")).clone()
}

/// Creates a contract whose slot 0 is 5 and whose code is one byte.
async fn world() -> World {
    let world = World::new(TransactConfig::default(), false);
    // SSTORE(0, 5), RETURN(0, 1).
    let creation = json!([{
        "from": HELD, "data": "0x600560005560016000f3", "gas": "0x30d40", "gasPrice": "0x45d964b800", "nonce": "0x0",
    }]);
    let hash = ask(&world, "eth_sendTransaction", creation).await;
    world.settle().await;
    let receipt = ask(&world, "eth_getTransactionReceipt", json!([hash])).await;
    assert_eq!(receipt["contractAddress"], json!(CONTRACT), "{receipt}");
    world
}

async fn signed(world: &World) -> Value {
    let transfer = json!([{
        "from": HELD, "to": A, "gas": "0x5208", "gasPrice": "0x45d964b800", "nonce": "0x1",
    }]);
    ask(world, "eth_signTransaction", transfer).await["raw"].clone()
}

/// Code and text of a refusal.
async fn refusal(world: &World, conditions: Value) -> (i64, String) {
    let params = json!([signed(world).await, conditions]);
    let reply = world.call("eth_sendRawTransactionConditional", &params.to_string()).await;
    let text = reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{params}: {reply}"));
    (reply["error"]["code"].as_i64().unwrap(), text.to_owned())
}

#[tokio::test]
async fn a_transaction_is_taken_if_all_conditions_hold() {
    let world = world().await;
    let latest = ask(&world, "eth_getBlockByNumber", json!(["latest", false])).await;
    let time = u64::from_str_radix(&latest["timestamp"].as_str().unwrap()[2..], 16).unwrap();
    let proof = ask(&world, "eth_getProof", json!([CONTRACT, [], "latest"])).await;
    let balance = ask(&world, "eth_getBalance", json!([HELD, "latest"])).await;
    let zero = format!("0x{:064x}", 0);
    for conditions in [
        json!({}),
        json!({"knownAccounts": null}),
        json!({"blockNumberMin": "0x2", "blockNumberMax": 2}),
        json!({"timestampMin": time, "timestampMax": format!("{:#x}", time + 3600)}),
        json!({"knownAccounts": {CONTRACT.to_string(): proof["storageHash"]}}),
        json!({"knownAccounts": {CONTRACT.to_string(): {"0x0": "0x5", zero.as_str(): "0x05"}}}),
        json!({"knownAccounts": {CONTRACT.to_string(): {"code": "0x00", "nonce": "0x1", "0x9": "0x0"}}}),
        json!({"knownAccounts": {HELD.to_string(): {"balance": balance, "nonce": 1, "code": ""}}}),
        json!({"knownAccounts": {A.to_string(): {"balance": "0x0", "nonce": 0, "code": "0x"}}}),
    ] {
        let params = json!([signed(&world).await, conditions]);
        let hash = ask(&world, "eth_sendRawTransactionConditional", params).await;
        let waiting = ask(&world, "eth_getTransactionByHash", json!([hash])).await;
        assert_eq!(waiting["nonce"], "0x1", "{conditions}");
        assert!(world.evm.drop_transaction(&hash.as_str().unwrap().parse().unwrap()));
    }
}

#[tokio::test]
async fn a_condition_that_does_not_hold_refuses_the_transaction() {
    let world = world().await;
    let root = format!("0x{:064x}", 1);
    let of =
        |account: Address, value: Value| json!({"knownAccounts": {account.to_string(): value}});
    for (conditions, text) in [
        (
            json!({"blockNumberMin": 3}),
            "failed block number condition: the next block has 2, want at least 3",
        ),
        (
            json!({"blockNumberMax": "0x1"}),
            "failed block number condition: the next block has 2, want at most 1",
        ),
        (
            json!({"timestampMin": "0xffffffffff"}),
            "failed timestamp condition: the next block has ",
        ),
        (json!({"timestampMax": 1}), "want at most 1"),
        (of(CONTRACT, json!(root)), "failed account condition: storage root of 0x52"),
        (of(CONTRACT, json!({"0x0": "0x6"})), "failed account condition: slot 0x0000"),
        (of(CONTRACT, json!({"balance": "0x1"})), "failed account condition: balance of 0x52"),
        (of(CONTRACT, json!({"nonce": 2})), "got 1, want 2"),
        (of(CONTRACT, json!({"code": ""})), "failed account condition: the code of 0x52"),
        (of(A, json!({"code": "0x00"})), "failed account condition: the code of 0xC0"),
        (of(A, json!(root)), "failed account condition: storage root of 0xC0"),
    ] {
        let (code, found) = refusal(&world, conditions.clone()).await;
        assert!(
            code == -32003 && found.to_lowercase().contains(&text.to_lowercase()),
            "{conditions}: {code} {found}"
        );
    }
    let status = ask(&world, "txpool_status", json!([])).await;
    assert_eq!(status, json!({"pending": "0x0", "queued": "0x0"}));
}

#[tokio::test]
async fn wrong_and_too_many_conditions_are_refused() {
    let world = world().await;
    let slots = |count: u64| -> Value {
        let slots: serde_json::Map<_, _> =
            (0..count).map(|slot| (format!("{slot:#x}"), json!("0x0"))).collect();
        json!({"knownAccounts": {A.to_string(): slots}})
    };
    let ok = json!([signed(&world).await, slots(999)]).to_string();
    let reply = world.call("eth_sendRawTransactionConditional", &ok).await;
    assert!(reply["result"].is_string(), "{reply}");
    for (conditions, code, text) in [
        (slots(1000), -32005, "conditional cost, 1001, exceeded max: 1000"),
        (
            json!({"blockNumberMin": 5, "blockNumberMax": 4}),
            -32602,
            "block number minimum 5 is above the maximum 4",
        ),
        (
            json!({"timestampMin": 5, "timestampMax": 4}),
            -32602,
            "timestamp minimum 5 is above the maximum 4",
        ),
        (json!({"paysCoinbase": "0x1"}), -32602, "paysCoinbase is not supported"),
        (json!({"knownAccounts": {"0x12": {}}}), -32602, "want 40 for common.Address"),
        (json!({"knownAccounts": {A.to_string(): "0x12"}}), -32602, "want 64 for common.Hash"),
        (json!({"knownAccounts": {A.to_string(): 1}}), -32602, "cannot unmarshal number"),
        (json!({"knownAccounts": {A.to_string(): {"slot": "0x1"}}}), -32602, "hex string invalid"),
        (json!({"knownAccounts": {A.to_string(): {"0x1": 1}}}), -32602, "is no text of hex"),
        (json!({"knownAccounts": []}), -32602, "cannot unmarshal array"),
        (json!(1), -32602, "cannot unmarshal number"),
    ] {
        let (found, message) = refusal(&world, conditions.clone()).await;
        assert!(found == code && message.contains(text), "{conditions}: {found} {message}");
    }
    // The transaction itself is checked as by sendRawTransaction.
    let reply = world.call("eth_sendRawTransactionConditional", r#"["0x",{}]"#).await;
    assert_eq!(reply["error"]["message"], "typed transaction too short");
    let reply = world.call("eth_sendRawTransactionConditional", r#"["0x"]"#).await;
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
}
