//! The content and the time of notifications.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use alloy_consensus::{TxLegacy, TypedTransaction};
use alloy_primitives::{B256, TxKind, hex};
use bytes::Bytes;
use esker_chain::{Undo, UndoLimits};
use esker_evm::accounts::{AccountManager, KeyRing, WELL_KNOWN_KEY, sign_transaction};
use esker_evm::chain::AcceptedBlock;
use esker_evm::pool::{DroppedTx, PooledTx};
use esker_evm::printed::{PrintedCall, PrintedCalls};
use esker_evm::view::{BlockAccepted, BlocksRemoved, ChainEvent, ChainEvents, ChainReader};
use esker_evm_execution::console::ConsoleCalls;
use esker_evm_execution::executor::TxConsole;
use esker_evm_rpc::subscriptions::{
    MAX_CRITERIA_BYTES, MAX_KEPT_EVENTS, MAX_SUBSCRIPTIONS, Subscriptions,
};
use esker_evm_rpc::wire::MAX_RECEIPT_HASHES;
use esker_primitives::Randomness;
use esker_primitives::sync::Mutex;
use esker_rpc::Caller;
use esker_rpc::positional::{Notification, Overrun, Server, Session};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::golden;
use crate::world::{Setup, World};

/// Counts: IDs are `0x1`, `0x2` and so on.
fn counting() -> Randomness {
    let next = Mutex::new(0_u128);
    Arc::new(move |bytes: &mut [u8]| {
        *next.lock() += 1;
        bytes.copy_from_slice(&next.lock().to_be_bytes());
    })
}

/// A connection.
struct Client {
    server: Server,
    session: Arc<dyn Session>,
}

impl Client {
    fn new(server: &Server) -> Self {
        Self { server: server.clone(), session: server.connect() }
    }

    async fn call(&self, method: &str, params: &Value) -> (Value, Vec<String>) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let body = body.to_string();
        let (answer, made) = self
            .server
            .answer_with_session(&*self.session, body.as_bytes(), &Caller::default())
            .await;
        (serde_json::from_slice(&answer.body).unwrap(), made)
    }

    /// Subscribes; the subscription may speak at once.
    async fn subscribe(&self, method: &str, params: Value) -> String {
        let (reply, made) = self.call(method, &params).await;
        let id = reply["result"].as_str().unwrap_or_else(|| panic!("{reply}"));
        assert_eq!(made, [id]);
        self.session.release(id);
        id.to_owned()
    }

    async fn refused(&self, params: Value) -> String {
        let (reply, made) = self.call("eth_subscribe", &params).await;
        assert!(made.is_empty());
        reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
    }

    /// The notifications that are there when there are some.
    async fn some(&self) -> Result<Vec<Notification>, Overrun> {
        let mut all = Vec::new();
        let message = poll_fn(|cx| {
            self.session
                .poll_notifications(cx, usize::MAX, &mut |notification| all.push(notification))
        });
        tokio::time::timeout(Duration::from_secs(20), message).await.expect("no notification")?;
        Ok(all)
    }

    /// The next notifications, `count` of them: the method, the subscription and the result.
    async fn receive(&self, count: usize) -> Vec<(String, String, Value)> {
        let mut received = Vec::new();
        while received.len() < count {
            for Notification { prefix, result } in self.some().await.unwrap() {
                let text = [&prefix[..], &result, Notification::SUFFIX].concat();
                let message: Value = serde_json::from_slice(&text).unwrap();
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                let params = &message["params"];
                let (method, id) = (text(&message["method"]), text(&params["subscription"]));
                received.push((method, id, params["result"].clone()));
            }
        }
        assert_eq!(received.len(), count, "{received:?}");
        received
    }

    fn is_silent(&self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        let polled = self.session.poll_notifications(&mut cx, usize::MAX, &mut |_| {});
        matches!(polled, Poll::Pending)
    }
}

fn live(world: &World) -> Server {
    let subscriptions = Subscriptions::new(world.evm.clone(), world.evm.clone(), counting());
    world.server.clone().with_notifier(subscriptions)
}

/// The transactions of the recording of websockets, in the order in which they were sent: a contract, calls of it
/// that log, transfers.
pub(crate) fn recorded() -> Vec<Vec<u8>> {
    let sent = golden::exchanges("golden/c/ws-1.io").into_iter().filter_map(|exchange| {
        let request: Value = serde_json::from_str(&exchange.body).ok()?;
        let sends = request["method"] == "eth_sendRawTransaction";
        sends.then(|| hex::decode(request["params"][0].as_str().unwrap()).unwrap())
    });
    sent.collect()
}

#[tokio::test]
async fn a_block_notifies_its_head_then_logs_then_transactions() {
    let world = World::new(Setup::ARCHIVE);
    let client = Client::new(&live(&world));
    let raw = recorded();
    world.submit(&raw[0]).unwrap();
    world.settle().await;
    // Made in another order than their notifications come.
    let full = client.subscribe("eth_subscribe", json!(["newAcceptedTransactions", true])).await;
    let hashes = client.subscribe("evm_subscribe", json!(["newAcceptedTransactions"])).await;
    let logs = client.subscribe("evm_subscribe", json!(["logs", {}])).await;
    let other = json!(["logs", {"address": "0x00000000000000000000000000000000000000ff"}]);
    client.subscribe("eth_subscribe", other).await;
    let heads = client.subscribe("eth_subscribe", json!(["newHeads"])).await;
    assert!(client.is_silent(), "the block before them is not announced");

    let hash = world.submit(&raw[1]).unwrap();
    world.settle().await;
    let received = client.receive(4).await;
    let order: Vec<_> = received.iter().map(|(method, id, _)| (method.as_str(), id)).collect();
    let (eth, evm) = ("eth_subscription", "evm_subscription");
    assert_eq!(order, [(eth, &heads), (evm, &logs), (eth, &full), (evm, &hashes)]);

    let head = world.call("eth_getHeaderByNumber", r#"["0x2"]"#).await;
    for (member, value) in received[0].2.as_object().unwrap() {
        assert_eq!(value, &head[member], "{member}");
    }
    assert_eq!(received[0].2["number"], "0x2");
    let receipt = world.call("eth_getTransactionReceipt", &format!("[\"{hash}\"]")).await;
    assert_eq!(received[1].2, receipt["logs"][0]);
    let tx = world.call("eth_getTransactionByHash", &format!("[\"{hash}\"]")).await;
    assert_eq!((&received[2].2["hash"], &received[2].2["input"]), (&json!(hash), &tx["input"]));
    assert_eq!(received[2].2["blockHash"], Value::Null, "as in the reference");
    assert_eq!(received[3].2, json!(hash));
    assert!(client.is_silent());
}

#[tokio::test]
async fn receipts_of_a_block_come_in_one_notification() {
    let world = World::new(Setup::ARCHIVE);
    let client = Client::new(&live(&world));
    let raw = recorded();
    let first = world.submit(&raw[0]).unwrap();
    world.settle().await;

    let all = client.subscribe("eth_subscribe", json!(["transactionReceipts"])).await;
    let none = json!({"transactionHashes": []});
    let every = client.subscribe("eth_subscribe", json!(["transactionReceipts", none])).await;
    let null = client.subscribe("eth_subscribe", json!(["transactionReceipts", null])).await;
    let hash_of = |raw: &[u8]| alloy_primitives::keccak256(raw);
    let [second, third] = [hash_of(&raw[1]), hash_of(&raw[2])];
    let some = json!({"transactionHashes": [third, first, B256::repeat_byte(7), third]});
    let some = client.subscribe("evm_subscribe", json!(["transactionReceipts", some])).await;
    let other = json!({"transactionHashes": [first]});
    client.subscribe("eth_subscribe", json!(["transactionReceipts", other])).await;
    assert!(client.is_silent(), "the block before them is not announced");

    world.submit(&raw[1]).unwrap();
    world.submit(&raw[2]).unwrap();
    world.settle().await;
    let received = client.receive(4).await;
    let receipt =
        async |hash: B256| world.call("eth_getTransactionReceipt", &format!("[\"{hash}\"]")).await;
    let [second, third] = [receipt(second).await, receipt(third).await];
    assert_eq!(second["blockHash"], third["blockHash"], "one block");
    let (eth, evm) = ("eth_subscription".to_owned(), "evm_subscription".to_owned());
    let both = json!([second, third]);
    assert_eq!(
        received,
        [
            (eth.clone(), all, both.clone()),
            (eth.clone(), every, both.clone()),
            (eth, null, both),
            (evm, some, json!([third])),
        ]
    );
    assert!(client.is_silent());
}

#[tokio::test]
async fn receipt_criteria_have_limits() {
    let world = World::new(Setup::ARCHIVE);
    let client = Client::new(&live(&world));
    let hashes = |count: usize| -> Value {
        (0..count).map(|at| json!(B256::with_last_byte(at as u8))).collect()
    };
    let of = |hashes: Value| json!(["transactionReceipts", {"transactionHashes": hashes}]);
    client.subscribe("eth_subscribe", of(hashes(MAX_RECEIPT_HASHES))).await;
    assert_eq!(
        client.refused(of(hashes(MAX_RECEIPT_HASHES + 1))).await,
        "exceed max number of transaction hashes allowed per transactionReceipts subscription"
    );
    for (params, text) in [
        (
            json!(["transactionReceipts", 5]),
            "invalid argument 1: json: cannot unmarshal number into Go value of type filters.TransactionReceiptsQuery",
        ),
        (
            of(json!("0x")),
            "invalid argument 1: json: cannot unmarshal string into Go struct field TransactionReceiptsQuery.transactionHashes of type []common.Hash",
        ),
        (
            of(json!(["0x12"])),
            "invalid argument 1: hex string has length 2, want 64 for common.Hash",
        ),
        (json!(["transactionReceipts", null, null]), "too many arguments, want at most 2"),
    ] {
        assert_eq!(client.refused(params.clone()).await, text, "{params}");
    }
    // A connection's criteria are counted together.
    let most = MAX_CRITERIA_BYTES / 32 / MAX_RECEIPT_HASHES;
    for _ in 1..most {
        client.subscribe("eth_subscribe", of(hashes(MAX_RECEIPT_HASHES))).await;
    }
    let too_many = "too many subscriptions on this connection";
    assert_eq!(client.refused(of(hashes(MAX_RECEIPT_HASHES))).await, too_many);
}

#[tokio::test]
async fn pending_transactions_are_notified_when_executable_and_before_their_block() {
    let world = World::new(Setup::ARCHIVE);
    let client = Client::new(&live(&world));
    let hashes = client.subscribe("eth_subscribe", json!(["newPendingTransactions"])).await;
    let full = client.subscribe("eth_subscribe", json!(["newPendingTransactions", true])).await;
    let heads = client.subscribe("eth_subscribe", json!(["newHeads"])).await;
    let raw = recorded();
    let second = world.submit(&raw[1]).unwrap();
    tokio::task::yield_now().await;
    assert!(client.is_silent(), "it waits for the one before it");
    let first = world.submit(&raw[0]).unwrap();
    world.settle().await;
    let received = client.receive(5).await;
    let text = |id: &String, result: &Value| {
        (id.clone(), result["hash"].as_str().or(result.as_str()).map(str::to_owned))
    };
    let of: BTreeMap<usize, _> =
        received.iter().map(|(_, id, result)| text(id, result)).enumerate().collect();
    let [first, second] = [first, second].map(|hash: B256| Some(hash.to_string()));
    assert_eq!(of[&0], (hashes.clone(), first.clone()));
    assert_eq!(of[&1], (hashes, second.clone()));
    assert_eq!(of[&2], (full.clone(), first));
    assert_eq!(of[&3], (full, second));
    assert_eq!(of[&4].0, heads);
}

#[tokio::test]
async fn dropped_transactions_are_reported_after_they_were_pending() {
    let world = World::new(Setup::ARCHIVE);
    let client = Client::new(&live(&world));
    let hashes = client.subscribe("eth_subscribe", json!(["droppedPendingTransactions"])).await;
    let full = client.subscribe("eth_subscribe", json!(["droppedPendingTransactions", true])).await;
    let pending = client.subscribe("eth_subscribe", json!(["newPendingTransactions"])).await;
    let keys = KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap();
    let sender = keys.accounts()[0];
    let [cheap, dear] = [300_000_000_000_u128, 600_000_000_000].map(|gas_price| {
        let tx = TxLegacy {
            chain_id: Some(43112),
            gas_price,
            gas_limit: 21_000,
            to: TxKind::Call(sender),
            ..TxLegacy::default()
        };
        let tx = sign_transaction(&keys, &sender, TypedTransaction::Legacy(tx)).unwrap();
        let hash = tx.tx_hash().to_string();
        world.evm.submit(tx).unwrap();
        hash
    });
    let mut received = client.receive(4).await;
    world.settle().await;
    assert!(client.is_silent(), "what was mined was not dropped");
    // Both were pending before one was dropped.
    let last = received.split_off(2);
    assert_eq!(
        received.iter().map(|(_, id, _)| id.clone()).collect::<Vec<_>>(),
        [pending.clone(), pending]
    );
    assert_eq!([&received[0].2, &received[1].2], [&json!(cheap), &json!(dear)]);
    assert_eq!((&last[0].1, &last[0].2), (&hashes, &json!(cheap)));
    assert_eq!((&last[1].1, &last[1].2["hash"]), (&full, &json!(cheap)));
    assert_eq!(last[1].2["blockNumber"], Value::Null);
}

#[tokio::test]
async fn an_unreleased_subscription_keeps_its_events() {
    let world = World::new(Setup::ARCHIVE);
    let client = Client::new(&live(&world));
    let other = client.subscribe("eth_subscribe", json!(["newHeads"])).await;
    let (reply, made) = client.call("eth_subscribe", &json!(["newHeads"])).await;
    let late = reply["result"].as_str().unwrap();
    let raw = recorded();
    for (block, raw) in raw.iter().take(2).enumerate() {
        world.submit(raw).unwrap();
        world.settle().await;
        let received = client.receive(1).await;
        assert_eq!(
            (&received[0].1, &received[0].2["number"]),
            (&other, &json!(format!("{:#x}", block + 1)))
        );
    }
    client.session.release(&made[0]);
    world.submit(&raw[2]).unwrap();
    world.settle().await;
    let received = client.receive(4).await;
    let order: Vec<_> =
        received.iter().map(|(_, id, head)| (id.as_str(), head["number"].clone())).collect();
    let late_first = [(late, json!("0x1")), (late, json!("0x2"))];
    assert_eq!(order[..2], late_first);
    assert_eq!(order[2..], [(other.as_str(), json!("0x3")), (late, json!("0x3"))]);
}

#[tokio::test]
async fn an_ended_subscription_is_silent() {
    let world = World::new(Setup::ARCHIVE);
    let server = live(&world);
    let (one, two) = (Client::new(&server), Client::new(&server));
    let id = one.subscribe("eth_subscribe", json!(["newHeads"])).await;
    two.subscribe("eth_subscribe", json!(["newHeads"])).await;
    assert_eq!(
        two.call("eth_unsubscribe", &json!([id])).await.0["error"]["message"],
        "subscription not found"
    );
    assert_eq!(one.call("net_unsubscribe", &json!([id])).await.0["result"], json!(true));
    world.submit(&recorded()[0]).unwrap();
    world.settle().await;
    assert_eq!(two.receive(1).await.len(), 1);
    assert!(one.is_silent());
}

#[tokio::test]
async fn open_subscriptions_are_counted_by_kind() {
    let world = World::new(Setup::ARCHIVE);
    let events = Arc::new(Sent::new(16));
    let hub = Subscriptions::new(world.evm.clone(), events, counting());
    let server = world.server.clone().with_notifier(hub.clone());
    let open =
        || hub.counts().into_iter().filter(|(_, count)| *count > 0).collect::<Vec<(&str, u64)>>();
    assert_eq!((hub.counts().len(), open()), (8, vec![]));
    let (one, two) = (Client::new(&server), Client::new(&server));
    let logs = one.subscribe("eth_subscribe", json!(["logs", {}])).await;
    two.subscribe("evm_subscribe", json!(["logs", {}])).await;
    // Each kind counts under the name that clients use.
    let kinds: Vec<_> = hub.counts().into_iter().map(|(kind, _)| kind).collect();
    for kind in &kinds {
        let arguments = if *kind == "logs" { json!([kind, {}]) } else { json!([kind]) };
        two.subscribe("eth_subscribe", arguments).await;
    }
    let mut expected: Vec<_> = kinds.iter().map(|kind| (*kind, 1)).collect();
    expected[1].1 = 3;
    assert_eq!(open(), expected);
    // A name that clients make up is no kind.
    one.refused(json!(["other"])).await;
    assert_eq!(one.call("eth_unsubscribe", &json!([logs])).await.0["result"], json!(true));
    expected[1].1 = 2;
    assert_eq!(open(), expected);
    drop(two);
    assert_eq!(open(), []);
}

#[tokio::test]
async fn subscriptions_are_bounded() {
    let world = World::new(Setup::ARCHIVE);
    let client = Client::new(&live(&world));
    let mut last = String::new();
    for _ in 0..MAX_SUBSCRIPTIONS {
        last = client.subscribe("eth_subscribe", json!(["syncing"])).await;
    }
    let too_many = "too many subscriptions on this connection";
    assert_eq!(client.refused(json!(["newHeads"])).await, too_many);
    assert_eq!(client.call("eth_unsubscribe", &json!([last])).await.0["result"], json!(true));
    client.subscribe("eth_subscribe", json!(["newHeads"])).await;

    let client = Client::new(&live(&world));
    let address = |at: usize| format!("{at:#042x}");
    let most = MAX_CRITERIA_BYTES / 20;
    let addresses: Vec<String> = (0..most + 1).map(address).collect();
    let logs = |addresses: &[String]| json!(["logs", {"address": addresses}]);
    assert_eq!(client.refused(logs(&addresses)).await, too_many);
    client.subscribe("eth_subscribe", logs(&addresses[..most])).await;
    assert_eq!(client.refused(logs(&addresses[..1])).await, too_many);
}

/// Later blocks are received, whatever their heights; those that were taken back are not received to who came after.
#[tokio::test]
async fn subscriptions_go_on_after_blocks_were_taken_back() {
    let world = World::new(Setup::ARCHIVE);
    world.machine.set_undo(Undo::Keep(UndoLimits::bundles(20))).await.unwrap();
    let server = live(&world);
    let (client, slow) = (Client::new(&server), Client::new(&server));
    let raw = recorded();
    let block = async |tx: &[u8]| {
        world.submit(tx).unwrap();
        world.settle().await;
    };
    block(&raw[0]).await;
    let heads = client.subscribe("eth_subscribe", json!(["newHeads"])).await;
    let logs = client.subscribe("eth_subscribe", json!(["logs", {}])).await;
    let early = slow.subscribe("eth_subscribe", json!(["newHeads"])).await;
    block(&raw[1]).await;
    block(&raw[2]).await;
    // The second one is without logs.
    let before = client.receive(3).await;
    world.machine.rewind(1).await.unwrap();
    assert_eq!(world.head().header.number, 1);
    let mut removed = before.iter().find(|(_, id, _)| *id == logs).unwrap().clone();
    removed.2["removed"] = json!(true);
    assert_eq!(client.receive(1).await, [removed]);
    assert!(client.is_silent(), "nothing else is received of blocks that are gone");
    // On a connection that has not taken the gone blocks yet.
    let late = slow.subscribe("eth_subscribe", json!(["newHeads"])).await;
    block(&raw[1]).await;
    let received = client.receive(2).await;
    let ids: Vec<_> = received.iter().map(|(_, id, _)| id).collect();
    assert_eq!(ids, [&heads, &logs]);
    assert_eq!(
        (&received[0].2["number"], &received[1].2["blockNumber"]),
        (&json!("0x2"), &json!("0x2"))
    );
    assert_ne!(received[0].2["hash"], before[0].2["hash"], "another block, made later");
    assert!(client.is_silent());
    let received = slow.receive(4).await;
    let (first, second): (Vec<_>, Vec<_>) = received.iter().partition(|(_, id, _)| *id == early);
    let numbers = |received: &[&(String, String, Value)]| -> Vec<Value> {
        received.iter().map(|(.., head)| head["number"].clone()).collect()
    };
    assert_eq!(numbers(&first), [json!("0x2"), json!("0x3"), json!("0x2")]);
    assert_eq!((numbers(&second), &second[0].1), (vec![json!("0x2")], &late));
    assert!(slow.is_silent());
}

/// Events that a test sends.
#[derive(Debug)]
struct Sent {
    blocks: broadcast::Sender<ChainEvent>,
    txs: broadcast::Sender<PooledTx>,
    dropped: broadcast::Sender<DroppedTx>,
    printed: PrintedCalls,
}

impl Sent {
    fn new(backlog: usize) -> Self {
        let (blocks, txs) = (broadcast::channel(backlog).0, broadcast::channel(backlog).0);
        let printed = PrintedCalls::default();
        Self { blocks, txs, dropped: broadcast::channel(backlog).0, printed }
    }
}

impl ChainEvents for Sent {
    fn blocks(&self) -> broadcast::Receiver<ChainEvent> {
        self.blocks.subscribe()
    }

    fn pending_transactions(&self) -> broadcast::Receiver<PooledTx> {
        self.txs.subscribe()
    }

    fn dropped_transactions(&self) -> broadcast::Receiver<DroppedTx> {
        self.dropped.subscribe()
    }

    fn printed_calls(&self) -> Option<broadcast::Receiver<PrintedCall>> {
        Some(self.printed.subscribe())
    }
}

/// A block of this number and nothing else.
fn block(world: &World, number: u64) -> ChainEvent {
    let mut block = ChainReader::block_at(world.evm.as_ref(), 0).unwrap().unwrap().block.clone();
    block.header.number = number;
    let hash = B256::with_last_byte(1);
    let block = Arc::new(AcceptedBlock {
        block,
        hash,
        bytes: Bytes::new(),
        receipts: Vec::new(),
        failures: Vec::new(),
        printed: Vec::new(),
        touched: Vec::new(),
    });
    ChainEvent::Accepted(BlockAccepted { block, rewinds: 0 })
}

#[tokio::test]
async fn a_stalled_connection_is_closed_and_the_others_miss_nothing() {
    let world = World::new(Setup::ARCHIVE);
    let sent = Arc::new(Sent::new(16));
    let subscriptions = Subscriptions::new(world.evm.clone(), sent.clone(), counting());
    let server = world.server.clone().with_notifier(subscriptions);
    let (lazy, one, two) = (Client::new(&server), Client::new(&server), Client::new(&server));
    for client in [&lazy, &one, &two] {
        client.subscribe("eth_subscribe", json!(["newHeads"])).await;
    }
    for number in 1..=MAX_KEPT_EVENTS as u64 + 1 {
        sent.blocks.send(block(&world, number)).unwrap();
        let (of_one, of_two) = (one.some().await.unwrap(), two.some().await.unwrap());
        assert_eq!((of_one.len(), of_two.len()), (1, 1));
        // The text is the same one, not a copy.
        assert_eq!(of_one[0].result.as_ptr(), of_two[0].result.as_ptr());
    }
    assert_eq!(lazy.some().await, Err(Overrun));
    assert_eq!(lazy.some().await, Err(Overrun), "for ever");
}

#[tokio::test]
async fn a_connection_that_would_miss_an_event_is_closed() {
    let world = World::new(Setup::ARCHIVE);
    let sent = Arc::new(Sent::new(4));
    let subscriptions = Subscriptions::new(world.evm.clone(), sent.clone(), counting());
    let server = world.server.clone().with_notifier(subscriptions);
    let (heads, pool) = (Client::new(&server), Client::new(&server));
    heads.subscribe("eth_subscribe", json!(["newHeads"])).await;
    pool.subscribe("eth_subscribe", json!(["newPendingTransactions"])).await;
    // More at once than the task is given time for.
    for number in 1..=8 {
        sent.blocks.send(block(&world, number)).unwrap();
    }
    assert_eq!(heads.some().await, Err(Overrun));
    assert!(pool.is_silent());
}

#[tokio::test]
async fn a_connection_that_would_miss_removed_logs_is_closed() {
    let world = World::new(Setup::ARCHIVE);
    let sent = Arc::new(Sent::new(4));
    let subscriptions = Subscriptions::new(world.evm.clone(), sent.clone(), counting());
    let server = world.server.clone().with_notifier(subscriptions);
    let (logs, heads) = (Client::new(&server), Client::new(&server));
    logs.subscribe("eth_subscribe", json!(["logs", {}])).await;
    heads.subscribe("eth_subscribe", json!(["newHeads"])).await;
    let removed = |logs| Arc::new(BlocksRemoved { rewinds: 1, height: 0, logs });
    sent.blocks.send(ChainEvent::Removed(removed(Some(Vec::new())))).unwrap();
    sent.blocks.send(block(&world, 1)).unwrap();
    assert_eq!(heads.some().await.unwrap().len(), 1);
    assert!(logs.is_silent());
    // More than is kept.
    sent.blocks.send(ChainEvent::Removed(removed(None))).unwrap();
    sent.blocks.send(block(&world, 2)).unwrap();
    assert_eq!(heads.some().await.unwrap().len(), 1);
    assert_eq!(logs.some().await, Err(Overrun));
}

/// Calls of `log(uint256)` with a number, and one that is too long.
fn printed(number: u8) -> ConsoleCalls {
    let mut console = ConsoleCalls::default();
    let input = [&[0xf8, 0x2c, 0x50, 0xf1][..], &[0; 31], &[number]].concat();
    console.push(input.len(), || input.into());
    console.push(1 << 20, Default::default);
    console
}

#[tokio::test]
async fn what_transactions_and_calls_print_is_notified() {
    let world = World::new(Setup::ARCHIVE);
    let raw = recorded();
    let hash = world.submit(&raw[0]).unwrap();
    world.settle().await;
    // A chain that does not keep it has no such kind.
    let (refused, _) = Client::new(&live(&world)).call("eth_subscribe", &json!(["console"])).await;
    let text = "no \"console\" subscription in eth namespace";
    assert_eq!(refused["error"], json!({"code": -32601, "message": text}));

    let sent = Arc::new(Sent::new(16));
    let subscriptions = Subscriptions::new(world.evm.clone(), sent.clone(), counting());
    let server = world.server.clone().with_notifier(subscriptions);
    let (client, heads) = (Client::new(&server), Client::new(&server));
    client.subscribe("eth_subscribe", json!(["console"])).await;
    heads.subscribe("eth_subscribe", json!(["newHeads"])).await;
    let mut block = ChainReader::block_at(world.evm.as_ref(), 1).unwrap().unwrap().block.clone();
    block.header.number = 2;
    let block = Arc::new(AcceptedBlock {
        block,
        hash: B256::with_last_byte(1),
        bytes: Bytes::new(),
        receipts: Vec::new(),
        failures: Vec::new(),
        printed: vec![TxConsole { index: 0, console: printed(7) }],
        touched: Vec::new(),
    });
    sent.blocks.send(ChainEvent::Accepted(BlockAccepted { block, rewinds: 0 })).unwrap();
    let (_, _, of_block) = client.receive(1).await.remove(0);
    let want = json!({
        "transactionHash": hash,
        "blockHash": B256::with_last_byte(1),
        "blockNumber": "0x2",
        "lines": ["7"],
        "leftOut": "0x1",
    });
    assert_eq!(of_block, want);
    // A call that is there for its calls alone has printed nothing.
    let calls = vec!["  [5] f()".to_owned()];
    let silent = PrintedCall { method: "evm_call", console: ConsoleCalls::default(), calls };
    sent.printed.report(silent);
    sent.printed.report(PrintedCall { method: "evm_call", console: printed(8), calls: Vec::new() });
    let (_, _, of_call) = client.receive(1).await.remove(0);
    assert_eq!(of_call, json!({"method": "evm_call", "lines": ["8"], "leftOut": "0x1"}));
    // Others are not notified of it.
    assert_eq!(heads.some().await.unwrap().len(), 1);
    assert!(heads.is_silent() && client.is_silent());
}
