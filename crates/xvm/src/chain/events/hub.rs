//! The newest blocks, and who waits for more.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::Waker;

use esker_primitives::sync::Mutex;
use tokio::sync::Notify;

use super::BlockEvent;
use super::slots::Slots;

/// Newest blocks that are kept for all subscribers.
const MAX_RECENT_BLOCKS: usize = 256;
/// Bytes of them, with all their texts.
const MAX_RECENT_BYTES: usize = 32 << 20;
/// Blocks of a rewind that subscribers can be notified of.
pub(crate) const MAX_REMOVED_BLOCKS: usize = 4096;
/// Bytes of the blocks of all rewinds that are kept, with all their texts.
pub(crate) const MAX_REMOVED_BYTES: usize = 64 << 20;
/// Rewinds that are kept.
const MAX_REWINDS: usize = 64;

/// The position of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Rewinds since the start of the node.
    pub(crate) rewinds: u64,
    /// Height of the last accepted block.
    pub(crate) height: u64,
}

/// The next block for a subscriber at some position.
#[derive(Debug)]
pub(crate) enum NextBlock {
    /// The block at its height.
    Recent(Arc<BlockEvent>),
    /// That block has to be read from the store.
    Stored,
    /// There is no such block yet.
    None,
    /// The chain was rewound: these blocks were removed.
    Removed(Arc<Rewind>),
    /// The chain was rewound, and what was removed is not known any more.
    Lost,
}

/// A rewind of the chain.
#[derive(Debug)]
pub(crate) struct Rewind {
    /// Height of the last block that remained.
    pub(crate) to: u64,
    /// The removed blocks, newest first; the oldest ones may be missing.
    pub(crate) removed: Vec<Arc<BlockEvent>>,
    bytes: usize,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct EventHub {
    state: Mutex<State>,
    /// Connections that have subscriptions, and wait for blocks.
    waiting: Mutex<BTreeMap<u64, Waker>>,
    connections: AtomicUsize,
    slots: Arc<Slots>,
    has_news: Arc<Notify>,
    has_task: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    height: u64,
    rewinds: u64,
    /// Without gaps, the last accepted block being the last one.
    recent: VecDeque<Arc<BlockEvent>>,
    recent_bytes: usize,
    /// The last rewinds, the newest last.
    last_rewinds: VecDeque<Arc<Rewind>>,
}

impl Rewind {
    /// A rewind to a height. `removed` has the removed blocks, newest first.
    pub(crate) fn new(to: u64, removed: Vec<Arc<BlockEvent>>) -> Self {
        let bytes = removed.iter().fold(0, |sum: usize, event| sum.saturating_add(event.memory()));
        Self { to, removed, bytes }
    }
}

impl EventHub {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new_named("xvm.events", State::default()),
            waiting: Mutex::new_named("xvm.events.waiting", BTreeMap::new()),
            connections: AtomicUsize::new(0),
            slots: Arc::default(),
            has_news: Arc::default(),
            has_task: AtomicBool::new(false),
        })
    }

    /// Sets the height of the last accepted block, at the start.
    pub(crate) fn open(&self, height: u64) {
        self.state.lock().height = height;
    }

    /// The slots of subscriptions.
    pub(crate) fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    /// The position of the chain.
    pub(crate) fn place(&self) -> Place {
        let State { rewinds, height, .. } = *self.state.lock();
        Place { rewinds, height }
    }

    /// Whether any connection subscribes.
    pub(crate) fn has_subscribers(&self) -> bool {
        self.connections.load(Ordering::Relaxed) > 0
    }

    /// A block was accepted. The event is made only if there are subscribers.
    pub(crate) fn accepted(&self, height: u64, event: impl FnOnce() -> Option<BlockEvent>) {
        let event = self.has_subscribers().then(event).flatten();
        self.state.lock().add(height, event);
        self.has_news.notify_one();
    }

    /// The chain was rewound.
    pub(crate) fn rewound(&self, rewind: Rewind) {
        self.state.lock().rewind(rewind);
        self.has_news.notify_one();
    }

    /// The next block for a subscriber that has taken the blocks below a height, after a number of rewinds.
    pub(crate) fn next(&self, height: u64, rewinds: u64) -> NextBlock {
        self.state.lock().next(height, rewinds)
    }

    /// One more connection subscribes. Wakes it when something happens.
    pub(crate) fn join(self: &Arc<Self>) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        if !self.has_task.swap(true, Ordering::SeqCst) {
            let (hub, has_news) = (Arc::downgrade(self), Arc::clone(&self.has_news));
            tokio::spawn(wake_all(hub, has_news));
        }
    }

    /// A connection that subscribed ended.
    pub(crate) fn leave(&self, number: u64) {
        self.waiting.lock().remove(&number);
        if self.connections.fetch_sub(1, Ordering::Relaxed) == 1 {
            // Nobody reads what is kept for subscribers.
            let mut state = self.state.lock();
            state.recent.clear();
            state.recent_bytes = 0;
            state.last_rewinds.clear();
        }
    }

    /// Wakes a connection the next time that something happens.
    pub(crate) fn wait(&self, number: u64, waker: &Waker) {
        self.waiting.lock().insert(number, waker.clone());
    }

    /// Wakes a connection now.
    pub(crate) fn wake(&self, number: u64) {
        let waker = self.waiting.lock().remove(&number);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for EventHub {
    fn drop(&mut self) {
        // Ends the task.
        self.has_news.notify_one();
    }
}

/// Wakes the connections, away from the thread that accepts blocks.
async fn wake_all(hub: Weak<EventHub>, has_news: Arc<Notify>) {
    loop {
        has_news.notified().await;
        let Some(hub) = hub.upgrade() else { return };
        let waiting = std::mem::take(&mut *hub.waiting.lock());
        waiting.into_values().for_each(Waker::wake);
    }
}

impl State {
    fn add(&mut self, height: u64, event: Option<BlockEvent>) {
        self.height = height;
        let Some(event) = event else {
            self.recent.clear();
            self.recent_bytes = 0;
            return;
        };
        self.recent_bytes = self.recent_bytes.saturating_add(event.memory());
        self.recent.push_back(Arc::new(event));
        while self.recent.len() > MAX_RECENT_BLOCKS
            || (self.recent.len() > 1 && self.recent_bytes > MAX_RECENT_BYTES)
        {
            let oldest = self.recent.pop_front().map_or(0, |oldest| oldest.memory());
            self.recent_bytes = self.recent_bytes.saturating_sub(oldest);
        }
    }

    fn rewind(&mut self, rewind: Rewind) {
        self.rewinds = self.rewinds.saturating_add(1);
        self.height = rewind.to;
        while self.recent.back().is_some_and(|newest| newest.height > rewind.to) {
            let newest = self.recent.pop_back().map_or(0, |newest| newest.memory());
            self.recent_bytes = self.recent_bytes.saturating_sub(newest);
        }
        self.last_rewinds.push_back(Arc::new(rewind));
        let bytes = |kept: &VecDeque<Arc<Rewind>>| {
            kept.iter().fold(0, |sum: usize, rewind| sum.saturating_add(rewind.bytes))
        };
        while self.last_rewinds.len() > MAX_REWINDS
            || (self.last_rewinds.len() > 1 && bytes(&self.last_rewinds) > MAX_REMOVED_BYTES)
        {
            self.last_rewinds.pop_front();
        }
    }

    fn next(&self, height: u64, rewinds: u64) -> NextBlock {
        if rewinds < self.rewinds {
            return self.rewind_after(rewinds).map_or(NextBlock::Lost, NextBlock::Removed);
        }
        if height > self.height {
            return NextBlock::None;
        }
        let first = self.recent.front().map(|oldest| oldest.height);
        let at = first.and_then(|first| height.checked_sub(first));
        let recent = at.and_then(|at| self.recent.get(usize::try_from(at).ok()?));
        recent.map_or(NextBlock::Stored, |event| NextBlock::Recent(Arc::clone(event)))
    }

    /// The first rewind after a number of them.
    fn rewind_after(&self, rewinds: u64) -> Option<Arc<Rewind>> {
        let ago = usize::try_from(self.rewinds.checked_sub(rewinds)?).ok()?;
        let at = self.last_rewinds.len().checked_sub(ago)?;
        self.last_rewinds.get(at).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(height: u64) -> BlockEvent {
        BlockEvent {
            id: esker_primitives::Id::sha256(&height.to_be_bytes()),
            parent_id: esker_primitives::Id::ZERO,
            height,
            time_s: 0,
            bytes: bytes::Bytes::new(),
            is_removed: false,
            txs: Vec::new(),
            texts: Default::default(),
            tx_ids: Vec::new(),
        }
    }

    fn rewind(to: u64, from: u64) -> Rewind {
        let removed = (to.saturating_add(1)..=from).rev().map(|height| Arc::new(event(height)));
        Rewind::new(to, removed.collect())
    }

    fn shown(next: NextBlock) -> String {
        match next {
            NextBlock::Recent(event) => format!("recent {}", event.height),
            NextBlock::Stored => "stored".to_owned(),
            NextBlock::None => "none".to_owned(),
            NextBlock::Removed(rewind) => {
                let heights: Vec<u64> = rewind.removed.iter().map(|event| event.height).collect();
                format!("removed {heights:?} to {}", rewind.to)
            }
            NextBlock::Lost => "lost".to_owned(),
        }
    }

    #[test]
    fn the_newest_blocks_are_kept_and_others_come_from_the_store() {
        let mut state = State { height: 5, ..State::default() };
        assert_eq!(shown(state.next(6, 0)), "none");
        assert_eq!(shown(state.next(5, 0)), "stored");
        for height in 6..=6 + MAX_RECENT_BLOCKS as u64 {
            state.add(height, Some(event(height)));
        }
        assert_eq!(state.recent.len(), MAX_RECENT_BLOCKS);
        assert_eq!(shown(state.next(6, 0)), "stored");
        assert_eq!(shown(state.next(7, 0)), "recent 7");
        let last = 6 + MAX_RECENT_BLOCKS as u64;
        assert_eq!(shown(state.next(last, 0)), format!("recent {last}"));
        assert_eq!(shown(state.next(last + 1, 0)), "none");
        // A block without an event leaves no gap among those that are kept.
        state.add(last + 1, None);
        state.add(last + 2, Some(event(last + 2)));
        assert_eq!(shown(state.next(last, 0)), "stored");
        assert_eq!(shown(state.next(last + 1, 0)), "stored");
        assert_eq!(shown(state.next(last + 2, 0)), format!("recent {}", last + 2));
    }

    #[test]
    fn each_rewind_is_seen_in_its_order_and_too_many_are_lost() {
        let mut state = State::default();
        (1..=4).for_each(|height| state.add(height, Some(event(height))));
        state.rewind(rewind(2, 4));
        state.add(3, Some(event(3)));
        state.rewind(rewind(1, 3));
        assert_eq!(shown(state.next(5, 0)), "removed [4, 3] to 2");
        assert_eq!(shown(state.next(3, 1)), "removed [3, 2] to 1");
        assert_eq!(shown(state.next(2, 2)), "none");
        assert_eq!(shown(state.next(1, 2)), "recent 1");
        for _ in 0..MAX_REWINDS {
            state.rewind(rewind(1, 1));
        }
        assert_eq!(shown(state.next(5, 0)), "lost");
        assert_eq!(shown(state.next(3, 1)), "lost");
        assert_eq!(shown(state.next(2, 2)), "removed [] to 1");
    }
}
