//! Passing transactions on: what ends an offer, and the task that repeats it.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::Shutdown;
use esker_chain::forward::{
    ForwardError, ForwardLimits, ForwardPool, ForwardedTx, Forwarding, ReofferTask,
    ScriptedForwarder, Sent, SourceAnswer, TxForwarder, TxKind,
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

/// A pool that is what a test makes it.
#[derive(Debug, Default)]
struct ToyPool(Mutex<Txs>);

#[derive(Debug, Default)]
struct Txs {
    waiting: Vec<ForwardedTx>,
    in_blocks: HashSet<Id>,
    early: HashSet<Id>,
    withdrawn: Vec<(Id, String)>,
}

impl ForwardPool for ToyPool {
    fn is_in_block(&self, id: &Id) -> bool {
        self.0.lock().in_blocks.contains(id)
    }

    fn must_wait(&self, id: &Id) -> bool {
        self.0.lock().early.contains(id)
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

struct Desk {
    forwarding: Arc<Forwarding>,
    pool: Arc<ToyPool>,
    clock: ManualClock,
}

fn limits() -> ForwardLimits {
    ForwardLimits { reoffer_batch: 2, block_delay: Duration::ZERO, ..ForwardLimits::default() }
}

impl Desk {
    fn new(forwarder: Arc<dyn TxForwarder>, limits: ForwardLimits) -> Self {
        let clock = ManualClock::new(START_MS);
        let forwarding =
            Forwarding::new(forwarder, Arc::new(clock.clone()), Handle::current(), limits);
        let pool = Arc::<ToyPool>::default();
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

    fn send(&self, tx: &ForwardedTx) -> SourceAnswer {
        self.forwarding.reserve().unwrap().send(Sent::First, || tx.clone())
    }

    fn waiting(&self) -> usize {
        self.pool.0.lock().waiting.len()
    }

    async fn is_free(&self) {
        within("the end of all offers", async {
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
struct Broken;

#[async_trait]
impl TxForwarder for Broken {
    async fn forward(&self, _: ForwardedTx) -> Result<(), ForwardError> {
        panic!("the forwarder is broken")
    }
}

#[tokio::test]
async fn an_offer_that_panics_frees_its_place_and_leaves_the_transaction() {
    let desk = Desk::new(Arc::new(Broken), limits());
    let tx = desk.pooled(1);
    let answer = within("an answer", desk.send(&tx).wait()).await;
    assert_eq!(answer, Err(ForwardError::Unreachable("the call was lost".into())));
    desk.is_free().await;
    assert_eq!(desk.waiting(), 1);
    assert!(within("an answer", desk.send(&tx).wait()).await.is_err(), "a new offer");
}

#[tokio::test]
async fn a_transaction_whose_turn_does_not_come_leaves() {
    let forwarder = ScriptedForwarder::new();
    let deadline = Duration::from_millis(20);
    let desk = Desk::new(forwarder.clone(), ForwardLimits { deadline, ..limits() });
    let tx = desk.pooled(1);
    desk.pool.0.lock().early.insert(tx.id);
    let answer = within("an answer", desk.send(&tx).wait()).await;
    assert_eq!(answer, Err(ForwardError::NotInOrder));
    assert_eq!((desk.waiting(), forwarder.calls().len()), (0, 0));
}

#[tokio::test]
async fn only_a_recent_success_makes_another_offer_needless() {
    let forwarder = ScriptedForwarder::new();
    let desk = Desk::new(forwarder.clone(), limits());
    let tx = desk.pooled(1);
    let again = || desk.forwarding.reserve().unwrap().send(Sent::Again, || tx.clone());
    forwarder.answer_all(Some(ForwardError::Unreachable("gone".into())));
    within("an answer", again().wait()).await.unwrap_err();
    forwarder.answer_all(None);
    for (advance_ms, calls) in [(0, 2), (29_999, 2), (1, 3)] {
        desk.clock.advance(advance_ms);
        within("an answer", again().wait()).await.unwrap();
        assert_eq!(forwarder.calls().len(), calls, "{advance_ms}");
    }
    assert!(desk.forwarding.is_taken(CHAIN, TxKind::Asset, tx.id));
    // One that was pooled anew is offered in any case.
    within("an answer", desk.send(&tx).wait()).await.unwrap();
    assert_eq!(forwarder.calls().len(), 4);
}

#[tokio::test]
async fn a_block_that_comes_after_a_refusal_keeps_the_transaction() {
    let forwarder = ScriptedForwarder::new();
    let block_delay = Duration::from_millis(20);
    let desk = Desk::new(forwarder.clone(), ForwardLimits { block_delay, ..limits() });
    let (kept, lost) = (desk.pooled(1), desk.pooled(2));
    forwarder.answer_all(Some(refused()));
    let task = ReofferTask::new(Arc::clone(&desk.forwarding));
    let block = async {
        within("both calls", forwarder.wait_for_calls(2)).await;
        desk.pool.0.lock().in_blocks.insert(kept.id);
    };
    let (round, ()) = tokio::join!(within("a round", task.round()), block);
    assert_eq!((round.taken, round.refused), (1, 1));
    let withdrawn = desk.pool.0.lock().withdrawn.clone();
    assert_eq!(withdrawn, [(lost.id, "refused by the source: no".to_owned())]);
}

#[tokio::test]
async fn the_task_offers_in_rounds_until_the_shutdown() {
    let forwarder = ScriptedForwarder::new();
    let desk = Desk::new(forwarder.clone(), limits());
    let txs: Vec<ForwardedTx> = (1..=3).map(|number| desk.pooled(number)).collect();
    let (trigger, shutdown) = Shutdown::new();
    let task = tokio::spawn(ReofferTask::new(Arc::clone(&desk.forwarding)).run(shutdown));
    // At once the first two, a second later the third, and all again when they are due.
    within("the first round", forwarder.wait_for_calls(2)).await;
    for (advance_ms, calls) in [(1_000, 3), (30_000, 5), (1_000, 6)] {
        within("the task asleep", async {
            while desk.clock.sleepers() == 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        desk.clock.advance(advance_ms);
        within("a round", forwarder.wait_for_calls(calls)).await;
    }
    let offered: Vec<Id> = forwarder.calls().iter().map(|tx| tx.id).collect();
    assert_eq!(offered, [0, 1, 2, 0, 1, 2].map(|at: usize| txs[at].id));
    trigger.trigger();
    within("the end of the task", task).await.unwrap();
}
