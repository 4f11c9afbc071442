//! `traceChain`: what comes, in which order, and when it ends.

use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use alloy_primitives::{Address, Bytes, TxKind, hex};
use esker_chain::{Undo, UndoLimits};
use esker_rpc::Caller;
use esker_rpc::positional::{Notification, Server, Session};
use esker_rpc::work::{Work, WorkConfig};
use serde_json::{Value, json};

use super::world::World;

const PATIENCE: Duration = Duration::from_secs(30);

/// A connection.
struct Client {
    server: Server,
    session: Arc<dyn Session>,
    caller: Caller,
}

impl Client {
    fn new(world: &World, work: &Work) -> Self {
        let server = world.server.clone();
        let caller = Caller { client: Some(work.client(None)), ..Caller::default() };
        Self { session: server.connect(), server, caller }
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let body = body.to_string();
        let answer = self.server.answer_with_session(&*self.session, body.as_bytes(), &self.caller);
        let (answer, made) = tokio::time::timeout(PATIENCE, answer).await.unwrap();
        for id in made {
            self.session.release(&id);
        }
        serde_json::from_slice(&answer.body).unwrap()
    }

    async fn subscribe(&self, params: Value) -> String {
        let reply = self.ask("debug_subscribe", params).await;
        reply["result"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
    }

    async fn refused(&self, params: Value) -> (i64, String) {
        let reply = self.ask("debug_subscribe", params).await;
        let error = &reply["error"];
        let text = error["message"].as_str().unwrap_or_else(|| panic!("{reply}"));
        (error["code"].as_i64().unwrap(), text.to_owned())
    }

    /// The next notification: its subscription and the result.
    async fn next(&self) -> (String, Value) {
        let mut received = None;
        // Room for one.
        let polled = poll_fn(|cx| {
            self.session
                .poll_notifications(cx, 1, &mut |notification| received = Some(notification))
        });
        tokio::time::timeout(PATIENCE, polled).await.expect("no notification").unwrap();
        let Notification { prefix, result } = received.unwrap();
        let text = [&prefix[..], &result, Notification::SUFFIX].concat();
        let message: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(message["method"], "debug_subscription");
        let id = message["params"]["subscription"].as_str().unwrap().to_owned();
        (id, message["params"]["result"].clone())
    }

    fn is_silent(&self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        let polled = self.session.poll_notifications(&mut cx, usize::MAX, &mut |_| {});
        matches!(polled, Poll::Pending)
    }
}

/// Blocks with one transfer each.
async fn with_blocks(blocks: u64) -> World {
    let world = World::new(Path::new("/nowhere"));
    for nonce in 0..blocks {
        world.send(nonce, TxKind::Call(Address::repeat_byte(2)), nonce, Bytes::new());
        world.block().await;
    }
    world
}

/// Waits until a condition holds.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn every_block_of_a_range_is_reported_in_order() {
    let world = with_blocks(12).await;
    let client = Client::new(&world, &Work::new(WorkConfig::default()));
    for config in [Value::Null, json!({"tracer": "callTracer"}), json!({"limit": 1})] {
        let id = client.subscribe(json!(["traceChain", "0x1", "latest", config])).await;
        for height in 2..=12 {
            let (of, result) = client.next().await;
            let at = format!("{height:#x}");
            let block = world.call("eth_getBlockByNumber", json!([at, false])).await;
            let traces = world.call("debug_traceBlockByNumber", json!([at, config])).await;
            assert_eq!(of, id);
            let expected = json!({"block": at, "hash": block["hash"], "traces": traces});
            assert_eq!(result, expected, "{height}");
        }
        assert!(client.is_silent(), "nothing comes after the last block");
        // As in the reference it lives on.
        assert_eq!(client.ask("debug_unsubscribe", json!([id])).await["result"], true);
        let gone = client.ask("debug_unsubscribe", json!([id])).await;
        assert_eq!(gone["error"]["message"], "subscription not found");
    }
}

#[tokio::test]
async fn arguments_are_checked_as_the_reference_does() {
    let world = with_blocks(2).await;
    let client = Client::new(&world, &Work::new(WorkConfig::default()));
    for (params, code, text) in [
        (json!(["traceChain"]), -32602, "missing value for required argument 1"),
        (json!(["traceChain", "0x0"]), -32602, "missing value for required argument 2"),
        (
            json!(["traceChain", null, "0x1"]),
            -32602,
            "invalid argument 1: hex string without 0x prefix",
        ),
        (
            json!(["traceChain", "x", "0x1"]),
            -32602,
            "invalid argument 1: hex string without 0x prefix",
        ),
        (json!(["traceChain", "0x0", "0x1", {}, 1]), -32602, "too many arguments, want at most 4"),
        (
            json!(["traceChain", "0x0", "0x1", {"reexec": "x"}]),
            -32602,
            "invalid argument 3: json: cannot unmarshal string into Go struct field TraceConfig.Reexec of type uint64",
        ),
        (
            json!(["traceChain", "0x1", "0x1"]),
            -32000,
            "end block (#1) needs to come after start block (#1)",
        ),
        (
            json!(["traceChain", "latest", "0x1"]),
            -32000,
            "end block (#1) needs to come after start block (#2)",
        ),
        (json!(["traceChain", "0x0", "0x3"]), -32000, "cannot query unfinalized data"),
        (json!(["traceAll"]), -32601, "no \"traceAll\" subscription in debug namespace"),
    ] {
        let refused = client.refused(params.clone()).await;
        assert_eq!(refused, (code, text.to_owned()), "{params}");
    }
    // Only connections that can be notified.
    let (code, text) = world.error("debug_subscribe", json!(["traceChain", "0x0", "0x1"])).await;
    assert_eq!((code, text.as_str()), (-32601, "notifications not supported"));
    assert!(client.is_silent());
}

#[tokio::test]
async fn ranges_are_named_in_every_way() {
    let world = with_blocks(2).await;
    let client = Client::new(&world, &Work::new(WorkConfig::default()));
    for (start, end) in [
        ("0x0", "0x2"),
        ("earliest", "latest"),
        ("earliest", "safe"),
        ("0x0", "finalized"),
        ("0x0", "accepted"),
        ("0x0", "pending"),
    ] {
        client.subscribe(json!(["traceChain", start, end])).await;
        for height in 1..=2 {
            let (_, result) = client.next().await;
            assert_eq!(result["block"], format!("{height:#x}"), "{start} {end}");
            assert_eq!(result["traces"][0]["result"]["gas"], 21000, "{start} {end}");
        }
    }
    assert!(client.is_silent());
}

#[tokio::test]
async fn settings_that_no_trace_can_have_are_errors_of_transactions() {
    let world = with_blocks(1).await;
    let client = Client::new(&world, &Work::new(WorkConfig::default()));
    for (config, text) in [
        (json!({"timeout": "5"}), "time: missing unit in duration \"5\""),
        (json!({"tracer": "nope"}), "ReferenceError: nope is not defined at <eval>:1:2(0)"),
    ] {
        client.subscribe(json!(["traceChain", "0x0", "0x1", config])).await;
        let (_, result) = client.next().await;
        assert_eq!(result["traces"][0]["error"], text, "{result}");
    }
}

#[tokio::test]
async fn blocks_without_transactions_are_left_out_but_the_last() {
    let world = with_blocks(1).await;
    let client = Client::new(&world, &Work::new(WorkConfig::default()));
    // The genesis block has none.
    client.subscribe(json!(["traceChain", "earliest", "0x1"])).await;
    assert_eq!(client.next().await.1["block"], "0x1");
}

#[tokio::test]
async fn a_transaction_that_fails_to_be_traced_ends_its_block_alone() {
    let world = with_blocks(2).await;
    let client = Client::new(&world, &Work::new(WorkConfig::default()));
    client.subscribe(json!(["traceChain", "0x0", "0x2", {"tracer": "nothing"}])).await;
    for height in ["0x1", "0x2"] {
        let (_, result) = client.next().await;
        let traced =
            world.error("debug_traceBlockByNumber", json!([height, {"tracer": "nothing"}]));
        assert_eq!(result["block"], height);
        assert_eq!(result["traces"][0]["error"], traced.await.1);
        assert!(result["traces"][0]["txHash"].is_string(), "{result}");
    }
}

#[tokio::test]
async fn a_notification_that_is_too_large_has_an_error() {
    let world = World::new(Path::new("/nowhere"));
    let to = TxKind::Call(Address::repeat_byte(2));
    world.send(0, to, 1, Bytes::new());
    // PUSH 0, PUSH 25000, MSTORE, then pushes.
    let code = [hex!("60006161a852").as_slice(), &[0x5f; 400]].concat();
    world.send(1, TxKind::Create, 0, code.into());
    world.send(2, to, 1, Bytes::new());
    world.block().await;
    world.send(3, to, 1, Bytes::new());
    world.block().await;
    let config = WorkConfig { connection_reply_memory: 8 << 20, ..WorkConfig::default() };
    let client = Client::new(&world, &Work::new(config));
    client.subscribe(json!(["traceChain", "0x0", "0x2", {"enableMemory": true}])).await;
    let (_, first) = client.next().await;
    assert_eq!(first["traces"][0]["result"]["gas"], 21_000);
    assert_eq!(first["traces"][1]["error"], "response too large");
    assert_eq!(first["traces"][1]["result"], Value::Null);
    assert_eq!(first["traces"][2], Value::Null);
    let (_, second) = client.next().await;
    assert_eq!(second["traces"][0]["result"]["gas"], 21_000, "the next block is traced");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_waited_for() {
    let world = with_blocks(5).await;
    let work = Work::new(WorkConfig::default());
    let (lazy, busy) = (Client::new(&world, &work), Client::new(&world, &work));
    lazy.subscribe(json!(["traceChain", "0x0", "0x5"])).await;
    busy.subscribe(json!(["traceChain", "0x0", "0x5"])).await;
    for _ in 0..5 {
        busy.next().await;
    }
    until("nothing is traced for it", || work.stats().running == 0).await;
    // The notifications that it did not read are sent when it reads.
    for height in 1..=5 {
        assert_eq!(lazy.next().await.1["block"], format!("{height:#x}"));
    }
}

#[tokio::test]
async fn the_number_of_subscriptions_is_bounded() {
    let world = with_blocks(1).await;
    let work = Work::new(WorkConfig::default());
    let client = Client::new(&world, &work);
    let wanted = || json!(["traceChain", "0x0", "0x1"]);
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(client.subscribe(wanted()).await);
    }
    let (_, text) = client.refused(wanted()).await;
    assert_eq!(text, "too many subscriptions on this connection");
    client.ask("debug_unsubscribe", json!([ids[0]])).await;
    client.subscribe(wanted()).await;
    for _ in 0..4 {
        client.next().await;
    }
    // Those that are done do not count.
    let end = Instant::now() + PATIENCE;
    while client.ask("debug_subscribe", wanted()).await.get("error").is_some() {
        assert!(Instant::now() < end, "no place is free again");
        tokio::task::yield_now().await;
    }
    let mut others: Vec<Client> = Vec::new();
    let refused = loop {
        let other = Client::new(&world, &work);
        let reply = other.ask("debug_subscribe", wanted()).await;
        others.push(other);
        if let Some(error) = reply.get("error") {
            break error["message"].clone();
        }
        assert!(others.len() < 100, "no limit");
    };
    assert_eq!(refused, "too many subscriptions on this node");
    drop(others);
    until("connections that end give their places back", || {
        work.stats().running == 0 && work.stats().reply_bytes == 0
    })
    .await;
    let end = Instant::now() + PATIENCE;
    while client.ask("debug_subscribe", wanted()).await.get("error").is_some() {
        assert!(Instant::now() < end, "no place is free again");
        tokio::task::yield_now().await;
    }
}

/// A block whose trace takes long: a loop that ends for want of gas.
async fn endless() -> World {
    let world = World::new(Path::new("/nowhere"));
    // JUMPDEST, PUSH 0, JUMP.
    world.send(0, TxKind::Create, 0, hex!("5b600056").to_vec().into());
    world.block().await;
    world
}

#[tokio::test]
async fn work_ends_with_its_subscription() {
    let world = endless().await;
    // Each step writes some 20 bytes; the tracer is shown some 250,000.
    for is_left in [false, true] {
        let work = Work::new(WorkConfig::default());
        let client = Client::new(&world, &work);
        let id = client.subscribe(json!(["traceChain", "0x0", "0x1"])).await;
        if is_left {
            drop(client);
        } else {
            assert_eq!(client.ask("debug_unsubscribe", json!([id])).await["result"], true);
        }
        until("the work ends", || work.stats().running + work.stats().waiting == 0).await;
        assert_eq!(work.stats().reply_bytes, 0);
    }
}

#[tokio::test]
async fn a_rewind_ends_it() {
    let world = World::new(Path::new("/nowhere"));
    world.machine.set_undo(Undo::Keep(UndoLimits::bundles(20))).await.unwrap();
    for nonce in 0..4 {
        world.send(nonce, TxKind::Call(Address::repeat_byte(2)), nonce, Bytes::new());
        world.block().await;
    }
    let work = Work::new(WorkConfig::default());
    let client = Client::new(&world, &work);
    client.subscribe(json!(["traceChain", "0x0", "0x4"])).await;
    assert_eq!(client.next().await.1["block"], "0x1");
    world.machine.rewind(3).await.unwrap();
    // The second block may have been traced before.
    let mut last = client.next().await.1;
    if last.get("error").is_none() {
        assert_eq!(last["block"], "0x2");
        last = client.next().await.1;
    }
    assert_eq!(last["error"], "blocks were taken back");
    until("it ends", || work.stats().running == 0).await;
    assert!(client.is_silent());
}
