//! The state that the machine's thread owns, and its operations: build, verify, finalize, drop.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use esker_primitives::clock::Clock;
use esker_primitives::{ChainId, Id, thread_memory};
use esker_storage::{
    KvRead, KvWrite, Overlay, PendingWrites, QueuedCommit, Scope, Store, WriteSet,
};
use tokio::sync::Notify;
use tracing::debug;

use super::prepare::PreparePool;
use super::tree::{Node, Tree};
use super::undo::{NewRow, UndoLog};
use super::{AcceptedEvent, MachineConfig, MachineEvent, Shared, form};
use crate::bundle::{Bundle, BundleId};
use crate::commitment::{StateChange, StateTables};
use crate::engine::Shutdown;
use crate::error::{BlockError, ChainError, FinalizeError, ProposeError};
use crate::final_bundles::bundle_at;
use crate::tables::{
    BUNDLE_HEIGHTS, BUNDLES, BundleRecord, HistoryStart, POSITION, Position, UndoRow,
};
use crate::verdict::Verdict;
use crate::vm::{BuildContext, Built, ChainVm, ExecutedBlock};

/// Bytes of final writes after which this thread gives the memory that it has freed back to the system.
const RELEASE_BYTES: usize = 16 << 20;

/// Bytes of bundles and write sets at which a commit is full. While it is written, the next bundles are executed, and
/// each of their reads looks into the write set of each bundle that is not final.
const MAX_COMMIT_BYTES: usize = 4 << 20;
/// Most bundles of a commit.
const MAX_COMMIT_LEN: usize = 64;

/// The result of building on a parent.
#[derive(Debug)]
pub(super) enum Attempt {
    /// A bundle, and whether it is new.
    Bundle(Bundle, bool),
    /// No chain has work.
    Nothing,
    /// A block with the pending work is valid only from this Unix time in ms.
    Later(u64),
}

/// The state after a parent, for building and verifying.
struct ParentState {
    state: Overlay,
    /// The undecided bundles up to the parent, newest first.
    path: Vec<Arc<Node>>,
    now_ms: u64,
    has_undecided: bool,
}

impl ParentState {
    fn context(&self, chain: usize) -> BuildContext {
        let blocks = self.path.iter().filter_map(|node| node.block_of(chain));
        let Self { now_ms, has_undecided, .. } = *self;
        BuildContext { now_ms, ancestors: blocks.cloned().collect(), has_undecided }
    }
}

/// The next blocks or bundles to become final.
#[derive(Debug)]
pub(super) enum Decision {
    /// A bundle with its proof.
    Bundle(Bundle, Option<Bytes>),
    /// A block, in a bundle of its own that the machine makes.
    Block(ChainId, Bytes),
}

/// A decided bundle with its proof, before its commit.
type DecidedBundle = (Arc<Node>, Option<Bytes>);

/// Blocks of a bundle by the index of their chain.
type ExecutedBlocks = Vec<(usize, Arc<ExecutedBlock>)>;

/// A commit that the writer has not finished.
struct PendingCommit {
    group: Vec<DecidedBundle>,
    queued: QueuedCommit,
    undo: Option<NewRow>,
    accepted_ms: u64,
}

/// Chains, store and the tree of undecided bundles. One thread owns it, so no job interrupts another.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) chains: Vec<Arc<dyn ChainVm>>,
    pub(super) state_tables: StateTables,
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) config: MachineConfig,
    pub(super) tree: Tree,
    pub(super) undo: UndoLog,
    pub(super) shared: Arc<Shared>,
    /// Wakes a proposal.
    pub(super) work: Arc<Notify>,
    /// Triggered when the machine is closed.
    pub(super) closing: Shutdown,
    pub(super) helpers: Arc<PreparePool>,
    /// The state of the store is unknown after a failed write. All further calls fail.
    pub(super) is_lost: bool,
    /// Bytes of final writes since this thread gave free memory back.
    pub(super) written_bytes: usize,
}

impl Core {
    /// The state after a known bundle.
    fn state_after(&self, id: &BundleId) -> Result<Option<ParentState>, ChainError> {
        let Some(path) = self.tree.path_to(id) else { return Ok(None) };
        let layers = path.iter().flat_map(|node| node.writes().rev()).collect();
        let state = Overlay::new(self.store.snapshot()?, layers);
        let (now_ms, has_undecided) = (self.clock.now_ms(), self.tree.len() > 0);
        Ok(Some(ParentState { state, path, now_ms, has_undecided }))
    }

    /// Builds one block of each chain that has work, on the state after `parent`. Without work the result is a bundle
    /// without blocks if `is_empty_allowed`.
    pub(super) fn build(
        &mut self,
        id: &BundleId,
        ancestry: &[Bundle],
        height: u64,
        is_empty_allowed: bool,
    ) -> Result<Attempt, ProposeError> {
        if self.shared.pauses.load(Ordering::SeqCst) > 0 {
            return Ok(Attempt::Nothing);
        }
        let verdict = self.reach(id, ancestry)?;
        let place = self.tree.place(id).filter(|_| verdict == Verdict::Valid);
        let Some(place) = place else {
            return Err(ProposeError::Parent { id: *id, verdict });
        };
        if place.height.checked_add(1) != Some(height) {
            return Err(ProposeError::Height { wanted: height, parent: place.height });
        }
        self.ensure_room(0)?;
        let Some(parent) = self.state_after(id)? else {
            return Err(ProposeError::Parent { id: *id, verdict: Verdict::ParentMissing });
        };
        let begun_ms = self.clock.now_ms();
        let (executed, later_ms) = self.build_blocks(&parent)?;
        if executed.is_empty() && !is_empty_allowed {
            return Ok(later_ms.map_or(Attempt::Nothing, Attempt::Later));
        }
        let StateChange { writes, commitment } = self.state_change(&executed, &parent.state)?;
        let execute_ms = self.clock.now_ms().saturating_sub(begun_ms);
        let block = |(index, block): &(usize, Arc<ExecutedBlock>)| {
            (self.chains[*index].context().chain_id, block.bytes.clone())
        };
        let bundle = Bundle {
            version: Bundle::VERSION,
            parent: *id,
            height,
            timestamp_ms: parent.now_ms.max(place.timestamp_ms),
            commitment,
            blocks: executed.iter().map(block).collect(),
        };
        drop(parent);
        let node = Node::new(bundle.id(), bundle.clone(), executed, writes, execute_ms);
        self.ensure_room(node.bytes)?;
        let is_new = self.keep(Arc::new(node));
        Ok(Attempt::Bundle(bundle, is_new))
    }

    /// The blocks of the chains that have work, and the earliest time at which another chain may have a block.
    fn build_blocks(
        &self,
        parent: &ParentState,
    ) -> Result<(ExecutedBlocks, Option<u64>), ChainError> {
        let mut executed = Vec::new();
        let mut later_ms = None::<u64>;
        let only = *self.shared.only.lock();
        for (index, chain) in self.chains.iter().enumerate() {
            if only.is_some_and(|only| chain.context().chain_id != only) {
                continue;
            }
            let context = parent.context(index);
            match chain.build(&parent.state, &context)? {
                Built::Block(block) => {
                    if self.config.check_proposals {
                        check_proposal(chain.as_ref(), &parent.state, &block, &context)?;
                    }
                    executed.push((index, Arc::new(*block)));
                }
                Built::Nothing => {}
                Built::Later(at_ms) => {
                    later_ms = Some(later_ms.map_or(at_ms, |ms| ms.min(at_ms)));
                }
            }
        }
        Ok((executed, later_ms))
    }

    /// Executes a bundle and its missing ancestors.
    pub(super) fn verify(
        &mut self,
        ancestry: &[Bundle],
        bundle: &Bundle,
    ) -> Result<Verdict, ChainError> {
        let id = bundle.id();
        if self.tree.node(&id).is_some() {
            return Ok(Verdict::Valid);
        }
        if self.final_id_at(bundle.height)? == Some(id) {
            return Ok(Verdict::AlreadyFinal);
        }
        if !self.tree.contains(&bundle.parent) && self.is_too_low(bundle) {
            return Ok(Verdict::Abandoned);
        }
        match self.reach(&bundle.parent, ancestry)? {
            Verdict::Valid => self.execute(id, bundle, false),
            other => Ok(other),
        }
    }

    /// The ID of the final bundle at a height; `None` above the last one, and below the history of this store.
    pub(super) fn final_id_at(&self, height: u64) -> Result<Option<BundleId>, ChainError> {
        let last = self.tree.last();
        if height >= last.height {
            return Ok((height == last.height).then_some(last.id));
        }
        let reader = self.store.snapshot()?;
        if let Some(next) = BUNDLES.get(reader.as_ref(), Scope::NODE, &(height + 1))? {
            return Ok(Some(next.parent));
        }
        if height.saturating_add(1) < HistoryStart::read(reader.as_ref())?.bundle {
            return match height {
                0 => Ok(bundle_at(&self.chains, &self.store, 0)?.map(|(first, _)| first.id())),
                // Some bundle is final there; this node never had it.
                _ => Ok(None),
            };
        }
        Err(ChainError::Corrupted(format!("bundle {} is missing", height + 1)))
    }

    /// Whether the unknown parent of a bundle is at a final height, and thus abandoned.
    fn is_too_low(&self, bundle: &Bundle) -> bool {
        bundle.height <= self.tree.last().height.saturating_add(1)
    }

    /// Ensures that the state after `id` is known: executes bundles of `ancestry` (newest first) if needed. Returns
    /// the verdict of the lowest bundle that is not valid.
    fn reach(&mut self, id: &BundleId, ancestry: &[Bundle]) -> Result<Verdict, ChainError> {
        let mut missing = Vec::new();
        let mut wanted = *id;
        let mut rest = ancestry.iter();
        while !self.tree.contains(&wanted) {
            let Some(bundle) = rest.find(|bundle| bundle.id() == wanted) else {
                return Ok(Verdict::ParentMissing);
            };
            missing.push((wanted, bundle));
            if !self.tree.contains(&bundle.parent) && self.is_too_low(bundle) {
                return Ok(Verdict::Abandoned);
            }
            wanted = bundle.parent;
        }
        for (id, bundle) in missing.into_iter().rev() {
            let verdict = self.execute(id, bundle, false)?;
            if verdict != Verdict::Valid {
                debug!(height = bundle.height, %verdict, "an ancestor is not valid");
                return Ok(verdict);
            }
        }
        Ok(Verdict::Valid)
    }

    /// Executes a bundle on its parent's known state, and keeps it. A decided bundle is kept even if the tree is
    /// full.
    fn execute(
        &mut self,
        id: BundleId,
        bundle: &Bundle,
        is_decided: bool,
    ) -> Result<Verdict, ChainError> {
        let executed = self.execute_blocks(bundle, is_decided)?;
        let (executed, change, execute_ms) = match executed {
            Ok(executed) => executed,
            Err(verdict) => return Ok(verdict),
        };
        if let Some(claimed) = bundle.state_commitment().filter(|id| *id != change.commitment) {
            let reason =
                format!("state commitment differs: {claimed}, computed {}", change.commitment);
            return Ok(Verdict::Invalid(reason));
        }
        let node = Node::new(id, bundle.clone(), executed, change.writes, execute_ms);
        if !is_decided {
            self.ensure_room(node.bytes)?;
        }
        self.keep(Arc::new(node));
        Ok(Verdict::Valid)
    }

    /// Executes blocks on the state after a known bundle, and keeps them as a new bundle, or returns the verdict on
    /// it. A decided bundle is kept even if the tree is full.
    pub(super) fn compose(
        &mut self,
        parent: &BundleId,
        blocks: Vec<(ChainId, Bytes)>,
        is_decided: bool,
    ) -> Result<Result<Arc<Node>, Verdict>, ChainError> {
        let Some(place) = self.tree.place(parent) else { return Ok(Err(Verdict::ParentMissing)) };
        let mut bundle = Bundle {
            version: Bundle::VERSION,
            parent: *parent,
            height: place.height.saturating_add(1),
            timestamp_ms: self.clock.now_ms().max(place.timestamp_ms),
            commitment: Id::ZERO,
            blocks,
        };
        let (executed, change, execute_ms) = match self.execute_blocks(&bundle, is_decided)? {
            Ok(executed) => executed,
            Err(verdict) => return Ok(Err(verdict)),
        };
        bundle.commitment = change.commitment;
        let id = bundle.id();
        if let Some(known) = self.tree.node(&id) {
            return Ok(Ok(Arc::clone(known)));
        }
        let node = Arc::new(Node::new(id, bundle, executed, change.writes, execute_ms));
        if !is_decided {
            self.ensure_room(node.bytes)?;
        }
        self.keep(Arc::clone(&node));
        Ok(Ok(node))
    }

    /// Executes the blocks of a bundle on its parent's known state, or returns a verdict. The bundle's commitment is
    /// not looked at. The last value is the time that it took, ms.
    fn execute_blocks(
        &self,
        bundle: &Bundle,
        is_decided: bool,
    ) -> Result<Result<(ExecutedBlocks, StateChange, u64), Verdict>, ChainError> {
        let (Some(place), Some(parent)) =
            (self.tree.place(&bundle.parent), self.state_after(&bundle.parent)?)
        else {
            return Ok(Err(Verdict::ParentMissing));
        };
        let order = match form::check(bundle, place, parent.now_ms, |id| self.chain_index(id)) {
            Ok(order) => order,
            Err(verdict) => return Ok(Err(verdict)),
        };
        if !is_decided {
            self.ensure_room(bundle.encoded_len())?;
        }
        let begun_ms = self.clock.now_ms();
        let mut executed = Vec::with_capacity(order.len());
        for (index, (_, bytes)) in order.into_iter().zip(&bundle.blocks) {
            self.helpers.on_verify(bytes);
            match self.chains[index].verify(&parent.state, bytes, &parent.context(index)) {
                Ok(block) => executed.push((index, Arc::new(block))),
                Err(BlockError::Invalid(reason)) => return Ok(Err(Verdict::Invalid(reason))),
                Err(BlockError::NotYet { until_ms, reason }) => {
                    return Ok(Err(Verdict::NotYet { until_ms, reason }));
                }
                Err(BlockError::Chain(error)) => return Err(error),
            }
        }
        let change = self.state_change(&executed, &parent.state)?;
        let execute_ms = self.clock.now_ms().saturating_sub(begun_ms);
        Ok(Ok((executed, change, execute_ms)))
    }

    /// How a bundle of these blocks changes the commitment of the state.
    fn state_change(
        &self,
        executed: &ExecutedBlocks,
        parent: &Overlay,
    ) -> Result<StateChange, ChainError> {
        let sets: Vec<&WriteSet> =
            executed.iter().map(|(_, block)| block.writes.as_ref()).collect();
        let place = |(index, block): &(usize, Arc<ExecutedBlock>)| {
            (self.chains[*index].context().chain_id, block.height, block.id)
        };
        let blocks: Vec<_> = executed.iter().map(place).collect();
        self.state_tables.change(&sets, &blocks, parent)
    }

    fn chain_index(&self, id: &ChainId) -> Option<usize> {
        self.chains.iter().position(|chain| chain.context().chain_id == *id)
    }

    fn ensure_room(&self, bytes: usize) -> Result<(), ChainError> {
        if self.tree.has_room(bytes, &self.config) {
            return Ok(());
        }
        Err(ChainError::TooManyUndecided { bundles: self.tree.len(), bytes: self.tree.bytes() })
    }

    /// Keeps an executed bundle; false if it was kept before, so that chains are notified once.
    fn keep(&mut self, node: Arc<Node>) -> bool {
        if !self.tree.insert(Arc::clone(&node)) {
            return false;
        }
        self.shared.set_undecided(self.tree.len());
        for (index, block) in &node.executed {
            self.chains[*index].on_verified(block);
        }
        true
    }

    pub(super) fn notarize(&mut self, id: &BundleId) {
        let node = self.tree.notarize(id);
        for (index, block) in node.iter().flat_map(|node| &node.executed) {
            self.chains[*index].on_notarized(block);
        }
    }

    /// Drops an undecided bundle and its descendants.
    pub(super) fn abandon(&mut self, id: &BundleId) -> usize {
        let dropped = self.tree.abandon(id);
        self.reject(&dropped);
        dropped.len()
    }

    /// Notifies the chains of dropped bundles, lowest first: a child's transactions may depend on its parent's.
    pub(super) fn reject(&self, dropped: &[Arc<Node>]) {
        self.shared.set_undecided(self.tree.len());
        for (index, block) in dropped.iter().flat_map(|node| &node.executed) {
            self.chains[*index].on_rejected(block);
        }
    }

    /// Like [`Self::finalize_all`], for blocks, if this bundle is the last final one.
    pub(super) async fn finalize_blocks(
        &mut self,
        on: &BundleId,
        blocks: Vec<(ChainId, Bytes)>,
    ) -> Result<(), FinalizeError> {
        if self.tree.last().id != *on {
            return Err(FinalizeError::NotLast { id: *on, last: self.tree.last().height });
        }
        let decisions = blocks.into_iter().map(|(chain, block)| Decision::Block(chain, block));
        self.finalize_all(decisions.collect()).await
    }

    /// Makes consecutive bundles final. If one fails, the earlier ones are committed. While one commit is written, the
    /// bundles of the next one are executed.
    pub(super) async fn finalize_all(
        &mut self,
        decisions: Vec<Decision>,
    ) -> Result<(), FinalizeError> {
        let mut group: Vec<DecidedBundle> = Vec::new();
        let mut pending: Option<PendingCommit> = None;
        let mut bytes = 0usize;
        let mut outcome = Ok(());
        for decision in decisions {
            let before = pending.iter().flat_map(|commit| &commit.group).chain(&group);
            let decided = match decision {
                Decision::Bundle(bundle, proof) => {
                    self.decide(&bundle, before).map(|node| node.map(|node| (node, proof)))
                }
                Decision::Block(chain, block) => {
                    self.decide_block((chain, block), before).map(|node| Some((node, None)))
                }
            };
            match decided {
                Ok(None) => continue,
                Ok(Some((node, proof))) => {
                    bytes = bytes.saturating_add(node.bytes);
                    group.push((node, proof));
                }
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
            // An undo row covers one commit, so each bundle gets its own.
            let is_full = bytes >= MAX_COMMIT_BYTES || group.len() >= MAX_COMMIT_LEN;
            if is_full || self.undo.is_kept() {
                bytes = 0;
                self.finish_commit(pending.take()).await?;
                pending = Some(self.begin_commit(std::mem::take(&mut group)).await?);
            }
        }
        self.finish_commit(pending).await?;
        if !group.is_empty() {
            let last = self.begin_commit(group).await?;
            self.finish_commit(Some(last)).await?;
        }
        outcome
    }

    /// The node of a bundle after the last final one and `before`; executes it if needed. `None`: it is in `before`,
    /// or is already final.
    fn decide<'a>(
        &mut self,
        bundle: &Bundle,
        before: impl Iterator<Item = &'a DecidedBundle> + Clone,
    ) -> Result<Option<Arc<Node>>, FinalizeError> {
        let (id, height) = (bundle.id(), bundle.height);
        if before.clone().any(|(node, _)| node.id == id) || self.final_id_at(height)? == Some(id) {
            return Ok(None);
        }
        let final_tip = self.tree.last();
        let tip = before.last().map(|(node, _)| (node.bundle.height, node.id));
        let (last, last_id) = tip.unwrap_or((final_tip.height, final_tip.id));
        if height <= last {
            return Err(FinalizeError::Conflict { id, height });
        }
        if bundle.parent != last_id {
            return Err(FinalizeError::OutOfOrder { id, height, last });
        }
        if let Some(node) = self.tree.node(&id) {
            return Ok(Some(Arc::clone(node)));
        }
        match self.execute(id, bundle, true)? {
            Verdict::Valid => {}
            other => return Err(refusal(other)),
        }
        let vanished = || FinalizeError::Invalid("the bundle vanished".into());
        self.tree.node(&id).cloned().map(Some).ok_or_else(vanished)
    }

    /// The node of a new bundle with this block, after the last final one and `before`.
    fn decide_block<'a>(
        &mut self,
        block: (ChainId, Bytes),
        before: impl Iterator<Item = &'a DecidedBundle>,
    ) -> Result<Arc<Node>, FinalizeError> {
        let parent = before.last().map_or_else(|| self.tree.last().id, |(node, _)| node.id);
        self.compose(&parent, vec![block], true)?.map_err(refusal)
    }

    /// Queues the write of consecutive bundles after the last final one.
    async fn begin_commit(
        &mut self,
        group: Vec<DecidedBundle>,
    ) -> Result<PendingCommit, FinalizeError> {
        let accepted_ms = self.clock.now_ms();
        let base = self.store.snapshot()?;
        let extension = Arc::new(self.extension(&group, accepted_ms, base.as_ref())?);
        let written = group.iter().flat_map(|(node, _)| node.writes());
        let mut sets: Vec<_> = written.chain([extension]).collect();
        let undo = self.add_undo(&group, accepted_ms, base.as_ref(), &mut sets)?;
        drop(base);
        let mut closing = self.closing.clone();
        tokio::select! {
            biased;
            queued = self.store.writer.enqueue_all_when_writable(sets) => {
                Ok(PendingCommit { group, queued: queued?, undo, accepted_ms })
            }
            () = closing.wait() => Err(ChainError::Stopped.into()),
        }
    }

    /// Waits for a commit, then notifies the chains.
    async fn finish_commit(&mut self, commit: Option<PendingCommit>) -> Result<(), FinalizeError> {
        let Some(PendingCommit { group, queued, undo, accepted_ms }) = commit else {
            return Ok(());
        };
        let mut closing = self.closing.clone();
        // The bundle is decided: it waits until the store accepts writes.
        tokio::select! {
            biased;
            written = queued.done() => written?,
            () = closing.wait() => return Err(ChainError::Stopped.into()),
        }
        self.undo.committed(undo);
        self.notify_chains(&group, accepted_ms);
        self.written_bytes += group.iter().map(|(node, _)| node.written_bytes()).sum::<usize>();
        drop(group);
        if self.written_bytes >= RELEASE_BYTES {
            self.written_bytes = 0;
            thread_memory::release();
        }
        Ok(())
    }

    /// Adds the undo row to a commit, if undo rows are kept.
    fn add_undo(
        &self,
        group: &[DecidedBundle],
        accepted_ms: u64,
        base: &dyn KvRead,
        sets: &mut Vec<Arc<WriteSet>>,
    ) -> Result<Option<NewRow>, ChainError> {
        let ([(node, _)], true) = (group, self.undo.is_kept()) else { return Ok(None) };
        let row = UndoRow::encoded(accepted_ms, |row| {
            WriteSet::encode_inverse_of(sets.iter().map(Arc::as_ref), base, row)
        })?;
        let mut out = WriteSet::new();
        let new = self.undo.extend_commit(node.bundle.height, &row, &mut out);
        sets.push(Arc::new(out));
        Ok(new)
    }

    /// The rows of a commit besides the blocks' writes: the chains' additions, the bundles, the position.
    fn extension(
        &self,
        group: &[DecidedBundle],
        accepted_ms: u64,
        base: &dyn KvRead,
    ) -> Result<WriteSet, ChainError> {
        let mut commit = PendingWrites::new(base);
        for (index, chain) in self.chains.iter().enumerate() {
            let blocks = group.iter().filter_map(|(node, _)| node.block_of(index));
            let blocks: Vec<_> = blocks.cloned().collect();
            if !blocks.is_empty() {
                chain.extend_commit(&blocks, accepted_ms, &mut commit);
            }
        }
        for (node, proof) in group {
            self.put_record(node, proof.as_ref(), &mut commit);
        }
        Ok(commit.into_writes())
    }

    fn put_record(&self, node: &Node, proof: Option<&Bytes>, out: &mut impl KvWrite) {
        let Bundle { version, parent, height, timestamp_ms, commitment, .. } = node.bundle;
        let height_of = |(index, block): &(usize, Arc<ExecutedBlock>)| {
            (self.chains[*index].context().chain_id, block.height)
        };
        let blocks = node.executed.iter().map(height_of).collect();
        let proof = proof.map(|p| p.to_vec()).unwrap_or_default();
        let record = BundleRecord { version, parent, timestamp_ms, commitment, blocks, proof };
        BUNDLES.put(out, Scope::NODE, &height, &record);
        POSITION.put(out, Scope::NODE, &(), &Position { height, id: node.id, timestamp_ms });
        if !self.config.decides_alone {
            BUNDLE_HEIGHTS.put(out, Scope::NODE, node.id.as_bytes(), &height);
        }
    }

    /// Updates memory, chains and subscribers after the commit.
    fn notify_chains(&mut self, group: &[DecidedBundle], accepted_ms: u64) {
        let commit_ms = self.clock.now_ms().saturating_sub(accepted_ms);
        let mut abandoned = Vec::new();
        for (node, _) in group {
            abandoned.extend(self.tree.advance(node));
        }
        self.shared.set_last(self.tree.last());
        for (index, block) in group.iter().flat_map(|(node, _)| &node.executed) {
            self.chains[*index].on_accepted(block, accepted_ms);
        }
        self.reject(&abandoned);
        for (node, _) in group {
            let block = |(index, block): &(usize, Arc<ExecutedBlock>)| {
                (self.chains[*index].context().chain_id, Arc::clone(block))
            };
            self.shared.send(MachineEvent::Accepted(AcceptedEvent {
                bundle_id: node.id,
                height: node.bundle.height,
                accepted_ms,
                commit_ms,
                execute_ms: node.execute_ms,
                blocks: node.executed.iter().map(block).collect(),
            }));
        }
    }
}

/// The reason why a decided bundle with this verdict is not final.
fn refusal(verdict: Verdict) -> FinalizeError {
    match verdict {
        Verdict::NotYet { until_ms, reason } => FinalizeError::NotYet { until_ms, reason },
        other => FinalizeError::Invalid(other.to_string()),
    }
}

/// Building and verifying must give the same bytes; a difference is a defect of the chain.
fn check_proposal(
    chain: &dyn ChainVm,
    state: &Overlay,
    block: &ExecutedBlock,
    context: &BuildContext,
) -> Result<(), ChainError> {
    let differs = match chain.verify(state, &block.bytes, context) {
        Ok(again) if again.writes == block.writes && again.id == block.id => return Ok(()),
        // A clock that was moved back may be behind the parent, whose time a block has at least.
        Err(BlockError::NotYet { .. }) => return Ok(()),
        Ok(_) => "its writes differ".to_owned(),
        Err(BlockError::Chain(error)) => return Err(error),
        Err(error) => error.to_string(),
    };
    Err(ChainError::Corrupted(format!(
        "chain {} built block {} that does not verify: {differs}",
        chain.name(),
        block.id
    )))
}
