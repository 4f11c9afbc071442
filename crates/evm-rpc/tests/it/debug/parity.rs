//! The namespace `trace`: Parity's forms of what `debug` shows.

use std::path::Path;

use alloy_primitives::{Address, B256, Bytes, TxKind, address, hex};
use serde_json::{Value, json};

use super::otterscan::code::{End, Op, deploying, program};
use super::world::World;
use crate::world::Setup;

const PLAIN: Address = Address::repeat_byte(0xa1);
const IDENTITY: Address = address!("0000000000000000000000000000000000000004");
const UNKNOWN: &str = "0x1212121212121212121212121212121212121212121212121212121212121212";

/// A world with the transactions of [`transactions`], and their hashes.
async fn world(index_addresses: bool) -> (World, Transactions) {
    let setup = Setup { index_addresses, ..Setup::ARCHIVE };
    let world = World::with(setup, Path::new("/nowhere"), true);
    let transactions = transactions(&world).await;
    (world, transactions)
}

struct Transactions {
    contract: Address,
    destroys: Address,
    nested: B256,
    reverted: B256,
    invalid: B256,
}

/// Contracts that call and create others, and fail.
async fn transactions(world: &World) -> Transactions {
    let sender = world.sender();
    let destroyed = deploying(&program(&[Op::End(End::SelfDestruct(PLAIN))]));
    world.send(0, TxKind::Create, 0, destroyed);
    // PUSH4 0xdeadbeef, PUSH1 0, MSTORE, PUSH1 4, PUSH1 28, REVERT.
    let reverts = hex!("63deadbeef6000526004601cfd");
    world.send(1, TxKind::Create, 0, deploying(&reverts));
    world.send(2, TxKind::Create, 0, deploying(&[0xfe]));
    let ops = [
        Op::Call(IDENTITY, 0),
        Op::Call(PLAIN, 3),
        Op::StaticCall(PLAIN),
        Op::DelegateCall(PLAIN),
        Op::CallCode(PLAIN, 0),
        Op::Call(sender.create(0), 2),
        Op::Create(End::SelfDestruct(PLAIN), 1),
        Op::Create2(End::Revert, 0),
        // More than there is: refused.
        Op::Call(PLAIN, 200),
    ];
    world.send(3, TxKind::Create, 0, deploying(&program(&ops)));
    world.block().await;
    let contract = sender.create(3);
    let nested = world.send(4, TxKind::Call(contract), 100, Bytes::from_static(&[1, 2, 3]));
    let reverted = world.send(5, TxKind::Call(sender.create(1)), 0, Bytes::new());
    world.block().await;
    let invalid = world.send(6, TxKind::Call(sender.create(2)), 0, Bytes::new());
    world.block().await;
    Transactions { contract, destroys: sender.create(0), nested, reverted, invalid }
}

/// Places, kinds and errors.
fn outline(traces: &Value) -> Vec<(String, String, Value)> {
    let traces = traces.as_array().unwrap().iter();
    let one = |trace: &Value| {
        let action = &trace["action"];
        let kind = [&action["callType"], &action["creationMethod"], &trace["type"]];
        let kind = kind.into_iter().find_map(Value::as_str).unwrap().to_owned();
        (trace["traceAddress"].to_string(), kind, trace["error"].clone())
    };
    traces.map(one).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_transaction() {
    let (world, Transactions { contract, destroys, nested, .. }) = world(true).await;
    let traces = world.call("trace_transaction", json!([nested])).await;
    let entry = |place: &str, kind: &str, error: Value| (place.to_owned(), kind.to_owned(), error);
    let expected = [
        entry("[]", "call", Value::Null),
        entry("[0]", "call", Value::Null),
        entry("[1]", "call", Value::Null),
        entry("[2]", "staticcall", Value::Null),
        entry("[3]", "delegatecall", Value::Null),
        entry("[4]", "callcode", Value::Null),
        entry("[5]", "call", Value::Null),
        entry("[5,0]", "suicide", Value::Null),
        entry("[6]", "create", Value::Null),
        entry("[6,0]", "suicide", Value::Null),
        entry("[7]", "create2", json!("Reverted")),
    ];
    assert_eq!(outline(&traces), expected);
    let receipt = world.call("eth_getTransactionReceipt", json!([nested])).await;
    let gas = format!("{:#x}", 1_000_000 - 21_000 - 3 * 16);
    let action = json!({"from": world.sender(), "callType": "call", "gas": gas, "input": "0x010203",
        "to": contract, "value": "0x64"});
    let first = &traces[0];
    assert_eq!(lower(&first["action"]), lower(&action));
    assert_eq!(first["subtraces"], 8);
    // Without what a transaction pays before code runs, and before refunds.
    assert_ne!(first["result"]["gasUsed"], receipt["gasUsed"]);
    for trace in traces.as_array().unwrap() {
        assert_eq!(trace["blockHash"], receipt["blockHash"]);
        assert_eq!(trace["blockNumber"], 2);
        assert_eq!(trace["transactionHash"], json!(nested));
        assert_eq!(trace["transactionPosition"], 0);
    }
    let suicide = json!({"address": destroys, "balance": "0x2", "refundAddress": PLAIN});
    assert_eq!(lower(&traces[7]["action"]), lower(&suicide));
    assert_eq!(traces[7]["result"], Value::Null);
    let created = lower(&json!(contract.create(1)));
    let result = &traces[8]["result"];
    assert_eq!((&result["address"], &result["code"]), (&created, &json!("0x")));
}

/// Addresses have capitals where they are no replies.
fn lower(value: &Value) -> Value {
    serde_json::from_str(&value.to_string().to_lowercase().replace("calltype", "callType")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_by_its_place() {
    let (world, Transactions { nested, .. }) = world(true).await;
    let all = world.call("trace_transaction", json!([nested])).await;
    for (place, at) in [(json!([]), 0), (json!(["0x5", "0x0"]), 7), (json!([7]), 10)] {
        assert_eq!(world.call("trace_get", json!([nested, place])).await, all[at], "{place}");
    }
    for place in [json!([99]), json!([5, 0, 0]), json!(["0xffffffffffffffff"])] {
        assert_eq!(world.call("trace_get", json!([nested, place])).await, Value::Null, "{place}");
    }
    assert_eq!(world.error("trace_get", json!([nested, ["x"]])).await.0, -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_the_sum_of_their_transactions() {
    let (world, Transactions { nested, reverted, invalid, .. }) = world(true).await;
    let mut expected = Vec::new();
    for hash in [nested, reverted] {
        let traces = world.call("trace_transaction", json!([hash])).await;
        expected.extend(traces.as_array().unwrap().clone());
    }
    let block = world.call("eth_getBlockByNumber", json!(["0x2", false])).await;
    for at in [json!("0x2"), json!(2), block["hash"].clone(), json!({"blockHash": block["hash"]})] {
        let traces = world.call("trace_block", json!([at])).await;
        assert_eq!(traces, Value::Array(expected.clone()), "{at}");
    }
    assert_eq!(expected.last().unwrap()["error"], "Reverted");
    assert_eq!(expected.last().unwrap()["result"]["output"], "0xdeadbeef");
    let last = world.call("trace_block", json!(["latest"])).await;
    assert_eq!(last, world.call("trace_transaction", json!([invalid])).await);
    let failed = (&last[0]["error"], &last[0]["result"]);
    assert_eq!(failed, (&json!("Bad instruction"), &Value::Null));
    assert_eq!(world.call("trace_block", json!(["earliest"])).await, json!([]));
    for method in ["trace_block", "trace_replayBlockTransactions"] {
        for at in [json!("0x99"), json!(UNKNOWN)] {
            let params = if method == "trace_block" { json!([at]) } else { json!([at, ["trace"]]) };
            assert_eq!(world.call(method, params).await, Value::Null, "{method} {at}");
        }
    }
    assert_eq!(world.error("trace_block", json!(["x"])).await.0, -32602);
    assert_eq!(world.error("trace_block", json!([{}])).await.0, -32000);
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_find_the_same_with_and_without_the_index() {
    let (indexed, made) = world(true).await;
    let (plain, _) = world(false).await;
    let (sender, contract) = (indexed.sender(), made.contract);
    let all = indexed.call("trace_filter", json!([{}])).await;
    let count = |found: &Value| found.as_array().unwrap().len();
    assert_eq!(count(&all), 17);
    for (filter, found) in [
        (json!({}), 17),
        (json!({"fromBlock": "0x2", "toBlock": "0x2"}), 12),
        (json!({"fromBlock": "latest"}), 1),
        (json!({"fromBlock": 2, "toBlock": 1000}), 13),
        (json!({"fromBlock": "0x99"}), 0),
        (json!({"fromAddress": [sender]}), 7),
        (json!({"toAddress": [PLAIN]}), 6),
        (json!({"toAddress": [PLAIN, contract]}), 8),
        (json!({"toAddress": [IDENTITY]}), 1),
        (json!({"fromAddress": [sender], "toAddress": [PLAIN]}), 13),
        (json!({"fromAddress": [sender], "toAddress": [PLAIN], "mode": "intersection"}), 0),
        (json!({"fromAddress": [contract], "toAddress": [PLAIN], "mode": "intersection"}), 4),
        (json!({"fromAddress": [Address::repeat_byte(0x77)]}), 0),
        (json!({"count": 0}), 0),
        (json!({"count": 3, "after": 1}), 3),
        (json!({"after": "0x10"}), 1),
        (json!({"after": u64::MAX, "count": "0xffffffffffffffff"}), 0),
        (json!({"toAddress": [PLAIN], "after": 5, "count": 9}), 1),
        (json!({"fromAddress": [], "toAddress": null}), 17),
    ] {
        let traces = indexed.call("trace_filter", json!([filter])).await;
        assert_eq!(count(&traces), found, "{filter}");
        assert_eq!(plain.call("trace_filter", json!([filter])).await, traces, "{filter}");
    }
    let part = indexed.call("trace_filter", json!([{"after": 4, "count": 2}])).await;
    assert_eq!(part.as_array().unwrap()[..], all.as_array().unwrap()[4..6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_that_are_refused() {
    let (world, _) = world(true).await;
    let reversed = json!([{"fromBlock": "0x3", "toBlock": "0x1"}]);
    let text = "begin block 3 is greater than end block 1".to_owned();
    assert_eq!(world.error("trace_filter", reversed).await, (-32602, text));
    for filter in [
        json!({"mode": "neither"}),
        json!({"fromAddress": ["0x12"]}),
        json!({"fromBlock": "x"}),
        json!({"count": -1}),
        json!({"after": "x"}),
        json!([]),
    ] {
        assert_eq!(world.error("trace_filter", json!([filter])).await.0, -32602, "{filter}");
    }
    assert_eq!(world.error("trace_filter", json!([])).await.0, -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_are_bounded() {
    let world = World::searching(4);
    // Calls until the gas is used up: JUMPDEST, PUSH1 0 five times, PUSH20, GAS, CALL, POP, PUSH1 0, JUMP.
    let code = format!("5b{}73{}5af150600056", "6000".repeat(5), hex::encode(PLAIN));
    world.send(0, TxKind::Create, 0, deploying(&hex::decode(code).unwrap()));
    let contract = world.sender().create(0);
    for nonce in 1..4 {
        world.block().await;
        world.send(nonce, TxKind::Call(contract), 0, Bytes::new());
    }
    world.block().await;
    let reply = world.ask("trace_filter", &json!([{"fromBlock": "0x1"}])).await;
    let text = "query returned more than 10000 results. Try with this block range [0x1, 0x3].";
    let error = json!({"code": -32005, "message": text,
        "data": {"from": "0x1", "to": "0x3", "limit": 10000}});
    assert_eq!(reply["error"], error);
    let found = world.call("trace_filter", json!([{"fromBlock": "0x1", "toBlock": "0x3"}])).await;
    assert!(found.as_array().unwrap().len() > 10_000);
    // A count ends the search before that.
    let found = world.call("trace_filter", json!([{"fromBlock": "0x1", "count": 9}])).await;
    assert_eq!(found.as_array().unwrap().len(), 9);
    let text = "requested too many blocks from 0 to 4, maximum is set to 4".to_owned();
    assert_eq!(world.error("trace_filter", json!([{}])).await, (-32602, text));
}

#[tokio::test(flavor = "multi_thread")]
async fn replays_have_the_parts_that_were_asked_for() {
    let (world, Transactions { contract, nested, reverted, .. }) = world(true).await;
    let parts = |types: Value| json!([nested, types]);
    let none = world.call("trace_replayTransaction", parts(json!([]))).await;
    let expected = json!({"output": "0x", "stateDiff": null, "trace": [], "vmTrace": null});
    assert_eq!(none, expected);
    let all = parts(json!(["trace", "stateDiff", "vmTrace"]));
    let replay = world.call("trace_replayTransaction", all).await;
    // As with reth, calls of precompiled contracts are left out here.
    let calls = outline(&replay["trace"]);
    assert_eq!((calls.len(), replay["trace"][0]["subtraces"].as_u64()), (10, Some(7)));
    assert_eq!(replay["trace"][0].get("blockHash"), None);
    let diff = &replay["stateDiff"];
    let of = |address: Address| &diff[format!("{address:#x}")];
    let nonce = json!({"*": {"from": "0x4", "to": "0x5"}});
    assert_eq!((&of(world.sender())["nonce"], &of(world.sender())["code"]), (&nonce, &json!("=")));
    let balance = json!({"*": {"from": "0x0", "to": "0x6"}});
    assert_eq!(of(PLAIN)["balance"], balance);
    assert_eq!(of(contract)["nonce"], json!({"*": {"from": "0x1", "to": "0x3"}}));
    // What the transaction created and destroyed was never there.
    assert_eq!(of(contract.create(1)), &Value::Null);
    let vm = &replay["vmTrace"];
    let code = world.call("eth_getCode", json!([contract, "latest"])).await;
    assert_eq!(vm["code"], code);
    let subs = vm["ops"].as_array().unwrap().iter().filter(|op| op["sub"].is_object());
    assert_eq!(subs.count(), 7);

    let block = world.call("trace_replayBlockTransactions", json!(["0x2", ["trace"]])).await;
    let hashes = [0, 1].map(|at: usize| block[at]["transactionHash"].clone());
    assert_eq!(hashes, [json!(nested), json!(reverted)]);
    assert_eq!((&block[0]["trace"], &block[1]["output"]), (&replay["trace"], &json!("0xdeadbeef")));
    let unknown = world.call("trace_replayTransaction", json!([UNKNOWN, ["trace"]])).await;
    assert_eq!(unknown, Value::Null);
    let wrong = world.error("trace_replayTransaction", parts(json!(["nope"]))).await;
    assert_eq!(wrong.0, -32602);
    assert!(wrong.1.contains("unknown trace type \"nope\""), "{}", wrong.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_not_made() {
    let (world, Transactions { nested, .. }) = world(true).await;
    let sender = world.sender();
    let setter = world.deploy_setter(7);
    world.block().await;
    let set = |value: u8| json!({"from": sender, "to": setter, "input": format!("0x{:064x}{value:064x}", 1)});
    let types = json!(["trace", "stateDiff", "vmTrace"]);
    let one = world.call("trace_call", json!([set(5), types])).await;
    let slot = format!("0x{:064x}", 1);
    let changed =
        |replay: &Value| replay["stateDiff"][format!("{setter:#x}")]["storage"][&slot].clone();
    let word = |value: u8| format!("0x{value:064x}");
    assert_eq!(changed(&one), json!({"*": {"from": word(0), "to": word(5)}}));
    let ops = one["vmTrace"]["ops"].as_array().unwrap();
    let stored = ops.iter().find(|op| op["op"] == "SSTORE").unwrap();
    assert_eq!(stored["ex"]["store"], json!({"key": "0x1", "val": "0x5"}));
    assert_eq!(ops[0]["ex"]["push"], json!(["0x0"]));

    // Each call sees what those before it did.
    let calls = json!([[set(5), ["stateDiff"]], [set(6), ["stateDiff", "trace"]]]);
    let many = world.call("trace_callMany", json!([calls, "latest"])).await;
    assert_eq!(changed(&many[1]), json!({"*": {"from": word(5), "to": word(6)}}));
    assert_eq!(
        (&many[0]["trace"], many[1]["trace"][0]["subtraces"].as_u64()),
        (&json!([]), Some(0))
    );
    assert_eq!(world.call("trace_callMany", json!([[]])).await, json!([]));
    assert_eq!(world.error("trace_callMany", json!([[[set(1)]]])).await.0, -32602);
    assert_eq!(world.error("trace_call", json!([set(1), types, "0x99"])).await.0, -32000);

    // A transaction that a block has already has a nonce that was used.
    let raw = world.call("eth_getRawTransactionByHash", json!([nested])).await;
    let again = world.error("trace_rawTransaction", json!([raw, ["trace"]])).await;
    assert!(again.1.contains("nonce too low"), "{}", again.1);
    let before = world.call("trace_rawTransaction", json!([raw, ["trace"], "0x1"])).await;
    assert_eq!(outline(&before["trace"]).len(), 10);
    assert_eq!(world.error("trace_rawTransaction", json!(["0x12", []])).await.0, -32000);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_transactions_are_null() {
    let (world, _) = world(true).await;
    assert_eq!(world.call("trace_transaction", json!([UNKNOWN])).await, Value::Null);
    assert_eq!(world.call("trace_get", json!([UNKNOWN, ["0x0"]])).await, Value::Null);
    assert_eq!(world.error("trace_transaction", json!(["0x12"])).await.0, -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn states_that_are_gone_are_errors() {
    let world = World::pruning();
    for nonce in 0..8 {
        world.send(nonce, TxKind::Call(PLAIN), 1, Bytes::new());
        world.block().await;
    }
    for (method, params) in [
        ("trace_block", json!(["0x1"])),
        ("trace_filter", json!([{}])),
        ("trace_replayBlockTransactions", json!(["0x1", ["trace"]])),
    ] {
        let (code, text) = world.error(method, params).await;
        assert_eq!(code, -32000, "{method}");
        assert!(text.contains("required historical state unavailable"), "{text}");
    }
    assert_eq!(world.call("trace_block", json!(["latest"])).await.as_array().unwrap().len(), 1);
}

/// A SELFDESTRUCT that ends a creation is in the index of addresses, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_creation_that_destroys_is_found_by_whom_it_pays() {
    let world = World::indexed();
    let paid = Address::repeat_byte(0xa2);
    let hash = world.send(0, TxKind::Create, 5, program(&[Op::End(End::SelfDestruct(paid))]));
    world.block().await;
    let page = world.call("ots_searchTransactionsBefore", json!([paid, 0, 25])).await;
    assert_eq!(page["txs"][0]["hash"], json!(hash));
    let traces = world.call("trace_filter", json!([{"toAddress": [paid]}])).await;
    assert_eq!(
        (&traces[0]["type"], &traces[0]["action"]["balance"]),
        (&json!("suicide"), &json!("0x5"))
    );
}
