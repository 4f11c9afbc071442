//! From the chain to the connections.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use esker_evm::chain::AcceptedBlock;
use esker_evm::pool::PooledTx;
use esker_evm::view::{ChainEvents, ChainReader};
use esker_primitives::Randomness;
use esker_primitives::sync::Mutex;
use esker_rpc::RpcError;
use esker_rpc::evm::{Notifier, Session};
use tokio::sync::Notify;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::event::Event;
use super::kind::{Kind, Source};
use super::session::Connected;
use super::{MAX_ALL_CRITERIA_BYTES, MAX_ALL_SUBSCRIPTIONS};

/// Transactions that become one event at most, where many become pending at once.
const MAX_TXS: usize = 256;

/// The subscriptions to one chain.
pub struct Subscriptions {
    pub(super) chain: Arc<dyn ChainReader>,
    events: Arc<dyn ChainEvents>,
    pub(super) randomness: Randomness,
    /// Connections that have subscriptions, or had.
    listeners: Mutex<BTreeMap<u64, Weak<Connected>>>,
    numbers: AtomicU64,
    is_running: AtomicBool,
    pool: Mutex<PoolState>,
    has_pool: Arc<Notify>,
    all: AtomicUsize,
    criteria_bytes: AtomicUsize,
    me: Weak<Self>,
}

/// The pool tells only while somebody wants to hear.
#[derive(Debug, Default)]
struct PoolState {
    subscriptions: usize,
    /// On its way to the task.
    receiver: Option<Receiver<PooledTx>>,
}

/// A place among all subscriptions; given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    hub: Arc<Subscriptions>,
    pub(super) bytes: usize,
    source: Source,
}

enum Heard {
    HasPool,
    Pending(Result<PooledTx, RecvError>),
    Block(Result<Arc<AcceptedBlock>, RecvError>),
}

impl Subscriptions {
    /// Subscriptions to what happens on `chain`. Their task begins with the first one.
    pub fn new(
        chain: Arc<dyn ChainReader>,
        events: Arc<dyn ChainEvents>,
        randomness: Randomness,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            chain,
            events,
            randomness,
            listeners: Mutex::new_named("evm.subscriptions", BTreeMap::new()),
            numbers: AtomicU64::new(0),
            is_running: AtomicBool::new(false),
            pool: Mutex::default(),
            has_pool: Arc::default(),
            all: AtomicUsize::new(0),
            criteria_bytes: AtomicUsize::new(0),
            me: Weak::clone(me),
        })
    }

    /// A place for one more subscription. From here on its connection hears of what happens.
    pub(super) fn place(
        &self,
        listener: &Weak<Connected>,
        number: u64,
        kind: &Kind,
    ) -> Result<Place, RpcError> {
        let hub = self.me.upgrade().ok_or_else(|| RpcError::new("the node is shutting down"))?;
        let mut place = Place { hub, bytes: kind.bytes(), source: Source::Nothing };
        let before = self.all.fetch_add(1, Ordering::Relaxed);
        let bytes = self.criteria_bytes.fetch_add(place.bytes, Ordering::Relaxed) + place.bytes;
        if before >= MAX_ALL_SUBSCRIPTIONS || bytes > MAX_ALL_CRITERIA_BYTES {
            return Err(RpcError::new("too many subscriptions on this node"));
        }
        place.source = kind.source();
        if place.source != Source::Nothing {
            self.listeners.lock().entry(number).or_insert_with(|| Weak::clone(listener));
            if !self.is_running.swap(true, Ordering::SeqCst) {
                let (hub, has_pool) = (Weak::clone(&self.me), Arc::clone(&self.has_pool));
                tokio::spawn(run(hub, has_pool, self.events.accepted_blocks()));
            }
        }
        if place.source == Source::Pool {
            let mut pool = self.pool.lock();
            pool.subscriptions += 1;
            if pool.subscriptions == 1 {
                pool.receiver = Some(self.events.pending_transactions());
                self.has_pool.notify_one();
            }
        }
        Ok(place)
    }

    pub(super) fn forget(&self, number: u64) {
        self.listeners.lock().remove(&number);
    }

    fn listeners(&self) -> Vec<Arc<Connected>> {
        // A connection that ends meanwhile forgets itself, for which the lock has to be free again.
        self.listeners.lock().values().filter_map(Weak::upgrade).collect()
    }

    fn tell(&self, event: impl FnOnce() -> Event) {
        let listeners = self.listeners();
        if !listeners.is_empty() {
            let event = Arc::new(event());
            let bytes = event.bytes();
            listeners.iter().for_each(|listener| listener.hear(&event, bytes));
        }
    }

    /// What was to be told got lost on the way here: who goes on as if nothing had happened would miss it.
    fn lose(&self, source: Source) {
        tracing::warn!(?source, "subscribers missed events and are sent away");
        self.listeners().iter().for_each(|listener| listener.lose(source));
    }

    /// Tells of this transaction and of all that wait behind it.
    fn pending(&self, first: PooledTx, pool: &mut Option<Receiver<PooledTx>>) {
        let mut txs = vec![first];
        while let Some(next) = pool.as_mut().map(Receiver::try_recv) {
            match next {
                Ok(tx) => txs.push(tx),
                Err(TryRecvError::Lagged(_)) => self.lose(Source::Pool),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
            if txs.len() == MAX_TXS {
                let full = std::mem::take(&mut txs);
                self.tell(|| Event::pending(full));
            }
        }
        if !txs.is_empty() {
            self.tell(|| Event::pending(txs));
        }
        if self.pool.lock().subscriptions == 0 {
            *pool = None;
        }
    }
}

impl Notifier for Subscriptions {
    fn connect(&self) -> Arc<dyn Session> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        Connected::new(self.me.upgrade(), number)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.hub.all.fetch_sub(1, Ordering::Relaxed);
        self.hub.criteria_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        if self.source == Source::Pool {
            self.hub.pool.lock().subscriptions -= 1;
        }
    }
}

impl fmt::Debug for Subscriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriptions").field("all", &self.all).finish_non_exhaustive()
    }
}

/// Tells everybody of everything, until the subscriptions themselves are gone.
async fn run(
    hub: Weak<Subscriptions>,
    has_pool: Arc<Notify>,
    mut blocks: Receiver<Arc<AcceptedBlock>>,
) {
    let mut pool: Option<Receiver<PooledTx>> = None;
    loop {
        // Of a transaction the pool tells first.
        let heard = tokio::select! {
            biased;
            () = has_pool.notified() => Heard::HasPool,
            tx = next(&mut pool) => Heard::Pending(tx),
            block = blocks.recv() => Heard::Block(block),
        };
        let Some(hub) = hub.upgrade() else { return };
        match heard {
            Heard::HasPool => pool = hub.pool.lock().receiver.take().or(pool),
            Heard::Pending(Ok(first)) => hub.pending(first, &mut pool),
            Heard::Pending(Err(RecvError::Lagged(_))) => hub.lose(Source::Pool),
            Heard::Pending(Err(RecvError::Closed)) => pool = None,
            Heard::Block(Ok(block)) => {
                // It told before the block came, which may have been a moment ago.
                if let Some(Ok(first)) = pool.as_mut().map(Receiver::try_recv) {
                    hub.pending(first, &mut pool);
                }
                hub.tell(|| Event::block(block));
            }
            Heard::Block(Err(RecvError::Lagged(_))) => hub.lose(Source::Blocks),
            Heard::Block(Err(RecvError::Closed)) => return,
        }
    }
}

async fn next(pool: &mut Option<Receiver<PooledTx>>) -> Result<PooledTx, RecvError> {
    match pool {
        Some(pool) => pool.recv().await,
        None => std::future::pending().await,
    }
}
