//! A chain whose transactions go to another node, which decides: replies, errors, and what the pool keeps.

use std::sync::Arc;
use std::time::Duration;

use alloy_consensus::{TxLegacy, TypedTransaction};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, Bytes, TxKind, U256, hex};
use esker_chain::forward::{
    ForwardError, ForwardLimits, ReadOnlyForwarder, ResubmitTask, ScriptedForwarder,
    TxKind as ForwardKind,
};
use esker_chain::{ChainMachine, ChainVm};
use esker_evm::accounts::{AccountManager, KeyRing, WELL_KNOWN_KEY, sign_transaction};
use esker_evm::view::PoolReader as _;
use esker_evm_rpc::evm::TransactConfig;
use esker_evm_state::types::Transaction;
use esker_rpc::work::{Work, WorkConfig};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::world::World;
use crate::world::make_block;

/// No wait of these tests takes longer unless something is broken.
const DEADLINE: Duration = Duration::from_secs(20);
const BLOCK_MS: u64 = 2_000;

const LIMITS: ForwardLimits = ForwardLimits {
    max_in_flight: 8,
    deadline: Duration::from_secs(10),
    resubmit_interval_ms: 30_000,
    resubmit_batch: 8,
    block_delay: Duration::ZERO,
};

async fn within<F: Future>(what: &str, wait: F) -> F::Output {
    timeout(DEADLINE, wait).await.unwrap_or_else(|_| panic!("no end of: {what}"))
}

fn follower() -> (World, Arc<ScriptedForwarder>) {
    let forwarder = ScriptedForwarder::new();
    (World::following(forwarder.clone(), LIMITS), forwarder)
}

fn refusal(code: i64, message: &str) -> ForwardError {
    ForwardError::Refused { code, message: message.into() }
}

fn held() -> Address {
    KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap().accounts()[0]
}

fn transfer(nonce: u64, gas_price: u128) -> Transaction {
    let keys = KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap();
    let tx = TxLegacy {
        chain_id: Some(43112),
        nonce,
        gas_price,
        gas_limit: 21_000,
        to: TxKind::Call(Address::repeat_byte(2)),
        value: U256::from(1),
        input: Bytes::new(),
    };
    sign_transaction(&keys, &held(), TypedTransaction::Legacy(tx)).unwrap()
}

const PRICE: u128 = 1_000_000_000_000;

async fn send(world: &World, tx: &Transaction) -> Value {
    let params = json!([hex::encode_prefixed(tx.encoded_2718())]).to_string();
    within("a send", world.call("eth_sendRawTransaction", &params)).await
}

fn hash(tx: &Transaction) -> Value {
    json!(tx.tx_hash().to_string())
}

/// The reason why a transaction was dropped.
fn dropped(world: &World, tx: &Transaction) -> Option<String> {
    world.evm.dropped(*tx.tx_hash()).unwrap().map(|dropped| dropped.reason)
}

/// The source makes a block of transactions, which becomes final here.
async fn accept(world: &World, source: &World, txs: &[&Transaction]) {
    for tx in txs {
        source.evm.submit((*tx).clone()).unwrap();
    }
    make_block(&source.machine, &source.clock, BLOCK_MS).await;
    world.clock.advance(BLOCK_MS);
    let (height, _) = source.machine.last_final();
    let bundle = source.machine.bundle_at(height).unwrap().unwrap().0;
    world.machine.verify(&[], &bundle).await.unwrap();
    world.machine.finalize(&bundle, None).await.unwrap();
}

fn source() -> World {
    World::new(TransactConfig::default(), false)
}

fn resubmit(world: &World) -> ResubmitTask {
    ResubmitTask::new(world.evm.context().forwarding.clone().unwrap())
}

#[tokio::test]
async fn a_forwarded_transaction_is_pending_until_a_block_of_the_source_has_it() {
    let (world, forwarder) = follower();
    let source = source();
    let tx = transfer(0, PRICE);
    assert_eq!(send(&world, &tx).await["result"], hash(&tx));
    let calls = forwarder.calls();
    assert_eq!((calls.len(), calls[0].kind), (1, ForwardKind::Evm));
    assert_eq!(calls[0].chain, world.evm.context().chain_id);
    assert_eq!(
        (&calls[0].id.as_bytes()[..], calls[0].bytes.to_vec()),
        (&tx.tx_hash()[..], tx.encoded_2718())
    );
    let count = json!([held(), "pending"]).to_string();
    assert_eq!(world.call("eth_getTransactionCount", &count).await["result"], "0x1");
    assert_eq!(world.evm.pool().counts(), (1, 0));
    // As on a node that decides.
    let known = json!({"code": -32000, "message": "already known"});
    assert_eq!(send(&world, &tx).await["error"], known);
    assert_eq!(world.evm.pool().counts(), (1, 0));
    accept(&world, &source, &[&tx]).await;
    assert_eq!(world.evm.pool().counts(), (0, 0));
    let receipt = world.call("eth_getTransactionReceipt", &json!([hash(&tx)]).to_string()).await;
    assert_eq!(receipt["result"]["status"], "0x1");
    assert_eq!((dropped(&world, &tx), forwarder.calls().len()), (None, 1));
}

#[tokio::test]
async fn code_and_message_of_the_source_are_the_reply() {
    let (world, forwarder) = follower();
    let tx = transfer(0, PRICE);
    forwarder.answer_all(Some(refusal(-32010, "txpool is full")));
    let error = json!({"code": -32010, "message": "txpool is full"});
    assert_eq!(send(&world, &tx).await["error"], error);
    assert_eq!(world.evm.pool().counts(), (0, 0));
    assert_eq!(dropped(&world, &tx), Some("refused by the source: txpool is full".into()));
    let raw = json!([hex::encode_prefixed(tx.encoded_2718())]).to_string();
    let reply = within("a send", world.call("eth_sendRawTransactionSync", &raw)).await;
    assert_eq!(reply["error"], error);
    let own = json!([{"from": held(), "to": Address::repeat_byte(2), "value": "0x1"}]).to_string();
    let reply = within("a send", world.call("eth_sendTransaction", &own)).await;
    assert_eq!(reply["error"], error);
    assert_eq!((world.evm.pool().counts(), forwarder.calls().len()), ((0, 0), 3));
    forwarder.answer_all(Some(ForwardError::Unreachable("gone".into())));
    let message =
        "no source is reachable (gone): try again, or send the transaction to another node";
    assert_eq!(send(&world, &tx).await["error"], json!({"code": -32000, "message": message}));
    // Once it is taken its status is no longer that of the refusal.
    forwarder.answer_all(None);
    assert_eq!(send(&world, &tx).await["result"], hash(&tx));
    assert_eq!(dropped(&world, &tx), None);
}

#[tokio::test]
async fn what_the_source_knows_or_has_accepted_is_a_success() {
    let (world, forwarder) = follower();
    let source = source();
    let (first, second) = (transfer(0, PRICE), transfer(1, PRICE));
    forwarder.answer_all(Some(refusal(-32000, "already known")));
    assert_eq!(send(&world, &first).await["result"], hash(&first));
    assert_eq!(world.evm.pool().counts(), (1, 0));
    forwarder.answer_all(Some(refusal(-32000, "nonce too low: next nonce 2, tx nonce 1")));
    forwarder.hold(true);
    let sent = send(&world, &second);
    let accepted = async {
        within("the call", forwarder.wait_for_calls(2)).await;
        accept(&world, &source, &[&first, &second]).await;
        forwarder.hold(false);
    };
    let (reply, ()) = tokio::join!(sent, accepted);
    assert_eq!(reply["result"], hash(&second));
    assert_eq!(world.evm.pool().counts(), (0, 0));
}

#[tokio::test]
async fn submission_completes_after_its_client_disconnects() {
    let (world, forwarder) = follower();
    let tx = transfer(0, PRICE);
    forwarder.answer_all(Some(refusal(-32000, "no")));
    forwarder.hold(true);
    {
        let sent = send(&world, &tx);
        tokio::pin!(sent);
        tokio::select! {
            reply = &mut sent => panic!("too early: {reply}"),
            () = within("the call", forwarder.wait_for_calls(1)) => {}
        }
    }
    assert_eq!(world.evm.pool().counts(), (1, 0));
    forwarder.hold(false);
    within("the end of the submission", async {
        while world.evm.pool().counts() != (0, 0) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// One thread for all work; it is free although clients wait for the source.
#[tokio::test]
async fn calls_that_wait_for_the_source_hold_no_thread() {
    let (world, forwarder) = follower();
    let work = Work::new(WorkConfig { processors: 1, ..WorkConfig::default() });
    let clients: Vec<_> = (0..LIMITS.max_in_flight + 1).map(|_| work.client(None)).collect();
    forwarder.hold(true);
    let sends = clients[1..].iter().zip(0..).map(|(client, nonce)| {
        let params = json!([hex::encode_prefixed(transfer(nonce, PRICE).encoded_2718())]);
        let (world, params) = (&world, params.to_string());
        async move { world.call_as(client, "eth_sendRawTransaction", &params).await }
    });
    let all = async {
        let mut replies = Vec::new();
        let mut sends: Vec<_> = sends.map(Box::pin).collect();
        // All of them begin before the first is waited for.
        for send in &mut sends {
            assert!(futures_poll(send).await.is_none());
        }
        within("all calls", forwarder.wait_for_calls(LIMITS.max_in_flight)).await;
        let count = json!([held(), "latest"]).to_string();
        let other = world.call_as(&clients[0], "eth_getTransactionCount", &count);
        assert_eq!(within("another call", other).await["result"], "0x0");
        // One more has no place, and is not pooled.
        let raw = json!([hex::encode_prefixed(transfer(99, PRICE).encoded_2718())]).to_string();
        let more = world.call_as(&clients[0], "eth_sendRawTransaction", &raw);
        let message = "8 transactions wait for the source's answer already: try again";
        let error = json!({"code": -32000, "message": message});
        assert_eq!(within("one more", more).await["error"], error);
        forwarder.hold(false);
        for send in sends {
            replies.push(within("a send", send).await);
        }
        replies
    };
    let replies = all.await;
    assert!(replies.iter().all(|reply| reply["result"].is_string()), "{replies:?}");
    assert_eq!(world.evm.pool().counts(), (LIMITS.max_in_flight, 0));
}

/// Polls a future once.
async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test]
async fn refused_resubmission_drops_the_transaction() {
    let (world, forwarder) = follower();
    let txs: Vec<Transaction> = (0..3).map(|nonce| transfer(nonce, PRICE)).collect();
    for tx in &txs {
        send(&world, tx).await;
    }
    world.clock.advance(30_000);
    forwarder.answer_all(Some(refusal(-32000, "already known")));
    let refused = esker_primitives::Id::new(txs[1].tx_hash().0);
    forwarder.refuse(refused, refusal(-32000, "transaction underpriced"));
    let round = within("a round", resubmit(&world).round()).await;
    assert_eq!((round.acknowledged, round.refused), (2, 1));
    let submitted: Vec<_> = forwarder.calls().iter().map(|tx| *tx.id.as_bytes()).collect();
    let expected: Vec<_> = txs.iter().chain(&txs).map(|tx| tx.tx_hash().0).collect();
    assert_eq!(submitted, expected);
    let reason = "refused by the source: transaction underpriced";
    assert_eq!(dropped(&world, &txs[1]), Some(reason.into()));
    // The third waits for the nonce of the second, which another can use.
    assert_eq!(world.evm.pool().counts(), (1, 1));
    let figures = world.evm.pool_figures();
    assert!(figures.dropped.contains(&("source", 1)), "{:?}", figures.dropped);
    let next = transfer(1, 2 * PRICE);
    assert_eq!(send(&world, &next).await["result"], hash(&next));
    assert_eq!(world.evm.pool().counts(), (3, 0));
}

#[tokio::test]
async fn journal_transactions_are_resubmitted_in_batches() {
    let (before, _) = follower();
    for nonce in 0..10 {
        send(&before, &transfer(nonce, PRICE)).await;
    }
    let (again, forwarder) = follower();
    assert_eq!(again.evm.restore_txs(before.evm.waiting_txs()), 10);
    assert!(forwarder.calls().is_empty());
    let round = within("a round", resubmit(&again).round()).await;
    assert_eq!((round.acknowledged, round.has_more), (8, true));
    let round = within("a round", resubmit(&again).round()).await;
    assert_eq!((round.acknowledged, round.has_more), (2, false));
}

#[tokio::test]
async fn read_only_refuses_before_it_looks_at_arguments() {
    let world = World::following(Arc::new(ReadOnlyForwarder), LIMITS);
    let message = "this node is read-only: send transactions to another node";
    let error = json!({"code": -32000, "message": message});
    for method in [
        "eth_sendRawTransaction",
        "eth_sendRawTransactionSync",
        "eth_sendTransaction",
        "eth_sendTransactionSync",
        "eth_resend",
        "personal_sendTransaction",
    ] {
        assert_eq!(world.call(method, "[1]").await["error"], error, "{method}");
    }
    assert!(world.evm.submit(transfer(0, PRICE)).is_err());
    assert_eq!(world.evm.pool().counts(), (0, 0));
    assert_eq!(world.call("eth_blockNumber", "[]").await["result"], "0x0");
}
