//! Shares of threads and of memory: what a connection gets, whatever the others do.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::time::Duration;

use esker_primitives::thread_memory;
use esker_rpc::handler::{blocking, quick, restartable, sized, waits};
use esker_rpc::positional::{self, BatchAnswer, Limits};
use esker_rpc::work::{
    Client, MemoryError, MemoryRelief, ReplyBytes, SMALL_REPLY, Work, WorkConfig,
};
use esker_rpc::{CallContext, Caller, MethodTable, NoArgs, RpcError, Service, WorkRefused, object};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use serde::{Serialize, Serializer};

/// The longest time that a test waits.
const PATIENCE: Duration = Duration::from_secs(20);
/// Places of all levels of two processors but the one for short work.
const PLACES: usize = 8;
/// The most jobs that run while those of the first level do not end: two of it, and twice two that went on at the next.
/// No long job begins then.
const BEGINNING: usize = 6;
/// Replies that are counted.
const LARGE: usize = 100_000;

fn work() -> Work {
    with(WorkConfig { processors: 2, ..WorkConfig::default() })
}

fn with(config: WorkConfig) -> Work {
    Work::new(WorkConfig { processors: 2, ..config })
}

fn caller(client: &Client) -> Caller {
    Caller { client: Some(client.clone()), ..Caller::default() }
}

fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(PATIENCE, future).await.expect("still not so after a long time")
    })
}

/// Methods that take as long as a test wants.
#[derive(Default)]
struct Toy {
    begun: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
    go: AtomicBool,
}

impl Toy {
    /// Works until it is cancelled or released.
    fn spin(&self, is_told: impl Fn() -> bool) -> Result<&'static str, RpcError> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        let mut outcome = Ok("done");
        while !self.go.load(Ordering::SeqCst) {
            if is_told() {
                outcome = Err(RpcError::new("cancelled"));
                break;
            }
            std::thread::yield_now();
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        outcome
    }

    async fn until_begun(&self, jobs: usize) {
        while self.begun.load(Ordering::SeqCst) < jobs {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn until_none_runs(&self) {
        while self.running.load(Ordering::SeqCst) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn toy() -> (Arc<Toy>, Service) {
    let toy = Arc::new(Toy::default());
    let service = MethodTable::new("toy")
        .on(
            "endless",
            restartable(|toy: &Toy, _: NoArgs, context: &CallContext| {
                toy.spin(|| context.is_cancelled())
            }),
        )
        .on("deaf", blocking(|toy: &Toy, _: NoArgs| toy.spin(|| false)))
        .on("quick", blocking(|_: &Toy, _: NoArgs| Ok("quick")))
        .on("large", blocking(|_: &Toy, _: NoArgs| Ok("x".repeat(LARGE))))
        .on("panics", blocking(|_: &Toy, _: NoArgs| -> Result<(), RpcError> { panic!("ouch") }))
        .on("short", blocking(|_: &Toy, _: NoArgs| Ok("short")))
        .short()
        .on(
            "brief",
            restartable(|_: &Toy, _: NoArgs, context: &CallContext| {
                Ok(if context.is_brief() { "brief" } else { "long" })
            }),
        )
        .short_first()
        .on(
            "notBrief",
            restartable(|toy: &Toy, _: NoArgs, context: &CallContext| {
                if context.is_brief() {
                    context.leave_short_lane();
                    return Err(RpcError::new("not that brief"));
                }
                toy.spin(|| context.is_cancelled())
            }),
        )
        .short_first()
        .on(
            "fails",
            restartable(|_: &Toy, _: NoArgs, _: &CallContext| -> Result<(), RpcError> {
                Err(RpcError::new("failed"))
            }),
        )
        .short_first()
        .bind(Arc::clone(&toy));
    (toy, service)
}

/// The reply to a call over a connection.
fn call(service: &Service, client: &Client, method: &str) -> BoxFuture<'static, String> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"toy.{method}"}}"#);
    let (service, caller) = (service.clone(), caller(client));
    async move {
        let json = Some("application/json");
        let reply = object::handle(&service, "POST", json, body.as_bytes(), &caller).await;
        String::from_utf8(reply.body.into_vec()).unwrap()
    }
    .boxed()
}

fn said(result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"result\":\"{result}\",\"id\":1}}\n")
}

fn failed(text: &str) -> String {
    let error = format!(r#"{{"code":-32000,"message":"{text}","data":null}}"#);
    format!("{{\"jsonrpc\":\"2.0\",\"error\":{error},\"id\":1}}\n")
}

#[test]
fn running_jobs_are_limited() {
    let (toy, service) = toy();
    let work = work();
    let clients: Vec<_> = (0..8).map(|_| work.client(None)).collect();
    run(async {
        let calls =
            clients.iter().flat_map(|client| (0..4).map(|_| call(&service, client, "deaf")));
        let calls = tokio::spawn(join_all(calls.collect::<Vec<_>>()));
        toy.until_begun(2).await;
        toy.go.store(true, Ordering::SeqCst);
        for reply in calls.await.unwrap() {
            assert_eq!(reply, said("done"));
        }
        assert!(toy.most.load(Ordering::SeqCst) <= 2 * PLACES);
        // A place is free a moment after its job has answered.
        for _ in 0..10_000 {
            if work.stats().running == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let stats = work.stats();
        assert_eq!((stats.waiting, stats.running, stats.refused), (0, 0, 0));
    });
}

#[test]
fn endless_calls_delay_neither_short_ones_nor_sends() {
    // Work that never asks whether to go on is given other places, as far as there are any.
    for (endless, attackers) in [("endless", 64), ("deaf", 4)] {
        let (toy, service) = toy();
        let work = work();
        run(async {
            let attackers: Vec<_> = (0..attackers).map(|_| work.client(None)).collect();
            let calls = attackers.iter().map(|client| call(&service, client, endless));
            let calls = tokio::spawn(join_all(calls.collect::<Vec<_>>()));
            toy.until_begun(2).await;
            let honest = work.client(None);
            for _ in 0..20 {
                // Nothing of the attackers' ends before these do.
                assert_eq!(call(&service, &honest, "short").await, said("short"));
                assert_eq!(call(&service, &honest, "quick").await, said("quick"));
            }
            toy.go.store(true, Ordering::SeqCst);
            for reply in calls.await.unwrap() {
                assert_eq!(reply, said("done"), "also what was ended comes to its end");
            }
        });
    }
}

#[test]
fn a_newcomer_comes_before_the_first_calls_of_another_address() {
    const ATTACKERS: usize = 300;
    let (toy, service) = toy();
    let work = work();
    run(async {
        let at = |address: &str| work.client(Some(address.parse().unwrap()));
        let attackers: Vec<_> = (0..ATTACKERS).map(|_| at("127.0.0.2")).collect();
        let calls = attackers.iter().map(|client| call(&service, client, "endless"));
        let calls = tokio::spawn(join_all(calls.collect::<Vec<_>>()));
        toy.until_begun(2).await;
        assert_eq!(call(&service, &at("127.0.0.1"), "quick").await, said("quick"));
        let begun = toy.begun.load(Ordering::SeqCst);
        assert!(begun < ATTACKERS, "it waited for {begun}");
        calls.abort();
        toy.until_none_runs().await;
    });
}

#[test]
fn short_first_work_starts_in_the_short_lane() {
    let (toy, service) = toy();
    let work = work();
    run(async {
        let attackers: Vec<_> = (0..8).map(|_| work.client(None)).collect();
        let calls = attackers.iter().flat_map(|client| {
            let call = || call(&service, client, "deaf");
            [call(), call(), call(), call()]
        });
        let calls = tokio::spawn(join_all(calls.collect::<Vec<_>>()));
        while work.stats().waiting < 32 - BEGINNING || work.stats().running < BEGINNING {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let honest = work.client(None);
        assert_eq!(call(&service, &honest, "brief").await, said("brief"));
        assert_eq!(call(&service, &honest, "fails").await, failed("failed"));
        let others = work.stats().waiting;
        let long = tokio::spawn(call(&service, &honest, "notBrief"));
        // It waits where long work does.
        while work.stats().waiting <= others {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(call(&service, &honest, "brief").await, said("brief"));
        assert!(!long.is_finished());
        toy.go.store(true, Ordering::SeqCst);
        assert_eq!(long.await.unwrap(), said("done"));
        calls.await.unwrap();
    });
}

#[test]
fn work_that_leaves_the_short_lane_is_refused_when_the_queue_is_full() {
    let (toy, service) = toy();
    let work = with(WorkConfig { queue: 1, ..WorkConfig::default() });
    run(async {
        let clients: Vec<_> = (0..40).map(|_| work.client(None)).collect();
        let calls: Vec<_> =
            clients.iter().map(|client| tokio::spawn(call(&service, client, "deaf"))).collect();
        while work.stats().refused < 40 - 2 * PLACES as u64 - 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut long = Vec::new();
        for _ in 0..3 * PLACES {
            long.push(tokio::spawn(call(&service, &work.client(None), "notBrief")));
        }
        while work.stats().refused < 40 + PLACES as u64 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        toy.go.store(true, Ordering::SeqCst);
        for reply in long.into_iter().chain(calls) {
            let reply = reply.await.unwrap();
            assert!(reply == said("done") || reply == failed("too many calls wait"), "{reply}");
        }
        assert_eq!(call(&service, &clients[0], "quick").await, said("quick"));
    });
}

#[test]
fn calls_of_a_client_that_leaves_are_dropped() {
    let (toy, service) = toy();
    let work = work();
    run(async {
        let clients: Vec<_> = (0..32).map(|_| work.client(None)).collect();
        let calls = clients.iter().map(|client| call(&service, client, "endless"));
        let calls = tokio::spawn(join_all(calls.collect::<Vec<_>>()));
        toy.until_begun(2).await;
        calls.abort();
        assert!(calls.await.is_err());
        let stats = work.stats();
        assert_eq!(stats.waiting, 0, "what waits is dropped at once");
        toy.until_none_runs().await;
        // All places are free again.
        assert_eq!(call(&service, &clients[0], "quick").await, said("quick"));
    });
}

#[test]
fn calls_above_the_queue_limit_are_refused() {
    let (toy, service) = toy();
    let work = with(WorkConfig { queue: 3, ..WorkConfig::default() });
    run(async {
        let clients: Vec<_> = (0..40).map(|_| work.client(None)).collect();
        let calls: Vec<_> =
            clients.iter().map(|client| tokio::spawn(call(&service, client, "deaf"))).collect();
        // Calls that neither run nor wait are answered while the others go on.
        while work.stats().refused < 40 - 2 * PLACES as u64 - 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        toy.go.store(true, Ordering::SeqCst);
        let (mut done, mut refused) = (0, 0);
        for reply in calls {
            let reply = reply.await.unwrap();
            assert!(reply == said("done") || reply == failed("too many calls wait"), "{reply}");
            if reply == said("done") { done += 1 } else { refused += 1 }
        }
        assert_eq!((done + refused, refused), (40, work.stats().refused));
        assert_eq!(call(&service, &clients[0], "quick").await, said("quick"));
    });
}

#[test]
fn off_thread_work_counts_for_its_caller() {
    let (service, work) = (
        MethodTable::new("toy")
            .on(
                "off",
                waits(|_: Arc<()>, _: NoArgs| async {
                    let name = || std::thread::current().name().map(str::to_owned);
                    Ok(esker_rpc::off_thread(name).await.unwrap())
                }),
            )
            .on(
                "panics",
                waits(|_: Arc<()>, _: NoArgs| async {
                    let done: Result<(), WorkRefused> =
                        esker_rpc::off_thread(|| panic!("ouch")).await;
                    done.map_err(|error| RpcError::new(error.to_string()))
                }),
            )
            .bind(Arc::new(())),
        work(),
    );
    let client = work.client(None);
    run(async {
        assert_eq!(call(&service, &client, "off").await, said("esker-work-0"));
        assert_eq!(call(&service, &client, "panics").await, failed("method handler crashed"));
    });
}

#[test]
fn off_thread_work_has_the_memory_of_its_client() {
    const MIB: usize = 1024 * 1024;
    /// Takes mebibytes until it has to end; how many it got.
    fn take(context: &CallContext) -> usize {
        let mut taken = 0;
        while !context.is_cancelled() && taken < 100 {
            thread_memory::add(MIB);
            taken += 1;
        }
        thread_memory::subtract(taken * MIB);
        taken
    }
    let service = MethodTable::new("toy")
        .on(
            "once",
            waits(|_: Arc<()>, _: NoArgs| async { Ok(esker_rpc::off_thread_long(take).await?) }),
        )
        .bind(Arc::new(()));
    let (call_memory, client_call_memory) = (12 * MIB, 8 * MIB);
    let work = with(WorkConfig { call_memory, client_call_memory, ..WorkConfig::default() });
    let client = work.client(None);
    run(async {
        let text = "the call needs more memory than the 8388608 bytes that the calls of a client may take \
                    (http-client-call-memory)";
        let refused = failed(text).replace("-32000", "-32005");
        assert_eq!(call(&service, &client, "once").await, refused);
        // Work that may run again does so with more, and then gets the same answer.
        let caller = caller(&client);
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let again = esker_rpc::off_thread_restartable(&caller, move |context| {
            counted.fetch_add(1, Ordering::SeqCst);
            take(context)
        });
        assert_eq!(again.await.unwrap_err().to_string(), text);
        assert_eq!((runs.load(Ordering::SeqCst), work.stats().call_bytes), (1, 0));
        let few = |context: &CallContext| {
            thread_memory::add(5 * MIB);
            let must_end = context.is_cancelled();
            thread_memory::subtract(5 * MIB);
            must_end
        };
        assert_eq!(esker_rpc::off_thread_restartable(&caller, few).await, Ok(false));
    });
}

#[test]
fn a_large_reply_is_written_in_the_long_lane() {
    /// Writes where it is written, and so many letters.
    struct Place(usize);

    impl Serialize for Place {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or_default();
            let is_worker = name.starts_with("esker-work");
            serializer.collect_str(&format_args!("{is_worker} {}", "x".repeat(self.0)))
        }
    }

    esker_rpc::schema!(Place, "Place", { "type": "string" });

    let service = MethodTable::new("toy")
        .on_list(
            "found",
            sized(
                |place: &Place| place.0,
                |(): &(), (bytes,): (u64,)| {
                    if bytes == 0 { Err(RpcError::new("none")) } else { Ok(Place(bytes as usize)) }
                },
            ),
        )
        .params(&["bytes"])
        .bind(Arc::new(()));
    let server = positional::Server::new(service, Limits::default());
    let work = work();
    let caller = caller(&work.client(None));
    run(async {
        for (bytes, answer) in [
            (0, r#""error":{"code":-32000,"message":"none"}"#),
            (1, r#""result":"false x""#),
            (64 * 1024, r#""result":"false x"#),
            (64 * 1024 + 1, r#""result":"true x"#),
        ] {
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"toy_found","params":[{bytes}]}}"#);
            let reply = server.answer(body.as_bytes(), None, &caller).await.into_bytes();
            let reply = String::from_utf8(reply).unwrap();
            assert!(reply.contains(answer) && reply.len() > bytes, "{bytes}: {reply:.200}");
        }
    });
}

#[test]
fn a_panic_is_answered_and_leaves_its_place() {
    let (_, service) = toy();
    let work = work();
    let client = work.client(None);
    run(async {
        for _ in 0..2 * PLACES {
            assert_eq!(call(&service, &client, "panics").await, failed("method handler crashed"));
        }
        assert_eq!(call(&service, &client, "quick").await, said("quick"));
    });
}

#[test]
fn a_client_that_does_not_read_gets_no_work() {
    let (_, service) = toy();
    let work = work();
    let (client, other) = (work.client(None), work.client(None));
    let mut unread = ReplyBytes::counted(vec![1; 1_000_000], Some(&client)).unwrap();
    unread.mark_sent();
    run(async {
        let mut blocked = call(&service, &client, "quick");
        let pending = poll_fn(|cx| Poll::Ready(blocked.as_mut().poll(cx).is_pending())).await;
        assert!(pending);
        assert_eq!(call(&service, &other, "quick").await, said("quick"));
        assert_eq!(work.stats().waiting, 1);
        assert!(client.unread_for_ms().is_some());
        drop(unread);
        client.written().await;
        assert_eq!(blocked.await, said("quick"));
        assert_eq!(client.unread_for_ms(), None);
    });
}

#[test]
fn replies_share_a_memory() {
    let (_, service) = toy();
    let limits = WorkConfig {
        reply_memory: 5 * LARGE / 2,
        connection_reply_memory: 3 * LARGE / 2,
        ..WorkConfig::default()
    };
    let work = with(limits);
    let [a, b, c] = [(); 3].map(|()| work.client(None));
    run(async {
        let reserve = |client: &Client| ReplyBytes::counted(vec![0; LARGE], Some(client));
        let of_a = reserve(&a).unwrap();
        assert_eq!(reserve(&a).unwrap_err(), MemoryError::TooLarge);
        assert_eq!(call(&service, &a, "large").await, failed("response too large"));
        let of_b = reserve(&b).unwrap();
        assert_eq!(reserve(&c).unwrap_err(), MemoryError::Full);
        assert_eq!(call(&service, &c, "large").await, failed("too many large replies at once"));
        assert_eq!(call(&service, &c, "quick").await, said("quick"), "small ones are not counted");
        assert!(
            reserve(&c).is_err() && ReplyBytes::counted(vec![0; SMALL_REPLY], Some(&c)).is_ok()
        );
        let stats = work.stats();
        assert_eq!((stats.reply_bytes, stats.replies_refused), (2 * LARGE, 5));
        drop(of_a);
        assert_eq!(call(&service, &c, "large").await, said(&"x".repeat(LARGE)));
        drop(of_b);
        assert_eq!(work.stats().reply_bytes, 0);
    });
}

#[test]
fn unread_replies_are_evicted() {
    #[derive(Debug)]
    struct Close(Client, mpsc::Sender<()>);

    impl MemoryRelief for Close {
        fn evict(&self) -> Option<Client> {
            self.1.send(()).unwrap();
            Some(self.0.clone())
        }
    }

    let work = with(WorkConfig { reply_memory: LARGE, ..WorkConfig::default() });
    let [deaf, honest] = [(); 2].map(|()| work.client(None));
    let (evicted, asked) = mpsc::channel();
    work.set_relief(Box::new(Close(deaf.clone(), evicted)));
    let reserve = |client: &Client| ReplyBytes::counted(vec![0; LARGE], Some(client));
    let unread = reserve(&deaf).unwrap();
    // The use of the connection that is being closed counts no more, although it ends a moment later.
    let held = reserve(&honest).unwrap();
    assert_eq!(asked.try_iter().count(), 1);
    assert!(deaf.is_evicted() && !honest.is_evicted());
    assert_eq!(work.stats().reply_bytes, LARGE);
    // It is closed once, and holds nothing any more.
    assert_eq!(reserve(&honest).unwrap_err(), MemoryError::Full);
    drop(unread);
    assert_eq!(work.stats().reply_bytes, LARGE);
    drop(held);
    assert_eq!(reserve(&deaf).unwrap_err(), MemoryError::Full);
    assert_eq!(work.stats().reply_bytes, 0);
}

#[test]
fn a_batch_waits_for_its_reader() {
    let made = Arc::new(AtomicUsize::new(0));
    let service = MethodTable::new("toy")
        .on_list(
            "large",
            blocking(|made: &AtomicUsize, ()| {
                made.fetch_add(1, Ordering::SeqCst);
                Ok("x".repeat(LARGE))
            }),
        )
        .bind(Arc::clone(&made));
    let server = positional::Server::new(service, Limits::default());
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"toy_large"}"#;
    let body = format!("[{}]", vec![call; 30].join(","));
    let work = work();
    let client = work.client(None);
    let caller = caller(&client);
    run(async {
        let mut batch = BatchAnswer::new(&server, &caller, body.clone(), 2 * LARGE);
        poll_fn(|cx| batch.poll_buffered(cx)).await;
        assert_eq!((made.load(Ordering::SeqCst), batch.failed()), (2, None));
        assert!(batch.take_whole().is_none());
        let mut answer = Vec::new();
        while let Some(part) = poll_fn(|cx| batch.poll_part(cx)).await {
            assert!(work.stats().reply_bytes < 4 * LARGE);
            answer.extend_from_slice(&part);
        }
        assert_eq!((made.load(Ordering::SeqCst), batch.failed()), (30, Some(false)));
        let whole = server.answer(body.as_bytes(), None, &Caller::default()).await;
        assert_eq!(answer, whole.into_bytes());
        assert_eq!(work.stats().reply_bytes, 0);
    });
}

#[test]
fn a_batch_fails_when_memory_is_full() {
    let service = MethodTable::new("toy")
        .on_list("large", blocking(|(): &(), ()| Ok("x".repeat(LARGE))))
        .bind(Arc::new(()));
    let server = positional::Server::new(service, Limits::default());
    let call = |id: usize| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"toy_large"}}"#);
    let body = format!("[{},{},{}]", call(0), call(1), call(2));
    let limits = WorkConfig { connection_reply_memory: 3 * LARGE / 2, ..WorkConfig::default() };
    let work = with(limits);
    let client = work.client(None);
    run(async {
        let answer = server.answer(body.as_bytes(), None, &caller(&client)).await;
        let error = |id: usize| {
            let error = r#"{"code":-32003,"message":"response too large"}"#;
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
        };
        let result = format!(r#"{{"jsonrpc":"2.0","id":0,"result":"{}"}}"#, "x".repeat(LARGE));
        let expected = format!("[{result},{},{}]\n", error(1), error(2));
        assert_eq!(String::from_utf8(answer.into_bytes()).unwrap(), expected);
    });
}

#[test]
fn a_small_batch_is_whole() {
    let service =
        MethodTable::new("toy").on_list("one", quick(|(): &(), ()| Ok(1))).bind(Arc::new(()));
    let server = positional::Server::new(service, Limits::default());
    let work = work();
    let caller = caller(&work.client(None));
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"toy_one"}"#;
    run(async {
        for body in [format!("[{call},{call}]"), "[]".to_owned(), "[".to_owned(), "[1]".to_owned()]
        {
            let mut batch = BatchAnswer::new(&server, &caller, body.clone(), 0);
            poll_fn(|cx| batch.poll_buffered(cx)).await;
            let whole = server.answer(body.as_bytes(), None, &caller).await;
            assert_eq!(batch.failed(), Some(whole.failed), "{body}");
            assert_eq!(batch.take_whole().unwrap().into_vec(), whole.into_bytes(), "{body}");
        }
    });
    assert!(
        positional::is_batch(b" \n[") && !positional::is_batch(b"{[") && !positional::is_batch(b"")
    );
}
