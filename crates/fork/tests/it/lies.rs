//! Sources that lie about proved values: each lie is named.

use alloy_primitives::U256;
use esker_fork::{Fork, ForkError, ForkOptions, Misses, ProofMode, Trust, Want};
use serde_json::{Value, json};

use crate::server::{Server, within};
use crate::world::{World, address, sample};

/// The error of a fork whose source changes the results of a method after the first proof.
async fn error_of(world: &World, method: &'static str, lie: fn(&mut Value)) -> ForkError {
    let world = world.clone();
    let server = Server::start(move |request, number| match number {
        0 | 1 => world.act(request),
        _ => world.lie(request, method, lie),
    });
    let server = server.await;
    let fork = server.fork(ForkOptions::default()).await;
    assert_eq!(fork.trust(), &Trust::Proven);
    let (error, misses) = (fetch(&fork).await, Misses::default());
    // Nothing of the lie is kept.
    let view = fork.view(&misses);
    if method == "eth_getProof" {
        assert!(view.account(&address(6)).known().is_none());
    }
    error.unwrap_err()
}

/// Fetches an account with code and slots.
async fn fetch(fork: &Fork) -> Result<(), ForkError> {
    let misses = Misses::default();
    misses.add(Want::Account(address(6)));
    misses.add(Want::Slot(address(6), U256::from(3)));
    misses.add(Want::Slot(address(6), U256::from(77)));
    within("a fetch", fork.fetch(&misses)).await
}

#[tokio::test]
async fn claimed_fields() {
    for world in [World::new(sample()), World::c_chain(sample())] {
        for (lie, expected) in [
            ((|r| r["balance"] = json!("0x5")) as fn(&mut Value), "the source says balance 5"),
            (|r| r["nonce"] = json!("0x5"), "the source says nonce 5, and it is 6"),
            (|r| r["codeHash"] = json!(format!("0x{:064}", 1)), "the source says codeHash 0x0"),
            (|r| r["storageHash"] = json!(format!("0x{:064}", 0)), "says storageHash 0x0"),
            (|r| r["address"] = json!(format!("0x{:040}", 1)), "the source says address 0x0"),
            (|r| r["storageProof"][0]["value"] = json!("0x9"), "slot 0x3 of"),
            (|r| r["storageProof"][1]["value"] = json!("0x1"), "says value 1, and it is 0"),
            (|r| r["storageProof"][0]["key"] = json!("0x4"), "the source says key 4, and it is 3"),
            (|r| r["storageProof"] = json!([]), "says storageProof.length 0, and it is 2"),
        ] {
            let error = error_of(&world, "eth_getProof", lie).await.to_string();
            assert!(error.contains(expected), "{error}");
            assert!(
                error.contains("http://127.0.0.1") && error.contains("eth_getProof"),
                "{error}"
            );
        }
        let code = error_of(&world, "eth_getCode", |result| *result = json!("0x6001")).await;
        assert!(code.to_string().contains("the source says code of hash"), "{code}");
    }
}

#[tokio::test]
async fn proof_nodes() {
    let world = World::new(sample());
    for (lie, expected) in [
        (
            (|r| {
                let node = r["accountProof"][1].as_str().unwrap().replace('a', "b");
                r["accountProof"][1] = json!(node);
            }) as fn(&mut Value),
            "node 1 has the hash",
        ),
        (|r| drop(r["accountProof"].as_array_mut().unwrap().pop()), "is missing"),
        (|r| r["accountProof"] = Value::Null, "node 0"),
        (|r| r["accountProof"].as_array_mut().unwrap().push(json!("0x80")), "is not part"),
        (|r| r["accountProof"][0] = json!("0x"), "node 0 has the hash"),
        (|r| r["storageProof"][0]["proof"][0] = json!("0xc0"), "slot 0x3 of"),
        (|r| drop(r["storageProof"][1]["proof"].as_array_mut().unwrap().pop()), "slot 0x4d of"),
    ] {
        let error = error_of(&world, "eth_getProof", lie).await;
        assert!(matches!(error, ForkError::Proof { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn forms() {
    let world = World::new(sample());
    for lie in [
        (|r| *r = Value::Null) as fn(&mut Value),
        |r| *r = json!("0x"),
        |r| r["accountProof"] = json!("0x"),
        |r| r["accountProof"] = json!([1]),
        |r| r["balance"] = Value::Null,
        |r| r["nonce"] = json!("0x10000000000000000"),
        |r| r["codeHash"] = json!("0x12"),
        |r| r["storageProof"] = Value::Null,
        |r| r["storageProof"][0] = json!(7),
        |r| r["storageProof"][0]["proof"] = json!({}),
    ] {
        let error = error_of(&world, "eth_getProof", lie).await;
        assert!(matches!(error, ForkError::Form { method: "eth_getProof", .. }), "{error}");
    }
}

#[tokio::test]
async fn a_proof_of_another_block_is_refused_at_once() {
    let mut other = World::new(sample());
    let mut entries = sample();
    entries.remove(&address(1));
    let (root, after) = (other.root, World::new(entries));
    let in_header = after.root;
    other.block = after.block;
    let server = Server::start(move |request, _| other.act(request)).await;
    for mode in [ProofMode::Required, ProofMode::IfAvailable] {
        let options = ForkOptions { proofs: mode, ..ForkOptions::default() };
        let error = server.try_fork(options).await.unwrap_err();
        let is_named = matches!(error, ForkError::OtherRoot { found, root: header, .. } if found == root && header == in_header);
        assert!(is_named, "{error}");
    }
    let never = ForkOptions { proofs: ProofMode::Never, ..ForkOptions::default() };
    let fork = server.fork(never).await;
    assert!(matches!(fork.trust(), Trust::Claimed(_)));
}
