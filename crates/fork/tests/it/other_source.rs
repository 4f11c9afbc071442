//! Another source in the place of the present one.

use std::collections::BTreeSet;
use std::time::Duration;

use esker_fork::cache::{CacheOptions, SharedOptions};
use esker_fork::source::SourceLimits;
use esker_fork::{Fork, ForkOptions, KeptBlock, Misses, ProofMode, Want};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::server::{Act, Script, Server, quick, source, within};
use crate::world::{Lacks, World, address, sample};

/// Nothing listens there.
const NOBODY: &str = "http://127.0.0.1:1";

fn account(n: u64) -> Misses {
    Misses::from(BTreeSet::from([Want::Account(address(n))]))
}

/// A source of the sample.
async fn good() -> Server {
    let world = World::new(sample());
    Server::start(move |request, _| world.act(request)).await
}

/// Lets a fork read from a server from now on.
async fn replace(fork: &Fork, server: &Server) {
    let checked = fork.other_source(server.source(quick()));
    within("the check of a source", checked).await.unwrap().take_over();
}

async fn fetch(fork: &Fork, n: u64) {
    within("a fetch", fork.fetch(&account(n))).await.unwrap();
}

/// The error of a source that is refused.
async fn refusal(fork: &Fork, url: &str) -> String {
    let limits = SourceLimits { deadline: Duration::from_secs(2), ..quick() };
    let checked = fork.other_source(source(&[url], limits));
    within("the check of a source", checked).await.unwrap_err().to_string()
}

/// Whether a request asks for the proof of an account.
fn is_about(request: &Value, n: u64) -> bool {
    request.to_string().contains(&address(n).to_string())
}

#[tokio::test]
async fn later_reads_go_to_the_other_source() {
    let (first, second) = (good().await, good().await);
    let fork = first.fork(ForkOptions::default()).await;
    fetch(&fork, 1).await;
    let (asked, before) = (first.requests().len(), fork.counts().source);
    replace(&fork, &second).await;
    assert_eq!(fork.url().as_ref(), Some(&second.url));
    fetch(&fork, 2).await;
    assert_eq!(first.requests().len(), asked);
    assert!(second.requests().iter().any(|request| is_about(request, 2)));
    // What is known is not asked again, and counters go on.
    fetch(&fork, 1).await;
    assert!(!second.requests().iter().any(|request| is_about(request, 1)));
    let after = fork.counts().source;
    assert_eq!(after.requests, before.requests + second.requests().len() as u64);
    // And back.
    replace(&fork, &first).await;
    fetch(&fork, 3).await;
    assert_eq!(fork.url().as_ref(), Some(&first.url));
    assert!(first.requests().iter().any(|request| is_about(request, 3)));
}

#[tokio::test]
async fn a_source_that_can_not_be_used_changes_nothing() {
    type Make = fn() -> Box<Script>;
    let faults: [(Make, &str); 9] = [
        (
            || {
                let world = World::new(sample());
                Box::new(move |request, _| {
                    world.lie(request, "eth_chainId", |id| *id = json!("0x7"))
                })
            },
            "is of chain 7, and the chain is on block 100 (",
        ),
        (
            || {
                let world = World::new(sample());
                Box::new(move |request, _| {
                    world.lie(request, "eth_getBlockByHash", |block| *block = Value::Null)
                })
            },
            "has block 100 with hash 0x",
        ),
        (
            || {
                let world = World::new(sample());
                Box::new(move |request, _| {
                    let mut reply = world.reply(request);
                    for entry in reply.as_array_mut().into_iter().flatten() {
                        if entry["result"].is_object() {
                            entry["result"] = Value::Null;
                        }
                    }
                    Act::Json(reply)
                })
            },
            "has no block 100, and the chain is on block 100 (",
        ),
        (
            || {
                let world = World::new(sample().into_iter().take(3).collect());
                Box::new(move |request, _| world.act(request))
            },
            "the source says hash",
        ),
        (
            || {
                let mut world = World::new(sample());
                world.lacks = Lacks { proof: true, ..Lacks::default() };
                Box::new(move |request, _| world.act(request))
            },
            "another source must give proofs, too",
        ),
        (
            || {
                let world = World::new(sample());
                Box::new(move |request, _| {
                    world.lie(request, "eth_getProof", |proof| {
                        proof["accountProof"] = json!(["0xc0"]);
                    })
                })
            },
            "eth_getProof",
        ),
        (|| Box::new(|_, _| Act::Stall), "no reply within"),
        (|| Box::new(|_, _| Act::Close), "unreachable"),
        (
            || {
                Box::new(|_, _| Act::Reply {
                    status: 403,
                    headers: String::new(),
                    body: "no key".to_owned(),
                })
            },
            "access denied (HTTP status 403): no key",
        ),
    ];
    let first = good().await;
    let fork = first.fork(ForkOptions::default()).await;
    for (n, (make, text)) in (1..).zip(faults) {
        let server = Server::start(make()).await;
        let error = refusal(&fork, &server.url).await;
        assert!(error.contains(text) && error.contains(&server.url), "{text}: {error}");
        assert_eq!(fork.url().as_ref(), Some(&first.url));
        fetch(&fork, n).await;
    }
    let error = refusal(&fork, NOBODY).await;
    assert!(error.contains("unreachable"), "{error}");
    // The check of another source is not the source's fault.
    assert_eq!(fork.last_fault(), None);
}

#[tokio::test]
async fn a_pruned_source_is_refused_without_proofs_too() {
    let options = || ForkOptions { proofs: ProofMode::Never, ..ForkOptions::default() };
    let first = good().await;
    let fork = first.fork(options()).await;
    let world = World::new(sample());
    let pruned =
        Server::start(move |request, _| match request.to_string().contains("eth_getBlock") {
            true => world.act(request),
            false => Act::Json(
                json!({"id": 0, "error": {"code": -32000, "message": "missing trie node"}}),
            ),
        });
    let pruned = pruned.await;
    let error = refusal(&fork, &pruned.url).await;
    assert!(error.contains("the state is not there"), "{error}");
    assert_eq!(fork.url().as_ref(), Some(&first.url));
    // One with nothing but numbers is taken.
    let mut world = World::new(sample());
    world.lacks = Lacks { proof: true, by_hash: true, account_info: true, ..Lacks::default() };
    let by_number = Server::start(move |request, _| world.act(request)).await;
    replace(&fork, &by_number).await;
    fetch(&fork, 4).await;
    assert!(by_number.requests().iter().any(|request| is_about(request, 4)));
}

/// A source that holds what is asked about an account until the gate is open.
async fn holding(n: u64, gate: watch::Receiver<bool>) -> Server {
    let world = World::new(sample());
    let script = move |request: &Value, _| match is_about(request, n) {
        true => Act::Gated(gate.clone(), world.reply(request)),
        false => world.act(request),
    };
    Server::start(script).await
}

#[tokio::test]
async fn a_read_that_hangs_begins_again_at_the_other_source() {
    let (_closed, gate) = watch::channel(false);
    let (first, second) = (holding(5, gate).await, good().await);
    let fork = first.fork(ForkOptions::default()).await;
    let reading = fork.clone();
    let reading = tokio::spawn(async move { reading.fetch(&account(5)).await });
    within("the request", async {
        while !first.requests().iter().any(|request| is_about(request, 5)) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    replace(&fork, &second).await;
    within("the read", reading).await.unwrap().unwrap();
    assert!(second.requests().iter().any(|request| is_about(request, 5)));
}

#[tokio::test]
async fn a_read_begins_again_a_few_times_at_most() {
    let (open, gate) = watch::channel(false);
    let mut servers = Vec::new();
    for _ in 0..6 {
        servers.push(holding(5, gate.clone()).await);
    }
    let fork = servers[0].fork(ForkOptions::default()).await;
    let reading = fork.clone();
    let reading = tokio::spawn(async move { reading.fetch(&account(5)).await });
    let asked = |server: &Server| server.requests().iter().any(|request| is_about(request, 5));
    for (at, server) in servers.iter().enumerate() {
        if at > 0 {
            replace(&fork, server).await;
        }
        if at < 4 {
            within("the request", async {
                while !asked(server) {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        }
    }
    open.send_replace(true);
    within("the read", reading).await.unwrap().unwrap();
    assert_eq!(
        servers.iter().map(asked).collect::<Vec<_>>(),
        [true, true, true, true, false, false]
    );
}

#[tokio::test]
async fn values_of_different_sources_are_not_mixed_in_the_shared_cache() {
    let folder = tempfile::tempdir().unwrap();
    let options = || ForkOptions {
        proofs: ProofMode::Never,
        shared: Some(SharedOptions {
            folder: folder.path().to_owned(),
            max_bytes: 1 << 20,
            max_file_bytes: 1 << 20,
        }),
        ..ForkOptions::default()
    };
    let (first, second) = (good().await, good().await);
    let fork = first.fork(options()).await;
    fetch(&fork, 1).await;
    replace(&fork, &second).await;
    fetch(&fork, 2).await;
    fork.write_shared();
    drop(fork);
    for (server, known, unknown) in [(&first, 1, 2), (&second, 2, 1)] {
        let fork = server.fork(options()).await;
        let asked = server.requests().len();
        fetch(&fork, known).await;
        assert_eq!(server.requests().len(), asked, "account {known} is in the cache");
        fetch(&fork, unknown).await;
        assert_eq!(server.requests().len(), asked + 1, "account {unknown} is not");
    }
}

#[tokio::test]
async fn a_kept_fork_gets_a_source() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new(sample()));
    let cache = CacheOptions { folder: folder.path().to_owned(), max_bytes: 1 << 20 };
    let server = good().await;
    let choice = esker_fork::pin::BlockChoice::Latest;
    let opening = Fork::open(server.source(quick()), choice, ForkOptions::default(), Some(&cache));
    let fork = within("opening a fork", opening).await.unwrap().fork;
    fetch(&fork, 1).await;
    let chain_id = fork.pin().chain_id;
    drop(fork);
    let kept = KeptBlock { chain_id, hash: world.hash(), is_proven: Some(true) };
    let opening = Fork::open_kept(kept, ForkOptions::default(), &cache);
    let fork = within("opening a kept fork", opening).await.unwrap().fork;
    let lacking = within("a fetch", fork.fetch(&account(2))).await.unwrap_err().to_string();
    assert!(lacking.contains("anvil_setRpcUrl"), "{lacking}");
    assert!(!fork.has_source() && fork.url().is_none());
    replace(&fork, &server).await;
    assert!(fork.has_source());
    fetch(&fork, 2).await;
    assert!(fork.counts().source.requests > 0);
}
