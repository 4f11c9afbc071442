//! What those who follow ended calls learn, and what it costs.

use std::sync::Arc;

use esker_rpc::handler::{quick, quick_noted_or_restartable, waits, waits_with_notes};
use esker_rpc::positional::{Limits, Server};
use esker_rpc::work::{EndedCall, Work, WorkConfig};
use esker_rpc::{CallContext, CallNotes, Caller, MethodTable, RpcError};
use tokio::runtime::Builder;
use tokio::sync::broadcast::error::TryRecvError;

use super::positional::block_on;

fn server() -> Server {
    let evm = MethodTable::new("evm")
        .alias("eth")
        .on_list("chainId", quick(|(), ()| Ok("0x1")))
        .on_list(
            "fails",
            quick(|(), ()| -> Result<(), RpcError> { Err(RpcError::new("é".repeat(9000))) }),
        )
        .on_list("hangs", waits(|_, ()| std::future::pending::<Result<(), RpcError>>()))
        .on_list(
            "notes",
            waits_with_notes(|_, (), notes: CallNotes| async move {
                notes.set(1_u64);
                notes.set(2_u64);
                Ok(notes.are_wanted())
            }),
        )
        .on_list(
            "tries",
            quick_noted_or_restartable(
                |(), (n,): &(u64,), context: &CallContext| {
                    context.notes().set("in place");
                    (*n == 0).then_some(Ok(true))
                },
                |(), (_,): (u64,), context| {
                    context.notes().set("on the pool");
                    Ok(false)
                },
            ),
        )
        .params(&["number"]);
    Server::new(evm.bind(Arc::new(())), Limits::default())
}

fn caller(work: &Work) -> Caller {
    Caller { client: Some(work.client(None)), ..Caller::default() }
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

fn answer(work: &Work, body: &str) -> String {
    let (server, caller) = (server(), caller(work));
    let answer = server.answer(body.as_bytes(), None, &caller);
    // Only a call that hangs needs a clock that leaps to its time limit.
    let answer = match body.contains("hangs") {
        true => block_on(answer),
        false => Builder::new_current_thread().enable_time().build().unwrap().block_on(answer),
    };
    String::from_utf8(answer.into_bytes()).unwrap()
}

fn note<T: Copy + 'static>(call: &EndedCall) -> Option<T> {
    call.note.as_ref()?.downcast_ref().copied()
}

#[test]
fn followers_learn_how_calls_ended() {
    let work = Work::new(WorkConfig::default());
    let mut calls = work.ended_calls().subscribe();
    let mut next = |body: &str| {
        let said = answer(&work, body);
        (said, calls.try_recv().unwrap())
    };
    let (_, call) = next(&request("eth_chainId", "[]"));
    assert_eq!((call.called.as_str(), call.method), ("eth_chainId", Some(("evm", "chainId"))));
    assert!(call.error.is_none() && call.note.is_none(), "{call:?}");
    let (_, call) = next(&request("evm_fails", "[]"));
    assert_eq!(call.error.unwrap(), "é".repeat(500));
    let (_, call) = next(&request("eth_chainId", "[1]"));
    assert_eq!(call.error.unwrap(), "too many arguments, want at most 0");
    let (_, call) = next(&request(&format!("eth_{}", "x".repeat(5000)), "[]"));
    assert_eq!((call.called.len(), call.method), (103, None));
    let (_, call) = next(&request("eth_hangs", "[]"));
    assert_eq!(call.error.as_deref(), Some("request timed out"));
    // The last note counts.
    let (said, call) = next(&request("eth_notes", "[]"));
    assert!(said.contains("true"), "{said}");
    assert_eq!(note::<u64>(&call), Some(2));
    for (number, expected) in [(0, "in place"), (1, "on the pool")] {
        let (_, call) = next(&request("eth_tries", &format!("[{number}]")));
        assert_eq!(note::<&str>(&call), Some(expected));
    }
    // A batch in its order, and messages that are no calls are none.
    let batch = [
        request("eth_chainId", "[]"),
        "1".to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"result":1}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"eth_chainId"}"#.to_owned(),
        request("eth_nothing", "[]"),
    ];
    answer(&work, &format!("[{}]", batch.join(",")));
    answer(&work, "{");
    let called: Vec<_> =
        std::iter::from_fn(|| calls.try_recv().ok()).map(|one| one.called).collect();
    assert_eq!(called, ["eth_chainId", "eth_chainId", "eth_nothing"]);
}

#[test]
fn without_a_follower_nothing_is_kept() {
    let work = Work::new(WorkConfig::default());
    assert!(answer(&work, &request("eth_notes", "[]")).contains("false"));
    // Nor after the last one has left.
    drop(work.ended_calls().subscribe());
    assert!(answer(&work, &request("eth_notes", "[]")).contains("false"));
    let mut calls = work.ended_calls().subscribe();
    assert_eq!(calls.try_recv().unwrap_err(), TryRecvError::Empty);
}

#[test]
fn a_follower_that_does_not_read_misses_the_oldest_calls() {
    const BATCHES: usize = 3;
    const CALLS: usize = 1000;
    let work = Work::new(WorkConfig::default());
    let mut calls = work.ended_calls().subscribe();
    let all = vec![request("eth_chainId", "[]"); CALLS].join(",");
    for _ in 0..BATCHES {
        assert_eq!(answer(&work, &format!("[{all}]")).matches("0x1").count(), CALLS);
    }
    let Err(TryRecvError::Lagged(missed)) = calls.try_recv() else { panic!("it misses none") };
    let left = std::iter::from_fn(|| calls.try_recv().ok()).count();
    assert_eq!(usize::try_from(missed).unwrap() + left, BATCHES * CALLS);
    assert!(left <= 1024, "{left}");
}
