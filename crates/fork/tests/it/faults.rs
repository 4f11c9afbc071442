//! Sources that limit rates, stall, close, answer garbage, lose state, or become another chain's.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use esker_fork::source::{Call, Fault, ReplyRoom, SourceLimits};
use esker_fork::{ForkError, ForkOptions, Misses, Want};
use serde_json::{Value, json};

use crate::server::{Act, Server, calls, quick, source, within};
use crate::world::{CHAIN, World, address, sample};

fn chain_id() -> Call {
    Call::new("eth_chainId", json!([]))
}

fn status(status: u16, headers: &str, body: &str) -> Act {
    Act::Reply { status, headers: headers.to_owned(), body: body.to_owned() }
}

fn error(request: &Value, code: i64, message: &str) -> Act {
    let entry =
        |call: &Value| json!({"id": call["id"], "error": {"code": code, "message": message}});
    Act::Json(match request.as_array() {
        Some(calls) => Value::Array(calls.iter().map(entry).collect()),
        None => entry(request),
    })
}

type Fail = fn(&Value) -> Act;

/// A source whose first requests fail.
async fn failing(count: usize, fail: Fail) -> Server {
    let world = World::new(sample());
    Server::start(
        move |request, number| {
            if number < count { fail(request) } else { world.act(request) }
        },
    )
    .await
}

#[tokio::test]
async fn faults_that_pass_are_tried_again() {
    let limited: [Fail; 10] = [
        |_| status(429, "", "slow down"),
        |_| status(429, "retry-after: 0\r\n", r#"{"error":{"code":429,"message":"slow down"}}"#),
        |request| error(request, -32005, "daily request count exceeded, request rate limited"),
        |request| error(request, -32016, "over rate limit"),
        |request| error(request, 429, "exceeded its compute units per second capacity"),
        |_| Act::Json(json!({"id": null, "error": {"code": 429, "message": "slow"}})),
        |_| status(503, "", "upstream"),
        |_| status(200, "", "<html>"),
        |_| Act::Close,
        |request| Act::Cut(request.clone()),
    ];
    for fail in limited {
        let server = failing(2, fail).await;
        let source = server.source(quick());
        let calls = [chain_id(), Call::new("eth_getBlockByNumber", json!(["latest", false]))];
        let answers = within("a batch", source.batch(&calls)).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert_eq!(source.counts().retries, 2);
        let server = failing(usize::MAX, fail).await;
        let source = server.source(quick());
        let refused = within("a call", source.call(chain_id())).await.unwrap_err();
        assert_eq!(refused.url, server.url);
        assert_eq!(server.requests().len(), 4, "{refused}");
    }
}

#[tokio::test]
async fn entries_of_a_batch_are_tried_again_one_by_one() {
    let world = World::new(sample());
    let server = Server::start(move |request, number| {
        let mut reply = world.reply(request);
        if number == 0 {
            reply[1] = json!({"id": 1, "error": {"code": 429, "message": "slow"}});
            reply[2]["id"] = json!(77);
        }
        Act::Json(reply)
    });
    let server = server.await;
    let source = server.source(quick());
    let four = [chain_id(), chain_id(), chain_id(), chain_id()];
    let answers = within("a batch", source.batch(&four)).await;
    assert!(answers.iter().all(|answer| answer.as_ref().unwrap().result == json!("0x539")));
    let sizes: Vec<_> = server.requests().iter().map(|r| calls(r).len()).collect();
    assert_eq!(sizes, [4, 2]);
}

#[tokio::test]
async fn the_wait_that_a_source_asks_for_is_kept() {
    let server = failing(1, |_| status(429, "retry-after: 0.4\r\n", "")).await;
    let source = server.source(quick());
    let begun = tokio::time::Instant::now();
    let answer = within("a call", source.call(chain_id())).await;
    assert!(answer.is_ok() && begun.elapsed() >= Duration::from_millis(400));
    assert_eq!(source.counts().rate_limited, 1);
    // A wait beyond the deadline is not begun.
    let server = failing(1, |_| status(429, "retry-after: 3600\r\n", "one hour")).await;
    let source = server.source(quick());
    let refused = within("a call", source.call(chain_id())).await.unwrap_err();
    assert!(refused.to_string().contains("rate limited: one hour"), "{refused}");
}

#[tokio::test]
async fn a_stall_ends_and_another_url_answers() {
    let stalled = Server::start(|_, _| Act::Stall).await;
    let limits = SourceLimits { request_timeout: Duration::from_secs(1), ..quick() };
    let alone = stalled.source(SourceLimits { retries: 1, ..limits.clone() });
    let refused = within("a call", alone.call(chain_id())).await.unwrap_err();
    assert!(matches!(refused.fault, Fault::TimedOut(_)), "{refused}");
    let good = failing(0, |_| Act::Close).await;
    let both = source(&[&stalled.url, &good.url], limits);
    let answer = within("a call", both.call(chain_id())).await.unwrap();
    assert_eq!((&*answer.url, both.counts().failovers), (good.url.as_str(), 1));
}

#[tokio::test]
async fn replies_and_batches_that_are_too_large() {
    let server = Server::start(|request, _| {
        let entry = |call: &Value| json!({"id": call["id"], "result": "x".repeat(600)});
        Act::Json(match request.as_array() {
            Some(calls) => Value::Array(calls.iter().map(entry).collect()),
            None => entry(request),
        })
    });
    let server = server.await;
    let source = server.source(SourceLimits { max_reply: 1000, ..quick() });
    let answers = within("a batch", source.batch(&[chain_id(), chain_id(), chain_id()])).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let source = server.source(SourceLimits { max_reply: 500, ..quick() });
    let refused = within("a call", source.call(chain_id())).await.unwrap_err();
    assert_eq!(refused.fault, Fault::TooLong(500));

    let world = World::new(sample());
    let server = Server::start(move |request, _| match calls(request).len() {
        ..=2 => world.act(request),
        _ => Act::Json(json!({"error": {"code": -32000, "message": "batch too large"}})),
    });
    let server = server.await;
    let source = server.source(quick());
    let many: Vec<_> = (0..9).map(|_| chain_id()).collect();
    let answers = within("a batch", source.batch(&many)).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(source.batch_limit(), 2);
}

#[tokio::test]
async fn a_source_without_batches() {
    let mut world = World::new(sample());
    world.lacks.batches = true;
    let expected = world.account(&address(6)).unwrap();
    let server = Server::start(move |request, _| world.act(request)).await;
    let fork = server.fork(ForkOptions::default()).await;
    let misses = Misses::default();
    misses.add(Want::Account(address(6)));
    within("a fetch", fork.fetch(&misses)).await.unwrap();
    let account = fork.view(&misses).account(&address(6)).known().unwrap().unwrap();
    assert_eq!(account.storage_root, Some(expected.storage_root));
}

#[tokio::test]
async fn keys_are_in_no_error() {
    let server = Server::start(|_, _| status(403, "", "key 0123456789abcdef is not known")).await;
    let url = format!("{}/v2/0123456789abcdef", server.url);
    let refused = within("a call", source(&[&url], quick()).call(chain_id())).await.unwrap_err();
    assert!(matches!(refused.fault, Fault::Denied { status: 403, .. }));
    let text = format!("{refused} {refused:?}");
    assert!(!text.contains("0123456789abcdef") && text.contains("/v2/***"), "{text}");
    assert_eq!(server.requests().len(), 1, "a denial is final");
}

#[tokio::test]
async fn a_wrong_path_is_an_error_at_once() {
    let server = Server::start(|_, _| status(404, "", "404 page not found")).await;
    let refused = within("a call", server.source(quick()).call(chain_id())).await.unwrap_err();
    let text = "HTTP status 404 and no JSON-RPC reply: 404 page not found";
    assert!(refused.to_string().ends_with(text), "{refused}");
    assert_eq!(server.requests().len(), 1);
    let good = failing(0, |_| Act::Close).await;
    let both = source(&[&server.url, &good.url], quick());
    let answer = within("a call", both.call(chain_id())).await.unwrap();
    assert_eq!(&*answer.url, good.url);
}

#[tokio::test]
async fn pruned_state_is_asked_elsewhere_and_then_named() {
    let pruned = |request: &Value| match request["method"] == "eth_getProof" {
        true => error(request, -32000, "missing trie node 12ab (path )"),
        false => World::new(sample()).act(request),
    };
    let server = Server::start(move |request, _| pruned(request)).await;
    let good = failing(0, |_| Act::Close).await;
    let call = || {
        let block = json!({"blockHash": World::new(sample()).hash().to_string()});
        Call::new("eth_getProof", json!([address(1).to_string(), [], block]))
    };
    let refused = within("a call", server.source(quick()).call(call())).await.unwrap_err();
    assert!(refused.to_string().contains("the state is not there: missing trie node"), "{refused}");
    assert_eq!(server.requests().len(), 1);
    let both = source(&[&server.url, &good.url], quick());
    let answer = within("a call", both.call(call())).await.unwrap();
    assert_eq!(&*answer.url, good.url);
}

#[tokio::test]
async fn another_chain_is_not_asked() {
    let other = Server::start(|request, _| {
        let world = World::new(sample());
        world.lie(request, "eth_chainId", |id| *id = json!("0x7"))
    });
    let other = other.await;
    let source = other.source(quick());
    source.expect_chain(CHAIN, "");
    let refused = within("a call", source.call(chain_id())).await.unwrap_err();
    assert_eq!(refused.fault, Fault::OtherChain { expected: CHAIN, found: 7 });
    let good = failing(0, |_| Act::Close).await;
    let both = crate::server::source(&[&other.url, &good.url], quick());
    both.expect_chain(CHAIN, "");
    let answer = within("a call", both.call(chain_id())).await.unwrap();
    assert_eq!(&*answer.url, good.url);
}

#[tokio::test]
async fn a_reorganization_is_named_where_blocks_have_no_hashes() {
    for has_proofs in [true, false] {
        let mut world = World::new(sample());
        world.lacks.by_hash = true;
        world.lacks.proof = !has_proofs;
        let mut entries = sample();
        entries.remove(&address(1));
        let mut after = World::new(entries);
        after.lacks = world.lacks;
        let (sender, gate) = tokio::sync::watch::channel(false);
        let server = Server::start(move |request, _| match *gate.borrow() {
            true => after.act(request),
            false => world.act(request),
        });
        let server = server.await;
        let fork = server.fork(ForkOptions::default()).await;
        let want = |n| {
            let misses = Misses::default();
            misses.add(Want::Account(address(n)));
            misses
        };
        within("a fetch", fork.fetch(&want(2))).await.unwrap();
        sender.send(true).unwrap();
        let error = within("a fetch", fork.fetch(&want(3))).await.unwrap_err();
        assert!(matches!(error, ForkError::Reorganized { number: 100, .. }), "{error}");
    }
}

#[tokio::test]
async fn the_rate_is_limited() {
    let server = failing(0, |_| Act::Close).await;
    let source = server.source(SourceLimits { calls_per_second: 20, max_batch: 10, ..quick() });
    let begun = tokio::time::Instant::now();
    // Thirty at once, which use up one second and a half; the last ten half a second later.
    let many: Vec<_> = (0..40).map(|_| chain_id()).collect();
    let answers = within("a batch", source.batch(&many)).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert!(begun.elapsed() >= Duration::from_millis(450), "{:?}", begun.elapsed());
    assert!(source.counts().wait_ms >= 450);
}

/// Room for so many bytes.
#[derive(Debug)]
struct Room(AtomicUsize);

impl ReplyRoom for Room {
    fn take(&self, bytes: usize) -> bool {
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.is_ok()
    }
}

#[tokio::test]
async fn a_long_reply_needs_room() {
    let world = World::new(sample());
    let server = Server::start(move |request, _| match request["method"] == "eth_getLogs" {
        true => Act::Json(json!({"id": 0, "result": "x".repeat(1 << 20)})),
        false => world.act(request),
    });
    let server = server.await;
    let fork = server.fork(ForkOptions::default()).await;
    let logs = || Call::new("eth_getLogs", json!([{}]));
    // The first 256 KiB are not counted, and the rest is there twice.
    for (bytes, fits) in [(2 << 20, true), (1 << 20, false), (0, false)] {
        let (room, before) = (Room(AtomicUsize::new(bytes)), server.requests().len());
        match within("a reply", fork.ask_within(logs(), &room)).await {
            Ok(answer) => {
                assert_eq!((answer.result.as_str().unwrap().len(), fits), (1 << 20, true));
            }
            Err(ForkError::Source(error)) => {
                assert!(!fits && error.fault == Fault::NoRoom, "{bytes}: {error}");
                assert!(error.to_string().contains("too many long replies in memory; try again"));
                assert_eq!((&error.url, &*error.method), (&server.url, "eth_getLogs"));
            }
            Err(error) => panic!("{error}"),
        }
        assert_eq!(server.requests().len(), before + 1, "it is not asked again");
    }
    // A short reply takes none, and the source has no fault.
    let id = within("a reply", fork.ask_within(chain_id(), &Room(AtomicUsize::new(0)))).await;
    assert_eq!(id.unwrap().result, json!("0x539"));
    assert_eq!(fork.last_fault(), None);
    assert_eq!(fork.counts().source.faults.of("too_long"), 2);
}
