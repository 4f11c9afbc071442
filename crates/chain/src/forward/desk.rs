//! Passes transactions on, and takes those that were refused out of their pools again.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use esker_primitives::clock::Clock;
use esker_primitives::sync::Mutex;
use esker_primitives::{ChainId, Id};
use esker_rpc::{ReplyWait, RpcError};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::{ForwardError, ForwardPool, ForwardedTx, TxForwarder, TxKind};

/// Offers that are remembered, so that they are not repeated too early. Others may be.
const MAX_REMEMBERED: usize = 65_536;

/// How long they are remembered, in intervals of offers.
const REMEMBERED_INTERVALS: u64 = 10;

/// Between two looks at whether a transaction's turn has come.
const TURN_POLL: Duration = Duration::from_millis(50);

/// Limits of forwarding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardLimits {
    /// Transactions of clients that wait for the source's answer.
    pub max_in_flight: usize,
    /// How long each waits.
    pub deadline: Duration,
    /// How long after an offer a transaction that still waits is offered again, ms.
    pub reoffer_after_ms: u64,
    /// Transactions that one round offers again.
    pub reoffer_batch: usize,
    /// How long a block may take that holds a transaction which the source refused to take again.
    pub block_delay: Duration,
}

impl Default for ForwardLimits {
    fn default() -> Self {
        Self {
            max_in_flight: 256,
            deadline: Duration::from_secs(10),
            reoffer_after_ms: 30_000,
            reoffer_batch: 256,
            block_delay: Duration::from_secs(2),
        }
    }
}

/// A transaction by chain, pool and ID.
type OfferKey = (ChainId, TxKind, Id);

type Outcome = Result<(), ForwardError>;

const fn key_of(tx: &ForwardedTx) -> OfferKey {
    (tx.chain, tx.kind.pool(), tx.id)
}

/// Passes the transactions of all chains on.
#[derive(Debug)]
pub struct Forwarding {
    me: Weak<Self>,
    forwarder: Arc<dyn TxForwarder>,
    clock: Arc<dyn Clock>,
    runtime: Handle,
    pub(super) limits: ForwardLimits,
    slots: Arc<Semaphore>,
    pools: Mutex<BTreeMap<(ChainId, TxKind), Arc<dyn ForwardPool>>>,
    offers: Mutex<Offers>,
}

#[derive(Debug, Default)]
struct Offers {
    /// The source's answers that are on their way.
    in_flight: HashMap<OfferKey, watch::Receiver<Option<Outcome>>>,
    /// When the source took a transaction last, Unix ms.
    taken_ms: HashMap<OfferKey, u64>,
}

/// An offer that is on its way. Dropping it leaves the transaction in its pool.
#[derive(Debug)]
pub(super) struct Offer {
    forwarding: Arc<Forwarding>,
    tx: ForwardedTx,
    sender: watch::Sender<Option<Outcome>>,
}

/// Whether a transaction waited in its pool before it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It did not.
    First,
    /// It did: if the source took it lately, it is not asked again.
    Again,
}

/// What becomes of a transaction that was not taken, and not refused either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IfUnanswered {
    Withdraw,
    Keep,
}

impl Forwarding {
    /// Passes transactions on to `forwarder`, by tasks of `runtime`.
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
            slots: Arc::new(Semaphore::new(limits.max_in_flight)),
            pools: Mutex::new_named("chain.forward-pools", BTreeMap::new()),
            offers: Mutex::new_named("chain.forward", Offers::default()),
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
        self.limits.max_in_flight.saturating_sub(self.slots.available_permits())
    }

    /// Takes a place for a transaction that a client sends.
    ///
    /// # Errors
    /// The node is read-only, or all places are taken.
    pub fn reserve(&self) -> Result<ForwardSlot, ForwardError> {
        if self.is_read_only() {
            return Err(ForwardError::ReadOnly);
        }
        let busy = |_| ForwardError::Busy(self.limits.max_in_flight);
        let permit = Arc::clone(&self.slots).try_acquire_owned().map_err(busy)?;
        Ok(ForwardSlot(self.me.upgrade().map(|forwarding| (forwarding, permit))))
    }

    /// All pools.
    pub(super) fn pools(&self) -> Vec<Arc<dyn ForwardPool>> {
        self.pools.lock().values().cloned().collect()
    }

    fn pool_of(&self, tx: &ForwardedTx) -> Option<Arc<dyn ForwardPool>> {
        self.pools.lock().get(&(tx.chain, tx.kind.pool())).cloned()
    }

    /// Whether a transaction is not on its way, and the source was not asked lately.
    pub(super) fn is_due(&self, tx: &ForwardedTx) -> bool {
        let (key, now_ms) = (key_of(tx), self.clock.now_ms());
        let offers = self.offers.lock();
        !offers.in_flight.contains_key(&key) && !self.is_recent(&offers, &key, now_ms)
    }

    fn was_taken_lately(&self, tx: &ForwardedTx) -> bool {
        let (key, now_ms) = (key_of(tx), self.clock.now_ms());
        let offers = self.offers.lock();
        !offers.in_flight.contains_key(&key) && self.is_recent(&offers, &key, now_ms)
    }

    fn is_recent(&self, offers: &Offers, key: &OfferKey, now_ms: u64) -> bool {
        let taken_ms = offers.taken_ms.get(key);
        taken_ms.is_some_and(|then| {
            now_ms >= *then && now_ms.saturating_sub(*then) < self.limits.reoffer_after_ms
        })
    }

    /// Whether the source took a transaction, and no offer of it is on its way.
    pub fn is_taken(&self, chain: ChainId, kind: TxKind, id: Id) -> bool {
        let key = (chain, kind.pool(), id);
        let offers = self.offers.lock();
        offers.taken_ms.contains_key(&key) && !offers.in_flight.contains_key(&key)
    }

    /// Forgets what the source took long ago: what still waits was offered again since.
    pub(super) fn forget_old_offers(&self) {
        let limit_ms = self.limits.reoffer_after_ms.saturating_mul(REMEMBERED_INTERVALS);
        let now_ms = self.clock.now_ms();
        let mut offers = self.offers.lock();
        offers
            .taken_ms
            .retain(|_, then| now_ms >= *then && now_ms.saturating_sub(*then) < limit_ms);
    }

    /// Begins an offer, or joins the one that is on its way.
    pub(super) fn begin(&self, tx: &ForwardedTx) -> (Option<Offer>, SourceAnswer) {
        let key = key_of(tx);
        let mut offers = self.offers.lock();
        if let Some(answer) = offers.in_flight.get(&key) {
            return (None, SourceAnswer(Some(answer.clone())));
        }
        let Some(forwarding) = self.me.upgrade() else { return (None, SourceAnswer(None)) };
        let (sender, answer) = watch::channel(None);
        offers.in_flight.insert(key, answer.clone());
        (Some(Offer { forwarding, tx: tx.clone(), sender }), SourceAnswer(Some(answer)))
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }
}

impl Offer {
    pub(super) const fn tx(&self) -> &ForwardedTx {
        &self.tx
    }

    /// Asks the source.
    pub(super) async fn ask(&self) -> Outcome {
        let Self { forwarding, tx, .. } = self;
        let deadline = forwarding.limits.deadline;
        let pool = forwarding.pool_of(tx);
        let must_wait = || pool.as_ref().is_some_and(|pool| pool.must_wait(&tx.id));
        let asked = tokio::time::timeout(deadline, async {
            while must_wait() {
                tokio::time::sleep(TURN_POLL).await;
            }
            forwarding.forwarder.forward(tx.clone()).await
        });
        match asked.await {
            Ok(outcome) => outcome,
            Err(_) if must_wait() => Err(ForwardError::NotInOrder),
            Err(_) => Err(ForwardError::TimedOut(deadline.as_millis())),
        }
    }

    /// Ends the offer: a transaction that the source does not have leaves its pool, unless a block holds it. Returns
    /// whether it left.
    pub(super) fn settle(self, outcome: Outcome, if_unanswered: IfUnanswered) -> bool {
        let pool = self.forwarding.pool_of(&self.tx);
        let key = key_of(&self.tx);
        // Locked, so that whoever pools the transaction anew begins an offer of its own.
        let mut offers = self.forwarding.offers.lock();
        let is_in_block = || pool.as_ref().is_some_and(|pool| pool.is_in_block(&self.tx.id));
        let outcome = match outcome {
            Err(error) if error.is_known() || is_in_block() => Ok(()),
            outcome => outcome,
        };
        let mut is_withdrawn = false;
        match &outcome {
            Ok(()) if offers.taken_ms.len() < MAX_REMEMBERED => {
                offers.taken_ms.insert(key, self.forwarding.now_ms());
            }
            Err(error) if error.is_final() || if_unanswered == IfUnanswered::Withdraw => {
                let ForwardedTx { chain, kind, id, .. } = &self.tx;
                tracing::debug!(%chain, ?kind, %id, %error, "the source did not accept a transaction");
                if let Some(pool) = &pool {
                    pool.withdraw(id, error);
                }
                is_withdrawn = true;
            }
            Ok(()) | Err(_) => {}
        }
        offers.in_flight.remove(&key);
        drop(offers);
        self.sender.send_replace(Some(outcome));
        is_withdrawn
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        let mut offers = self.forwarding.offers.lock();
        let key = key_of(&self.tx);
        // After `settle` another offer of the transaction may be on its way.
        if self.sender.borrow().is_none() {
            offers.in_flight.remove(&key);
        }
    }
}

/// A place among the transactions that wait for the source's answer, taken before one is checked. On a node that decides
/// itself it stands for nothing.
#[derive(Debug, Default)]
pub struct ForwardSlot(Option<(Arc<Forwarding>, OwnedSemaphorePermit)>);

impl ForwardSlot {
    /// Passes a transaction on that was taken into its pool. The offer ends whether or not the answer is waited for. One
    /// that is on its way already is joined.
    pub fn send(self, sent: Sent, tx: impl FnOnce() -> ForwardedTx) -> SourceAnswer {
        let Some((forwarding, permit)) = self.0 else { return SourceAnswer(None) };
        let tx = tx();
        if sent == Sent::Again && forwarding.was_taken_lately(&tx) {
            return SourceAnswer(None);
        }
        let (offer, answer) = forwarding.begin(&tx);
        if let Some(offer) = offer {
            forwarding.runtime.spawn(async move {
                let _permit = permit;
                let outcome = offer.ask().await;
                offer.settle(outcome, IfUnanswered::Withdraw);
            });
        }
        answer
    }
}

/// The source's answer about a transaction, which may be on its way.
#[derive(Clone, Debug, Default)]
#[must_use = "a refusal is the client's answer"]
pub struct SourceAnswer(Option<watch::Receiver<Option<Outcome>>>);

impl SourceAnswer {
    /// Waits for the answer. Without a source there is nothing to wait for.
    ///
    /// # Errors
    /// The source does not have the transaction, and neither does the pool any more.
    pub async fn wait(self) -> Result<(), ForwardError> {
        let Some(mut answer) = self.0 else { return Ok(()) };
        let lost = || ForwardError::Unreachable("the call was lost".to_owned());
        let answered = answer.wait_for(Option::is_some).await;
        let outcome = answered.ok().and_then(|outcome| outcome.clone());
        outcome.unwrap_or_else(|| Err(lost()))
    }

    /// What a reply waits for, if anything.
    pub fn into_reply_wait(self) -> Option<ReplyWait> {
        self.0.is_some().then(|| {
            let wait: ReplyWait =
                Box::pin(async move { self.wait().await.map_err(RpcError::from) });
            wait
        })
    }
}
