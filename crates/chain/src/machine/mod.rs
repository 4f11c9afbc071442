//! The chains of a node as one [`ChainMachine`].
//!
//! Undecided bundles live in memory as a tree of write sets over the final state (`pending`). A final one
//! is written in one piece: all chains' blocks, state, indexes, shared memory, statuses and the final
//! position. Chains hear of it after the commit, never before.

mod pending;
mod start;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use esker_primitives::clock::Clock;
use esker_primitives::sync::Mutex;
use esker_primitives::{ChainId, Id};
use esker_storage::{Overlay, Scope, Store, WriteSet};
use tokio::sync::{Notify, Semaphore, broadcast};
use tracing::{debug, warn};

use self::pending::{Node, Pending};
use crate::tables::{BUNDLES, BundleRecord, POSITION, Position};
use crate::{
    BlockError, BuildContext, Built, Bundle, BundleId, ChainError, ChainMachine, ChainVm,
    ExecutedBlock, FinalizeError, ProposeCtx, Stage, Verdict,
};

/// Bundles that a slow subscriber may lag behind before it loses some (it is told so).
const EVENT_BACKLOG: usize = 1024;

/// Wait before a bundle is built again after the store could not be read, ms.
const READ_RETRY_MS: u64 = 1000;

/// Settings of the machine.
#[derive(Clone, Copy, Debug)]
pub struct MachineConfig {
    /// Verify every own proposal as if another node had made it, and compare the two results. On in
    /// debug builds and tests, so that building and verifying can't drift apart.
    pub check_proposals: bool,
    /// Wait with a block that is ahead of the clock. Otherwise it is refused: who brings blocks of the past
    /// brings none of the future (docs/decisions.md, "Time in a block").
    pub wait_for_time: bool,
    /// The first bundle of a new store.
    pub genesis: GenesisBundle,
}

impl Default for MachineConfig {
    fn default() -> Self {
        Self {
            check_proposals: cfg!(debug_assertions),
            wait_for_time: true,
            genesis: GenesisBundle::default(),
        }
    }
}

/// What the bundle of height 0 follows from: it is the same for all members of a network.
#[derive(Clone, Copy, Debug)]
pub struct GenesisBundle {
    /// Hash of what the members agreed on besides the genesis of the chains. It stands in the place of a parent.
    pub agreement: Id,
    /// How many of the chains, the first ones, have their genesis block in it. Further ones join a running network.
    pub founders: usize,
}

impl Default for GenesisBundle {
    /// All chains, and nothing agreed on.
    fn default() -> Self {
        Self { agreement: Id::ZERO, founders: usize::MAX }
    }
}

/// A bundle became final and durable.
#[derive(Clone, Debug)]
pub struct AcceptedEvent {
    /// Its ID.
    pub bundle_id: BundleId,
    /// Its height.
    pub height: u64,
    /// When it was accepted by this node, Unix ms.
    pub accepted_ms: u64,
    /// Its blocks.
    pub blocks: Vec<(ChainId, Arc<ExecutedBlock>)>,
}

/// Several chains behind one seam. Create it with [`Machine::open`].
#[derive(Debug)]
pub struct Machine {
    chains: Vec<Arc<dyn ChainVm>>,
    store: Store,
    clock: Arc<dyn Clock>,
    work: Arc<Notify>,
    config: MachineConfig,
    genesis: Bundle,
    pending: Mutex<Pending>,
    /// One bundle is made final at a time.
    finalizing: Semaphore,
    events: broadcast::Sender<AcceptedEvent>,
}

/// A state, and the undecided bundles that lead to it, newest first.
type StateAfter = (Overlay, Vec<Arc<Node>>);

/// What building on a parent came to.
enum Attempt {
    Bundle(Bundle),
    Nothing,
    Later(u64),
}

impl Machine {
    /// The chains, in the order in which they were declared.
    pub fn chains(&self) -> &[Arc<dyn ChainVm>] {
        &self.chains
    }

    /// Events of final bundles, from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<AcceptedEvent> {
        self.events.subscribe()
    }

    /// Bundles that were executed and are not decided.
    pub fn undecided(&self) -> usize {
        self.pending.lock().len()
    }

    fn chain_index(&self, id: &ChainId) -> Option<usize> {
        self.chains.iter().position(|chain| chain.context().chain_id == *id)
    }

    /// The state after a bundle; `None` if the bundle is unknown.
    fn state_after(&self, id: &BundleId) -> Result<Option<StateAfter>, ChainError> {
        let pending = self.pending.lock();
        let Some(path) = pending.path_to(id) else { return Ok(None) };
        // Taken under the lock: were it older than the end of the path, a bundle's writes could be missed.
        let base = self.store.snapshot()?;
        drop(pending);
        let layers = path.iter().map(|node| Arc::clone(&node.writes)).collect();
        Ok(Some((Overlay::new(base, layers), path)))
    }

    fn build_context(&self, chain: usize, path: &[Arc<Node>]) -> BuildContext {
        BuildContext {
            now_ms: self.clock.now_ms(),
            ancestors: path.iter().filter_map(|node| node.block_of(chain)).cloned().collect(),
        }
    }

    /// Builds one block of each chain that has work, on the state after `parent`.
    fn build_on(&self, parent: &BundleId, height: u64) -> Result<Attempt, ChainError> {
        let Some((state, path)) = self.state_after(parent)? else {
            warn!(%parent, height, "asked to build on an unknown bundle");
            return Ok(Attempt::Nothing);
        };
        let mut executed = Vec::new();
        let mut later = None::<u64>;
        for (index, chain) in self.chains.iter().enumerate() {
            let context = self.build_context(index, &path);
            match chain.build(&state, &context)? {
                Built::Block(block) => {
                    if self.config.check_proposals {
                        check_proposal(chain.as_ref(), &state, &block, &context)?;
                    }
                    executed.push((index, Arc::new(*block)));
                }
                Built::Nothing => {}
                Built::Later(at_ms) => later = Some(later.map_or(at_ms, |ms| ms.min(at_ms))),
            }
        }
        if executed.is_empty() {
            return Ok(later.map_or(Attempt::Nothing, Attempt::Later));
        }
        let parent_ms = self.pending.lock().timestamp_of(parent).unwrap_or_default();
        let blocks = executed
            .iter()
            .map(|(index, block)| (self.chains[*index].context().chain_id, block.bytes.clone()))
            .collect();
        let bundle = Bundle {
            version: Bundle::VERSION,
            parent: *parent,
            height,
            timestamp_ms: self.clock.now_ms().max(parent_ms),
            blocks,
        };
        self.keep(bundle.clone(), executed);
        Ok(Attempt::Bundle(bundle))
    }

    /// Keeps an executed bundle; false when its parent was abandoned meanwhile.
    fn keep(&self, bundle: Bundle, executed: Vec<(usize, Arc<ExecutedBlock>)>) -> bool {
        let node = Arc::new(Node::new(bundle, executed));
        if !self.pending.lock().insert(Arc::clone(&node)) {
            return false;
        }
        for (index, block) in &node.executed {
            self.chains[*index].seen(block, Stage::Verified);
        }
        true
    }

    /// Makes sure that the state after `id` is known, executing what `ancestry` (newest first) offers.
    async fn reach(&self, id: &BundleId, ancestry: &[Bundle]) -> Result<bool, ChainError> {
        let mut missing = Vec::new();
        let mut wanted = *id;
        for bundle in ancestry {
            if self.pending.lock().knows(&wanted) {
                break;
            }
            if bundle.id() == wanted {
                wanted = bundle.parent;
                missing.push(bundle);
            }
        }
        for bundle in missing.into_iter().rev() {
            if let Verdict::Invalid(reason) = self.execute(bundle).await? {
                debug!(height = bundle.height, reason, "an ancestor is invalid");
                return Ok(false);
            }
        }
        Ok(self.pending.lock().knows(id))
    }

    /// Executes a bundle whose parent's state is known.
    async fn execute(&self, bundle: &Bundle) -> Result<Verdict, ChainError> {
        let id = bundle.id();
        if self.pending.lock().knows(&id) {
            return Ok(Verdict::Valid);
        }
        let order = match self.check_form(bundle) {
            Ok(order) => order,
            Err(reason) => return Ok(Verdict::Invalid(reason)),
        };
        let mut executed = Vec::with_capacity(order.len());
        for (index, (_, bytes)) in order.into_iter().zip(&bundle.blocks) {
            match self.execute_block(index, bundle, bytes).await? {
                Ok(block) => executed.push((index, Arc::new(block))),
                Err(reason) => return Ok(Verdict::Invalid(reason)),
            }
        }
        if self.keep(bundle.clone(), executed) {
            Ok(Verdict::Valid)
        } else {
            Ok(Verdict::Invalid(format!("bundle {id} follows an abandoned bundle")))
        }
    }

    /// Verifies one block on the state after the bundle's parent, waiting while it may become valid.
    async fn execute_block(
        &self,
        index: usize,
        bundle: &Bundle,
        bytes: &[u8],
    ) -> Result<Result<ExecutedBlock, String>, ChainError> {
        loop {
            let outcome = {
                let Some((state, path)) = self.state_after(&bundle.parent)? else {
                    return Ok(Err(format!("unknown parent bundle {}", bundle.parent)));
                };
                let context = self.build_context(index, &path);
                self.chains[index].verify(&state, bytes, &context)
            };
            match outcome {
                Ok(block) => return Ok(Ok(block)),
                Err(BlockError::Invalid(reason)) => return Ok(Err(reason)),
                Err(BlockError::NotYet { reason, .. }) if !self.config.wait_for_time => {
                    return Ok(Err(reason));
                }
                Err(BlockError::NotYet { until_ms, reason }) => {
                    debug!(until_ms, reason, "waiting with a block");
                    self.clock.sleep_until(until_ms).await;
                }
                Err(BlockError::Chain(error)) => return Err(error),
            }
        }
    }

    /// The rules of a bundle itself. Gives the chains of its blocks.
    fn check_form(&self, bundle: &Bundle) -> Result<Vec<usize>, String> {
        if bundle.version != Bundle::VERSION {
            return Err(format!("unknown bundle version {}", bundle.version));
        }
        {
            let pending = self.pending.lock();
            let (height, timestamp_ms) = pending
                .place_of(&bundle.parent)
                .ok_or_else(|| format!("unknown parent bundle {}", bundle.parent))?;
            if bundle.height != height + 1 {
                return Err(format!(
                    "bundle has height {}, its parent has {height}",
                    bundle.height
                ));
            }
            if bundle.timestamp_ms < timestamp_ms {
                return Err("bundle is older than its parent".into());
            }
        }
        let mut order = Vec::with_capacity(bundle.blocks.len());
        for (chain, _) in &bundle.blocks {
            let index = self
                .chain_index(chain)
                .ok_or_else(|| format!("bundle names unknown chain {chain}"))?;
            if order.last().is_some_and(|last| *last >= index) {
                return Err("blocks of a bundle are not in the order of the chains".into());
            }
            order.push(index);
        }
        Ok(order)
    }

    /// The node of a bundle that is about to be final, executed now if it has not been.
    async fn node_to_finalize(&self, bundle: &Bundle) -> Result<Arc<Node>, FinalizeError> {
        let id = bundle.id();
        if let Verdict::Invalid(reason) = self.execute(bundle).await? {
            return Err(FinalizeError::Invalid(reason));
        }
        self.pending
            .lock()
            .node(&id)
            .ok_or_else(|| FinalizeError::Invalid("bundle vanished".into()))
    }

    /// Everything that one final bundle writes.
    fn commit_of(&self, node: &Node, accepted_ms: u64, proof: Option<&Bytes>) -> WriteSet {
        let mut out = WriteSet::clone(&node.writes);
        for (index, block) in &node.executed {
            self.chains[*index].seal(block, accepted_ms, &mut out);
        }
        let Bundle { version, parent, height, timestamp_ms, .. } = node.bundle;
        let blocks = node
            .executed
            .iter()
            .map(|(index, block)| (self.chains[*index].context().chain_id, block.height))
            .collect();
        let proof = proof.map(|p| p.to_vec()).unwrap_or_default();
        let record = BundleRecord { version, parent, timestamp_ms, blocks, proof };
        BUNDLES.put(&mut out, Scope::NODE, &height, &record);
        POSITION.put(&mut out, Scope::NODE, &(), &Position { height, id: node.id, timestamp_ms });
        out
    }
}

/// Building and verifying must agree to the byte; a difference is a defect of the chain.
fn check_proposal(
    chain: &dyn ChainVm,
    state: &Overlay,
    block: &ExecutedBlock,
    context: &BuildContext,
) -> Result<(), ChainError> {
    let differs = match chain.verify(state, &block.bytes, context) {
        Ok(again) if again.writes == block.writes && again.id == block.id => return Ok(()),
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

#[async_trait]
impl ChainMachine for Machine {
    fn genesis(&self) -> Bundle {
        self.genesis.clone()
    }

    fn last_final(&self) -> (u64, BundleId) {
        let last = self.pending.lock().last();
        (last.height, last.id)
    }

    async fn propose(&self, at: ProposeCtx<'_>) -> Option<Bundle> {
        let mut has_failed = false;
        loop {
            let work = self.work.notified();
            let attempt = match self.reach(&at.parent, at.ancestry).await {
                Ok(true) => self.build_on(&at.parent, at.height),
                Ok(false) => return None,
                Err(error) => Err(error),
            };
            let wake_ms = match attempt {
                Ok(Attempt::Bundle(bundle)) => return Some(bundle),
                Ok(Attempt::Nothing) => at.wait_until_ms,
                Ok(Attempt::Later(ms)) => ms.min(at.wait_until_ms),
                Err(ChainError::Storage(error)) if error.is_temporary() => {
                    if !std::mem::replace(&mut has_failed, true) {
                        tracing::error!(%error, "building a bundle failed; it is tried again");
                    }
                    self.clock.now_ms().saturating_add(READ_RETRY_MS).min(at.wait_until_ms)
                }
                Err(error) => {
                    tracing::error!(%error, "building a bundle failed");
                    return None;
                }
            };
            if self.clock.now_ms() >= at.wait_until_ms {
                return None;
            }
            tokio::select! {
                () = work => {}
                () = self.clock.sleep_until(wake_ms) => {}
            }
        }
    }

    async fn verify(&self, ancestry: &[Bundle], bundle: &Bundle) -> Result<Verdict, ChainError> {
        if !self.reach(&bundle.parent, ancestry).await? {
            return Ok(Verdict::Invalid(format!("unknown parent bundle {}", bundle.parent)));
        }
        self.execute(bundle).await
    }

    async fn finalize(&self, bundle: &Bundle, proof: Option<Bytes>) -> Result<(), FinalizeError> {
        let _turn = self
            .finalizing
            .acquire()
            .await
            .map_err(|_| FinalizeError::Invalid("the machine is closed".into()))?;
        let id = bundle.id();
        let last = self.pending.lock().last();
        if bundle.height <= last.height {
            let known = match self.bundle_at(bundle.height)? {
                Some((known, _)) => known.id() == id,
                None => false,
            };
            let height = bundle.height;
            return if known { Ok(()) } else { Err(FinalizeError::Conflict { id, height }) };
        }
        if bundle.parent != last.id {
            let height = bundle.height;
            return Err(FinalizeError::OutOfOrder { id, height, last: last.height });
        }
        let node = self.node_to_finalize(bundle).await?;
        let accepted_ms = self.clock.now_ms();
        let commit = self.commit_of(&node, accepted_ms, proof.as_ref());
        // Decided: while the store takes no writes, it waits for it.
        self.store.writer.commit_when_writable(commit).await?;

        let abandoned = self.pending.lock().advance(&node);
        for (index, block) in &node.executed {
            self.chains[*index].accepted(block, accepted_ms);
        }
        for (index, block) in abandoned.iter().flat_map(|node| &node.executed) {
            self.chains[*index].dropped(block);
        }
        let blocks = node
            .executed
            .iter()
            .map(|(index, block)| (self.chains[*index].context().chain_id, Arc::clone(block)))
            .collect();
        // No subscriber is no error.
        let _listeners = self.events.send(AcceptedEvent {
            bundle_id: id,
            height: bundle.height,
            accepted_ms,
            blocks,
        });
        Ok(())
    }

    fn seen(&self, bundle: &Bundle, stage: Stage) {
        let node = self.pending.lock().node(&bundle.id());
        for (index, block) in node.iter().flat_map(|node| &node.executed) {
            self.chains[*index].seen(block, stage);
        }
    }

    fn bundle_at(&self, height: u64) -> Result<Option<(Bundle, Option<Bytes>)>, ChainError> {
        let reader = self.store.snapshot()?;
        let Some(record) = BUNDLES.get(reader.as_ref(), Scope::NODE, &height)? else {
            return Ok(None);
        };
        let mut blocks = Vec::with_capacity(record.blocks.len());
        for (chain, block_height) in record.blocks {
            let damaged = || {
                ChainError::Corrupted(format!(
                    "bundle {height} names block {block_height} of chain {chain}, which is missing"
                ))
            };
            let index = self.chain_index(&chain).ok_or_else(damaged)?;
            let block = self.chains[index].block_at(reader.as_ref(), block_height)?;
            blocks.push((chain, block.ok_or_else(damaged)?));
        }
        let BundleRecord { version, parent, timestamp_ms, .. } = record;
        let bundle = Bundle { version, parent, height, timestamp_ms, blocks };
        let proof = (!record.proof.is_empty()).then(|| Bytes::from(record.proof));
        Ok(Some((bundle, proof)))
    }
}
