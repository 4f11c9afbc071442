//! A chain whose transactions go to another node, which decides: what its pool keeps, and what clients are answered.

use std::sync::Arc;
use std::time::Duration;

use esker_chain::forward::{
    ForwardError, ForwardLimits, ResubmitRound, ResubmitTask, ScriptedForwarder, TxKind,
};
use esker_chain::{ChainMachine, ChainVm};
use esker_primitives::{Id, TxId};
use esker_transactions::xvm::Tx;
use esker_xvm::{IssueError, Issued, TxStatus, Xvm};
use tokio::time::timeout;

use super::world::{
    START_MS, Setup, World, native_id, output_of, rejected, spend, status, transfer,
};

/// No wait of these tests takes longer unless something is broken.
const DEADLINE: Duration = Duration::from_secs(20);

pub(super) const LIMITS: ForwardLimits = ForwardLimits {
    max_in_flight: 4,
    deadline: Duration::from_secs(10),
    resubmit_interval_ms: 30_000,
    resubmit_batch: 3,
    block_delay: Duration::ZERO,
};

pub(super) fn refusal(message: &str) -> ForwardError {
    ForwardError::Refused { code: -32123, message: message.into() }
}

pub(super) fn setup(forwarder: &Arc<ScriptedForwarder>, limits: ForwardLimits) -> Setup {
    Setup { forwarder: Some((forwarder.clone(), limits)), ..Setup::default() }
}

pub(super) async fn within<F: Future>(what: &str, wait: F) -> F::Output {
    timeout(DEADLINE, wait).await.unwrap_or_else(|_| panic!("no end of: {what}"))
}

/// A chain that does not decide, and the forwarder of its transactions.
fn follower() -> (World, Arc<ScriptedForwarder>) {
    let forwarder = ScriptedForwarder::new();
    (World::with(setup(&forwarder, LIMITS)), forwarder)
}

/// Issues, and waits for the source's answer.
async fn issue(vm: &Xvm, tx: &Tx) -> Result<TxId, String> {
    let issued = vm.issue_and_forward(tx.bytes()).map_err(|error| error.to_string())?;
    answered(issued).await.map_err(|error| error.to_string())
}

async fn answered(Issued { id, answer }: Issued) -> Result<TxId, ForwardError> {
    within("the source's answer", answer.wait()).await.map(|()| id)
}

fn forwarded_ids(forwarder: &ScriptedForwarder) -> Vec<Id> {
    forwarder.calls().iter().map(|tx| tx.id).collect()
}

/// The block of another world with these transactions becomes final in this one.
async fn accept(follower: &mut World, source: &mut World, txs: &[&Tx]) {
    for tx in txs {
        source.x.issue(tx.bytes()).unwrap();
    }
    assert!(source.step().await);
    let bundle = source.bundles.last().unwrap().clone();
    follower.machine.verify(&[], &bundle).await.unwrap();
    follower.finalize(&bundle).await;
}

#[tokio::test]
async fn a_forwarded_transaction_is_processing_until_a_block_of_the_source_has_it() {
    let (mut world, forwarder) = follower();
    let mut source = World::new();
    let vm = world.x.clone();
    let tx = transfer(&vm, 1, native_id(&vm), 77, 9);
    assert_eq!(issue(&vm, &tx).await, Ok(tx.id()));
    let calls = forwarder.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].chain, calls[0].kind), (vm.context().chain_id, TxKind::Asset));
    assert_eq!((calls[0].id, &calls[0].bytes), (tx.id(), tx.bytes()));
    assert_eq!(status(&vm, tx.id()), TxStatus::Processing);
    // Again: the source has it, and is not asked.
    assert_eq!(issue(&vm, &tx).await, Ok(tx.id()));
    assert_eq!(forwarder.calls().len(), 1);
    accept(&mut world, &mut source, &[&tx]).await;
    assert_eq!(status(&vm, tx.id()), TxStatus::Accepted);
    assert_eq!(vm.stats().mempool_txs, 0);
}

#[tokio::test]
async fn a_wallet_transaction_is_rejected_when_another_has_spent_its_inputs() {
    let (mut world, forwarder) = follower();
    let mut source = World::new();
    let vm = world.x.clone();
    let first = transfer(&vm, 1, native_id(&vm), 2_000_000, 9);
    let second = transfer(&vm, 1, native_id(&vm), 78, 9);
    let late = transfer(&vm, 1, native_id(&vm), 79, 9);
    for tx in [&first, &second] {
        let issued = vm.issue_unverified_and_forward(tx.bytes()).unwrap();
        assert_eq!(answered(issued).await, Ok(tx.id()));
        assert_eq!(status(&vm, tx.id()), TxStatus::Processing);
    }
    assert_eq!(forwarder.calls().len(), 2);
    accept(&mut world, &mut source, &[&first]).await;
    assert_eq!(status(&vm, first.id()), TxStatus::Accepted);
    assert_eq!(status(&vm, second.id()), rejected("conflicts with an accepted transaction"));
    // One that comes after the block is rejected, too, and the next one waits. The accepted one does not hold it up when it
    // comes again.
    let next = spend(&vm, &output_of(&first, 9), 9, 5, 8);
    for tx in [&first, &late, &next] {
        let issued = vm.issue_unverified_and_forward(tx.bytes()).unwrap();
        assert_eq!(answered(issued).await, Ok(tx.id()));
    }
    assert_eq!(status(&vm, first.id()), TxStatus::Accepted);
    assert_eq!(status(&vm, late.id()), rejected("conflicts with an accepted transaction"));
    assert_eq!(status(&vm, next.id()), TxStatus::Processing);
    accept(&mut world, &mut source, &[&next]).await;
    assert_eq!((vm.stats().mempool_txs, vm.wallet_pending().len()), (0, 0));
}

#[tokio::test]
async fn what_is_invalid_here_is_not_passed_on() {
    let (world, forwarder) = follower();
    let parent = transfer(&world.x, 1, native_id(&world.x), 5000, 9);
    let child = spend(&world.x, &output_of(&parent, 9), 9, 100, 8);
    assert_eq!(issue(&world.x, &child).await, Err("not found".into()));
    assert!(forwarder.calls().is_empty());
    assert_eq!(world.forwarding.as_ref().unwrap().in_flight(), 0);
}

#[tokio::test]
async fn a_refusal_of_the_source_is_the_answer_and_empties_the_pool() {
    let (world, forwarder) = follower();
    let vm = world.x.clone();
    let tx = transfer(&vm, 1, native_id(&vm), 77, 9);
    forwarder.refuse(tx.id(), refusal("mempool is full"));
    let issued = vm.issue_and_forward(tx.bytes()).unwrap();
    assert_eq!(answered(issued).await, Err(refusal("mempool is full")));
    assert_eq!(vm.stats().mempool_txs, 0);
    assert_eq!(status(&vm, tx.id()), rejected("refused by the source: mempool is full"));
    // Nothing is remembered against it.
    forwarder.refuse(tx.id(), ForwardError::Unreachable("connection refused".into()));
    let error = issue(&vm, &tx).await.unwrap_err();
    assert_eq!(
        error,
        "no source is reachable (connection refused): try again, or send the transaction to another node"
    );
    assert_eq!((forwarder.calls().len(), vm.stats().mempool_txs), (2, 0));
}

#[tokio::test]
async fn a_transaction_that_a_block_brings_meanwhile_is_a_success() {
    let (mut world, forwarder) = follower();
    let mut source = World::new();
    let vm = world.x.clone();
    let tx = transfer(&vm, 1, native_id(&vm), 77, 9);
    forwarder.refuse(tx.id(), refusal("not found"));
    forwarder.hold(true);
    let issued = vm.issue_and_forward(tx.bytes()).unwrap();
    within("the call", forwarder.wait_for_calls(1)).await;
    accept(&mut world, &mut source, &[&tx]).await;
    forwarder.hold(false);
    assert_eq!(answered(issued).await, Ok(tx.id()));
    assert_eq!(status(&vm, tx.id()), TxStatus::Accepted);
}

#[tokio::test]
async fn clients_that_send_the_same_at_once_get_one_answer() {
    let (world, forwarder) = follower();
    let vm = world.x.clone();
    let native = native_id(&vm);
    for (refused, amount, key) in [(false, 70, 1), (true, 80, 2)] {
        let tx = transfer(&vm, key, native, amount, 9);
        let before = forwarder.calls().len();
        if refused {
            forwarder.refuse(tx.id(), refusal("no"));
        }
        forwarder.hold(true);
        let first = vm.issue_and_forward(tx.bytes()).unwrap();
        let second = vm.issue_and_forward(tx.bytes()).unwrap();
        within("the call", forwarder.wait_for_calls(before + 1)).await;
        forwarder.hold(false);
        let expected = if refused { Err(refusal("no")) } else { Ok(tx.id()) };
        assert_eq!(answered(first).await, expected);
        assert_eq!(answered(second).await, expected);
        assert_eq!(forwarder.calls().len(), before + 1);
        let left =
            if refused { rejected("refused by the source: no") } else { TxStatus::Processing };
        assert_eq!(status(&vm, tx.id()), left);
    }
}

#[tokio::test]
async fn submission_completes_after_its_client_disconnects() {
    let (world, forwarder) = follower();
    let vm = world.x.clone();
    let tx = transfer(&vm, 1, native_id(&vm), 77, 9);
    forwarder.refuse(tx.id(), refusal("no"));
    forwarder.hold(true);
    drop(vm.issue_and_forward(tx.bytes()).unwrap());
    within("the call", forwarder.wait_for_calls(1)).await;
    assert_eq!(status(&vm, tx.id()), TxStatus::Processing);
    // Who asks later learns when it ends.
    let later = vm.issue_and_forward(tx.bytes()).unwrap();
    forwarder.hold(false);
    assert_eq!(answered(later).await, Err(refusal("no")));
    assert_eq!(vm.stats().mempool_txs, 0);
}

#[tokio::test]
async fn a_source_that_does_not_answer_costs_the_transaction() {
    let forwarder = ScriptedForwarder::new();
    let limits = ForwardLimits { deadline: Duration::from_millis(20), ..LIMITS };
    let world = World::with(setup(&forwarder, limits));
    let tx = transfer(&world.x, 1, native_id(&world.x), 77, 9);
    forwarder.hold(true);
    let error = issue(&world.x, &tx).await.unwrap_err();
    assert!(error.starts_with("the source has not answered within 20 ms and may have"), "{error}");
    assert_eq!(world.x.stats().mempool_txs, 0);
}

#[tokio::test]
async fn more_than_the_limit_are_refused_before_they_are_pooled() {
    let forwarder = ScriptedForwarder::new();
    let world = World::with(setup(&forwarder, ForwardLimits { max_in_flight: 1, ..LIMITS }));
    let (vm, native) = (world.x.clone(), native_id(&world.x));
    let (first, second) = (transfer(&vm, 1, native, 7, 9), transfer(&vm, 2, native, 8, 9));
    forwarder.hold(true);
    let issued = vm.issue_and_forward(first.bytes()).unwrap();
    let error = issue(&vm, &second).await.unwrap_err();
    assert_eq!(error, "1 transactions wait for the source's answer already: try again");
    assert_eq!(status(&vm, second.id()), TxStatus::Unknown);
    forwarder.hold(false);
    assert_eq!(answered(issued).await, Ok(first.id()));
    within("a free place", async {
        while world.forwarding.as_ref().unwrap().in_flight() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(issue(&vm, &second).await, Ok(second.id()));
}

#[tokio::test]
async fn children_of_waiting_transactions_follow_their_parents_to_the_source() {
    let (world, forwarder) = follower();
    let vm = world.x.clone();
    let parent = transfer(&vm, 1, native_id(&vm), 100_000, 9);
    let child = spend(&vm, &output_of(&parent, 1), 1, 10_000, 9);
    forwarder.hold(true);
    let first = vm.issue_unverified_and_forward(parent.bytes()).unwrap();
    let second = vm.issue_unverified_and_forward(child.bytes()).unwrap();
    within("the parent's call", forwarder.wait_for_calls(1)).await;
    assert_eq!(forwarded_ids(&forwarder), [parent.id()]);
    forwarder.hold(false);
    answered(first).await.unwrap();
    answered(second).await.unwrap();
    assert_eq!(forwarded_ids(&forwarder), [parent.id(), child.id()]);
    assert!(forwarder.calls().iter().all(|tx| tx.kind == TxKind::AssetWallet));
    assert_eq!(status(&vm, child.id()), TxStatus::Processing);
}

#[tokio::test]
async fn a_refused_parent_takes_its_children_along() {
    let (world, forwarder) = follower();
    let vm = world.x.clone();
    let parent = transfer(&vm, 1, native_id(&vm), 100_000, 9);
    let child = spend(&vm, &output_of(&parent, 1), 1, 10_000, 9);
    vm.issue_unverified(parent.bytes()).unwrap();
    within("the parent's call", forwarder.wait_for_calls(1)).await;
    answered(vm.issue_unverified_and_forward(child.bytes()).unwrap()).await.unwrap();
    world.clock.advance(30_000);
    forwarder.refuse(parent.id(), refusal("not found"));
    forwarder.refuse(child.id(), refusal("not found"));
    let task = ResubmitTask::new(world.forwarding.clone().unwrap());
    // The child is not submitted before its parent is decided on.
    for _ in [&parent, &child] {
        let round = within("a round", task.round()).await;
        assert_eq!((round.acknowledged, round.refused), (0, 1));
    }
    for tx in [&parent, &child] {
        assert_eq!(status(&vm, tx.id()), rejected("refused by the source: not found"));
    }
    assert!(vm.wallet_pending().is_empty());
}

#[tokio::test]
async fn waiting_transactions_are_resubmitted_oldest_first() {
    let (mut world, forwarder) = follower();
    let mut source = World::new();
    let (vm, native) = (world.x.clone(), native_id(&world.x));
    let task = ResubmitTask::new(world.forwarding.clone().unwrap());
    let txs: Vec<Tx> = (1..=3).map(|key| transfer(&vm, key, native, 5, 9)).collect();
    for tx in &txs {
        issue(&vm, tx).await.unwrap();
    }
    // Too early.
    world.clock.set(START_MS + 29_999);
    assert_eq!(within("a round", task.round()).await, ResubmitRound::default());
    world.clock.set(START_MS + 30_000);
    // The source has lost the first and refuses the second, and has already accepted the third.
    forwarder.refuse(txs[1].id(), refusal("tx conflicts with other tx"));
    accept(&mut world, &mut source, &[&txs[2]]).await;
    let round = within("a round", task.round()).await;
    assert_eq!(round, ResubmitRound { acknowledged: 1, refused: 1, ..ResubmitRound::default() });
    let expected: Vec<Id> = [&txs[0], &txs[1], &txs[2], &txs[0], &txs[1]].map(Tx::id).into();
    assert_eq!(forwarded_ids(&forwarder), expected);
    assert_eq!(status(&vm, txs[0].id()), TxStatus::Processing);
    let reason = "refused by the source: tx conflicts with other tx";
    assert_eq!(status(&vm, txs[1].id()), rejected(reason));
    assert_eq!(status(&vm, txs[2].id()), TxStatus::Accepted);
    // No source: all stay.
    world.clock.advance(30_000);
    forwarder.answer_all(Some(ForwardError::Unreachable("gone".into())));
    let round = within("a round", task.round()).await;
    assert!(round.is_aborted && round.refused == 0, "{round:?}");
    assert_eq!(status(&vm, txs[0].id()), TxStatus::Processing);
}

#[tokio::test]
async fn journal_transactions_are_resubmitted_in_batches() {
    let (before, _) = follower();
    let native = native_id(&before.x);
    let parent = transfer(&before.x, 1, native, 100_000, 9);
    let mut chain = vec![parent];
    for _ in 0..3 {
        let change = output_of(chain.last().unwrap(), 1);
        chain.push(spend(&before.x, &change, 1, 10_000, 9));
    }
    for tx in &chain {
        before.x.issue_unverified(tx.bytes()).unwrap();
    }
    let (again, forwarder) = follower();
    // At the start nothing waits for the source.
    assert_eq!(again.x.restore_txs(before.x.waiting_txs()), 4);
    assert!(forwarder.calls().is_empty());
    let task = ResubmitTask::new(again.forwarding.clone().unwrap());
    let round = within("a round", task.round()).await;
    assert_eq!((round.acknowledged, round.has_more), (3, true));
    let round = within("a round", task.round()).await;
    assert_eq!((round.acknowledged, round.has_more), (1, false));
    let expected: Vec<Id> = chain.iter().map(Tx::id).collect();
    assert_eq!(forwarded_ids(&forwarder), expected);
    let kinds: Vec<TxKind> = forwarder.calls().iter().map(|tx| tx.kind).collect();
    assert_eq!(kinds[0], TxKind::Asset);
    assert!(kinds[1..].iter().all(|kind| *kind == TxKind::AssetWallet), "{kinds:?}");
}

#[tokio::test]
async fn a_read_only_chain_takes_nothing() {
    let read_only = Arc::new(esker_chain::forward::ReadOnlyForwarder);
    let world = World::with(Setup { forwarder: Some((read_only, LIMITS)), ..Setup::default() });
    let tx = transfer(&world.x, 1, native_id(&world.x), 77, 9);
    let error = world.x.issue(tx.bytes()).unwrap_err();
    assert!(matches!(error, IssueError::Forward(ForwardError::ReadOnly)), "{error}");
    assert!(world.x.issue_unverified(tx.bytes()).is_err());
    assert_eq!(status(&world.x, tx.id()), TxStatus::Unknown);
}
