//! The forms of replies, which are Erigon's.

use alloy_primitives::{Address, Bytes, TxKind, address};
use serde_json::{Value, json};

use super::super::world::World;
use super::code::{End, Op, deploying, program};

const PLAIN: Address = Address::repeat_byte(0xa1);
const IDENTITY: Address = address!("0000000000000000000000000000000000000004");

fn text(address: Address) -> String {
    format!("{address:#x}")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_level_is_8() {
    let world = World::indexed();
    assert_eq!(world.call("ots_getApiLevel", json!([])).await, json!(8));
    let (code, _) = world.error("ots_getApiLevel", json!([1])).await;
    assert_eq!(code, -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_operations_of_a_transaction() {
    let world = World::indexed();
    let sender = world.sender();
    let destroyed = deploying(&program(&[Op::End(End::SelfDestruct(PLAIN))]));
    world.send(0, TxKind::Create, 0, destroyed);
    let destroys = sender.create(0);
    let ops = [
        Op::Call(IDENTITY, 0),
        Op::Call(PLAIN, 3),
        Op::Call(PLAIN, 0),
        Op::StaticCall(PLAIN),
        Op::DelegateCall(PLAIN),
        Op::CallCode(PLAIN, 0),
        Op::Call(destroys, 2),
        Op::Create(End::Stop, 1),
        Op::Create2(End::Revert, 0),
        // More than there is: refused.
        Op::Call(PLAIN, 200),
    ];
    world.send(1, TxKind::Create, 0, deploying(&program(&ops)));
    world.block().await;
    let contract = sender.create(1);
    let hash = world.send(2, TxKind::Call(contract), 100, Bytes::from_static(&[1, 2, 3]));
    world.block().await;

    let entries = world.call("ots_traceTransaction", json!([hash])).await;
    let entry = |kind: &str, depth: u64, from: Address, to: Address, value: Value, input: &str| {
        json!({"type": kind, "depth": depth, "from": text(from), "to": text(to), "value": value,
            "input": input, "output": "0x"})
    };
    let new = contract.create(1);
    let salted = entries[9]["to"].as_str().unwrap().parse().unwrap();
    let mut expected = vec![
        entry("CALL", 0, sender, contract, json!("0x64"), "0x010203"),
        entry("CALL", 1, contract, PLAIN, json!("0x3"), "0x"),
        entry("CALL", 1, contract, PLAIN, json!("0x0"), "0x"),
        entry("STATICCALL", 1, contract, PLAIN, Value::Null, "0x"),
        entry("DELEGATECALL", 1, contract, PLAIN, Value::Null, "0x"),
        entry("CALLCODE", 1, contract, PLAIN, json!("0x0"), "0x"),
        entry("CALL", 1, contract, destroys, json!("0x2"), "0x"),
        entry("SELFDESTRUCT", 2, destroys, PLAIN, json!("0x2"), "0x"),
        entry("CREATE", 1, contract, new, json!("0x1"), "0x00"),
        entry("CREATE2", 1, contract, salted, json!("0x0"), "0x60006000fd"),
    ];
    assert_eq!(entries, Value::Array(expected.clone()));
    expected.retain(|entry| {
        let kind = entry["type"].as_str().unwrap();
        entry["depth"] != 0 && (kind != "CALL" || entry["value"] != "0x0")
    });
    let numbers = [("CALL", 0), ("SELFDESTRUCT", 1), ("CREATE", 2), ("CREATE2", 3)];
    let operations: Vec<Value> = expected
        .iter()
        .filter_map(|entry| {
            let number = numbers.iter().find(|(name, _)| entry["type"] == *name)?.1;
            let [from, to, value] = ["from", "to", "value"].map(|name| &entry[name]);
            Some(json!({"type": number, "from": from, "to": to, "value": value}))
        })
        .collect();
    assert_eq!(operations.len(), 5);
    let found = world.call("ots_getInternalOperations", json!([hash])).await;
    assert_eq!(found, Value::Array(operations));

    // A transfer has no operations; one to a precompiled contract no calls either.
    let plain = world.send(3, TxKind::Call(PLAIN), 1, Bytes::new());
    let identity = world.send(4, TxKind::Call(IDENTITY), 0, Bytes::from_static(&[7]));
    world.block().await;
    assert_eq!(world.call("ots_getInternalOperations", json!([plain])).await, json!([]));
    assert_eq!(world.call("ots_traceTransaction", json!([identity])).await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_reverts() {
    let world = World::indexed();
    let sender = world.sender();
    // PUSH4 0xdeadbeef, PUSH1 0, MSTORE, PUSH1 4, PUSH1 28, REVERT.
    let reverts = [0x63, 0xde, 0xad, 0xbe, 0xef, 0x60, 0, 0x52, 0x60, 4, 0x60, 28, 0xfd];
    world.send(0, TxKind::Create, 0, deploying(&reverts));
    world.send(1, TxKind::Create, 0, deploying(&[0xfe]));
    world.block().await;
    let good = world.send(2, TxKind::Call(PLAIN), 1, Bytes::new());
    let reverted = world.send(3, TxKind::Call(sender.create(0)), 0, Bytes::new());
    let invalid = world.send(4, TxKind::Call(sender.create(1)), 0, Bytes::new());
    world.block().await;
    for (hash, data) in [(good, "0x"), (reverted, "0xdeadbeef"), (invalid, "0x")] {
        assert_eq!(world.call("ots_getTransactionError", json!([hash])).await, data);
    }
    let entries = world.call("ots_traceTransaction", json!([reverted])).await;
    assert_eq!(entries[0]["output"], "0xdeadbeef");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_transactions_are_errors() {
    let world = World::indexed();
    for method in ["ots_getTransactionError", "ots_traceTransaction", "ots_getInternalOperations"] {
        let unknown = world.error(method, json!([format!("0x{}", "12".repeat(32))])).await;
        assert_eq!(unknown, (-32000, "transaction not found".to_owned()), "{method}");
        for bad in [json!([]), json!(["0x12"]), json!([1])] {
            assert_eq!(world.error(method, bad.clone()).await.0, -32602, "{method}{bad}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn details_of_blocks() {
    let world = World::indexed();
    for nonce in 0..3 {
        world.send(nonce, TxKind::Call(PLAIN), 1, Bytes::new());
    }
    world.block().await;
    let mut block = world.call("eth_getBlockByNumber", json!(["0x1", false])).await;
    let hash = block["hash"].clone();
    let members = block.as_object_mut().unwrap();
    members.remove("transactions");
    members.insert("logsBloom".to_owned(), Value::Null);
    members.insert("transactionCount".to_owned(), json!(3));
    let details = world.call("ots_getBlockDetails", json!([1])).await;
    let nothing = json!({"blockReward": "0x0", "uncleReward": "0x0", "issuance": "0x0"});
    // Three transfers of 21,000 gas at the price of a legacy transaction.
    let fees = format!("{:#x}", 3 * 21_000 * 400_000_000_000_u128);
    assert_eq!(details, json!({"block": block, "issuance": nothing, "totalFees": fees}));
    for same in [json!("0x1"), json!("latest"), json!("safe")] {
        assert_eq!(world.call("ots_getBlockDetails", json!([same])).await, details, "{same}");
    }
    assert_eq!(world.call("ots_getBlockDetailsByHash", json!([hash])).await, details);
    assert_eq!(world.call("ots_getBlockDetails", json!([2])).await, Value::Null);
    let unknown = json!([format!("0x{}", "12".repeat(32))]);
    let error = world.error("ots_getBlockDetailsByHash", unknown).await;
    assert_eq!(error, (-32000, "block not found".to_owned()));
    let empty = world.call("ots_getBlockDetails", json!([0])).await;
    assert_eq!(
        (&empty["totalFees"], &empty["block"]["transactionCount"]),
        (&json!("0x0"), &json!(0))
    );
    assert_eq!(world.error("ots_getBlockDetails", json!([-1])).await.0, -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_block_begin_at_its_end() {
    let world = World::indexed();
    let contract = world.deploy_setter(0);
    world.block().await;
    let input = Bytes::from(vec![0xab; 64]);
    for nonce in 1..8 {
        world.send(nonce, TxKind::Call(contract), 0, input.clone());
    }
    world.block().await;
    let whole = world.call("eth_getBlockByNumber", json!(["0x2", true])).await;
    let receipts = world.call("eth_getBlockReceipts", json!(["0x2"])).await;
    for (page, size, shown) in [
        (0, 3, 4..7),
        (1, 3, 1..4),
        (2, 3, 0..1),
        (3, 3, 0..0),
        (0, 100, 0..7),
        (u64::MAX, 2, 0..0),
    ] {
        let found = world.call("ots_getBlockTransactions", json!([2, page, size])).await;
        let block = &found["fullblock"];
        assert_eq!((&block["transactionCount"], &block["logsBloom"]), (&json!(7), &Value::Null));
        assert_eq!(block["hash"], whole["hash"]);
        let mut transactions = whole["transactions"].as_array().unwrap()[shown.clone()].to_vec();
        transactions.iter_mut().for_each(|tx| tx["input"] = json!("0xabababab"));
        assert_eq!(block["transactions"], json!(transactions), "{page}");
        let mut expected = receipts.as_array().unwrap()[shown].to_vec();
        expected.iter_mut().for_each(|receipt| {
            receipt["logs"] = Value::Null;
            receipt["logsBloom"] = Value::Null;
        });
        assert_eq!(found["receipts"], json!(expected), "{page}");
    }
    assert_eq!(world.call("ots_getBlockTransactions", json!([3, 0, 25])).await, Value::Null);
    let error = world.error("ots_getBlockTransactions", json!([2, 0, 101])).await;
    assert_eq!(error, (-32602, "max allowed page size: 100".to_owned()));
    assert_eq!(world.error("ots_getBlockTransactions", json!([2, 0, 0])).await.0, -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_header_that_otterscan_asks_for_first() {
    let world = World::indexed();
    let block = world.call("eth_getBlockByNumber", json!(["0x0", false])).await;
    for number in [json!(0), json!("0x0"), json!("earliest")] {
        assert_eq!(world.call("erigon_getHeaderByNumber", json!([number])).await, block);
    }
    assert_eq!(world.call("erigon_getHeaderByNumber", json!([9])).await, Value::Null);
}
