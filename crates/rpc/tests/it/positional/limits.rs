//! Bounds: of batches, of answers, of time; and clients that go.

use std::{
    future::poll_fn,
    sync::{Arc, Barrier, mpsc},
    task::Poll,
    time::{Duration, Instant},
};

use esker_rpc::handler::{quick, restartable};
use esker_rpc::{
    Caller, MethodTable, RpcError,
    positional::{Limits, Server},
};

use super::{block_on, error, request, result, said, server_with};

fn batch(calls: &[(&str, &str)]) -> String {
    let calls: Vec<_> = calls
        .iter()
        .enumerate()
        .map(|(id, (method, params))| {
            request(method, params).replace("\"id\":1", &format!("\"id\":{id}"))
        })
        .collect();
    format!("[{}]", calls.join(","))
}

#[test]
fn batch_length_is_limited() {
    let server = server_with(Limits { batch_items: 2, ..Limits::default() });
    let chain_id = ("eth_chainId", "[]");
    let two = said(&server, &batch(&[chain_id; 2]));
    assert_eq!(two, format!("[{},{}]\n", result("0", "\"0xa868\""), result("1", "\"0xa868\"")));
    let refused = |id: &str| format!("[{}]", error(id, -32600, "batch too large"));
    assert_eq!(said(&server, &batch(&[chain_id; 3])), refused("0"));
    // The ID is that of the first call.
    let later = r#"[1,{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":"c","method":"x"}]"#;
    assert_eq!(said(&server, later), refused("\"c\""));
    assert_eq!(said(&server, "[1,2,3]"), refused("null"));

    let default = server_with(Limits::default());
    assert!(said(&default, &batch(&[chain_id; 1000])).ends_with("}]\n"));
    assert_eq!(said(&default, &batch(&[chain_id; 1001])), refused("0"));
    let endless = server_with(Limits { batch_items: 0, ..Limits::default() });
    assert!(said(&endless, &batch(&[chain_id; 1001])).ends_with("}]\n"));
}

#[test]
fn a_long_batch_yields_to_other_tasks() {
    const CALLS: usize = 40;
    let spin = |time: Duration| {
        let begun = Instant::now();
        while begun.elapsed() < time {
            std::hint::spin_loop();
        }
    };
    let methods = MethodTable::new("evm").on_list(
        "spins",
        quick(move |(), (micros,): (u64,)| {
            spin(Duration::from_micros(micros));
            Ok(micros)
        }),
    );
    let methods = methods.params(&["micros"]);
    let server = Server::new(methods.bind(Arc::new(())), Limits::default());
    let pauses = |micros: u64| {
        let body = batch(&[("evm_spins", format!("[{micros}]").as_str()); CALLS]);
        let caller = Caller::default();
        let mut answer = Box::pin(server.answer(body.as_bytes(), None, &caller));
        let mut pauses = 0;
        block_on(poll_fn(|cx| {
            let poll = answer.as_mut().poll(cx);
            pauses += usize::from(poll.is_pending());
            poll.map(|answer| assert!(answer.into_bytes().ends_with(b"]\n")))
        }));
        pauses
    };
    // After each call of more than a stretch, and at least after every second of more than a half.
    assert_eq!(pauses(150), CALLS);
    assert!(pauses(60) >= CALLS / 2);
}

#[test]
fn a_batch_is_cut_when_its_results_are_too_large() {
    let server = server_with(Limits { batch_reply_bytes: 10, ..Limits::default() });
    // Twelve bytes with the quotes: the result that crosses the limit is there, those after it are not.
    let ten = ("eth_echo", "[\"a\",10]");
    let result_of = |id: &str| result(id, "\"aaaaaaaaaa\"");
    let large = |id: &str| error(id, -32003, "response too large");
    assert_eq!(said(&server, &batch(&[ten])), format!("[{}]", result_of("0")));
    assert_eq!(
        said(&server, &batch(&[ten, ten, ("eth_fails", "[]")])),
        format!("[{},{},{}]", result_of("0"), large("1"), large("2"))
    );
    let quiet = format!(
        "[{},{{\"jsonrpc\":\"2.0\",\"method\":\"eth_echo\"}},{{\"id\":4}},5]",
        request(ten.0, ten.1)
    );
    assert_eq!(
        said(&server, &quiet),
        format!("[{},{},{}]", result_of("1"), large("4"), large("null"))
    );
    // Exactly the limit is no more than it; a single call has none.
    let exact = batch(&[("eth_echo", "[\"a\",8]"), ("eth_nope", "[]")]);
    assert!(said(&server, &exact).ends_with("]\n"));
    assert_eq!(said(&server, &request(ten.0, ten.1)), result_of("1") + "\n");
}

#[test]
fn a_call_times_out() {
    let server = server_with(Limits { call_timeout: Duration::from_secs(3), ..Limits::default() });
    let late = |id: &str| error(id, -32002, "request timed out");
    assert_eq!(said(&server, &request("eth_hangs", "[]")), late("1"));
    assert_eq!(said(&server, r#"{"jsonrpc":"2.0","method":"eth_hangs"}"#), "");
    assert_eq!(
        said(&server, &batch(&[("eth_chainId", "[]"), ("eth_hangs", "[]"), ("eth_chainId", "[]")])),
        format!("[{},{},{}]", result("0", "\"0xa868\""), late("1"), late("2"))
    );
}

#[test]
fn a_blocking_call_is_cancelled_when_its_client_leaves() {
    let started = Arc::new(Barrier::new(2));
    let (sender, receiver) = mpsc::channel();
    let service = MethodTable::new("evm")
        .on_list(
            "call",
            restartable(move |started: &Barrier, (): (), context| {
                started.wait();
                while !context.is_cancelled() {
                    std::thread::yield_now();
                }
                sender.send("stopped").map_err(|error| RpcError::new(error.to_string()))
            }),
        )
        .bind(Arc::clone(&started));
    let server = Server::new(service, Limits::default());
    let body = batch(&[("evm_call", "[]"), ("evm_call", "[]")]);
    let caller = Caller::default();
    block_on(async {
        let mut call = Box::pin(server.answer(body.as_bytes(), None, &caller));
        let begun = poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_pending())).await;
        assert!(begun);
        started.wait();
        drop(call);
        assert_eq!(receiver.recv(), Ok("stopped"));
    });
    // The second call of the batch never began.
    assert!(receiver.try_recv().is_err());
}
