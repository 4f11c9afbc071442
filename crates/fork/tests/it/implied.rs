//! Values that the nodes of other proofs prove.

use alloy_primitives::U256;
use esker_fork::{Fork, ForkError, ForkOptions, Misses, ProofMode, Want};

use crate::server::{Server, quick, within};
use crate::world::{World, address, sample};

/// More numbers of addresses than a trie of thirty accounts has ways.
fn unknown() -> std::ops::Range<u64> {
    100..1100
}

async fn fork(world: &World, proofs: ProofMode) -> (Server, Fork) {
    let world = world.clone();
    let server = Server::start(move |request, _| world.act(request)).await;
    let fork = server.fork(ForkOptions { proofs, ..ForkOptions::default() }).await;
    (server, fork)
}

/// Fetches one part unless a look-up finds it.
async fn read(fork: &Fork, want: Want) {
    let misses = Misses::default();
    let view = fork.view(&misses);
    match &want {
        Want::Account(address) => drop(view.account(address)),
        Want::Slot(address, slot) => drop(view.slot(address, *slot)),
        other => panic!("{other}"),
    }
    within("a fetch", fork.fetch(&misses)).await.unwrap();
}

#[tokio::test]
async fn accounts_that_known_nodes_exclude_are_not_asked_for() {
    let world = World::new(sample());
    let (server, forked) = fork(&world, ProofMode::Required).await;
    for n in unknown() {
        read(&forked, Want::Account(address(n))).await;
    }
    let misses = Misses::default();
    assert!(unknown().all(|n| forked.view(&misses).account(&address(n)).known() == Some(None)));
    let asked = server.requests().len();
    assert!((10..120).contains(&asked), "{asked} requests");
    for n in 0..=40 {
        read(&forked, Want::Account(address(n))).await;
        let account = forked.view(&misses).account(&address(n)).known().unwrap();
        assert_eq!(account, world.account(&address(n)).map(Into::into));
    }
    // What is only claimed proves nothing about others.
    let (server, claimed) = fork(&world, ProofMode::Never).await;
    let before = server.requests().len();
    for n in 100..120 {
        read(&claimed, Want::Account(address(n))).await;
    }
    assert_eq!(server.requests().len() - before, 20);
}

#[tokio::test]
async fn slots_that_known_nodes_exclude_are_not_asked_for() {
    for world in [World::new(sample()), World::c_chain(sample())] {
        let (server, fork) = fork(&world, ProofMode::Required).await;
        let misses = Misses::default();
        for slot in (0..1000).map(U256::from) {
            read(&fork, Want::Slot(address(30), slot)).await;
            let value = fork.view(&misses).slot(&address(30), slot).known();
            assert_eq!(value, Some(world.slot(&address(30), slot)));
        }
        let asked = server.requests().len();
        assert!((30..200).contains(&asked), "{asked} requests");
    }
}

/// All are asked for at once: those that wait for a place are proved by the reads before them.
#[tokio::test]
async fn reads_that_wait_are_answered_by_the_reads_before_them() {
    let world = World::new(sample());
    let (server, fork) = fork(&world, ProofMode::Required).await;
    let one = |n| {
        let fork = fork.clone();
        async move { read(&fork, Want::Account(address(n))).await }
    };
    futures_util::future::join_all(unknown().map(one)).await;
    let misses = Misses::default();
    assert!(unknown().all(|n| fork.view(&misses).account(&address(n)).known() == Some(None)));
    let asked = server.methods().iter().filter(|method| *method == "eth_getProof").count();
    assert!(asked < 600, "{asked} proofs");
}

#[tokio::test]
async fn a_pack_has_what_its_nodes_prove() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new(sample()));
    let path = folder.path().join("test.pack");
    let (_server, forked) = fork(&world, ProofMode::Required).await;
    for n in 100..200 {
        read(&forked, Want::Account(address(n))).await;
    }
    forked.write_pack(&path).unwrap();
    let offline = Fork::open_pack(&path, ForkOptions::default(), None).unwrap();
    let misses = Misses::default();
    let view = offline.view(&misses);
    let known = unknown().filter(|n| view.account(&address(*n)).known() == Some(None)).count();
    assert!(known > 500, "{known}");
    // A proof that ends in the leaf of another account shows that one, too.
    for n in 1..=30 {
        let account = view.account(&address(n)).known();
        let expected = world.account(&address(n)).map(Into::into);
        assert!(account.is_none_or(|account| account == expected), "account {n}");
    }
    let error = within("a fetch", offline.fetch(&misses)).await.unwrap_err();
    assert!(matches!(&error, ForkError::Offline(lacking) if lacking.count > 30), "{error}");
}

/// A fork has no more room than it may have, whatever follows from its nodes.
#[tokio::test]
async fn what_has_no_room_is_not_kept() {
    let world = World::new(sample());
    let server = {
        let world = world.clone();
        Server::start(move |request, _| world.act(request)).await
    };
    let options = ForkOptions { max_state_bytes: 20_000, ..ForkOptions::default() };
    let source = server.source(quick());
    let opened = Fork::open(source, esker_fork::pin::BlockChoice::Latest, options, None);
    let fork = within("opening a fork", opened).await.unwrap().fork;
    let mut fault = None;
    for n in unknown() {
        let misses = Misses::default();
        let _unknown = fork.view(&misses).account(&address(n));
        if let Err(error) = within("a fetch", fork.fetch(&misses)).await {
            fault.get_or_insert(error);
        }
    }
    assert!(matches!(fault, Some(ForkError::Full(20_000))), "{fault:?}");
    assert!(fork.counts().state.bytes <= 20_000);
}
