//! Forks without proofs: values are the source's word, in each of the ways to ask.

use alloy_primitives::U256;
use esker_fork::{ForkError, ForkOptions, Misses, ProofMode, Trust, Want};
use serde_json::{Value, json};

use tokio::sync::watch;

use crate::server::{Act, Server, calls, within};
use crate::world::{Lacks, World, address, sample};

fn wants() -> Misses {
    let misses = Misses::default();
    for n in 0..=8 {
        misses.add(Want::Account(address(n)));
        misses.add(Want::Slot(address(n), U256::from(2)));
        misses.add(Want::Slot(address(n), U256::from(50)));
    }
    misses
}

#[tokio::test]
async fn each_way_gives_the_same_values() {
    for (account_info, storage_values, by_hash, batches) in [
        (false, false, false, false),
        (true, false, false, false),
        (false, true, true, false),
        (true, true, true, true),
    ] {
        let mut world = World::new(sample());
        let proof = true;
        world.lacks = Lacks { proof, account_info, storage_values, by_hash, batches };
        let model = world.clone();
        let server = Server::start(move |request, _| world.act(request)).await;
        let required = ForkOptions { proofs: ProofMode::Required, ..ForkOptions::default() };
        let refused = server.try_fork(required).await.unwrap_err();
        assert!(refused.to_string().contains("eth_getProof: the method is not there"), "{refused}");
        let fork = server.fork(ForkOptions::default()).await;
        assert!(matches!(fork.trust(), Trust::Claimed(_)));
        within("a fetch", fork.fetch(&wants())).await.unwrap();
        let misses = Misses::default();
        let view = fork.view(&misses);
        for n in 0..=8 {
            let account = view.account(&address(n)).known().unwrap();
            let expected = model.account(&address(n));
            assert_eq!(account.is_some(), expected.is_some());
            if let (Some(account), Some(expected)) = (account, expected) {
                assert_eq!(account.parts.nonce, expected.nonce);
                assert_eq!(account.parts.balance, expected.balance);
                assert_eq!(account.parts.code_hash, expected.code_hash);
                assert_eq!(account.storage_root, None);
                let code = view.code(expected.code_hash).known().unwrap();
                assert_eq!(code, model.entries[&address(n)].code);
            }
            for slot in [2, 50].map(U256::from) {
                let value = view.slot(&address(n), slot).known().unwrap();
                assert_eq!(value, model.slot(&address(n), slot));
            }
        }
        let methods = server.methods();
        let has = |method: &str| methods.iter().any(|called| called == method);
        assert_eq!(has("eth_getBalance"), account_info);
        assert_eq!(has("eth_getStorageAt"), storage_values);
        assert!(misses.is_empty());
    }
}

#[tokio::test]
async fn nodes_are_not_there() {
    let mut world = World::new(sample());
    world.lacks.proof = true;
    let server = Server::start(move |request, _| world.act(request)).await;
    let fork = server.fork(ForkOptions::default()).await;
    let misses = Misses::default();
    misses.add(Want::AccountNode(Default::default()));
    let error = within("a fetch", fork.fetch(&misses)).await.unwrap_err();
    assert!(matches!(error, ForkError::NoProofOfNode { .. }), "{error}");
}

#[tokio::test]
async fn other_forms_are_named() {
    let world = World::new(sample());
    for (method, lie, text) in [
        ("eth_getAccountInfo", (|r| *r = Value::Null) as fn(&mut Value), "expected an object"),
        ("eth_getAccountInfo", |r| r["code"] = json!(1), "field \"code\""),
        ("eth_getAccountInfo", |r| r["nonce"] = json!("0x"), "field \"nonce\""),
        ("eth_getStorageValues", |r| *r = json!({}), "as many values as slots"),
        ("eth_getStorageValues", |r| *r = json!([]), "expected an object"),
        (
            "eth_getStorageValues",
            |r| r.as_object_mut().unwrap().values_mut().for_each(|v| v[0] = json!("x")),
            "a list of values",
        ),
    ] {
        let world = world.clone();
        let server = Server::start(move |request, _| world.lie(request, method, lie)).await;
        let never = ForkOptions { proofs: ProofMode::Never, ..ForkOptions::default() };
        let fork = server.fork(never).await;
        let error = within("a fetch", fork.fetch(&wants())).await.unwrap_err();
        let (text_found, is_form) = (error.to_string(), matches!(error, ForkError::Form { .. }));
        assert!(
            is_form && text_found.contains(text) && text_found.contains(method),
            "{text_found}"
        );
    }
}

#[tokio::test]
async fn a_refusal_of_hashes_that_comes_late_is_one_too() {
    let mut world = World::new(sample());
    world.lacks = Lacks { proof: true, storage_values: true, by_hash: true, ..Lacks::default() };
    let (open, gate) = watch::channel(false);
    let server = Server::start(move |request, _| {
        let is_held = |call: &&Value| {
            call["method"] == "eth_getStorageAt" && call["params"][2]["blockHash"].is_string()
        };
        match calls(request).iter().any(is_held) {
            true => Act::Gated(gate.clone(), world.reply(request)),
            false => world.act(request),
        }
    });
    let server = server.await;
    let fork = server.fork(ForkOptions::default()).await;
    let slot = Misses::default();
    slot.add(Want::Slot(address(1), U256::from(2)));
    let late = tokio::spawn({
        let fork = fork.clone();
        async move { fork.fetch(&slot).await }
    });
    within("the held request", async {
        while !server.methods().iter().any(|method| method == "eth_getStorageAt") {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // This one finds out that the source refuses hashes.
    let account = Misses::default();
    account.add(Want::Account(address(2)));
    within("a fetch", fork.fetch(&account)).await.unwrap();
    open.send_replace(true);
    within("the held fetch", late).await.unwrap().unwrap();
}
