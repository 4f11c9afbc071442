//! The chains of a node as one [`ChainMachine`].
//!
//! One thread ([`thread`]) owns the state ([`core`]) and executes calls in order: build, verify, finalize, drop.
//! Undecided bundles are kept in memory as a tree over the final state ([`tree`]): each adds a layer of write sets. A
//! final bundle is one write: all chains' blocks, state, indexes, shared memory, statuses and the final position.
//! Chains are notified after the commit, never before. Helper threads ([`prepare`]) check signatures of announced blocks
//! ahead of it.

mod core;
mod form;
mod prepare;
mod rewind;
mod start;
mod state;
mod thread;
mod tree;
mod undo;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use esker_primitives::clock::Clock;
use esker_primitives::sync::Mutex;
use esker_primitives::{ChainId, Id};
use esker_storage::{Scope, Store, WriteSet};
use tokio::sync::{Notify, broadcast};

use self::core::Attempt;
use self::prepare::PreparePool;
pub use self::rewind::Rewound;
pub(crate) use self::start::first_bundle;
pub use self::state::write_initial_rows;
use self::thread::{Job, MachineThread};
pub use self::undo::{Undo, UndoLimits};
use crate::bundle::{Bundle, BundleId};
use crate::engine::{ChainMachine, ProposeCtx};
use crate::error::{ChainError, FinalizeError, ProposeError, RewindError};
use crate::final_bundles::bundle_at;
use crate::snapshot::{PartSnapshot, SnapshotReader, SnapshotRefusal};
use crate::tables::{BUNDLE_HEIGHTS, HistoryStart, Position};
use crate::verdict::Verdict;
use crate::vm::{ChainVm, ExecutedBlock};

/// Events that a slow subscriber may lag behind. Then it loses the oldest and gets an error.
const EVENT_BACKLOG: usize = 1024;

/// Delay between two builds while the store can't be read, ms.
const READ_RETRY_MS: u64 = 1000;

/// Settings of the machine.
#[derive(Clone, Copy, Debug)]
pub struct MachineConfig {
    /// Verify each own proposal like another node's, and compare the results. On in debug builds and tests, where it
    /// finds differences between building and verifying.
    pub check_proposals: bool,
    /// Most undecided bundles that are kept.
    pub max_undecided: usize,
    /// Most bytes of undecided bundles with their write sets.
    pub max_undecided_bytes: usize,
    /// The first bundle of a new store.
    pub genesis: GenesisBundle,
    /// Whether undo rows of the last bundles are kept.
    pub undo: Undo,
    /// Bytes of undo rows that one write of a rewind restores. A longer rewind takes several writes.
    pub rewind_bytes: u64,
    /// No other node depends on this node's final bundles. Other machines never rewind.
    pub decides_alone: bool,
}

impl Default for MachineConfig {
    fn default() -> Self {
        Self {
            check_proposals: cfg!(debug_assertions),
            max_undecided: 256,
            max_undecided_bytes: 256 << 20,
            genesis: GenesisBundle::default(),
            undo: Undo::default(),
            rewind_bytes: 16 << 20,
            decides_alone: false,
        }
    }
}

/// Determines the bundle of height 0, which is the same on all nodes of a network.
#[derive(Clone, Copy, Debug)]
pub struct GenesisBundle {
    /// Hash of the network's ID and of the genesis chains' parameters. The bundle has it in place of a parent.
    pub parameters_hash: Id,
    /// The number of genesis chains: the first chains, whose genesis blocks are in the bundle. Later chains join a
    /// running network.
    pub chain_count: usize,
}

impl Default for GenesisBundle {
    /// All chains, without parameters.
    fn default() -> Self {
        Self { parameters_hash: Id::ZERO, chain_count: usize::MAX }
    }
}

/// Events for subscribers, in order, sent once they are durable.
#[derive(Clone, Debug)]
pub enum MachineEvent {
    /// A bundle became final.
    Accepted(AcceptedEvent),
    /// The last final bundles were rewound.
    Rewound(Rewound),
}

impl MachineEvent {
    /// The new final bundle, if this event has one.
    pub fn accepted(&self) -> Option<&AcceptedEvent> {
        match self {
            Self::Accepted(event) => Some(event),
            Self::Rewound(_) => None,
        }
    }
}

/// A bundle became final and durable.
#[derive(Clone, Debug)]
pub struct AcceptedEvent {
    /// Its ID.
    pub bundle_id: BundleId,
    /// Its height.
    pub height: u64,
    /// Acceptance time at this node, Unix ms.
    pub accepted_ms: u64,
    /// Time that the commit took, ms. Several bundles may share a commit, and later ones may have been executed
    /// during it.
    pub commit_ms: u64,
    /// Time that building or verifying its blocks took at this node, ms.
    pub execute_ms: u64,
    /// Its blocks.
    pub blocks: Vec<(ChainId, Arc<ExecutedBlock>)>,
}

/// Several chains as one [`ChainMachine`]. Create it with [`Machine::open`]. Dropping it waits for the running job of
/// its thread.
#[derive(Debug)]
pub struct Machine {
    chains: Vec<Arc<dyn ChainVm>>,
    store: Store,
    clock: Arc<dyn Clock>,
    genesis: Bundle,
    /// Chains notify it of work. It wakes one proposal,
    work: Arc<Notify>,
    /// which wakes the others: the work may be for another parent.
    proposals: Notify,
    shared: Arc<Shared>,
    thread: MachineThread,
    helpers: Arc<PreparePool>,
}

/// While one exists, the machine builds no bundle.
#[derive(Debug)]
pub struct BuildPause {
    shared: Arc<Shared>,
    work: Arc<Notify>,
}

impl Drop for BuildPause {
    fn drop(&mut self) {
        self.shared.pauses.fetch_sub(1, Ordering::SeqCst);
        self.work.notify_one();
    }
}

/// While it exists, the machine builds blocks of one chain only.
#[derive(Debug)]
pub struct OneChainOnly {
    shared: Arc<Shared>,
    work: Arc<Notify>,
}

impl Drop for OneChainOnly {
    fn drop(&mut self) {
        *self.shared.only.lock() = None;
        self.work.notify_one();
    }
}

/// State that the machine's thread shares with callers.
#[derive(Debug)]
struct Shared {
    last: Mutex<Position>,
    undecided: AtomicUsize,
    /// Number of [`BuildPause`]s.
    pauses: AtomicUsize,
    /// The chain of [`OneChainOnly`].
    only: Mutex<Option<ChainId>>,
    events: broadcast::Sender<MachineEvent>,
}

impl Shared {
    fn new(last: Position) -> Self {
        Self {
            last: Mutex::new_named("machine.last", last),
            undecided: AtomicUsize::new(0),
            pauses: AtomicUsize::new(0),
            only: Mutex::new_named("machine.only", None),
            events: broadcast::channel(EVENT_BACKLOG).0,
        }
    }

    fn set_last(&self, last: Position) {
        *self.last.lock() = last;
    }

    fn set_undecided(&self, bundles: usize) {
        self.undecided.store(bundles, Ordering::Release);
    }

    fn send(&self, event: MachineEvent) {
        // Without subscribers it is not an error.
        let _listeners = self.events.send(event);
    }
}

impl Machine {
    /// Opens a snapshot of the state after the last final bundle. `shared` is the shared memory's part. The view of the
    /// store stays open as long as the reader exists.
    pub fn open_snapshot(
        &self,
        shared: &dyn PartSnapshot,
    ) -> Result<SnapshotReader, SnapshotRefusal> {
        SnapshotReader::open(&self.chains, shared, &self.store)
    }

    /// The store, for its size.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The chains, in the order of their declaration.
    pub fn chains(&self) -> &[Arc<dyn ChainVm>] {
        &self.chains
    }

    /// Subscribes to further final bundles and rewinds.
    pub fn subscribe(&self) -> broadcast::Receiver<MachineEvent> {
        self.shared.events.subscribe()
    }

    /// Number of executed, undecided bundles.
    pub fn undecided(&self) -> usize {
        self.shared.undecided.load(Ordering::Acquire)
    }

    /// Lets this node build no bundle until the result is dropped. A bundle that is being built when this is called may
    /// still become final; a later [`Self::rewind`] drops it if it has not.
    pub fn pause_building(&self) -> BuildPause {
        self.shared.pauses.fetch_add(1, Ordering::SeqCst);
        BuildPause { shared: Arc::clone(&self.shared), work: Arc::clone(&self.work) }
    }

    /// Lets this node build blocks of one chain only until the result is dropped. There is one such restriction at a time:
    /// the caller sees to that.
    pub fn build_only(&self, chain: ChainId) -> OneChainOnly {
        *self.shared.only.lock() = Some(chain);
        OneChainOnly { shared: Arc::clone(&self.shared), work: Arc::clone(&self.work) }
    }

    /// Rewinds all final bundles above a height, in one write or, if they are many, in several: after a kill between two of
    /// them [`Self::open`] goes on. The store is then as it was when the bundle at that
    /// height became final; docs/protocol/bundles.md, "Rewinding bundles", lists the exceptions. Undecided bundles
    /// are dropped.
    ///
    /// # Errors
    /// The rewind failed; nothing has changed.
    pub async fn rewind(&self, to: u64) -> Result<Rewound, RewindError> {
        self.rewind_with(to, WriteSet::new()).await
    }

    /// Like [`Self::rewind`], with further changes of the store in the last write, also if there is nothing to
    /// rewind.
    ///
    /// # Errors
    /// See [`Self::rewind`].
    pub async fn rewind_with(&self, to: u64, also: WriteSet) -> Result<Rewound, RewindError> {
        self.thread.call(|reply| Job::Rewind { last: None, to, also, reply }).await?
    }

    /// Like [`Self::rewind`], if the last bundle is still this one.
    ///
    /// # Errors
    /// See [`Self::rewind`], and [`RewindError::NotLast`].
    pub async fn rewind_from(&self, last: BundleId, to: u64) -> Result<Rewound, RewindError> {
        let (last, also) = (Some(last), WriteSet::new());
        self.thread.call(|reply| Job::Rewind { last, to, also, reply }).await?
    }

    /// Sets whether undo rows are kept for further final bundles. Rows beyond the new limits are deleted, in commits
    /// of limited size.
    ///
    /// # Errors
    /// Other nodes decide too, or the store fails. After a failure of the store the setting is in effect, and the
    /// next call or the next start deletes the remaining rows.
    pub async fn set_undo(&self, undo: Undo) -> Result<(), RewindError> {
        self.thread.call(|reply| Job::SetUndo { undo, reply }).await?
    }

    /// The lowest height that [`Self::rewind`] can reach; `None` if the last bundle can't be rewound.
    pub async fn lowest_rewind(&self) -> Result<Option<u64>, ChainError> {
        self.thread.call(|reply| Job::LowestRewind { reply }).await
    }

    /// Executes blocks of any origin on the state after a known bundle, and keeps them as a new bundle with the
    /// current time and the commitment of the state. Returns the bundle, or the verdict on it.
    ///
    /// # Errors
    /// See [`ChainMachine::verify`].
    pub async fn compose(
        &self,
        parent: &BundleId,
        blocks: Vec<(ChainId, Bytes)>,
    ) -> Result<Result<Bundle, Verdict>, ChainError> {
        let parent = *parent;
        self.thread.call(|reply| Job::Compose { parent, blocks, reply }).await?
    }

    async fn attempt(
        &self,
        at: &ProposeCtx<'_>,
        is_empty_allowed: bool,
    ) -> Result<Attempt, ProposeError> {
        let (parent, height) = (at.parent, at.height);
        let ancestry = at.ancestry.to_vec();
        let job = |reply| Job::Build { parent, ancestry, height, is_empty_allowed, reply };
        self.thread.call(job).await?
    }
}

#[async_trait]
impl ChainMachine for Machine {
    fn genesis(&self) -> Bundle {
        self.genesis.clone()
    }

    fn last_final(&self) -> (u64, BundleId) {
        let last = self.shared.last.lock();
        (last.height, last.id)
    }

    async fn propose(&self, at: ProposeCtx<'_>) -> Result<Option<Bundle>, ProposeError> {
        let mut has_failed = false;
        loop {
            let work = self.work.notified();
            let mut others = pin!(self.proposals.notified());
            // From here on no wake-up is lost.
            others.as_mut().enable();
            if let Some(until) = self.chains.iter().filter_map(|vm| vm.gathers_until()).max() {
                // Not woken by each transaction that comes.
                tokio::time::sleep_until(until).await;
                continue;
            }
            let (wake_ms, failed) = match self.attempt(&at, false).await {
                Ok(Attempt::Bundle(bundle, _)) => return Ok(Some(bundle)),
                Ok(Attempt::Nothing) => (at.wait_until_ms, None),
                Ok(Attempt::Later(ms)) => (ms.min(at.wait_until_ms), None),
                Err(ProposeError::Chain(error @ ChainError::Storage(_)))
                    if error.is_temporary() =>
                {
                    if !std::mem::replace(&mut has_failed, true) {
                        tracing::error!(%error, "building a bundle failed; retrying");
                    }
                    let retry_ms = self.clock.now_ms().saturating_add(READ_RETRY_MS);
                    (retry_ms.min(at.wait_until_ms), Some(error))
                }
                Err(error) => return Err(error),
            };
            if self.clock.now_ms() >= at.wait_until_ms {
                return failed.map_or(Ok(None), |error| Err(error.into()));
            }
            tokio::select! {
                () = work => self.proposals.notify_waiters(),
                () = others => {}
                () = self.clock.sleep_until(wake_ms) => {}
            }
        }
    }

    async fn propose_now(&self, at: ProposeCtx<'_>) -> Result<Bundle, ProposeError> {
        loop {
            let work = self.work.notified();
            let mut others = pin!(self.proposals.notified());
            others.as_mut().enable();
            if let Attempt::Bundle(bundle, _) = self.attempt(&at, true).await? {
                return Ok(bundle);
            }
            // Building is paused. The end of the pause wakes one proposal.
            tokio::select! {
                () = work => self.proposals.notify_waiters(),
                () = others => {}
            }
        }
    }

    fn prepare(&self, blocks: &[(ChainId, Bytes)]) {
        for (id, block) in blocks {
            if let Some(chain) = self.chains.iter().find(|chain| chain.context().chain_id == *id) {
                self.helpers.prepare(chain, block);
            }
        }
    }

    async fn verify(&self, ancestry: &[Bundle], bundle: &Bundle) -> Result<Verdict, ChainError> {
        let (ancestry, bundle) = (ancestry.to_vec(), bundle.clone());
        self.thread.call(|reply| Job::Verify { ancestry, bundle, reply }).await?
    }

    async fn finalize_all(
        &self,
        bundles: Vec<(Bundle, Option<Bytes>)>,
    ) -> Result<(), FinalizeError> {
        self.thread.call(|reply| Job::Finalize { bundles, reply }).await?
    }

    async fn finalize_blocks(
        &self,
        on: &BundleId,
        blocks: Vec<(ChainId, Bytes)>,
    ) -> Result<(), FinalizeError> {
        let on = *on;
        self.thread.call(|reply| Job::FinalizeBlocks { on, blocks, reply }).await?
    }

    async fn abandon(&self, id: &BundleId) -> Result<usize, ChainError> {
        let id = *id;
        self.thread.call(|reply| Job::Abandon { id, reply }).await
    }

    async fn notarized(&self, id: &BundleId) -> Result<(), ChainError> {
        let id = *id;
        self.thread.call(|reply| Job::Notarize { id, reply }).await
    }

    fn bundle_at(&self, height: u64) -> Result<Option<(Bundle, Option<Bytes>)>, ChainError> {
        bundle_at(&self.chains, &self.store, height)
    }

    fn history_start(&self) -> Result<u64, ChainError> {
        Ok(HistoryStart::read(self.store.snapshot()?.as_ref())?.bundle)
    }

    fn height_of(&self, id: &BundleId) -> Result<Option<u64>, ChainError> {
        let (last, last_id) = self.last_final();
        if last_id == *id {
            return Ok(Some(last));
        }
        if self.genesis.id() == *id {
            return Ok(Some(0));
        }
        let reader = self.store.snapshot()?;
        Ok(BUNDLE_HEIGHTS.get(reader.as_ref(), Scope::NODE, id.as_bytes())?)
    }
}
