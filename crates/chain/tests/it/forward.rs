//! Forwarding transactions: the outcomes of a submission, and the task that submits again.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::Shutdown;
use esker_chain::forward::{
    ForwardError, ForwardLimits, ForwardPool, ForwardedTx, Forwarding, ResubmitTask,
    ScriptedForwarder, SendAnswer, Submission, TxForwarder, TxKind,
};
use esker_primitives::clock::ManualClock;
use esker_primitives::sync::Mutex;
use esker_primitives::{ChainId, Id};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// No wait of these tests takes longer unless something is broken.
const DEADLINE: Duration = Duration::from_secs(20);
const CHAIN: ChainId = Id::new([1; 32]);
const START_MS: u64 = 1_000_000;

async fn within<F: Future>(what: &str, wait: F) -> F::Output {
    timeout(DEADLINE, wait).await.unwrap_or_else(|_| panic!("no end of: {what}"))
}

/// A pool that a test fills.
#[derive(Debug, Default)]
struct TestPool(Mutex<Txs>);

#[derive(Debug, Default)]
struct Txs {
    waiting: Vec<ForwardedTx>,
    in_blocks: HashSet<Id>,
    dependent: HashSet<Id>,
    withdrawn: Vec<(Id, String)>,
}

impl ForwardPool for TestPool {
    fn is_in_block(&self, id: &Id) -> bool {
        self.0.lock().in_blocks.contains(id)
    }

    fn has_pending_dependencies(&self, id: &Id) -> bool {
        self.0.lock().dependent.contains(id)
    }

    fn withdraw(&self, id: &Id, error: &ForwardError) {
        let mut txs = self.0.lock();
        txs.waiting.retain(|tx| tx.id != *id);
        txs.withdrawn.push((*id, error.reason()));
    }

    fn visit_waiting(&self, visit: &mut dyn FnMut(ForwardedTx) -> ControlFlow<()>) {
        let waiting = self.0.lock().waiting.clone();
        let _stopped = waiting.into_iter().try_for_each(visit);
    }
}

struct Fixture {
    forwarding: Arc<Forwarding>,
    pool: Arc<TestPool>,
    clock: ManualClock,
}

fn limits() -> ForwardLimits {
    ForwardLimits { resubmit_batch: 2, block_delay: Duration::ZERO, ..ForwardLimits::default() }
}

impl Fixture {
    fn new(forwarder: Arc<dyn TxForwarder>, limits: ForwardLimits) -> Self {
        let clock = ManualClock::new(START_MS);
        let forwarding =
            Forwarding::new(forwarder, Arc::new(clock.clone()), Handle::current(), limits);
        let pool = Arc::<TestPool>::default();
        forwarding.register(CHAIN, TxKind::Asset, pool.clone());
        Self { forwarding, pool, clock }
    }

    /// Pools a transaction, and does not send it.
    fn pooled(&self, number: u8) -> ForwardedTx {
        let id = Id::new([number; 32]);
        let tx = ForwardedTx { chain: CHAIN, kind: TxKind::AssetWallet, id, bytes: Bytes::new() };
        self.pool.0.lock().waiting.push(tx.clone());
        tx
    }

    fn send(&self, tx: &ForwardedTx) -> SendAnswer {
        self.forwarding.reserve().unwrap().send(Submission::New, || tx.clone())
    }

    fn waiting(&self) -> usize {
        self.pool.0.lock().waiting.len()
    }

    async fn wait_until_idle(&self) {
        within("the end of all submissions", async {
            while self.forwarding.in_flight() > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

fn refused() -> ForwardError {
    ForwardError::Refused { code: 5, message: "no".into() }
}

/// A forwarder that panics.
#[derive(Debug)]
struct PanickingForwarder;

#[async_trait]
impl TxForwarder for PanickingForwarder {
    async fn forward(&self, _: ForwardedTx) -> Result<(), ForwardError> {
        panic!("the forwarder is broken")
    }
}

#[tokio::test]
async fn panicking_forwarder_releases_the_permit_and_keeps_the_transaction() {
    let fixture = Fixture::new(Arc::new(PanickingForwarder), limits());
    let tx = fixture.pooled(1);
    let answer = within("an answer", fixture.send(&tx).wait()).await;
    assert_eq!(answer, Err(ForwardError::Unreachable("the call was lost".into())));
    fixture.wait_until_idle().await;
    assert_eq!(fixture.waiting(), 1);
    assert!(within("an answer", fixture.send(&tx).wait()).await.is_err(), "a new submission");
}

#[tokio::test]
async fn transaction_with_pending_dependencies_times_out() {
    let forwarder = ScriptedForwarder::new();
    let deadline = Duration::from_millis(20);
    let fixture = Fixture::new(forwarder.clone(), ForwardLimits { deadline, ..limits() });
    let tx = fixture.pooled(1);
    fixture.pool.0.lock().dependent.insert(tx.id);
    let answer = within("an answer", fixture.send(&tx).wait()).await;
    assert_eq!(answer, Err(ForwardError::DependenciesPending));
    assert_eq!((fixture.waiting(), forwarder.calls().len()), (0, 0));
}

#[tokio::test]
async fn recently_acknowledged_transaction_is_not_submitted_again() {
    let forwarder = ScriptedForwarder::new();
    let fixture = Fixture::new(forwarder.clone(), limits());
    let tx = fixture.pooled(1);
    let again = || fixture.forwarding.reserve().unwrap().send(Submission::Repeat, || tx.clone());
    forwarder.answer_all(Some(ForwardError::Unreachable("gone".into())));
    within("an answer", again().wait()).await.unwrap_err();
    forwarder.answer_all(None);
    for (advance_ms, calls) in [(0, 2), (29_999, 2), (1, 3)] {
        fixture.clock.advance(advance_ms);
        within("an answer", again().wait()).await.unwrap();
        assert_eq!(forwarder.calls().len(), calls, "{advance_ms}");
    }
    assert!(fixture.forwarding.is_acknowledged(CHAIN, TxKind::Asset, tx.id));
    // A new one is submitted in any case.
    within("an answer", fixture.send(&tx).wait()).await.unwrap();
    assert_eq!(forwarder.calls().len(), 4);
}

#[tokio::test]
async fn refused_transaction_is_kept_if_a_block_holds_it() {
    let forwarder = ScriptedForwarder::new();
    let block_delay = Duration::from_millis(20);
    let fixture = Fixture::new(forwarder.clone(), ForwardLimits { block_delay, ..limits() });
    let (kept, lost) = (fixture.pooled(1), fixture.pooled(2));
    forwarder.answer_all(Some(refused()));
    let task = ResubmitTask::new(Arc::clone(&fixture.forwarding));
    let block = async {
        within("both calls", forwarder.wait_for_calls(2)).await;
        fixture.pool.0.lock().in_blocks.insert(kept.id);
    };
    let (round, ()) = tokio::join!(within("a round", task.round()), block);
    assert_eq!((round.acknowledged, round.refused), (1, 1));
    let withdrawn = fixture.pool.0.lock().withdrawn.clone();
    assert_eq!(withdrawn, [(lost.id, "refused by the source: no".to_owned())]);
}

#[tokio::test]
async fn resubmit_task_runs_rounds_until_shutdown() {
    let forwarder = ScriptedForwarder::new();
    let fixture = Fixture::new(forwarder.clone(), limits());
    let txs: Vec<ForwardedTx> = (1..=3).map(|number| fixture.pooled(number)).collect();
    let (trigger, shutdown) = Shutdown::new();
    let task = tokio::spawn(ResubmitTask::new(Arc::clone(&fixture.forwarding)).run(shutdown));
    // At once the first two, a second later the third, and all again when they are due.
    within("the first round", forwarder.wait_for_calls(2)).await;
    for (advance_ms, calls) in [(1_000, 3), (30_000, 5), (1_000, 6)] {
        within("the task asleep", async {
            while fixture.clock.sleepers() == 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        fixture.clock.advance(advance_ms);
        within("a round", forwarder.wait_for_calls(calls)).await;
    }
    let submitted: Vec<Id> = forwarder.calls().iter().map(|tx| tx.id).collect();
    assert_eq!(submitted, [0, 1, 2, 0, 1, 2].map(|at: usize| txs[at].id));
    trigger.trigger();
    within("the end of the task", task).await.unwrap();
}
