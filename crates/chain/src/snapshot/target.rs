//! The store of a node that joins from a snapshot.

use std::sync::Arc;

use esker_primitives::{BlockId, ChainId};
use esker_storage::{KvRead, PendingWrites, Scope, StorageResult, Store, WriteSet};

use super::PartSnapshot;
use crate::bundle::Bundle;
use crate::error::ChainError;
use crate::machine::GenesisBundle;
use crate::tables::{BundleRecord, CHAINS, UNFINISHED};
use crate::vm::ChainVm;

/// Tags of the node's scope that a join writes: the machine's and shared memory's.
const WRITTEN_TAGS: std::ops::RangeInclusive<u8> = 0x10..=0x2f;

/// Whether a snapshot was begun and not completed in this store.
pub fn is_unfinished(reader: &dyn KvRead) -> StorageResult<bool> {
    UNFINISHED.contains(reader, Scope::NODE, &())
}

/// Refuses a store in which a snapshot was begun and not completed.
pub fn check_finished(reader: &dyn KvRead) -> Result<(), ChainError> {
    if is_unfinished(reader)? {
        return Err(ChainError::Mismatch(
            "the snapshot was not completed: start again with --follow URL --snapshot, or empty the data folder"
                .to_owned(),
        ));
    }
    Ok(())
}

/// A store without final bundles, and what the network's definition says of it.
pub struct SnapshotTarget {
    pub(super) chains: Vec<TargetChain>,
    pub(super) shared: Box<dyn PartSnapshot>,
    pub(super) store: Store,
    genesis: Bundle,
}

/// A chain of the node.
pub(super) struct TargetChain {
    pub(super) vm: Arc<dyn ChainVm>,
    /// ID of the block of height 0.
    pub(super) genesis_id: BlockId,
    /// Rows of the genesis that stay.
    pub(super) kept: WriteSet,
}

impl SnapshotTarget {
    /// The target of these chains. The genesis of each is built once to know the bundle of height 0; nothing is written.
    ///
    /// # Errors
    /// A genesis is unusable, or the store can't be read.
    pub fn new(
        chains: &[Arc<dyn ChainVm>],
        shared: Box<dyn PartSnapshot>,
        store: Store,
        genesis: &GenesisBundle,
    ) -> Result<Self, ChainError> {
        let below = store.snapshot()?;
        let (mut targets, mut blocks) = (Vec::with_capacity(chains.len()), Vec::new());
        for (index, vm) in chains.iter().enumerate() {
            let mut rows = PendingWrites::new(below.as_ref());
            vm.genesis(&mut rows.writes)?;
            let id = vm.context().chain_id;
            let genesis_id = vm.last_block(&rows)?.1;
            if index < genesis.chain_count {
                let missing = || ChainError::Genesis(format!("chain {id} has no block 0"));
                blocks.push((id, vm.block_at(&rows, 0)?.ok_or_else(missing)?));
            }
            let kept = kept_rows(vm.as_ref(), &rows.into_writes());
            targets.push(TargetChain { vm: Arc::clone(vm), genesis_id, kept });
        }
        let genesis = crate::machine::first_bundle(genesis, blocks);
        Ok(Self { chains: targets, shared, store, genesis })
    }

    /// The bundle of height 0.
    pub fn genesis(&self) -> &Bundle {
        &self.genesis
    }

    /// Deletes all chains, and marks the store as unfinished until [`super::Restore::finish`]. Nothing else may use the
    /// store meanwhile.
    pub fn begin(&self) -> StorageResult<()> {
        let mut set = WriteSet::new();
        UNFINISHED.put(&mut set, Scope::NODE, &(), &());
        self.reset(&set)
    }

    /// Deletes all chains and the mark: the store is a new one.
    pub fn clear(&self) -> StorageResult<()> {
        self.reset(&WriteSet::new())
    }

    fn reset(&self, set: &WriteSet) -> StorageResult<()> {
        let is_kept = |key: &[u8]| key.get(2).is_some_and(|tag| !WRITTEN_TAGS.contains(tag));
        self.store.kv.reset(&is_kept, set)
    }

    pub(super) fn chain(&self, id: &ChainId) -> Option<&TargetChain> {
        self.chains.iter().find(|chain| chain.vm.context().chain_id == *id)
    }

    /// The record of the bundle of height 0.
    pub(super) fn genesis_record(&self) -> BundleRecord {
        let heights = self.genesis.blocks.iter().map(|(id, _)| (*id, 0)).collect();
        BundleRecord::new(&self.genesis, heights, None)
    }

    /// The entry of each chain, and the rows of its genesis that stay.
    pub(super) fn put_chains(&self, out: &mut WriteSet) {
        for chain in &self.chains {
            out.merge(&chain.kept);
            let id = chain.vm.context().chain_id;
            CHAINS.put(out, Scope::NODE, id.as_bytes(), &());
        }
    }
}

fn kept_rows(vm: &dyn ChainVm, rows: &WriteSet) -> WriteSet {
    let mut kept = WriteSet::new();
    let Some(part) = vm.snapshot() else { return kept };
    let scope = vm.context().scope.0.to_be_bytes();
    for (key, value) in rows.iter() {
        let own = key.strip_prefix(&scope).filter(|key| part.keeps_genesis_row(key));
        if let (Some(_), Some(value)) = (own, value) {
            kept.put(key, value);
        }
    }
    kept
}

impl std::fmt::Debug for SnapshotTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnapshotTarget").field("chains", &self.chains.len()).finish_non_exhaustive()
    }
}
