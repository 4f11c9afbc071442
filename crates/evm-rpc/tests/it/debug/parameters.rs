//! Every form of every parameter, and what is answered to the forms that are wrong.

use alloy_primitives::{B256, U256, keccak256};
use serde_json::{Value, json};

use super::world::World;

const UNKNOWN: &str = "0x1212121212121212121212121212121212121212121212121212121212121212";

async fn world() -> (World, B256, String) {
    let world = World::new(std::path::Path::new("/nowhere"));
    let contract = world.deploy_setter(0);
    world.block().await;
    world.set_slots(1, contract, &[(U256::from(1), U256::from(7))]);
    let tx = world.set_slots(2, contract, &[(U256::from(2), U256::from(8))]);
    world.block().await;
    (world, tx, contract.to_string())
}

#[tokio::test]
async fn blocks_are_named_in_every_way() {
    let (world, _, _) = world().await;
    let block = world.call("eth_getBlockByNumber", json!(["0x2", false])).await;
    let (hash, root) = (block["hash"].clone(), block["stateRoot"].as_str().unwrap());
    for name in ["0x2", "latest", "pending", "accepted", "finalized", "safe"] {
        let dump = world.call("debug_dumpBlock", json!([name])).await;
        assert_eq!(dump["root"], root[2..], "{name}");
    }
    let genesis = world.call("debug_dumpBlock", json!(["earliest"])).await;
    assert_eq!(genesis, world.call("debug_dumpBlock", json!(["0x0"])).await);
    let forms =
        [json!(hash), json!({"blockHash": hash}), json!({"blockNumber": "0x2"}), json!("latest")];
    for form in forms {
        let range = json!([form, "0x", 9, true, true, true]);
        assert_eq!(world.call("debug_accountRange", range).await["root"], root[2..], "{form}");
        let raw = world.call("debug_getRawHeader", json!([form])).await;
        let raw: alloy_primitives::Bytes = raw.as_str().unwrap().parse().unwrap();
        assert_eq!(keccak256(&raw).to_string(), hash.as_str().unwrap(), "{form}");
        let receipts = world.call("debug_getRawReceipts", json!([form])).await;
        assert_eq!(receipts.as_array().unwrap().len(), 2, "{form}");
        let raws = world.call("debug_getRawTransactions", json!([form])).await;
        assert_eq!(raws.as_array().unwrap().len(), 2, "{form}");
        for (index, raw) in raws.as_array().unwrap().iter().enumerate() {
            let params = json!(["0x2", format!("{index:#x}")]);
            let one = world.call("eth_getRawTransactionByBlockNumberAndIndex", params).await;
            assert_eq!(*raw, one, "{form}");
        }
        let block = world.call("debug_getRawBlock", json!([form])).await;
        assert!(block.as_str().unwrap().contains(&raw.to_string()[2..]), "{form}");
    }
}

#[tokio::test]
async fn starts_may_be_short_and_sizes_any() {
    let (world, _, contract) = world().await;
    let range = async |start: Value, max: Value| {
        world.call("debug_accountRange", json!(["latest", start, max, true, true, false])).await
    };
    let all = range(json!("0x"), json!(0)).await;
    let mut keys: Vec<String> = all["accounts"]
        .as_object()
        .unwrap()
        .values()
        .map(|account| account["key"].as_str().unwrap().to_owned())
        .collect();
    keys.sort();
    for max in [json!(-1), json!(257), json!(i64::MAX), json!(null)] {
        assert_eq!(range(json!("0x"), max).await, all);
    }
    for (count, key) in keys.iter().enumerate() {
        // The key itself, its beginning, and with more behind it.
        for start in [key.clone(), key[..10].to_owned(), format!("{key}ff")] {
            let found = range(json!(start), json!(256)).await;
            let found = found["accounts"].as_object().unwrap().len();
            assert_eq!(found, keys.len() - count, "{start}");
        }
    }
    let slots = async |max: i64, start: &str| {
        world.call("debug_storageRangeAt", json!(["latest", 1, contract, start, max])).await
    };
    let first = keccak256(B256::with_last_byte(1)).to_string();
    assert_eq!(slots(0, "0x").await, json!({"storage": {}, "nextKey": first}));
    assert_eq!(slots(-5, "0x").await, slots(0, "0x").await);
    assert_eq!(slots(i64::MAX, "0x").await, slots(1, "0x").await);
    assert_eq!(
        slots(5, &format!("0x{}", "ff".repeat(32))).await,
        json!({"storage": {}, "nextKey": null})
    );
}

#[tokio::test]
async fn wrong_parameters_are_refused() {
    let (world, tx, contract) = world().await;
    let bytes = "18 ".repeat(32);
    let bytes = bytes.trim_end();
    let range = |at: Value| json!([at, "0x", 5, false, false, false]);
    let storage = |at: Value, index: i64| json!([at, index, contract, "0x", 5]);
    let hash = world.call("eth_getBlockByNumber", json!(["0x2", false])).await["hash"].clone();
    let hash = hash.as_str().unwrap();
    for (method, params, code, text) in [
        ("dumpBlock", json!([]), -32602, "missing value for required argument 0".to_owned()),
        ("dumpBlock", json!(["0x3"]), -32000, "block #3 not found".into()),
        ("dumpBlock", json!(["0x2", 1]), -32602, "too many arguments, want at most 1".into()),
        ("dumpBlock", json!([hash]), -32602, "invalid argument 0: hex number > 64 bits".into()),
        ("accountRange", json!(["latest"]), -32602, "missing value for required argument 1".into()),
        ("accountRange", range(json!("0x3")), -32000, "block #3 not found".into()),
        ("accountRange", range(json!(UNKNOWN)), -32000, format!("block {UNKNOWN} not found")),
        ("accountRange", range(json!({})), -32000,
            "either block number or block hash must be specified".into()),
        ("accountRange", json!(["latest", "0x1", 5, false, false, false]), -32602,
            "invalid argument 1: json: cannot unmarshal hex string of odd length into Go value of type hexutil.Bytes".into()),
        ("storageRangeAt", storage(json!("0x0"), 0), -32000, "no transaction in genesis".into()),
        ("storageRangeAt", storage(json!("0x3"), 0), -32000, "cannot query unfinalized data".into()),
        ("storageRangeAt", storage(json!(UNKNOWN), 0), -32000, "header for hash not found".into()),
        ("storageRangeAt", storage(json!({}), 0), -32000,
            "invalid arguments; neither block nor hash specified".into()),
        ("storageRangeAt", storage(json!("0x2"), 2), -32000,
            format!("transaction index 2 out of range for block {hash}")),
        ("storageRangeAt", storage(json!("0x2"), -1), -32000,
            format!("transaction index -1 out of range for block {hash}")),
        ("getModifiedAccountsByNumber", json!(["0x1"]), -32602,
            "invalid argument 0: json: cannot unmarshal string into Go value of type uint64".into()),
        ("getModifiedAccountsByNumber", json!([0]), -32000, "block 0 has no parent".into()),
        ("getModifiedAccountsByNumber", json!([26]), -32000, "start block 1a not found".into()),
        ("getModifiedAccountsByNumber", json!([1, 26]), -32000, "end block 26 not found".into()),
        ("getModifiedAccountsByNumber", json!([2, 1]), -32000,
            "start block height (2) must be less than end block height (1)".into()),
        ("getModifiedAccountsByHash", json!([UNKNOWN]), -32000,
            format!("start block {} not found", &UNKNOWN[2..])),
        ("getModifiedAccountsByHash", json!([hash, UNKNOWN]), -32000,
            format!("end block {} not found", &UNKNOWN[2..])),
        ("getAccessibleState", json!(["0x1", "0x1"]), -32000,
            "from and to needs to be different".into()),
        ("getAccessibleState", json!(["latest", "0x2"]), -32000,
            "from and to needs to be different".into()),
        ("getAccessibleState", json!(["0x3", "0x1"]), -32000, "missing header 3".into()),
        ("preimage", json!([UNKNOWN]), -32000, "unknown preimage".into()),
        ("getBadBlocks", json!([1]), -32602, "too many arguments, want at most 0".into()),
        ("getRawHeader", json!(["0x3"]), -32000, "cannot query unfinalized data".into()),
        ("getRawHeader", json!([UNKNOWN]), -32000, format!("header #[{bytes}] not found")),
        ("getRawBlock", json!([UNKNOWN]), -32000, format!("block #[{bytes}] not found")),
        ("getRawBlock", json!([null]), -32000,
            "invalid arguments; neither block nor hash specified".into()),
        ("getRawReceipts", json!(["0x3"]), -32000, "cannot query unfinalized data".into()),
        ("getRawTransactions", json!(["0x3"]), -32000, "cannot query unfinalized data".into()),
        ("getRawTransactions", json!([]), -32602, "missing value for required argument 0".into()),
        ("getRawTransactions", json!(["0x2", 1]), -32602, "too many arguments, want at most 1".into()),
        ("printBlock", json!([3]), -32000, "block #3 not found".into()),
        ("printBlock", json!(["0x1"]), -32602,
            "invalid argument 0: json: cannot unmarshal string into Go value of type uint64".into()),
    ] {
        let error = world.error(&format!("debug_{method}"), params.clone()).await;
        assert_eq!(error, (code, text), "{method}{params}");
    }
    assert_eq!(world.call("debug_getRawReceipts", json!([UNKNOWN])).await, json!([]));
    assert_eq!(world.call("debug_getRawTransactions", json!([UNKNOWN])).await, json!([]));
    assert_eq!(world.call("debug_getRawTransactions", json!(["0x0"])).await, json!([]));
    assert_eq!(world.call("debug_getRawTransaction", json!([UNKNOWN])).await, "0x");
    let raw = world.call("debug_getRawTransaction", json!([tx])).await;
    assert_eq!(raw, world.call("eth_getRawTransactionByHash", json!([tx])).await);
    assert_eq!(world.call("debug_getBadBlocks", json!([])).await, json!([]));
    let text = world.call("debug_printBlock", json!([2])).await;
    assert!(text.as_str().unwrap().contains(&tx.to_string()), "{text}");
    for address in [&contract[..]] {
        let address: alloy_primitives::Address = address.parse().unwrap();
        let known = world.call("debug_preimage", json!([keccak256(address)])).await;
        assert_eq!(known, format!("{address:#x}"));
    }
    for name in ["seedHash", "chaindbProperty", "chaindbCompact", "setHead", "getHeaderRlp"] {
        let name = format!("debug_{name}");
        let text = format!("the method {name} does not exist/is not available");
        assert_eq!(world.error(&name, json!([1])).await, (-32601, text));
    }
}
