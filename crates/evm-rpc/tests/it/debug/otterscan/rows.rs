//! The rows of the index, compared with the accounts that `callTracer` names.

use std::collections::BTreeSet;

use alloy_primitives::{Address, TxKind, address};
use esker_chain::ChainVm as _;
use esker_evm_state::addresses::TxPlaces;
use esker_evm_state::addresses::tables::ADDRESS_TXS;
use esker_storage::Scope;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::world::World;
use super::code::{End, Op, deploying, program};

/// The scope of the chain.
const SCOPE: Scope = Scope(2);
/// A contract that returns its data, and the one of warp messages.
const IDENTITY: Address = address!("0000000000000000000000000000000000000004");
const WARP: Address = address!("0200000000000000000000000000000000000005");
/// Accounts without code.
const PLAIN: [Address; 2] = [Address::repeat_byte(0xa1), Address::repeat_byte(0xa2)];
/// Contracts that the world begins with.
const CONTRACTS: u64 = 6;

/// An account by a number: plain ones, precompiled ones, and contracts.
fn account(sender: Address, number: u8) -> Address {
    match number {
        0 | 1 => PLAIN[usize::from(number)],
        2 => IDENTITY,
        3 => WARP,
        number => sender.create(u64::from(number - 4) % CONTRACTS),
    }
}

/// The code of a contract: what it does when it is called.
fn contract(sender: Address, number: u64) -> Vec<Op> {
    let other = |number: u64| sender.create(number);
    match number {
        0 => vec![Op::End(End::Stop)],
        1 => vec![Op::Call(other(0), 1), Op::End(End::Revert)],
        2 => vec![Op::End(End::SelfDestruct(PLAIN[1]))],
        3 => vec![Op::DelegateCall(other(2)), Op::Call(PLAIN[0], 0)],
        4 => vec![Op::StaticCall(other(1)), Op::Create(End::Stop, 0), Op::End(End::Invalid)],
        _ => vec![Op::Call(other(3), 0), Op::Call(other(4), 0), Op::Call(IDENTITY, 0)],
    }
}

fn end() -> impl Strategy<Value = (u8, u8)> {
    (0..4_u8, 0..10_u8)
}

fn end_of(sender: Address, (kind, to): (u8, u8)) -> End {
    match kind {
        0 => End::Stop,
        1 => End::Revert,
        2 => End::Invalid,
        _ => End::SelfDestruct(account(sender, to)),
    }
}

/// An instruction by numbers: its kind, an account, a value, how created code ends. 200 is more than a transaction has.
type Choice = (u8, u8, u8, (u8, u8));

fn choice() -> impl Strategy<Value = Choice> {
    (0..7_u8, 0..10_u8, prop_oneof![Just(0_u8), Just(1), Just(200)], end())
}

fn op(sender: Address, (kind, to, value, end): Choice) -> Op {
    let (to, end) = (account(sender, to), end_of(sender, end));
    match kind {
        0 => Op::Call(to, value),
        1 => Op::CallCode(to, value),
        2 => Op::DelegateCall(to),
        3 => Op::StaticCall(to),
        4 => Op::Create(end, value),
        5 => Op::Create2(end, value),
        _ => Op::End(end),
    }
}

/// A transaction: a program as init code, or a call of an account.
#[derive(Clone, Debug)]
enum Sent {
    Program(Vec<Choice>),
    Call(u8),
}

fn sent() -> impl Strategy<Value = Sent> {
    prop_oneof![
        3 => prop::collection::vec(choice(), 0..6).prop_map(Sent::Program),
        1 => (0..10_u8).prop_map(Sent::Call),
    ]
}

/// Accounts that a trace names, but for precompiled ones.
fn named(call: &Value, all: &mut BTreeSet<Address>) {
    for member in ["from", "to"] {
        let address = call[member].as_str().and_then(|text| text.parse().ok());
        all.extend(address.filter(|address| ![IDENTITY, WARP].contains(address)));
    }
    for inner in call["calls"].as_array().into_iter().flatten() {
        named(inner, all);
    }
}

/// All pairs of the index.
fn stored(world: &World) -> BTreeSet<(Address, u64, u32)> {
    let reader = world.evm.context().store.snapshot().unwrap();
    let rows = ADDRESS_TXS.collect(reader.as_ref(), SCOPE, &[]).unwrap();
    let pairs = rows.into_iter().flat_map(|((address, height), TxPlaces(places))| {
        places.into_iter().map(move |place| (Address::from(address), height, place))
    });
    pairs.collect()
}

/// What the index must have, by traces of every transaction.
async fn expected(world: &World) -> BTreeSet<(Address, u64, u32)> {
    let mut all = BTreeSet::new();
    for height in 1..=world.height() {
        let block = world.call("eth_getBlockByNumber", json!([format!("{height:#x}"), true])).await;
        for (place, tx) in (0..).zip(block["transactions"].as_array().unwrap()) {
            let receipt = world.call("eth_getTransactionReceipt", json!([tx["hash"]])).await;
            let config = json!({"tracer": "callTracer"});
            let trace = world.call("debug_traceTransaction", json!([tx["hash"], config])).await;
            let mut accounts = BTreeSet::new();
            named(&trace, &mut accounts);
            // `callTracer` leaves out the address of a creation that failed.
            let entries = world.call("ots_traceTransaction", json!([tx["hash"]])).await;
            for entry in entries.as_array().unwrap() {
                if entry["type"].as_str().unwrap().starts_with("CREATE") {
                    named(entry, &mut accounts);
                }
            }
            // The transaction names its own, precompiled ones too.
            for own in [&tx["from"], &tx["to"], &receipt["contractAddress"]] {
                accounts.extend(own.as_str().map(|text| text.parse::<Address>().unwrap()));
            }
            all.extend(accounts.into_iter().map(|account| (account, height, place)));
        }
    }
    all
}

async fn check(blocks: Vec<Vec<Sent>>) {
    let world = World::indexed();
    let sender = world.sender();
    let mut nonce = 0..;
    for number in 0..CONTRACTS {
        let code = deploying(&program(&contract(sender, number)));
        world.send(nonce.next().unwrap(), TxKind::Create, 50, code);
    }
    world.block().await;
    for block in blocks {
        for sent in &block {
            let (to, input) = match sent {
                Sent::Program(choices) => {
                    let ops: Vec<_> = choices.iter().map(|choice| op(sender, *choice)).collect();
                    (TxKind::Create, program(&ops))
                }
                Sent::Call(to) => (TxKind::Call(account(sender, *to)), Default::default()),
            };
            world.send(nonce.next().unwrap(), to, 100, input);
        }
        world.block().await;
    }
    assert_eq!(stored(&world), expected(&world).await);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rows_are_the_accounts_that_traces_name(
        blocks in prop::collection::vec(prop::collection::vec(sent(), 1..4), 1..4),
    ) {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(check(blocks));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_contract_is_called_once() {
    let calls = (0..10).map(Sent::Call).collect();
    check(vec![calls]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_setting_there_are_no_rows() {
    let world = World::new(std::path::Path::new("/nowhere"));
    world.send(0, TxKind::Call(PLAIN[0]), 1, Default::default());
    world.block().await;
    assert!(stored(&world).is_empty());
    for method in ["ots_searchTransactionsBefore", "ots_searchTransactionsAfter"] {
        let (code, text) = world.error(method, json!([PLAIN[0], 0, 25])).await;
        assert_eq!(code, -32000);
        assert!(text.contains("set index-addresses = true"), "{text}");
    }
}
