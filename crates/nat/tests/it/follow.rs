//! A chain whose atomic transactions go to another node, which decides.

use std::sync::Arc;
use std::time::Duration;

use esker_chain::ChainMachine;
use esker_chain::forward::{
    ForwardError, ForwardLimits, ReadOnlyForwarder, ResubmitTask, ScriptedForwarder, TxKind,
};
use esker_evm::view::PoolReader as _;
use esker_nat::{AtomicStatus, SubmittedTx};
use esker_primitives::{Id, TxId, address, hexfmt};
use esker_testkit::chains::world::{ONE, World, account, key, well_known};
use esker_transactions::nat::AtomicTx;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::service::{Endpoint, as_user};

/// No wait of these tests takes longer unless something is broken.
const DEADLINE: Duration = Duration::from_secs(20);

const LIMITS: ForwardLimits = ForwardLimits {
    max_in_flight: 4,
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

fn refusal(message: &str) -> ForwardError {
    ForwardError::Refused { code: -32000, message: message.into() }
}

fn export(world: &World, nonce: u64) -> AtomicTx {
    world.export(&well_known(), nonce, ONE, ONE / 100, key(9).address())
}

async fn submit(world: &World, tx: &AtomicTx) -> Result<TxId, String> {
    let submitted = world.nat.submit_and_forward(tx).map_err(|error| error.to_string())?;
    answered(submitted).await
}

async fn answered(SubmittedTx { id, answer }: SubmittedTx) -> Result<TxId, String> {
    let answer = within("the source's answer", answer.wait()).await;
    answer.map(|()| id).map_err(|error| error.to_string())
}

fn status(world: &World, id: &TxId) -> Option<AtomicStatus> {
    world.nat.status(id).unwrap()
}

fn dropped(reason: &str) -> Option<AtomicStatus> {
    Some(AtomicStatus::Dropped(reason.into()))
}

fn ids(forwarder: &ScriptedForwarder) -> Vec<Id> {
    forwarder.calls().iter().map(|tx| tx.id).collect()
}

/// The source makes a block of transactions, which becomes final here.
async fn accept(world: &World, source: &World, txs: &[&AtomicTx]) {
    for tx in txs {
        source.nat.submit((*tx).clone()).unwrap();
    }
    assert!(source.step().await);
    let bundle = source.last();
    world.machine.verify(&[], &bundle).await.unwrap();
    world.machine.finalize(&bundle, None).await.unwrap();
}

fn resubmit(world: &World) -> ResubmitTask {
    ResubmitTask::new(world.nat.context().forwarding.clone().unwrap())
}

#[tokio::test]
async fn a_forwarded_export_is_processing_until_a_block_of_the_source_has_it() {
    let (world, forwarder) = follower();
    let source = World::easy();
    let tx = export(&world, 0);
    assert_eq!(submit(&world, &tx).await, Ok(tx.id()));
    let calls = forwarder.calls();
    assert_eq!((calls.len(), calls[0].kind, calls[0].chain), (1, TxKind::Atomic, world.c_id()));
    assert_eq!((calls[0].id, &calls[0].bytes), (tx.id(), tx.bytes()));
    assert_eq!(status(&world, &tx.id()), Some(AtomicStatus::Processing));
    assert_eq!(submit(&world, &tx).await, Ok(tx.id()), "known");
    assert_eq!(forwarder.calls().len(), 1);
    accept(&world, &source, &[&tx]).await;
    assert_eq!(status(&world, &tx.id()), Some(AtomicStatus::Accepted(1)));
    assert!(world.nat.pool().is_empty());
}

#[tokio::test]
async fn a_refusal_is_the_answer_unless_a_block_brings_the_transaction() {
    let (world, forwarder) = follower();
    let source = World::easy();
    let tx = export(&world, 0);
    forwarder.refuse(tx.id(), refusal("invalid nonce"));
    assert_eq!(submit(&world, &tx).await, Err("invalid nonce".into()));
    assert!(world.nat.pool().is_empty());
    assert_eq!(status(&world, &tx.id()), dropped("refused by the source: invalid nonce"));
    assert_eq!(world.evm().next_nonce(account(&well_known())), None, "the nonce is free again");
    forwarder.hold(true);
    let submitted = world.nat.submit_and_forward(&tx).unwrap();
    let twin = world.nat.submit_and_forward(&tx).unwrap();
    within("the call", forwarder.wait_for_calls(2)).await;
    accept(&world, &source, &[&tx]).await;
    forwarder.hold(false);
    assert_eq!(answered(submitted).await, Ok(tx.id()));
    assert_eq!(answered(twin).await, Ok(tx.id()));
    assert_eq!(forwarder.calls().len(), 2);
}

#[tokio::test]
async fn without_a_source_nothing_is_kept() {
    let (world, forwarder) = follower();
    let tx = export(&world, 0);
    forwarder.answer_all(Some(ForwardError::Unreachable("gone".into())));
    let error = submit(&world, &tx).await.unwrap_err();
    assert!(error.starts_with("no source is reachable (gone)"), "{error}");
    assert!(world.nat.pool().is_empty());
    // The client has left before the answer comes.
    forwarder.hold(true);
    drop(world.nat.submit_and_forward(&tx).unwrap());
    within("the call", forwarder.wait_for_calls(2)).await;
    let later = world.nat.submit_and_forward(&tx).unwrap();
    forwarder.hold(false);
    answered(later).await.unwrap_err();
    assert!(world.nat.pool().is_empty());
}

#[tokio::test]
async fn waiting_transactions_are_resubmitted() {
    let (world, forwarder) = follower();
    let tx = export(&world, 0);
    submit(&world, &tx).await.unwrap();
    world.wait_s(30);
    assert_eq!(within("a round", resubmit(&world).round()).await.acknowledged, 1);
    world.wait_s(30);
    forwarder.answer_all(Some(refusal("insufficient funds")));
    assert_eq!(within("a round", resubmit(&world).round()).await.refused, 1);
    assert_eq!(status(&world, &tx.id()), dropped("refused by the source: insufficient funds"));
    assert_eq!(ids(&forwarder), [tx.id(); 3]);
}

#[tokio::test]
async fn key_methods_wait_until_the_source_can_verify_what_they_built() {
    let (world, forwarder) = follower();
    let source = World::easy();
    let endpoint = Endpoint::new(&world);
    endpoint.user(&[well_known()]).await;
    let to = address::format("X", "local", &key(9).address());
    let order = || as_user(json!({ "to": to, "amount": 7, "baseFee": ONE }));
    let id_of = |reply: Value| -> TxId { reply["txID"].as_str().unwrap().parse().unwrap() };
    let call = endpoint.call("nat.exportNative", order());
    let first = id_of(within("the first export", call).await.unwrap());
    // The second uses the nonce after that of the first, which is not accepted yet.
    let second = endpoint.call("nat.exportNative", order());
    tokio::pin!(second);
    within("the second in the pool", async {
        while world.nat.pool().len() < 2 {
            tokio::select! {
                reply = &mut second => panic!("too early: {reply:?}"),
                () = tokio::task::yield_now() => {}
            }
        }
    })
    .await;
    let built = world.nat.pool().candidates().into_iter().find(|tx| tx.id() == first).unwrap();
    assert_eq!(ids(&forwarder), [first]);
    // A round passes it over as well.
    world.wait_s(30);
    assert_eq!(within("a round", resubmit(&world).round()).await.acknowledged, 1);
    source.wait_s(30);
    accept(&world, &source, &[&built]).await;
    let second = id_of(within("the second export", second).await.unwrap());
    assert_eq!(ids(&forwarder), [first, first, second]);
    forwarder.answer_all(Some(refusal("invalid nonce")));
    world.nat.pool().drop_invalid(&second, "gone".into());
    let call = endpoint.call("nat.exportNative", order());
    assert_eq!(within("the third export", call).await, Err("invalid nonce".into()));
}

#[tokio::test]
async fn issue_tx_replies_with_what_the_source_says() {
    let (world, forwarder) = follower();
    let endpoint = Endpoint::new(&world);
    let tx = export(&world, 0);
    let args = json!({ "tx": hexfmt::encode_checked(tx.bytes()), "encoding": "hex" });
    forwarder.answer_all(Some(refusal("too many atomic tx")));
    let reply = within("issueTx", endpoint.call("nat.issueTx", args.clone())).await;
    assert_eq!(reply, Err("too many atomic tx".into()));
    forwarder.answer_all(None);
    let reply = within("issueTx", endpoint.call("nat.issueTx", args)).await;
    assert_eq!(reply, Ok(json!({ "txID": tx.id().to_string() })));
}

#[tokio::test]
async fn read_only_refuses_before_it_looks_at_arguments() {
    let world = World::following(Arc::new(ReadOnlyForwarder), LIMITS);
    let endpoint = Endpoint::new(&world);
    let methods =
        ["issueTx", "export", "import", "exportNative", "importNative", "exportAVAX", "importAVAX"];
    for method in methods {
        let reply =
            endpoint.call(&format!("nat.{method}"), json!({ "tx": 1, "username": 2 })).await;
        let error = "this node is read-only: send transactions to another node";
        assert_eq!(reply, Err(error.to_owned()), "{method}");
    }
    assert!(world.nat.submit(export(&world, 0)).is_err());
    assert!(world.nat.pool().is_empty());
}
