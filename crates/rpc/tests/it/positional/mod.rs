//! The positional dialect, from bytes to bytes.

mod arguments;
mod http;
mod limits;
mod messages;
mod properties;
mod recorded;
mod subscriptions;

use std::sync::Arc;

use esker_rpc::handler::{blocking, quick, quick_or_restartable, waits};
use esker_rpc::{
    Caller, MethodTable, RpcError,
    positional::{Answer, Limits, Server},
};

/// The names of the recorded exchanges, and a method for every way to end.
pub(crate) fn server_with(limits: Limits) -> Server {
    let evm = MethodTable::new("evm")
        .alias("eth")
        .on_list("chainId", quick(|(), ()| Ok("0xa868")))
        .on_list("blockNumber", quick(|(), ()| Ok("0x0")))
        .on_list("getBalance", quick(|(), _: (String, String)| Ok("0x1")))
        .params(&["address", "block"])
        .on_list(
            "echo",
            quick(|(), (text, times): (String, Option<u64>)| {
                Ok(text.repeat(usize::try_from(times.unwrap_or(1)).unwrap()))
            }),
        )
        .params(&["text", "times"])
        .on_list("nothing", quick(|(), ()| Ok(None::<u8>)))
        .on_list("fails", quick(|(), ()| Err::<(), _>(RpcError::new("no <luck>"))))
        .on_list(
            "reverts",
            quick(|(), ()| {
                Err::<(), _>(RpcError::with_code(3, "execution reverted").with_data(&"0x08"))
            }),
        )
        .on_list("panics", quick(|(), ()| -> Result<(), RpcError> { panic!("on purpose") }))
        .on_list("unwritable", quick(|(), ()| Ok(std::collections::BTreeMap::from([((), ())]))))
        .on_list(
            "waits",
            waits(|_, ()| async {
                tokio::task::yield_now().await;
                Ok("waited")
            }),
        )
        .on_list("hangs", waits(|_, ()| std::future::pending::<Result<(), RpcError>>()))
        .on_list("works", blocking(|(), (text,): (String,)| Ok(text)))
        .params(&["text"])
        .on_list(
            "tries",
            quick_or_restartable(
                |(), (n,): &(u64,)| match n {
                    0 => Some(Err(RpcError::new("nothing to do"))),
                    1..10 => Some(Ok("in place")),
                    _ => None,
                },
                |(), (_,): (u64,), _| Ok("on the pool"),
            ),
        )
        .params(&["number"])
        .bind(Arc::new(()));
    let net =
        MethodTable::new("net").on_list("version", quick(|(), ()| Ok("43112"))).bind(Arc::new(()));
    Server::new(evm.merge(&net), limits)
}

pub(crate) fn server() -> Server {
    server_with(Limits::default())
}

/// Runs a call, with a clock that leaps to the next timer when nothing else is to be done.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(future)
}

pub(crate) fn ask(server: &Server, body: &[u8]) -> Answer {
    block_on(server.answer(body, None, &Caller::default()))
}

/// The body of the answer.
pub(crate) fn said(server: &Server, body: &str) -> String {
    String::from_utf8(ask(server, body.as_bytes()).into_bytes()).unwrap()
}

/// A request with the ID 1.
pub(crate) fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// The reply with this error and this ID.
pub(crate) fn error(id: &str, code: i64, message: &str) -> String {
    let message = serde_json::to_string(message).unwrap();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}

/// The reply with this result and this ID.
pub(crate) fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}
