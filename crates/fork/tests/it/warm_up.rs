//! The source says what a call reads, and all of it is fetched together. It is only a hint.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Bytes, U256};
use esker_fork::{Fork, ForkOptions, LackingCall, Misses, Want};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::server::{Act, Server, within};
use crate::world::{World, address, sample};

const METHOD: &str = "eth_createAccessList";

/// A call of account 6.
fn call(input: u8) -> LackingCall {
    LackingCall {
        from: address(1),
        to: Some(address(6)),
        value: U256::ZERO,
        input: Bytes::from(vec![input]),
        gas: 50_000,
    }
}

/// What the first run of the call lacks.
fn lacking() -> Misses {
    Misses::from(BTreeSet::from([Want::Account(address(6))]))
}

/// Slots of the accounts 6 and 12.
fn list() -> Value {
    let entry = |n: u64, slots: &[u64]| {
        let keys: Vec<_> = slots.iter().map(|slot| format!("{slot:#066x}")).collect();
        json!({"address": address(n).to_string(), "storageKeys": keys})
    };
    json!({"accessList": [entry(6, &[2, 3]), entry(12, &[5]), entry(9, &[])], "gasUsed": "0x1"})
}

fn is_list(request: &Value) -> bool {
    request["method"] == METHOD
}

/// A source that answers requests for lists in its own way.
async fn source(answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> (World, Server, Fork) {
    let world = World::new(sample());
    let answers = world.clone();
    let server = Server::start(move |request, _| match is_list(request) {
        true => {
            let mut reply = answer(request);
            reply["id"] = request["id"].clone();
            Act::Json(reply)
        }
        false => answers.act(request),
    });
    let server = server.await;
    let fork = server.fork(ForkOptions::default()).await;
    (world, server, fork)
}

fn lists(server: &Server) -> usize {
    server.methods().iter().filter(|method| *method == METHOD).count()
}

async fn fetch(fork: &Fork, call: &LackingCall) {
    within("a fetch", fork.fetch_for(&lacking(), Some(call))).await.unwrap();
}

/// Whether account 12 and the slots of the list are known.
fn is_warm(fork: &Fork) -> bool {
    let misses = Misses::default();
    let view = fork.view(&misses);
    view.slot(&address(6), U256::from(2));
    view.slot(&address(6), U256::from(3));
    view.slot(&address(12), U256::from(5));
    view.account(&address(12));
    view.account(&address(9));
    misses.is_empty()
}

#[tokio::test]
async fn what_the_source_names_is_fetched_together() {
    let (world, server, fork) = source(|_| json!({"result": list()})).await;
    let before = server.requests().len();
    fetch(&fork, &call(1)).await;
    assert!(is_warm(&fork));
    // The list and what the run lacked at the same time, then the rest.
    assert_eq!(server.requests().len(), before + 3);
    let asked = server.requests().into_iter().find(is_list).unwrap();
    assert_eq!(asked["params"][1], json!({"blockHash": world.hash().to_string()}));
    assert_eq!(asked["params"][0]["to"], address(6).to_string());
    assert_eq!(asked["params"][0]["input"], "0x01");
    let code = world.account(&address(12)).unwrap().code_hash;
    let misses = Misses::default();
    assert!(fork.view(&misses).code(code).known().is_some());
    // The same call is not asked about again.
    fetch(&fork, &call(1)).await;
    assert_eq!(server.requests().len(), before + 3);
}

#[tokio::test]
async fn wrong_lists_are_harmless() {
    let entry = |address: &str, key: &str| json!({"result": {"accessList": [{"address": address, "storageKeys": [key]}]}});
    let unknown = address(1 << 40).to_string();
    for reply in [
        json!({"result": null}),
        json!({"result": {"accessList": "none"}}),
        json!({"result": {"accessList": [7]}}),
        entry("0x12", "0x0"),
        entry(&unknown, "zero"),
        entry(&unknown, "0x7"),
        json!({"error": {"code": -32000, "message": "header not found"}}),
        json!({"error": {"code": 3, "message": "execution reverted"}}),
    ] {
        let (world, _server, fork) = source(move |_| reply.clone()).await;
        fetch(&fork, &call(1)).await;
        let misses = Misses::default();
        let account = fork.view(&misses).account(&address(6)).known().unwrap().unwrap();
        assert_eq!(account.to_account(), world.account(&address(6)).unwrap());
        assert_eq!(fork.counts().source.faults.of("wrong"), 0);
    }
}

#[tokio::test]
async fn a_long_list_is_cut() {
    let keys: Vec<_> = (0..5000).map(|slot| format!("{slot:#x}")).collect();
    let entry = json!({"address": address(6).to_string(), "storageKeys": keys});
    let (_world, _server, fork) = source(move |_| json!({"result": {"accessList": [entry]}})).await;
    fetch(&fork, &call(1)).await;
    assert_eq!(fork.counts().state.slots, 2047);
}

#[tokio::test]
async fn a_source_that_refuses_is_not_asked_again() {
    let refusal = |code: i64, message: &'static str| move |_: &Value| json!({"error": {"code": code, "message": message}});
    let (_world, server, fork) = source(refusal(-32601, "no such method")).await;
    for input in 0..9 {
        fetch(&fork, &call(input)).await;
    }
    assert_eq!(lists(&server), 1);
    let (_world, server, fork) = source(refusal(-32000, "not today")).await;
    for input in 0..9 {
        fetch(&fork, &call(input)).await;
    }
    assert_eq!(lists(&server), 4);
    // A revert says nothing about the method.
    let (_world, server, fork) = source(refusal(3, "execution reverted")).await;
    for input in 0..9 {
        fetch(&fork, &call(input)).await;
    }
    assert_eq!(lists(&server), 9);
}

/// Lets the clock jump. Nothing else runs meanwhile.
async fn advance(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_source_that_stalls_is_asked_once_in_a_while() {
    let world = World::new(sample());
    let server = Server::start(move |request, _| match is_list(request) {
        true if request["params"][0]["input"] == "0x63" => {
            Act::Json(json!({"id": request["id"], "result": list()}))
        }
        true => Act::Stall,
        false => world.act(request),
    });
    let server = server.await;
    let fork = server.fork(ForkOptions::default()).await;
    let begin = |input: u8| {
        let fork = fork.clone();
        tokio::spawn(async move { fork.fetch_for(&lacking(), Some(&call(input))).await })
    };
    let are_asked = async |count: usize| {
        while lists(&server) < count {
            tokio::task::yield_now().await;
        }
    };
    for round in 1..=2 {
        let stalled = begin(round);
        within("the request", are_asked(usize::from(round))).await;
        assert!(!stalled.is_finished());
        advance(5).await;
        within("the call", stalled).await.unwrap().unwrap();
        // Without a list, calls wait for nothing.
        for input in 10 * round..10 * round + 9 {
            fetch(&fork, &call(input)).await;
        }
        advance(294).await;
        fetch(&fork, &call(10 * round + 9)).await;
        assert_eq!(lists(&server), usize::from(round));
        advance(7).await;
    }
    fetch(&fork, &call(99)).await;
    assert_eq!(lists(&server), 3);
    assert!(is_warm(&fork));
}

#[tokio::test]
async fn a_sender_without_funds_is_left_out() {
    let (_world, server, fork) = source(|request| match request["params"][0].get("from") {
        Some(_) => json!({"error": {"code": -32000, "message": "insufficient funds for gas * price + value"}}),
        None => json!({"result": list()}),
    })
    .await;
    fetch(&fork, &LackingCall { value: U256::from(7), ..call(1) }).await;
    assert!(is_warm(&fork));
    let asked: Vec<_> = server.requests().into_iter().filter(is_list).collect();
    assert_eq!(asked[0]["params"][0]["value"], "0x7");
    assert_eq!(asked[1]["params"][0], json!({"to": address(6).to_string(), "input": "0x01"}));
}

#[tokio::test]
async fn code_that_is_not_of_the_source_is_not_asked_about() {
    let (_world, server, fork) = source(|_| json!({"result": list()})).await;
    // Account 7 has no code, and account 50 does not exist.
    for n in [7, 50] {
        let misses = Misses::from(BTreeSet::from([Want::Account(address(n))]));
        within("a fetch", fork.fetch(&misses)).await.unwrap();
        fetch(&fork, &LackingCall { to: Some(address(n)), ..call(1) }).await;
    }
    fetch(&fork, &LackingCall { input: vec![0; (128 << 10) + 1].into(), ..call(1) }).await;
    assert_eq!(lists(&server), 0);
}

#[tokio::test]
async fn parallel_calls_of_a_contract_ask_once() {
    let (sender, gate) = watch::channel(false);
    let world = World::new(sample());
    let server = Server::start(move |request, number| match number {
        0 | 1 => world.act(request),
        _ if is_list(request) => {
            Act::Gated(gate.clone(), json!({"id": request["id"], "result": list()}))
        }
        _ => Act::Gated(gate.clone(), world.reply(request)),
    });
    let server = server.await;
    let fork = Arc::new(server.fork(ForkOptions::default()).await);
    let mut callers = JoinSet::new();
    for input in 0..64 {
        let fork = Arc::clone(&fork);
        callers.spawn(async move { fork.fetch_for(&lacking(), Some(&call(input))).await });
    }
    // Each caller has asked for the account, and then whether another one asks for the list.
    let joined = async {
        while fork.counts().joined < 63 {
            tokio::task::yield_now().await;
        }
    };
    within("63 callers", joined).await;
    sender.send(true).unwrap();
    while let Some(done) = within("a caller", callers.join_next()).await {
        done.unwrap().unwrap();
    }
    assert!(is_warm(&fork));
    assert_eq!(lists(&server), 1);
    // Two at the start, the account and the list, and the rest of the list.
    assert_eq!(server.requests().len(), 5);
}
