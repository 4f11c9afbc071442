//! Forwards transactions, and removes those that were refused from their pools.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use esker_primitives::clock::Clock;
use esker_primitives::sync::Mutex;
use esker_primitives::{ChainId, Id};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::{ForwardError, ForwardPool, ForwardedTx, TxForwarder, TxKind};
use crate::block_waits::BlockWait;

/// Maximum number of acknowledged transactions that are remembered. Others may be submitted again too early.
const MAX_ACKNOWLEDGED: usize = 65_536;

/// Time that they are remembered, in resubmission intervals.
const RETENTION_INTERVALS: u64 = 10;

/// Interval between two checks of a transaction's dependencies.
const DEPENDENCY_POLL: Duration = Duration::from_millis(50);

/// Limits of forwarding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardLimits {
    /// Transactions of clients that wait for the source's answer.
    pub max_in_flight: usize,
    /// Time that each waits.
    pub deadline: Duration,
    /// Time after its submission at which a transaction that still waits is submitted again, ms.
    pub resubmit_interval_ms: u64,
    /// Transactions that one round submits again.
    pub resubmit_batch: usize,
    /// Time to wait for a block that may hold a transaction which the source refused on resubmission.
    pub block_delay: Duration,
}

impl Default for ForwardLimits {
    fn default() -> Self {
        Self {
            max_in_flight: 256,
            deadline: Duration::from_secs(10),
            resubmit_interval_ms: 30_000,
            resubmit_batch: 256,
            block_delay: Duration::from_secs(2),
        }
    }
}

/// A transaction by chain, pool and ID.
type TxKey = (ChainId, TxKind, Id);

type Outcome = Result<(), ForwardError>;

const fn tx_key(tx: &ForwardedTx) -> TxKey {
    (tx.chain, tx.kind.pool(), tx.id)
}

/// Forwards the transactions of all chains.
#[derive(Debug)]
pub struct Forwarding {
    me: Weak<Self>,
    forwarder: Arc<dyn TxForwarder>,
    clock: Arc<dyn Clock>,
    runtime: Handle,
    pub(super) limits: ForwardLimits,
    permits: Arc<Semaphore>,
    pools: Mutex<BTreeMap<(ChainId, TxKind), Arc<dyn ForwardPool>>>,
    submissions: Mutex<Submissions>,
}

#[derive(Debug, Default)]
struct Submissions {
    /// Receivers of the answers to calls that have not ended.
    in_flight: HashMap<TxKey, watch::Receiver<Option<Outcome>>>,
    /// When the source acknowledged a transaction last, Unix ms.
    acknowledged_ms: HashMap<TxKey, u64>,
}

/// A submission whose answer is awaited. Dropping it leaves the transaction in its pool.
#[derive(Debug)]
pub(super) struct InFlight {
    forwarding: Arc<Forwarding>,
    tx: ForwardedTx,
    sender: watch::Sender<Option<Outcome>>,
}

/// Whether a transaction waited in its pool before a client sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// It did not wait.
    New,
    /// It waited: if the source acknowledged it recently, it is not submitted again.
    Repeat,
}

/// The fate of a transaction that the source neither acknowledged nor refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnNoAnswer {
    Withdraw,
    Keep,
}

impl Forwarding {
    /// Forwards transactions through `forwarder`, in tasks of `runtime`.
    pub fn new(
        forwarder: Arc<dyn TxForwarder>,
        clock: Arc<dyn Clock>,
        runtime: Handle,
        limits: ForwardLimits,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            forwarder,
            clock,
            runtime,
            limits,
            permits: Arc::new(Semaphore::new(limits.max_in_flight)),
            pools: Mutex::new_named("chain.forward-pools", BTreeMap::new()),
            submissions: Mutex::new_named("chain.forward", Submissions::default()),
        })
    }

    /// Registers the pool of a chain's transactions of a kind. It must not own the chain, which owns this.
    pub fn register(&self, chain: ChainId, kind: TxKind, pool: Arc<dyn ForwardPool>) {
        self.pools.lock().insert((chain, kind.pool()), pool);
    }

    /// Whether transactions are refused before anything looks at them.
    pub fn is_read_only(&self) -> bool {
        self.forwarder.is_read_only()
    }

    /// Transactions of clients that wait for the source's answer.
    pub fn in_flight(&self) -> usize {
        self.limits.max_in_flight.saturating_sub(self.permits.available_permits())
    }

    /// Reserves capacity for a transaction that a client sends.
    ///
    /// # Errors
    /// The node is read-only, or all permits are in use.
    pub fn reserve(&self) -> Result<ForwardPermit, ForwardError> {
        if self.is_read_only() {
            return Err(ForwardError::ReadOnly);
        }
        let busy = |_| ForwardError::Busy(self.limits.max_in_flight);
        let permit = Arc::clone(&self.permits).try_acquire_owned().map_err(busy)?;
        Ok(ForwardPermit(self.me.upgrade().map(|forwarding| (forwarding, permit))))
    }

    /// All pools.
    pub(super) fn pools(&self) -> Vec<Arc<dyn ForwardPool>> {
        self.pools.lock().values().cloned().collect()
    }

    fn pool_of(&self, tx: &ForwardedTx) -> Option<Arc<dyn ForwardPool>> {
        self.pools.lock().get(&(tx.chain, tx.kind.pool())).cloned()
    }

    /// Whether a transaction is not in flight, and was not acknowledged recently.
    pub(super) fn is_due(&self, tx: &ForwardedTx) -> bool {
        let (key, now_ms) = (tx_key(tx), self.clock.now_ms());
        let submissions = self.submissions.lock();
        !submissions.in_flight.contains_key(&key) && !self.is_recent(&submissions, &key, now_ms)
    }

    fn is_recently_acknowledged(&self, tx: &ForwardedTx) -> bool {
        let (key, now_ms) = (tx_key(tx), self.clock.now_ms());
        let submissions = self.submissions.lock();
        !submissions.in_flight.contains_key(&key) && self.is_recent(&submissions, &key, now_ms)
    }

    fn is_recent(&self, submissions: &Submissions, key: &TxKey, now_ms: u64) -> bool {
        let acknowledged_ms = submissions.acknowledged_ms.get(key);
        acknowledged_ms.is_some_and(|then| {
            now_ms >= *then && now_ms.saturating_sub(*then) < self.limits.resubmit_interval_ms
        })
    }

    /// Whether the source acknowledged a transaction, and it is not in flight.
    pub fn is_acknowledged(&self, chain: ChainId, kind: TxKind, id: Id) -> bool {
        let key = (chain, kind.pool(), id);
        let submissions = self.submissions.lock();
        submissions.acknowledged_ms.contains_key(&key) && !submissions.in_flight.contains_key(&key)
    }

    /// Removes entries that are older than the retention: what still waits was submitted again since.
    pub(super) fn prune_acknowledged(&self) {
        let limit_ms = self.limits.resubmit_interval_ms.saturating_mul(RETENTION_INTERVALS);
        let now_ms = self.clock.now_ms();
        let mut submissions = self.submissions.lock();
        submissions
            .acknowledged_ms
            .retain(|_, then| now_ms >= *then && now_ms.saturating_sub(*then) < limit_ms);
    }

    /// Starts a submission, or joins the one that is in flight.
    pub(super) fn start(&self, tx: &ForwardedTx) -> (Option<InFlight>, SendAnswer) {
        let key = tx_key(tx);
        let mut submissions = self.submissions.lock();
        if let Some(answer) = submissions.in_flight.get(&key) {
            return (None, SendAnswer::Source(SourceAnswer(answer.clone())));
        }
        let Some(forwarding) = self.me.upgrade() else { return (None, SendAnswer::Now) };
        let (sender, answer) = watch::channel(None);
        submissions.in_flight.insert(key, answer.clone());
        (
            Some(InFlight { forwarding, tx: tx.clone(), sender }),
            SendAnswer::Source(SourceAnswer(answer)),
        )
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }
}

impl InFlight {
    pub(super) const fn tx(&self) -> &ForwardedTx {
        &self.tx
    }

    /// Sends the transaction once it has no pending dependencies, and returns the source's answer.
    pub(super) async fn send(&self) -> Outcome {
        let Self { forwarding, tx, .. } = self;
        let deadline = forwarding.limits.deadline;
        let pool = forwarding.pool_of(tx);
        let has_pending_dependencies =
            || pool.as_ref().is_some_and(|pool| pool.has_pending_dependencies(&tx.id));
        let answer = tokio::time::timeout(deadline, async {
            while has_pending_dependencies() {
                tokio::time::sleep(DEPENDENCY_POLL).await;
            }
            forwarding.forwarder.forward(tx.clone()).await
        });
        match answer.await {
            Ok(outcome) => outcome,
            Err(_) if has_pending_dependencies() => Err(ForwardError::DependenciesPending),
            Err(_) => Err(ForwardError::TimedOut(deadline.as_millis())),
        }
    }

    /// Records the outcome. A transaction that the source does not have is removed from its pool, unless a block holds
    /// it. Returns whether it was removed.
    pub(super) fn complete(self, outcome: Outcome, on_no_answer: OnNoAnswer) -> bool {
        let pool = self.forwarding.pool_of(&self.tx);
        let key = tx_key(&self.tx);
        // Locked, so that whoever pools the transaction anew starts a submission of its own.
        let mut submissions = self.forwarding.submissions.lock();
        let is_in_block = || pool.as_ref().is_some_and(|pool| pool.is_in_block(&self.tx.id));
        let outcome = match outcome {
            Err(error) if error.is_already_known() || is_in_block() => Ok(()),
            outcome => outcome,
        };
        let mut is_withdrawn = false;
        match &outcome {
            Ok(()) if submissions.acknowledged_ms.len() < MAX_ACKNOWLEDGED => {
                submissions.acknowledged_ms.insert(key, self.forwarding.now_ms());
            }
            Err(error) if error.is_permanent() || on_no_answer == OnNoAnswer::Withdraw => {
                let ForwardedTx { chain, kind, id, .. } = &self.tx;
                tracing::debug!(%chain, ?kind, %id, %error, "the source did not accept a transaction");
                if let Some(pool) = &pool {
                    pool.withdraw(id, error);
                }
                is_withdrawn = true;
            }
            Ok(()) | Err(_) => {}
        }
        submissions.in_flight.remove(&key);
        drop(submissions);
        self.sender.send_replace(Some(outcome));
        is_withdrawn
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut submissions = self.forwarding.submissions.lock();
        let key = tx_key(&self.tx);
        // After `complete` another submission of the transaction may be in flight.
        if self.sender.borrow().is_none() {
            submissions.in_flight.remove(&key);
        }
    }
}

/// A permit to wait for the source's answer, acquired before a transaction is checked. On a node that decides itself it
/// has no effect.
#[derive(Debug, Default)]
pub struct ForwardPermit(Option<(Arc<Forwarding>, OwnedSemaphorePermit)>);

impl ForwardPermit {
    /// Whether the transaction goes to a source.
    pub const fn is_forwarding(&self) -> bool {
        self.0.is_some()
    }

    /// Forwards a transaction that is in its pool. The submission completes whether or not the answer is waited for. One
    /// that is in flight already is joined.
    pub fn send(self, submission: Submission, tx: impl FnOnce() -> ForwardedTx) -> SendAnswer {
        let Some((forwarding, permit)) = self.0 else { return SendAnswer::Now };
        let tx = tx();
        if submission == Submission::Repeat && forwarding.is_recently_acknowledged(&tx) {
            return SendAnswer::Now;
        }
        let (in_flight, answer) = forwarding.start(&tx);
        if let Some(in_flight) = in_flight {
            forwarding.runtime.spawn(async move {
                let _permit = permit;
                let outcome = in_flight.send().await;
                in_flight.complete(outcome, OnNoAnswer::Withdraw);
            });
        }
        answer
    }
}

/// The condition that the reply to a send waits for.
#[derive(Debug, Default)]
#[must_use = "a refusal is the client's answer"]
pub enum SendAnswer {
    /// Nothing.
    #[default]
    Now,
    /// The source's answer about the transaction, which may be a refusal.
    Source(SourceAnswer),
    /// The transaction's block, for a while.
    Block(BlockWait),
}

/// The source's answer about a transaction, which may not have arrived yet.
#[derive(Clone, Debug)]
pub struct SourceAnswer(watch::Receiver<Option<Outcome>>);

impl SendAnswer {
    /// Waits for it.
    ///
    /// # Errors
    /// The source does not have the transaction, and neither does the pool any more.
    pub async fn wait(self) -> Result<(), ForwardError> {
        match self {
            Self::Now => Ok(()),
            Self::Source(answer) => answer.outcome().await,
            Self::Block(wait) => {
                wait.over().await;
                Ok(())
            }
        }
    }
}

impl SourceAnswer {
    /// Waits for it.
    ///
    /// # Errors
    /// The source does not have the transaction, and neither does the pool any more.
    pub async fn outcome(mut self) -> Result<(), ForwardError> {
        let lost = || ForwardError::Unreachable("the call was lost".to_owned());
        let answered = self.0.wait_for(Option::is_some).await;
        let outcome = answered.ok().and_then(|outcome| outcome.clone());
        outcome.unwrap_or_else(|| Err(lost()))
    }
}
