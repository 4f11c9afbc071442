//! Replies that wait after their handler has returned, and methods that are asked for only if a check allows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use esker_go_json::Document;
use esker_rpc::handler::{blocking, blocking_then};
use esker_rpc::positional::{Limits, Server};
use esker_rpc::work::{Client, Work, WorkConfig};
use esker_rpc::{
    CallContext, CallError, Caller, Lookup, MethodTable, NoArgs, Params, ReplyAfter, ReplyWait,
    RpcError, Service,
};
use tokio::sync::watch;
use tokio::time::timeout;

/// No wait of these tests takes longer unless something is broken.
const DEADLINE: Duration = Duration::from_secs(20);

struct Api {
    answer: watch::Sender<Option<Result<(), RpcError>>>,
    is_closed: AtomicBool,
}

impl Api {
    fn wait(&self) -> ReplyAfter<u8> {
        let mut answer = self.answer.subscribe();
        let wait = async move {
            let answered = answer.wait_for(Option::is_some).await;
            answered.ok().and_then(|answer| answer.clone()).unwrap_or(Ok(()))
        };
        ReplyAfter { reply: 7, wait: Some(ReplyWait::Verdict(Box::pin(wait))) }
    }
}

fn service() -> (Arc<Api>, Service) {
    let (answer, is_closed) = (watch::channel(None).0, AtomicBool::new(false));
    let api = Arc::new(Api { answer, is_closed });
    let table = MethodTable::new("toy")
        .on("wait", blocking_then(|api: &Arc<Api>, _: NoArgs, _: &CallContext| Ok(api.wait())))
        .on(
            "panic",
            blocking_then(|_: &Arc<Api>, _: NoArgs, _: &CallContext| {
                let wait = ReplyWait::Verdict(Box::pin(async { panic!("in the wait") }));
                Ok(ReplyAfter { reply: 7, wait: Some(wait) })
            }),
        )
        .on("quick", blocking(|_: &Api, _: NoArgs| Ok(8)))
        .checked_by(
            |api| match api.is_closed.load(Ordering::SeqCst) {
                true => Err(RpcError::with_code(-1, "closed")),
                false => Ok(()),
            },
            &["quick"],
        );
    (Arc::clone(&api), table.bind(api))
}

async fn call(
    service: &Service,
    client: &Client,
    method: &str,
    args: &str,
) -> Result<String, CallError> {
    let Lookup::Found(found) = service.find("toy", method) else { panic!("no {method}") };
    let params = Params::Named(Document::first(args.as_bytes()).unwrap());
    let caller = Caller { client: Some(client.clone()), ..Caller::default() };
    let context = CallContext::for_caller(&caller);
    let reply = timeout(DEADLINE, found.call(params, &context, Vec::new()));
    let bytes = reply.await.expect("a reply")?;
    Ok(String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn a_reply_waits_without_a_thread() {
    let (api, service) = service();
    let work = Work::new(WorkConfig { processors: 1, ..WorkConfig::default() });
    let client = work.client(None);
    for refused in [false, true] {
        api.answer.send_replace(None);
        let waiting: Vec<_> = (0..20)
            .map(|_| {
                let (service, client) = (service.clone(), client.clone());
                tokio::spawn(async move { call(&service, &client, "wait", "{}").await })
            })
            .collect();
        timeout(DEADLINE, async {
            while api.answer.receiver_count() < 20 {
                tokio::task::yield_now().await;
            }
        })
        .await
        .expect("all wait");
        assert_eq!(call(&service, &client, "quick", "{}").await, Ok("8".into()));
        let error = RpcError::with_code(-5, "refused elsewhere");
        api.answer.send_replace(Some(if refused { Err(error.clone()) } else { Ok(()) }));
        for reply in waiting {
            let expected = if refused { Err(error.clone().into()) } else { Ok("7".into()) };
            assert_eq!(reply.await.unwrap(), expected);
        }
    }
}

/// Methods whose replies follow a gate: alone, or with their neighbours.
struct Gated {
    gate: watch::Sender<bool>,
    calls: AtomicUsize,
}

impl Gated {
    fn behind_gate(&self) -> ReplyAfter<u8> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let mut gate = self.gate.subscribe();
        let open = async move {
            let _opened = gate.wait_for(|is_open| *is_open).await;
        };
        ReplyAfter { reply: 7, wait: Some(ReplyWait::Delay(Box::pin(open))) }
    }
}

#[tokio::test]
async fn calls_of_a_batch_wait_together() {
    let api = Arc::new(Gated { gate: watch::channel(false).0, calls: AtomicUsize::new(0) });
    let service = MethodTable::new("toy")
        .on_list("alone", blocking_then(|api: &Arc<Gated>, (): (), _| Ok(api.behind_gate())))
        .on_list(
            "shared",
            blocking_then(|api: &Arc<Gated>, (): (), _| Ok(api.behind_gate().with_shared_delay())),
        )
        .bind(Arc::clone(&api));
    let server = Server::new(service, Limits::default());
    let batch = |methods: &[&str]| {
        let calls = methods.iter().enumerate();
        let calls = calls
            .map(|(id, name)| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"toy_{name}"}}"#));
        format!("[{}]", calls.collect::<Vec<_>>().join(","))
    };
    // How many calls have run when the first ones wait.
    for (methods, ran) in [
        (vec!["shared"; 3], 3),
        (vec!["shared", "shared", "alone", "shared"], 2),
        (vec!["alone", "shared"], 1),
        (vec!["shared"; 300], 257),
    ] {
        api.gate.send_replace(false);
        api.calls.store(0, Ordering::SeqCst);
        let (server, body) = (server.clone(), batch(&methods));
        let answer =
            tokio::spawn(
                async move { server.answer(body.as_bytes(), None, &Caller::default()).await },
            );
        timeout(DEADLINE, async {
            while api.calls.load(Ordering::SeqCst) < ran {
                tokio::task::yield_now().await;
            }
        })
        .await
        .expect("they run");
        assert!(!answer.is_finished(), "{methods:?}");
        assert_eq!(api.calls.load(Ordering::SeqCst), ran, "{methods:?}");
        api.gate.send_replace(true);
        let answer = timeout(DEADLINE, answer).await.expect("an answer").unwrap();
        let replies = String::from_utf8(answer.into_bytes()).unwrap();
        assert_eq!(replies.matches(r#""result":7"#).count(), methods.len(), "{replies}");
    }
}

#[tokio::test]
async fn a_wait_that_panics_is_a_crash_of_the_method() {
    let (_, service) = service();
    let client = Work::new(WorkConfig::default()).client(None);
    assert_eq!(call(&service, &client, "panic", "{}").await, Err(CallError::Panicked));
}

#[tokio::test]
async fn a_check_comes_before_the_arguments() {
    let (api, service) = service();
    let client = Work::new(WorkConfig::default()).client(None);
    assert!(matches!(call(&service, &client, "quick", "[]").await, Err(CallError::Params(_))));
    api.is_closed.store(true, Ordering::SeqCst);
    let closed = CallError::from(RpcError::with_code(-1, "closed"));
    assert_eq!(call(&service, &client, "quick", "[]").await, Err(closed));
}
