//! Code by its hash, and accounts between two transactions of a block.

use std::path::Path;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use serde_json::{Value, json};

use super::world::World;

const UNKNOWN: &str = "0x1212121212121212121212121212121212121212121212121212121212121212";

/// A contract in block 1, and two calls of it in block 2.
async fn world() -> (World, Address) {
    let world = World::new(Path::new("/nowhere"));
    let contract = world.deploy_setter(0);
    world.block().await;
    world.set_slots(1, contract, &[(U256::from(1), U256::from(7))]);
    world.set_slots(2, contract, &[(U256::from(2), U256::from(8))]);
    world.block().await;
    (world, contract)
}

#[tokio::test]
async fn code_is_found_by_its_hash() {
    let (world, contract) = world().await;
    let code = world.call("eth_getCode", json!([contract, "latest"])).await;
    let hash = keccak256(code.as_str().unwrap().parse::<Bytes>().unwrap());
    let block = world.call("eth_getBlockByNumber", json!(["0x2", false])).await["hash"].clone();
    for params in [
        json!([hash]),
        json!([hash, null]),
        json!([hash, "0x1"]),
        json!([hash, "latest"]),
        json!([hash, block]),
        json!([hash, {"blockHash": block}]),
    ] {
        assert_eq!(world.call("debug_codeByHash", params.clone()).await, code, "{params}");
    }
    assert_eq!(world.call("debug_codeByHash", json!([UNKNOWN])).await, Value::Null);
    assert_eq!(world.call("debug_codeByHash", json!([keccak256([])])).await, "0x");
    // The same by its key in geth's database.
    let key = format!("0x63{}", &hash.to_string()[2..]);
    assert_eq!(world.call("debug_dbGet", json!([key])).await, code);
    let unknown = format!("0x63{}", &UNKNOWN[2..]);
    assert_eq!(world.call("debug_dbGet", json!([unknown])).await, Value::Null);
    let text = format!("c{}", "a".repeat(32));
    assert_eq!(world.call("debug_dbGet", json!([text])).await, Value::Null);
    for (key, text) in [
        ("0x63", "a key of code has 33 bytes, 0x63 and the hash: got 1"),
        ("", "a key of code has 33 bytes, 0x63 and the hash: got 0"),
        (UNKNOWN, "a key of code has 33 bytes, 0x63 and the hash: got 32"),
        (
            &key.replacen("63", "62", 1),
            "only keys of code are served: the key's first byte is 0x63",
        ),
        ("0x6", "odd number of digits"),
    ] {
        assert_eq!(world.error("debug_dbGet", json!([key])).await, (-32602, text.to_owned()));
    }
    for (params, code, text) in [
        (json!([]), -32602, "missing value for required argument 0"),
        (json!([hash, "latest", 1]), -32602, "too many arguments, want at most 2"),
        (json!([hash, "0x3"]), -32000, "cannot query unfinalized data"),
        (json!([hash, UNKNOWN]), -32000, "header for hash not found"),
    ] {
        let error = world.error("debug_codeByHash", params.clone()).await;
        assert_eq!(error, (code, text.to_owned()), "{params}");
    }
    let (code, text) = world.error("debug_codeByHash", json!(["0x12"])).await;
    assert!(code == -32602 && text.contains("want 64 for common.Hash"), "{text}");
}

#[tokio::test]
async fn accounts_are_shown_after_a_transaction() {
    let (world, contract) = world().await;
    let at = async |block: Value, index: Value, account: Address| {
        world.call("debug_accountInfoAt", json!([block, index, account])).await
    };
    let after = async |block: &str, account: Address| {
        world.call("eth_getAccountInfo", json!([account, block])).await
    };
    let (sender, block) = (world.sender(), json!("0x2"));
    let hash = world.call("eth_getBlockByNumber", json!(["0x2", false])).await["hash"].clone();
    let first = at(block.clone(), json!(0), sender).await;
    assert_eq!(first["nonce"], "0x2");
    assert_ne!(first["balance"], after("0x1", sender).await["balance"]);
    for index in [json!("0x0"), json!("0")] {
        assert_eq!(at(block.clone(), index.clone(), sender).await, first, "{index}");
    }
    for block in [block, json!("latest"), hash.clone(), json!({"blockHash": hash})] {
        assert_eq!(at(block.clone(), json!(0), sender).await, first, "{block}");
        assert_eq!(at(block, json!(1), sender).await, after("0x2", sender).await);
    }
    assert_eq!(at(json!("0x1"), json!(0), contract).await, after("0x1", contract).await);
    assert_eq!(at(json!("0x2"), json!(1), Address::repeat_byte(9)).await, Value::Null);
}

#[tokio::test]
async fn transactions_that_are_not_there_are_refused() {
    let (world, contract) = world().await;
    let hash = world.call("eth_getBlockByNumber", json!(["0x2", false])).await["hash"].clone();
    let hash: B256 = hash.as_str().unwrap().parse().unwrap();
    let range = format!("transaction index 2 out of range for block {hash}");
    for (params, code, text) in [
        (json!(["0x2", 2, contract]), -32000, range.as_str()),
        (json!(["0x0", 0, contract]), -32000, "no transaction in genesis"),
        (json!(["0x3", 0, contract]), -32000, "cannot query unfinalized data"),
        (json!([UNKNOWN, 0, contract]), -32000, "header for hash not found"),
        (json!(["0x2", 0]), -32602, "missing value for required argument 2"),
        (json!(["0x2", 0, contract, 1]), -32602, "too many arguments, want at most 3"),
        (
            json!(["0x2", -1, contract]),
            -32602,
            "invalid argument 1: invalid hex or decimal integer \"-1\"",
        ),
    ] {
        let error = world.error("debug_accountInfoAt", params.clone()).await;
        assert_eq!(error, (code, text.to_owned()), "{params}");
    }
}
