//! Opening the machine: genesis of new chains, position, checks.

use std::sync::Arc;

use esker_primitives::clock::Clock;
use esker_storage::{Scope, Store, WriteSet};
use tokio::sync::Notify;

use super::core::Core;
use super::owner::Owner;
use super::tree::Tree;
use super::undo::{Undo, UndoLog};
use super::{GenesisBundle, Machine, MachineConfig, Shared};
use crate::tables::{BUNDLES, BundleRecord, CHAINS, POSITION, Position};
use crate::{Backfill, Bundle, ChainError, ChainVm, RewindError, Shutdown};

/// How often the progress of a backfill is logged.
const BACKFILL_LOG_INTERVAL_MS: u64 = 5_000;

impl Machine {
    /// Puts the chains together over a store. A chain that the store does not hold yet starts from its
    /// genesis; all others are checked against their tip, and what their indexes lack is filled. `work` is the one that the chains' contexts
    /// share.
    ///
    /// Blocks the calling thread on the store.
    ///
    /// # Errors
    /// The store belongs to another genesis, is damaged, or can't be written.
    pub fn open(
        chains: Vec<Arc<dyn ChainVm>>,
        store: Store,
        clock: Arc<dyn Clock>,
        work: Arc<Notify>,
        config: MachineConfig,
    ) -> Result<Arc<Self>, ChainError> {
        write_missing_genesis(&chains, &store)?;
        check(&chains, &store)?;
        backfill(&chains, clock.as_ref())?;
        let position = POSITION.get(store.snapshot()?.as_ref(), Scope::NODE, &())?;
        let last = match position {
            Some(position) => position,
            None => write_first_bundle(&chains, &config.genesis, &store)?,
        };
        if !config.decides_alone && matches!(config.undo, Undo::Keep(_)) {
            return Err(ChainError::Mismatch(RewindError::SeveralNodes.to_string()));
        }
        let mut undo = UndoLog::open(store.snapshot()?.as_ref(), last.height)?;
        undo.set(config.undo, &store)?;
        let genesis = super::bundle_at(&chains, &store, 0)?
            .ok_or_else(|| ChainError::Corrupted("the first bundle is missing".into()))?
            .0;
        let shared = Arc::new(Shared::new(last));
        let (trigger, closing) = Shutdown::new();
        let core = Core {
            chains: chains.clone(),
            store: store.clone(),
            clock: Arc::clone(&clock),
            config,
            tree: Tree::new(last),
            undo,
            shared: Arc::clone(&shared),
            work: Arc::clone(&work),
            closing,
            is_lost: false,
        };
        let owner = Owner::spawn(core, trigger)?;
        Ok(Arc::new(Self {
            chains,
            store,
            clock,
            genesis,
            work,
            proposals: Notify::new(),
            shared,
            owner,
        }))
    }
}

/// One commit for all chains that are new to the store.
fn write_missing_genesis(chains: &[Arc<dyn ChainVm>], store: &Store) -> Result<(), ChainError> {
    let reader = store.snapshot()?;
    let mut out = WriteSet::default();
    for chain in chains {
        let id = chain.context().chain_id;
        if CHAINS.get(reader.as_ref(), Scope::NODE, id.as_bytes())?.is_none() {
            chain.genesis(&mut out)?;
            CHAINS.put(&mut out, Scope::NODE, id.as_bytes(), &());
        }
    }
    drop(reader);
    if out.is_empty() { Ok(()) } else { Ok(store.writer.commit_blocking(out)?) }
}

/// Checks all chains in one snapshot. Nothing is written before all of them are in order.
fn check(chains: &[Arc<dyn ChainVm>], store: &Store) -> Result<(), ChainError> {
    let reader = store.snapshot()?;
    chains.iter().try_for_each(|chain| chain.check(reader.as_ref()))
}

/// Fills what is missing in the chains' indexes, step by step. No snapshot is open between two steps, so that the store
/// can use again what they overwrite.
fn backfill(chains: &[Arc<dyn ChainVm>], clock: &dyn Clock) -> Result<(), ChainError> {
    for chain in chains {
        let mut logged_ms = None;
        while let Some(Backfill { index, done, total }) = chain.backfill()? {
            let now_ms = clock.now_ms();
            let is_due = logged_ms.is_none_or(|logged: u64| {
                now_ms.saturating_sub(logged) >= BACKFILL_LOG_INTERVAL_MS
            });
            if is_due || done == total {
                tracing::info!(
                    chain = chain.name(),
                    index,
                    done,
                    total,
                    "filling an index, blocks"
                );
                logged_ms = Some(now_ms);
            }
        }
    }
    Ok(())
}

/// The bundle of height 0: the genesis blocks of the founding chains. It is the same for all members of a network,
/// whichever further chains each of them runs.
fn write_first_bundle(
    chains: &[Arc<dyn ChainVm>],
    genesis: &GenesisBundle,
    store: &Store,
) -> Result<Position, ChainError> {
    let reader = store.snapshot()?;
    let mut blocks = Vec::with_capacity(chains.len());
    let mut heights = Vec::with_capacity(chains.len());
    for chain in chains.iter().take(genesis.founders) {
        let id = chain.context().chain_id;
        let block = chain
            .block_at(reader.as_ref(), 0)?
            .ok_or_else(|| ChainError::Genesis(format!("chain {id} has no block of height 0")))?;
        blocks.push((id, block));
        heights.push((id, 0));
    }
    drop(reader);
    let parent = genesis.agreement;
    let bundle = Bundle { version: Bundle::VERSION, parent, height: 0, timestamp_ms: 0, blocks };
    let position = Position { height: 0, id: bundle.id(), timestamp_ms: 0 };
    let record = BundleRecord {
        version: bundle.version,
        parent: bundle.parent,
        timestamp_ms: 0,
        blocks: heights,
        proof: Vec::new(),
    };
    let mut out = WriteSet::default();
    BUNDLES.put(&mut out, Scope::NODE, &0, &record);
    POSITION.put(&mut out, Scope::NODE, &(), &position);
    store.writer.commit_blocking(out)?;
    Ok(position)
}
