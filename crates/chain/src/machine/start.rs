//! Opening the machine: genesis of new chains, checks, index backfill.

use std::sync::Arc;

use bytes::Bytes;
use esker_primitives::clock::Clock;
use esker_primitives::{ChainId, Id};
use esker_storage::{KvRead, Scope, Store, WriteSet};
use tokio::sync::Notify;

use super::core::Core;
use super::prepare::PreparePool;
use super::thread::MachineThread;
use super::tree::Tree;
use super::undo::{Undo, UndoLog};
use super::{GenesisBundle, Machine, MachineConfig, Shared, state};
use crate::bundle::Bundle;
use crate::commitment::{StateSummary, StateTables};
use crate::engine::Shutdown;
use crate::error::{ChainError, RewindError};
use crate::final_bundles::{bundle_at, version_at};
use crate::tables::{BUNDLES, BundleRecord, CHAINS, POSITION, Position};
use crate::vm::{Backfill, ChainVm};

/// How often the progress of a backfill is logged.
const BACKFILL_LOG_INTERVAL_MS: u64 = 5_000;

impl Machine {
    /// Opens the chains over a store. A chain that is not in the store starts from its genesis. The other chains are
    /// checked against their tips, and their indexes are completed. `work` is the notifier that the chains' contexts
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
        let state_tables = StateTables::from_chains(&chains)?;
        let new = check_known(&chains, &store)?;
        if new.len() < chains.len() {
            state::add_missing(&chains, &new, &state_tables, &store, clock.as_ref())?;
        }
        write_genesis(&new, &state_tables, &store)?;
        check(&new, store.snapshot()?.as_ref())?;
        backfill(&chains, clock.as_ref())?;
        let position = POSITION.get(store.snapshot()?.as_ref(), Scope::NODE, &())?;
        let last = match position {
            Some(position) => position,
            None => write_first_bundle(&chains, &config.genesis, &store)?,
        };
        let last_version = version_at(store.snapshot()?.as_ref(), last.height)?;
        if !config.decides_alone && matches!(config.undo, Undo::Keep(_)) {
            return Err(ChainError::Mismatch(RewindError::SeveralNodes.to_string()));
        }
        let undo = UndoLog::open(store.snapshot()?.as_ref(), last.height)?;
        let genesis = bundle_at(&chains, &store, 0)?
            .ok_or_else(|| ChainError::Corrupted("the first bundle is missing".into()))?
            .0;
        let shared = Arc::new(Shared::new(last));
        let (trigger, closing) = Shutdown::new();
        let helpers = Arc::new(PreparePool::new());
        let mut core = Core {
            chains: chains.clone(),
            state_tables,
            store: store.clone(),
            clock: Arc::clone(&clock),
            config,
            tree: Tree::new(last, last_version),
            undo,
            shared: Arc::clone(&shared),
            work: Arc::clone(&work),
            closing,
            helpers: Arc::clone(&helpers),
            is_lost: false,
            written_bytes: 0,
        };
        core.resume_rewind().map_err(|error| match error {
            RewindError::Chain(error) => error,
            error => ChainError::Corrupted(error.to_string()),
        })?;
        core.undo.set(config.undo, &store)?;
        let thread = MachineThread::spawn(core, trigger)?;
        Ok(Arc::new(Self {
            chains,
            store,
            clock,
            genesis,
            work,
            proposals: Notify::new(),
            shared,
            thread,
            helpers,
        }))
    }
}

/// Checks the stored chains in one snapshot, and returns the chains that are not stored. Nothing is written before
/// all checks have passed.
fn check_known(
    chains: &[Arc<dyn ChainVm>],
    store: &Store,
) -> Result<Vec<Arc<dyn ChainVm>>, ChainError> {
    let reader = store.snapshot()?;
    let first_bundle = BUNDLES.get(reader.as_ref(), Scope::NODE, &0)?;
    let (mut known, mut new) = (Vec::new(), Vec::new());
    for chain in chains {
        let id = chain.context().chain_id;
        if CHAINS.contains(reader.as_ref(), Scope::NODE, id.as_bytes())? {
            known.push(Arc::clone(chain));
            continue;
        }
        // Its blocks are stored, so another genesis must not overwrite them.
        if first_bundle.iter().flat_map(|bundle| &bundle.blocks).any(|(begun, _)| *begun == id) {
            return Err(ChainError::Corrupted(format!("the entry of chain {id} is missing")));
        }
        new.push(Arc::clone(chain));
    }
    check(&known, reader.as_ref())?;
    Ok(new)
}

fn check(chains: &[Arc<dyn ChainVm>], reader: &dyn KvRead) -> Result<(), ChainError> {
    chains.iter().try_for_each(|chain| chain.check(reader))
}

/// Writes the genesis of all new chains in one commit.
fn write_genesis(
    chains: &[Arc<dyn ChainVm>],
    tables: &StateTables,
    store: &Store,
) -> Result<(), ChainError> {
    let mut out = WriteSet::default();
    for chain in chains {
        chain.genesis(&mut out).map_err(|error| match error {
            ChainError::Genesis(reason) => {
                ChainError::Genesis(format!("chain {}: {reason}", chain.name()))
            }
            other => other,
        })?;
        CHAINS.put(&mut out, Scope::NODE, chain.context().chain_id.as_bytes(), &());
    }
    let reader = store.snapshot()?;
    if out.is_empty() && StateSummary::read(reader.as_ref())?.is_some() {
        return Ok(());
    }
    let state = state::genesis_rows(&out, tables, reader.as_ref())?;
    drop(reader);
    out.merge(&state);
    Ok(store.writer.commit_blocking(out)?)
}

/// Completes the chains' indexes step by step. No snapshot is open between two steps, so the store can reuse the
/// space of overwritten rows.
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

/// The bundle of height 0: the blocks of the genesis chains. It is the same on all nodes of a network, whatever
/// further chains a node runs.
fn write_first_bundle(
    chains: &[Arc<dyn ChainVm>],
    genesis: &GenesisBundle,
    store: &Store,
) -> Result<Position, ChainError> {
    let reader = store.snapshot()?;
    let mut blocks = Vec::with_capacity(chains.len());
    for chain in chains.iter().take(genesis.chain_count) {
        let id = chain.context().chain_id;
        let block = chain
            .block_at(reader.as_ref(), 0)?
            .ok_or_else(|| ChainError::Genesis(format!("chain {id} has no block of height 0")))?;
        blocks.push((id, block));
    }
    drop(reader);
    let heights = blocks.iter().map(|(id, _)| (*id, 0)).collect();
    let bundle = first_bundle(genesis, blocks);
    let position = Position { height: 0, id: bundle.id(), timestamp_ms: 0 };
    let record = BundleRecord::new(&bundle, heights, None);
    let mut out = WriteSet::default();
    BUNDLES.put(&mut out, Scope::NODE, &0, &record);
    POSITION.put(&mut out, Scope::NODE, &(), &position);
    store.writer.commit_blocking(out)?;
    Ok(position)
}

/// The bundle of height 0 with the blocks of the genesis chains.
pub(crate) fn first_bundle(genesis: &GenesisBundle, blocks: Vec<(ChainId, Bytes)>) -> Bundle {
    Bundle {
        version: Bundle::FIRST_VERSION,
        parent: genesis.parameters_hash,
        height: 0,
        timestamp_ms: 0,
        commitment: Id::ZERO,
        blocks,
    }
}
