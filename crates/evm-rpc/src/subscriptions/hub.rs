//! Distributes events of the chain to the connections.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use esker_evm::pool::{DroppedTx, PooledTx};
use esker_evm::printed::PrintedCall;
use esker_evm::view::{ChainEvent, ChainEvents, ChainReader};
use esker_primitives::Randomness;
use esker_primitives::sync::Mutex;
use esker_rpc::RpcError;
use tokio::sync::Notify;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::event::Event;
use super::kind::{Kind, NAMES, Source};
use super::{MAX_ALL_CRITERIA_BYTES, MAX_ALL_SUBSCRIPTIONS};

/// Transactions that become one event at most, where many become pending at once.
const MAX_TXS: usize = 256;

/// The subscriptions to one chain.
pub struct Subscriptions {
    pub(super) chain: Arc<dyn ChainReader>,
    events: Arc<dyn ChainEvents>,
    pub(super) randomness: Randomness,
    /// Connections that have subscriptions, or had.
    listeners: Mutex<BTreeMap<u64, Weak<dyn Listener>>>,
    pub(super) numbers: AtomicU64,
    is_running: AtomicBool,
    feeds: Mutex<Feeds>,
    has_feed: Arc<Notify>,
    all: AtomicUsize,
    by_kind: [AtomicUsize; NAMES.len()],
    criteria_bytes: AtomicUsize,
    pub(super) me: Weak<Self>,
}

/// A connection in the hub.
pub(super) trait Listener: Send + Sync {
    /// Puts an event of `bytes` into the inbox.
    fn push(&self, event: &Arc<Event>, bytes: usize);

    /// Events of this source were lost.
    fn mark_lagged(&self, source: Source);
}

/// Events of the pool and of calls.
#[derive(Debug, Default)]
struct Feeds {
    pending: Feed<PooledTx>,
    dropped: Feed<DroppedTx>,
    printed: Feed<PrintedCall>,
}

/// Events of one sort, which are sent only while there is a subscription.
#[derive(Debug)]
struct Feed<T> {
    subscriptions: usize,
    /// On its way to the task.
    receiver: Option<Receiver<T>>,
}

/// A slot among all subscriptions; given back when dropped.
#[derive(Debug)]
pub(super) struct Slot {
    hub: Arc<Subscriptions>,
    pub(super) bytes: usize,
    /// Where it counts as a subscription; empty until then.
    sources: [Option<Source>; 2],
    /// Its place in the counts by kind, once it is counted there.
    kind: Option<usize>,
}

/// A report of the pool about a transaction.
trait PoolItem: Clone {
    const SOURCE: Source;

    fn feed(feeds: &mut Feeds) -> &mut Feed<Self>;

    fn into_tx(self) -> PooledTx;
}

impl PoolItem for PooledTx {
    const SOURCE: Source = Source::Pending;

    fn feed(feeds: &mut Feeds) -> &mut Feed<Self> {
        &mut feeds.pending
    }

    fn into_tx(self) -> PooledTx {
        self
    }
}

impl PoolItem for DroppedTx {
    const SOURCE: Source = Source::Dropped;

    fn feed(feeds: &mut Feeds) -> &mut Feed<Self> {
        &mut feeds.dropped
    }

    fn into_tx(self) -> PooledTx {
        self.tx
    }
}

impl Feeds {
    /// Counts one more subscription. Returns whether the task needs a receiver now.
    fn add(&mut self, source: Source, events: &dyn ChainEvents) -> bool {
        match source {
            Source::Pending => self.pending.add(|| Some(events.pending_transactions())),
            Source::Dropped => self.dropped.add(|| Some(events.dropped_transactions())),
            Source::Printed => self.printed.add(|| events.printed_calls()),
            // Those of the chain are sent in any case.
            Source::Blocks | Source::RemovedLogs => false,
        }
    }

    /// Counts one subscription less.
    fn release(&mut self, source: Source) {
        match source {
            Source::Pending => self.pending.subscriptions -= 1,
            Source::Dropped => self.dropped.subscriptions -= 1,
            Source::Printed => self.printed.subscriptions -= 1,
            Source::Blocks | Source::RemovedLogs => {}
        }
    }
}

impl<T> Default for Feed<T> {
    fn default() -> Self {
        Self { subscriptions: 0, receiver: None }
    }
}

impl<T> Feed<T> {
    /// Counts one more subscription. Returns whether the task needs a receiver now.
    fn add(&mut self, receiver: impl FnOnce() -> Option<Receiver<T>>) -> bool {
        self.subscriptions += 1;
        let is_first = self.subscriptions == 1;
        if is_first {
            self.receiver = receiver();
        }
        is_first
    }
}

enum Received {
    HasFeed,
    Pending(Result<PooledTx, RecvError>),
    Dropped(Result<DroppedTx, RecvError>),
    Printed(Result<PrintedCall, RecvError>),
    Block(Result<ChainEvent, RecvError>),
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
            feeds: Mutex::default(),
            has_feed: Arc::default(),
            all: AtomicUsize::new(0),
            by_kind: Default::default(),
            criteria_bytes: AtomicUsize::new(0),
            me: Weak::clone(me),
        })
    }

    /// Whether the chain keeps what contracts print.
    pub(super) fn keeps_console(&self) -> bool {
        self.events.printed_calls().is_some()
    }

    /// Reserves a slot for one more subscription. From here on its connection gets events.
    pub(super) fn reserve(
        &self,
        listener: Weak<dyn Listener>,
        number: u64,
        kind: &Kind,
    ) -> Result<Slot, RpcError> {
        let hub = self.me.upgrade().ok_or_else(|| RpcError::new("the node is shutting down"))?;
        let mut slot = Slot { hub, bytes: kind.bytes(), sources: [None; 2], kind: None };
        let before = self.all.fetch_add(1, Ordering::Relaxed);
        let bytes = self.criteria_bytes.fetch_add(slot.bytes, Ordering::Relaxed) + slot.bytes;
        if before >= MAX_ALL_SUBSCRIPTIONS || bytes > MAX_ALL_CRITERIA_BYTES {
            return Err(RpcError::new("too many subscriptions on this node"));
        }
        slot.sources = kind.sources();
        slot.kind = Some(kind.index());
        self.by_kind[kind.index()].fetch_add(1, Ordering::Relaxed);
        if kind.has_events() {
            self.listeners.lock().entry(number).or_insert(listener);
            if !self.is_running.swap(true, Ordering::SeqCst) {
                let (hub, has_feed) = (Weak::clone(&self.me), Arc::clone(&self.has_feed));
                tokio::spawn(run(hub, has_feed, self.events.blocks()));
            }
        }
        let mut feeds = self.feeds.lock();
        for source in slot.sources.into_iter().flatten() {
            if feeds.add(source, &*self.events) {
                self.has_feed.notify_one();
            }
        }
        drop(feeds);
        Ok(slot)
    }

    /// Open subscriptions by kind, for metrics. The list of kinds is constant.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = self.by_kind.iter().map(|count| count.load(Ordering::Relaxed) as u64);
        NAMES.into_iter().zip(counts).collect()
    }

    pub(super) fn forget(&self, number: u64) {
        self.listeners.lock().remove(&number);
    }

    fn listeners(&self) -> Vec<Arc<dyn Listener>> {
        // A connection that ends meanwhile forgets itself, for which the lock has to be free again.
        self.listeners.lock().values().filter_map(Weak::upgrade).collect()
    }

    fn publish(&self, event: impl FnOnce() -> Event) {
        let listeners = self.listeners();
        if !listeners.is_empty() {
            let event = Arc::new(event());
            let bytes = event.bytes();
            listeners.iter().for_each(|listener| listener.push(&event, bytes));
        }
    }

    /// Events were lost before they came here. A subscriber would miss them unseen, so its connection is closed.
    fn disconnect_lagged(&self, source: Source) {
        tracing::warn!(?source, "subscribers missed events; their connections are closed");
        self.listeners().iter().for_each(|listener| listener.mark_lagged(source));
    }

    /// Takes the first received item from a feed, and all items that wait behind it.
    fn drain<T: PoolItem>(&self, first: Option<T>, feed: &mut Option<Receiver<T>>) {
        let dialect = self.chain.rules().dialect();
        let mut txs: Vec<_> = first.map(T::into_tx).into_iter().collect();
        while let Some(next) = feed.as_mut().map(Receiver::try_recv) {
            match next {
                Ok(item) => txs.push(item.into_tx()),
                Err(TryRecvError::Lagged(_)) => self.disconnect_lagged(T::SOURCE),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
            if txs.len() == MAX_TXS {
                let full = std::mem::take(&mut txs);
                self.publish(|| Event::pool(T::SOURCE, full, dialect));
            }
        }
        if !txs.is_empty() {
            self.publish(|| Event::pool(T::SOURCE, txs, dialect));
        }
        if T::feed(&mut self.feeds.lock()).subscriptions == 0 {
            *feed = None;
        }
    }

    fn printed(
        &self,
        call: Result<PrintedCall, RecvError>,
        feed: &mut Option<Receiver<PrintedCall>>,
    ) {
        match call {
            // A call that printed nothing is there for its calls.
            Ok(call) if call.console.is_empty() => {}
            Ok(call) => self.publish(|| Event::printed(call)),
            Err(RecvError::Lagged(_)) => self.disconnect_lagged(Source::Printed),
            Err(RecvError::Closed) => *feed = None,
        }
        if self.feeds.lock().printed.subscriptions == 0 {
            *feed = None;
        }
    }

    fn received<T: PoolItem>(&self, item: Result<T, RecvError>, feed: &mut Option<Receiver<T>>) {
        match item {
            Ok(first) => self.drain(Some(first), feed),
            Err(RecvError::Lagged(_)) => self.disconnect_lagged(T::SOURCE),
            Err(RecvError::Closed) => *feed = None,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.hub.all.fetch_sub(1, Ordering::Relaxed);
        self.hub.criteria_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        if let Some(kind) = self.kind {
            self.hub.by_kind[kind].fetch_sub(1, Ordering::Relaxed);
        }
        let mut feeds = self.hub.feeds.lock();
        self.sources.into_iter().flatten().for_each(|source| feeds.release(source));
    }
}

impl fmt::Debug for Subscriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriptions").field("all", &self.all).finish_non_exhaustive()
    }
}

/// Forwards every event to every connection, until the subscriptions themselves are gone.
async fn run(hub: Weak<Subscriptions>, has_feed: Arc<Notify>, mut blocks: Receiver<ChainEvent>) {
    let mut pending: Option<Receiver<PooledTx>> = None;
    let mut dropped: Option<Receiver<DroppedTx>> = None;
    let mut printed: Option<Receiver<PrintedCall>> = None;
    loop {
        // The pool reports a transaction before its block does, and that it is pending before it is dropped.
        let received = tokio::select! {
            biased;
            () = has_feed.notified() => Received::HasFeed,
            tx = next(&mut pending) => Received::Pending(tx),
            tx = next(&mut dropped) => Received::Dropped(tx),
            call = next(&mut printed) => Received::Printed(call),
            block = blocks.recv() => Received::Block(block),
        };
        let Some(hub) = hub.upgrade() else { return };
        match received {
            Received::HasFeed => {
                let mut feeds = hub.feeds.lock();
                pending = feeds.pending.receiver.take().or(pending);
                dropped = feeds.dropped.receiver.take().or(dropped);
                printed = feeds.printed.receiver.take().or(printed);
            }
            Received::Pending(tx) => hub.received(tx, &mut pending),
            Received::Dropped(tx) => hub.received(tx, &mut dropped),
            Received::Printed(call) => hub.printed(call, &mut printed),
            Received::Block(Ok(event)) => {
                // The pool reported before the block came, which may have been a moment ago.
                hub.drain(None, &mut pending);
                hub.drain(None, &mut dropped);
                let rules = hub.chain.rules();
                match event {
                    ChainEvent::Accepted(block) => hub.publish(|| Event::block(block, rules)),
                    ChainEvent::Removed(removed) if removed.logs.is_none() => {
                        hub.disconnect_lagged(Source::RemovedLogs);
                    }
                    ChainEvent::Removed(removed) => {
                        hub.publish(|| Event::removed(removed, rules.has_log_timestamps()));
                    }
                }
            }
            Received::Block(Err(RecvError::Lagged(_))) => hub.disconnect_lagged(Source::Blocks),
            Received::Block(Err(RecvError::Closed)) => return,
        }
    }
}

async fn next<T: Clone>(feed: &mut Option<Receiver<T>>) -> Result<T, RecvError> {
    match feed {
        Some(feed) => feed.recv().await,
        None => std::future::pending().await,
    }
}
