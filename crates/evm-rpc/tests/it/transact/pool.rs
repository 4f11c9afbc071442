//! The methods about a pool to which others also send.

use alloy_consensus::{TxLegacy, TypedTransaction};
use alloy_primitives::{Address, Bytes, TxKind, U256, address};
use esker_evm::accounts::{AccountManager, KeyRing, WELL_KNOWN_KEY, sign_transaction};
use esker_evm_rpc::evm::TransactConfig;
use serde_json::{Value, json};

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");
/// Below the base fee of any block: it waits.
const LOW: u128 = 1_000_000_000;

fn world() -> World {
    World::new(TransactConfig::default(), false)
}

fn legacy(nonce: u64, gas_price: u128) -> TxLegacy {
    TxLegacy {
        chain_id: Some(43112),
        nonce,
        gas_price,
        gas_limit: 21_000,
        to: TxKind::Call(HELD),
        value: U256::from(1),
        input: Bytes::new(),
    }
}

/// Sends a transaction signed outside of the node.
fn send(world: &World, keys: &KeyRing, tx: TxLegacy) {
    let signer = keys.accounts()[0];
    let tx = sign_transaction(keys, &signer, TypedTransaction::Legacy(tx)).unwrap();
    world.evm.submit(tx).unwrap();
}

/// Gives a stranger, whose keys the node does not hold, something to spend.
async fn stranger(world: &World) -> KeyRing {
    let keys = KeyRing::new([[0x11; 32].as_slice()]).unwrap();
    let to = keys.accounts()[0];
    let args = json!([{"from": HELD, "to": to, "value": "0x8ac7230489e80000"}]);
    assert!(world.call("eth_sendTransaction", &args.to_string()).await["result"].is_string());
    world.settle().await;
    keys
}

fn names(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn members_are_sorted_as_text() {
    let world = world();
    let keys = stranger(&world).await;
    let own = KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap();
    for nonce in [3, 20, 100] {
        send(&world, &keys, legacy(nonce, LOW));
        send(&world, &own, legacy(nonce, LOW));
    }
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"txpool_inspect"}"#;
    let answer = world.ask(body).await;
    let line = "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC: 1 wei + 21000 gas × 1000000000 wei";
    let account = format!("{{\"100\":\"{line}\",\"20\":\"{line}\",\"3\":\"{line}\"}}");
    assert_eq!(
        answer.trim_end(),
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"pending\":{{}},\"queued\":{{\
             \"0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A\":{account},\
             \"0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC\":{account}}}}}}}"
        )
    );
}

#[tokio::test]
async fn only_what_the_node_can_sign_is_its_own() {
    let world = world();
    let keys = stranger(&world).await;
    let other = keys.accounts()[0];
    for nonce in 0..3 {
        send(&world, &keys, legacy(nonce, LOW));
    }
    let status = world.call("txpool_status", "[]").await;
    assert_eq!(status["result"], json!({"pending": "0x3", "queued": "0x0"}));
    assert_eq!(world.call("eth_pendingTransactions", "[]").await["result"], json!([]));
    let args = json!({"from": HELD, "to": other, "nonce": "0x1", "gas": "0x5208", "gasPrice": "0x3b9aca00"});
    let sent =
        world.call("eth_sendTransaction", &json!([args]).to_string()).await["result"].clone();
    let pending = world.call("evm_pendingTransactions", "[]").await["result"].clone();
    assert_eq!((pending.as_array().unwrap().len(), &pending[0]["hash"]), (1, &sent));

    let resent = world.call("eth_resend", &json!([args, "0x77359400"]).to_string()).await;
    assert!(resent["result"].is_string(), "{resent}");
    let pending = world.call("eth_pendingTransactions", "[]").await["result"].clone();
    assert_eq!(pending[0]["hash"], resent["result"]);
    // Transactions of others can't be signed here.
    let theirs = json!([{"from": other, "to": HELD, "value": "0x1", "nonce": "0x0", "gas": "0x5208", "gasPrice": "0x3b9aca00"}, "0x77359400"]);
    let reply = world.call("eth_resend", &theirs.to_string()).await;
    assert_eq!(reply["error"]["message"], "unknown account");
    let content = world.call("txpool_contentFrom", &json!([other]).to_string()).await;
    assert_eq!(names(&content["result"]["pending"]), ["0", "1", "2"]);
}

#[tokio::test]
async fn a_view_has_a_limit_of_bytes() {
    let world = world();
    let keys = KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap();
    let long = |nonce| TxLegacy {
        gas_limit: 3_000_000,
        input: vec![0; 130_000].into(),
        ..legacy(nonce, LOW)
    };
    for nonce in (0..30).chain(100..160) {
        send(&world, &keys, long(nonce));
    }
    let shown = world.call("txpool_status", "[]").await;
    assert_eq!(shown["result"], json!({"pending": "0x1e", "queued": "0x3c"}));
    assert!(world.call("txpool_content", "[]").await["result"].is_object());
    for nonce in 30..40 {
        send(&world, &keys, long(nonce));
    }
    let refused = json!({"code": -32003, "message": "response too large"});
    assert_eq!(world.call("txpool_content", "[]").await["error"], refused);
    let own = json!([HELD]).to_string();
    assert_eq!(world.call("txpool_contentFrom", &own).await["error"], refused);
    assert!(world.call("txpool_inspect", "[]").await["result"].is_object());
    let nobody = json!([Address::repeat_byte(1)]).to_string();
    assert_eq!(
        world.call("txpool_contentFrom", &nobody).await["result"],
        json!({"pending": {}, "queued": {}})
    );
}

#[tokio::test]
async fn what_was_dropped_is_named_with_its_reason() {
    let world = world();
    let keys = KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap();
    let hash = |tx: TxLegacy| {
        let tx = sign_transaction(&keys, &HELD, TypedTransaction::Legacy(tx)).unwrap();
        tx.tx_hash().to_string()
    };
    let [cheap, dear] = [LOW, 1000 * LOW].map(|price| legacy(0, price));
    send(&world, &keys, cheap.clone());
    let reason = async |tx: &TxLegacy| {
        let params = json!([hash(tx.clone())]).to_string();
        world.call("txpool_dropReason", &params).await["result"].clone()
    };
    assert_eq!(reason(&cheap).await, Value::Null, "it waits");
    send(&world, &keys, dear.clone());
    let now = world.now_s();
    let text = format!("replaced by transaction {} with the same nonce", hash(dear.clone()));
    let expected = json!({"reason": text, "time": format!("{now:#x}")});
    assert_eq!(reason(&cheap).await, expected);
    let shown = json!([hash(cheap.clone())]).to_string();
    assert_eq!(world.call("eth_getTransactionByHash", &shown).await["result"], Value::Null);
    // Blocks save it.
    world.settle().await;
    assert_eq!(reason(&cheap).await, expected);
    assert_eq!(reason(&dear).await, Value::Null, "it was mined");
    assert_eq!(reason(&legacy(9, LOW)).await, Value::Null, "it is not known");
    for (params, text) in [
        ("[]", "missing value for required argument 0"),
        ("[\"0x12\"]", "invalid argument 0: hex string has length 2, want 64 for common.Hash"),
        (
            "[null]",
            "invalid argument 0: json: cannot unmarshal non-string into Go value of type common.Hash",
        ),
    ] {
        let reply = world.call("txpool_dropReason", params).await;
        assert_eq!(reply["error"], json!({"code": -32602, "message": text}), "{params}");
    }
}
