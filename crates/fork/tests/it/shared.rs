//! Callers that want the same parts share their reads.

use std::sync::Arc;

use alloy_primitives::U256;
use esker_fork::{Fork, ForkError, ForkOptions, Misses, Want};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::server::{Act, Server, quick, within};
use crate::world::{World, address, sample};

/// A source that answers reads after the first two requests once a gate is open.
async fn gated() -> (Server, Fork, watch::Sender<bool>) {
    let (sender, gate) = watch::channel(false);
    let world = World::new(sample());
    let server = Server::start(move |request, number| match number {
        0 | 1 => world.act(request),
        _ => Act::Gated(gate.clone(), world.reply(request)),
    });
    let server = server.await;
    let fork = server.fork(ForkOptions::default()).await;
    (server, fork, sender)
}

fn slot(n: u64) -> Arc<Misses> {
    let misses = Misses::default();
    misses.add(Want::Slot(address(6), U256::from(n)));
    Arc::new(misses)
}

#[tokio::test]
async fn sixty_four_callers_cause_one_request() {
    let (server, fork, gate) = gated().await;
    let mut callers = JoinSet::new();
    for _ in 0..64 {
        let (fork, misses) = (fork.clone(), slot(3));
        callers.spawn(async move {
            fork.fetch(&misses).await?;
            let value = fork.view(&misses).slot(&address(6), U256::from(3));
            Ok::<_, ForkError>(value.known().unwrap())
        });
    }
    server.wait_for(3).await;
    // All callers wait for the one read before it ends.
    let joined = async {
        while fork.counts().joined < 63 {
            tokio::task::yield_now().await;
        }
    };
    within("63 callers", joined).await;
    gate.send(true).unwrap();
    while let Some(value) = within("a caller", callers.join_next()).await {
        assert_eq!(value.unwrap().unwrap(), U256::from(4));
    }
    assert_eq!(server.requests().len(), 3);
    // What is known is never asked again.
    within("a fetch", fork.fetch(&slot(3))).await.unwrap();
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_caller_that_leaves_ends_no_read() {
    let (server, fork, gate) = gated().await;
    let first = {
        let (fork, misses) = (fork.clone(), slot(3));
        tokio::spawn(async move { fork.fetch(&misses).await })
    };
    server.wait_for(3).await;
    let second = {
        let (fork, misses) = (fork.clone(), slot(3));
        tokio::spawn(async move { fork.fetch(&misses).await })
    };
    first.abort();
    assert!(within("the first", first).await.unwrap_err().is_cancelled());
    gate.send(true).unwrap();
    within("the second", second).await.unwrap().unwrap();
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn an_error_reaches_all_and_the_next_call_asks_again() {
    let world = World::new(sample());
    let (sender, gate) = watch::channel(false);
    let server = Server::start(move |request, number| match number {
        2 => Act::Gated(gate.clone(), serde_json::json!({"error": {"code": -1, "message": "no"}})),
        _ => world.act(request),
    });
    let server = server.await;
    // Without code, the read is one call.
    let options = ForkOptions { reads_code_with_account: false, ..ForkOptions::default() };
    let fork = server.fork(options).await;
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let (fork, misses) = (fork.clone(), slot(3));
        callers.spawn(async move { fork.fetch(&misses).await });
    }
    let joined = async {
        while fork.counts().joined < 7 {
            tokio::task::yield_now().await;
        }
    };
    within("7 callers", joined).await;
    sender.send(true).unwrap();
    while let Some(outcome) = within("a caller", callers.join_next()).await {
        let error = outcome.unwrap().unwrap_err().to_string();
        assert!(error.contains("eth_getProof: error -1: no"), "{error}");
    }
    within("a fetch", fork.fetch(&slot(3))).await.unwrap();
}

#[tokio::test]
async fn a_group_takes_few_requests() {
    let world = World::new(sample());
    let server = Server::start(move |request, _| world.act(request)).await;
    let fork = server.fork(ForkOptions::default()).await;
    let misses = Misses::default();
    for n in 1..=30 {
        assert!(fork.view(&misses).account(&address(n)).known().is_none());
        assert!(fork.view(&misses).slot(&address(n), U256::from(1)).known().is_none());
    }
    assert_eq!(misses.len(), 60);
    within("a fetch", fork.fetch(&misses)).await.unwrap();
    assert!(misses.is_empty());
    // One request of sixty calls: a proof and the code of each account.
    let requests = server.requests();
    assert_eq!((requests.len(), requests[2].as_array().unwrap().len()), (3, 60));
    let counts = fork.counts();
    assert_eq!((counts.source.requests, counts.source.calls), (3, 63));
    assert_eq!((counts.state.accounts, counts.state.misses), (30, 60));
    assert!(counts.source.bytes_received > 10_000);
}

#[tokio::test]
async fn bounds() {
    let world = World::new(sample());
    let server = Server::start(move |request, _| world.act(request)).await;
    let options = ForkOptions { max_state_bytes: 2000, max_wants: 3, ..ForkOptions::default() };
    let fork = server.fork(options).await;
    let misses = Misses::default();
    (1..=4).for_each(|n| misses.add(Want::Account(address(n))));
    let error = within("a fetch", fork.fetch(&misses)).await.unwrap_err();
    assert!(matches!(error, ForkError::TooMany { count: 4, max: 3 }), "{error}");
    (1..=3).for_each(|n| misses.add(Want::Account(address(n))));
    let error = within("a fetch", fork.fetch(&misses)).await.unwrap_err();
    assert!(matches!(error, ForkError::Full(2000)), "{error}");
    let stalled = World::new(sample());
    let server = Server::start(move |request, number| match number {
        0 | 1 => stalled.act(request),
        _ => Act::Stall,
    });
    let server = server.await;
    let deadline = std::time::Duration::from_millis(30);
    let fork = server.fork(ForkOptions { deadline, ..ForkOptions::default() }).await;
    assert!(quick().deadline > deadline);
    let error = within("a fetch", fork.fetch(&slot(3))).await.unwrap_err();
    assert!(matches!(error, ForkError::Deadline(_)), "{error}");
}
