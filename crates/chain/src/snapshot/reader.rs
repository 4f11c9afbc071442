//! Reading a snapshot out of a store.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use esker_primitives::ChainId;
use esker_storage::{KvRead, Scope, Store};
use thiserror::Error;

use super::{PageBuilder, PartSnapshot, SnapshotTable};
use crate::bundle::Bundle;
use crate::commitment::{SHARED_PART, StateSummary};
use crate::error::ChainError;
use crate::final_bundles::bundle_in;
use crate::tables::POSITION;
use crate::vm::ChainVm;

/// The reason why a store gives no snapshot.
#[derive(Debug, Error)]
pub enum SnapshotRefusal {
    /// There is only the bundle that follows from the network.
    #[error("the last final bundle is that of height 0: follow from the beginning")]
    Genesis,
    /// The last bundle says nothing of the state.
    #[error("the last final bundle {0} has no state commitment: try again after the next one")]
    NoCommitment(u64),
    /// A chain can't be part of one.
    #[error("chain {0} can't be part of a snapshot")]
    Chain(String),
    /// The store can't be read.
    #[error(transparent)]
    Failed(#[from] ChainError),
}

impl From<esker_storage::StorageError> for SnapshotRefusal {
    fn from(error: esker_storage::StorageError) -> Self {
        Self::Failed(error.into())
    }
}

/// A part of a snapshot's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotItem {
    /// A block; those of a chain come newest first.
    Block {
        /// The chain.
        chain: ChainId,
        /// Its height.
        height: u64,
        /// Its bytes.
        bytes: Bytes,
        /// The data that was sent with it.
        extra: Bytes,
    },
    /// Consecutive rows of one table.
    Rows {
        /// The chain; [`SHARED_PART`] for shared memory.
        part: ChainId,
        /// Tag of the table.
        tag: u8,
        /// A [page](super::Page) of rows, not empty.
        page: Bytes,
    },
}

/// The state after the last final bundle, in one view of the store: blocks first, then the rows of each part. The view
/// stays open as long as the reader exists.
pub struct SnapshotReader {
    reader: Box<dyn KvRead>,
    chains: Vec<Arc<dyn ChainVm>>,
    bundle: Bundle,
    proof: Option<Bytes>,
    summary: StateSummary,
    blocks: VecDeque<(ChainId, u64)>,
    tables: VecDeque<OpenTable>,
}

/// A table that is being read.
#[derive(Clone, Debug)]
struct OpenTable {
    part: ChainId,
    prefix: [u8; 3],
    table: SnapshotTable,
    /// The beginning of the next page: a whole stored key.
    from: Option<Vec<u8>>,
}

impl SnapshotReader {
    /// Opens a view of a store with these chains. `shared` is the shared memory's part.
    pub fn open(
        chains: &[Arc<dyn ChainVm>],
        shared: &dyn PartSnapshot,
        store: &Store,
    ) -> Result<Self, SnapshotRefusal> {
        let reader = store.snapshot()?;
        let damaged = |what: &str| ChainError::Corrupted(format!("{what} is missing"));
        let position = POSITION.get(reader.as_ref(), Scope::NODE, &())?;
        let height = position.ok_or_else(|| damaged("the last bundle"))?.height;
        if height == 0 {
            return Err(SnapshotRefusal::Genesis);
        }
        let (bundle, proof) = bundle_in(chains, reader.as_ref(), height)?
            .ok_or_else(|| damaged("the last bundle"))?;
        if bundle.state_commitment().is_none() {
            return Err(SnapshotRefusal::NoCommitment(height));
        }
        let summary = StateSummary::read(reader.as_ref())?
            .ok_or_else(|| damaged("the commitment of the state"))?;
        let (mut blocks, mut tables) = (VecDeque::new(), VecDeque::new());
        let open = |part, scope, table: SnapshotTable| OpenTable {
            part,
            prefix: table.prefix(scope),
            table,
            from: None,
        };
        tables.extend(shared.tables().into_iter().map(|t| open(SHARED_PART, Scope::NODE, t)));
        for (id, state) in &summary.chains {
            let chain = chains.iter().find(|chain| chain.context().chain_id == *id);
            let chain = chain.ok_or_else(|| damaged(&format!("chain {id}")))?;
            let Some(part) = chain.snapshot() else {
                return Err(SnapshotRefusal::Chain(chain.name()));
            };
            let first = state.height.saturating_sub(part.block_count() - 1).max(1);
            blocks.extend((first..=state.height).rev().map(|height| (*id, height)));
            let scope = chain.context().scope;
            tables.extend(part.tables().into_iter().map(|table| open(*id, scope, table)));
        }
        Ok(Self { reader, chains: chains.to_vec(), bundle, proof, summary, blocks, tables })
    }

    /// The bundle of the snapshot, with its proof.
    pub fn bundle(&self) -> (&Bundle, Option<&Bytes>) {
        (&self.bundle, self.proof.as_ref())
    }

    /// The summary that the bundle commits to.
    pub fn summary(&self) -> &StateSummary {
        &self.summary
    }

    /// Counts all rows, for the progress of the reader. `step` is called now and then, and ends the count by false.
    pub fn count_rows(&self, mut step: impl FnMut() -> bool) -> Result<Option<u64>, ChainError> {
        const STEP: u64 = 1 << 16;
        let (mut rows, mut goes_on) = (0u64, true);
        for OpenTable { prefix, table, .. } in &self.tables {
            self.reader.scan(prefix, None, &mut |key, _| {
                if table.has_key_of(key.len() - prefix.len()) {
                    rows += 1;
                }
                if rows.is_multiple_of(STEP) {
                    goes_on = step();
                }
                if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            if !goes_on {
                return Ok(None);
            }
        }
        Ok(Some(rows))
    }

    /// The next item, and its number of rows; `None` at the end.
    pub fn next_item(&mut self) -> Result<Option<(SnapshotItem, u64)>, ChainError> {
        if let Some((id, height)) = self.blocks.pop_front() {
            return Ok(Some((self.block(id, height)?, 0)));
        }
        while let Some(open) = self.tables.front_mut() {
            let mut page = PageBuilder::default();
            let mut last = None;
            let (table, prefix) = (open.table, open.prefix);
            let from = open.from.take();
            self.reader.scan(&prefix, from.as_deref(), &mut |stored, value| {
                let key = &stored[prefix.len()..];
                if table.has_key_of(key.len()) && page.push(key, value) {
                    last = Some(stored.to_vec());
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
            let part = open.part;
            match last {
                Some(mut key) if key.len() < esker_storage::MAX_KEY_LEN => {
                    // The first key above it.
                    key.push(0);
                    open.from = Some(key);
                }
                // A page that is full with the longest of keys is a defect of the table's limits.
                Some(_) => return Err(ChainError::Corrupted(format!("a key of {}", table.name))),
                None => drop(self.tables.pop_front()),
            }
            let rows = page.rows();
            if rows > 0 {
                let page = page.finish();
                return Ok(Some((SnapshotItem::Rows { part, tag: table.tag, page }, rows)));
            }
        }
        Ok(None)
    }

    fn block(&self, id: ChainId, height: u64) -> Result<SnapshotItem, ChainError> {
        let reader = self.reader.as_ref();
        let missing = || ChainError::Corrupted(format!("block {height} of chain {id} is missing"));
        let chain = self.chains.iter().find(|chain| chain.context().chain_id == id);
        let chain = chain.ok_or_else(missing)?;
        let bytes = chain.block_at(reader, height)?.ok_or_else(missing)?;
        let part = chain.snapshot().ok_or_else(missing)?;
        let extra = part.block_extra(reader, height)?;
        Ok(SnapshotItem::Block { chain: id, height, bytes, extra })
    }
}

impl std::fmt::Debug for SnapshotReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnapshotReader")
            .field("height", &self.bundle.height)
            .finish_non_exhaustive()
    }
}
