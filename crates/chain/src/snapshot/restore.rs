//! Checking a snapshot that arrives, and writing it.

use std::collections::BTreeMap;

use bytes::Bytes;
use esker_primitives::{BlockId, ChainId};
use esker_storage::{KvRead, QueuedCommit, Scope, WriteSet};

use super::rows_hash::RowsHash;
use super::{
    Page, PartRestore, RestoreError, SnapshotBlock, SnapshotItem, SnapshotTable, SnapshotTarget,
};
use crate::bundle::{Bundle, BundleId};
use crate::commitment::{SHARED_PART, StatePart, StateSummary, StateTables};
use crate::error::ChainError;
use crate::tables::{
    BUNDLE_HEIGHTS, BUNDLES, BundleRecord, HISTORY_START, HistoryStart, POSITION, Position, STATE,
    STATE_PARTS, UNFINISHED,
};

/// Bytes of rows at which a commit begins.
const COMMIT_BYTES: usize = 24 << 20;

/// A snapshot that is being written into a [`SnapshotTarget`], after [`SnapshotTarget::begin`]. Items have to come in the
/// order of [`super::SnapshotReader`]. After an error only [`SnapshotTarget::begin`] or [`SnapshotTarget::clear`] may
/// follow.
///
/// It blocks the calling thread on the store.
pub struct Restore<'a> {
    target: &'a SnapshotTarget,
    committed: StateTables,
    bundle: Bundle,
    proof: Option<Bytes>,
    summary: StateSummary,
    parts: Vec<Part<'a>>,
    /// The part whose blocks come.
    blocks_of: usize,
    /// The part and the table whose rows come.
    at: (usize, usize),
    last_key: Vec<u8>,
    rows: u64,
    hash: RowsHash,
    out: WriteSet,
    writing: Option<QueuedCommit>,
    /// Rows of the tables before the current one, and maybe further ones.
    stored: Box<dyn KvRead>,
}

/// Shared memory, or a chain with blocks.
struct Part<'a> {
    id: ChainId,
    scope: Scope,
    name: String,
    tables: Vec<SnapshotTable>,
    restore: Box<dyn PartRestore + 'a>,
    blocks: Option<Blocks>,
}

/// Blocks of a chain that still have to come, from the newest to the oldest.
#[derive(Clone, Copy, Debug)]
struct Blocks {
    last: u64,
    first: u64,
    next: u64,
    /// ID of the next one.
    id: BlockId,
    genesis: BlockId,
}

impl<'a> Restore<'a> {
    /// Begins with the snapshot's bundle and the summary that it commits to.
    ///
    /// # Errors
    /// They do not belong together, or the bundle has a chain that this node does not have.
    pub fn new(
        target: &'a SnapshotTarget,
        bundle: Bundle,
        proof: Option<Bytes>,
        summary: StateSummary,
    ) -> Result<Self, RestoreError> {
        if bundle.height == 0 || bundle.state_commitment() != Some(summary.commitment()) {
            return Err(RestoreError::invalid("its bundle does not commit to its summary"));
        }
        let mut parts = vec![Part {
            id: SHARED_PART,
            scope: Scope::NODE,
            name: "shared memory".to_owned(),
            tables: target.shared.tables(),
            restore: target.shared.restore(),
            blocks: None,
        }];
        for (id, state) in &summary.chains {
            let chain = target.chain(id).ok_or_else(|| {
                RestoreError::invalid(format!("it has chain {id}, which this node does not have"))
            })?;
            let part = chain.vm.snapshot().ok_or_else(|| {
                RestoreError::invalid(format!("chain {} can't be part of it", chain.vm.name()))
            })?;
            if state.height == 0 {
                let text = format!("its summary has chain {} without blocks", chain.vm.name());
                return Err(RestoreError::invalid(text));
            }
            let first = state.height.saturating_sub(part.block_count().saturating_sub(1)).max(1);
            parts.push(Part {
                id: *id,
                scope: chain.vm.context().scope,
                name: format!("chain {}", chain.vm.name()),
                tables: part.tables(),
                restore: part.restore(),
                blocks: Some(Blocks {
                    last: state.height,
                    first,
                    next: state.height,
                    id: state.block_id,
                    genesis: chain.genesis_id,
                }),
            });
        }
        if bundle.blocks.iter().any(|(id, _)| !summary.chains.contains_key(id)) {
            return Err(RestoreError::invalid("its bundle has a block of a chain without blocks"));
        }
        let vms: Vec<_> = target.chains.iter().map(|chain| chain.vm.clone()).collect();
        Ok(Self {
            target,
            committed: StateTables::from_chains(&vms)?,
            bundle,
            proof,
            summary,
            parts,
            blocks_of: 1,
            at: (0, 0),
            last_key: Vec::new(),
            rows: 0,
            hash: RowsHash::spawn()?,
            out: WriteSet::new(),
            writing: None,
            stored: target.store.snapshot()?,
        })
    }

    /// Number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes the next item.
    pub fn take(&mut self, item: SnapshotItem) -> Result<(), RestoreError> {
        match item {
            SnapshotItem::Block { chain, height, bytes, extra } => {
                self.take_block(chain, height, &bytes, &extra)
            }
            SnapshotItem::Rows { part, tag, page } => self.take_rows(part, tag, page),
        }
    }

    fn take_block(
        &mut self,
        chain: ChainId,
        height: u64,
        bytes: &[u8],
        extra: &[u8],
    ) -> Result<(), RestoreError> {
        let part = self.parts.get_mut(self.blocks_of).filter(|part| part.id == chain);
        let unexpected =
            || RestoreError::invalid(format!("block {height} of {chain} is unexpected"));
        let part = part.ok_or_else(unexpected)?;
        let blocks = part.blocks.as_mut().filter(|blocks| blocks.next == height);
        let blocks = blocks.ok_or_else(unexpected)?;
        let is_last = height == blocks.last;
        let block = SnapshotBlock { height, id: blocks.id, bytes, extra, is_last };
        let parent = part.restore.block(block, &mut self.out).map_err(|error| match error {
            RestoreError::Invalid(reason) => {
                RestoreError::invalid(format!("block {height} of {}: {reason}", part.name))
            }
            failed @ RestoreError::Chain(_) => failed,
        })?;
        let in_bundle = self.bundle.blocks.iter().find(|(id, _)| *id == chain);
        if is_last && in_bundle.is_some_and(|(_, block)| block != bytes) {
            return Err(RestoreError::invalid(format!(
                "its bundle has another block of {}",
                part.name
            )));
        }
        if height == blocks.first {
            // The genesis of P is not known.
            let is_known = height == 1 && blocks.genesis != BlockId::ZERO;
            if is_known && parent != blocks.genesis {
                let text = format!("block 1 of {} is not of this network", part.name);
                return Err(RestoreError::invalid(text));
            }
            self.blocks_of += 1;
        } else {
            (blocks.next, blocks.id) = (height - 1, parent);
        }
        self.flush_if_full()
    }

    fn take_rows(&mut self, id: ChainId, tag: u8, page: Bytes) -> Result<(), RestoreError> {
        self.check_blocks()?;
        if page.is_empty() {
            return Err(RestoreError::invalid(format!("no rows of table {tag:#x}")));
        }
        loop {
            let (part, table) = self.at;
            let Some(current) = self.parts.get(part) else {
                return Err(RestoreError::invalid(format!(
                    "rows of table {tag:#x} are unexpected"
                )));
            };
            if current.id == id && current.tables.get(table).is_some_and(|t| t.tag == tag) {
                break;
            }
            self.end_table()?;
        }
        let (index, table) = self.at;
        let part = &mut self.parts[index];
        let table = part.tables[table];
        let prefix = table.prefix(part.scope);
        for row in Page(&page) {
            let bad = |what: &str| {
                RestoreError::invalid(format!("{}: {what} in table {}", part.name, table.name))
            };
            let (key, value) = row.ok_or_else(|| bad("bytes that are no row"))?;
            if !table.has_key_of(key.len()) || value.len() > table.max_value {
                return Err(bad("a row of another length"));
            }
            if key <= self.last_key.as_slice() && !self.last_key.is_empty() {
                return Err(bad("rows out of order"));
            }
            self.last_key.clear();
            self.last_key.extend_from_slice(key);
            self.rows += 1;
            self.out.put(&[&prefix, key].concat(), value);
            let taken = part.restore.row(tag, (key, value), self.stored.as_ref(), &mut self.out);
            taken.map_err(|error| named(&part.name, error))?;
        }
        if self.committed.find(&id, tag, table.min_key).is_some() {
            self.hash.add(id, tag, page);
        }
        self.flush_if_full()
    }

    /// Ends the current table, and makes its rows visible to the next.
    fn end_table(&mut self) -> Result<(), RestoreError> {
        let (index, table) = self.at;
        let Some(part) = self.parts.get_mut(index) else { return Ok(()) };
        if let Some(table) = part.tables.get(table) {
            let ended = part.restore.end_table(table.tag, self.stored.as_ref(), &mut self.out);
            ended.map_err(|error| named(&part.name, error))?;
        }
        self.at = match table + 1 < part.tables.len() {
            true => (index, table + 1),
            false => (index + 1, 0),
        };
        self.last_key.clear();
        self.flush()?;
        self.wait()
    }

    fn check_blocks(&self) -> Result<(), RestoreError> {
        match self.parts.get(self.blocks_of) {
            None => Ok(()),
            Some(part) => {
                Err(RestoreError::invalid(format!("blocks of {} are missing", part.name)))
            }
        }
    }

    /// Checks the whole, and completes the store: it has the state after the returned bundle.
    pub fn finish(mut self, rows: u64) -> Result<Position, RestoreError> {
        self.check_blocks()?;
        while self.at.0 < self.parts.len() {
            self.end_table()?;
        }
        if self.rows != rows {
            let text = format!("{} rows came of {rows}", self.rows);
            return Err(RestoreError::invalid(text));
        }
        let Self { target, bundle, proof, summary, parts, hash, mut out, .. } = self;
        let hashes = hash.finish()?;
        for part in &parts {
            let checksum = hashes
                .get(&part.id)
                .map_or_else(|| StatePart::default().checksum(), StatePart::checksum);
            // The zero ID is that of shared memory, and of P, which has no rows.
            if part.blocks.is_some() && part.id == SHARED_PART {
                continue;
            }
            if summary.checksum_of(&part.id) != Some(checksum) {
                let text = format!("the rows of {} are not those of its bundle", part.name);
                return Err(RestoreError::invalid(text));
            }
        }
        genesis_of_others(target, &summary, &mut out)?;
        let history = history(&bundle, &parts);
        let position = put_end(target, (bundle, proof), &summary, hashes, &history, &mut out);
        drop(parts);
        target.store.writer.enqueue_blocking(out)?.wait()?;
        Ok(position)
    }

    fn flush_if_full(&mut self) -> Result<(), RestoreError> {
        if self.out.size_bytes() >= COMMIT_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what is there, while the next rows are checked.
    fn flush(&mut self) -> Result<(), RestoreError> {
        self.wait()?;
        if !self.out.is_empty() {
            let out = std::mem::take(&mut self.out);
            self.writing = Some(self.target.store.writer.enqueue_blocking(out)?);
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<(), RestoreError> {
        if let Some(writing) = self.writing.take() {
            writing.wait()?;
            // The old view would keep the space of what was replaced since.
            self.stored = self.target.store.snapshot()?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Restore<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (height, rows) = (self.bundle.height, self.rows);
        f.debug_struct("Restore")
            .field("height", &height)
            .field("rows", &rows)
            .finish_non_exhaustive()
    }
}

fn named(part: &str, error: RestoreError) -> RestoreError {
    match error {
        RestoreError::Invalid(reason) => RestoreError::Invalid(format!("{part}: {reason}")),
        failed @ RestoreError::Chain(_) => failed,
    }
}

/// The genesis of the chains that have no block yet.
fn genesis_of_others(
    target: &SnapshotTarget,
    summary: &StateSummary,
    out: &mut WriteSet,
) -> Result<(), ChainError> {
    let mut genesis = WriteSet::new();
    for chain in &target.chains {
        if !summary.chains.contains_key(&chain.vm.context().chain_id) {
            chain.vm.genesis(&mut genesis)?;
        }
    }
    let vms: Vec<_> = target.chains.iter().map(|chain| chain.vm.clone()).collect();
    // No genesis has rows of shared memory.
    let stored = target.store.snapshot()?;
    StateTables::from_chains(&vms)?.put_changed_parts(&[&genesis], stored.as_ref(), out)?;
    out.merge(&genesis);
    Ok(())
}

/// The beginning of the store's history.
fn history(bundle: &Bundle, parts: &[Part<'_>]) -> HistoryStart {
    // This also holds if it is block 1: the bundles of the blocks are missing.
    let first = |part: &Part<'_>| Some((part.id, part.blocks?.first));
    HistoryStart { bundle: bundle.height, blocks: parts.iter().filter_map(first).collect() }
}

/// The machine's rows.
fn put_end(
    target: &SnapshotTarget,
    (bundle, proof): (Bundle, Option<Bytes>),
    summary: &StateSummary,
    hashes: BTreeMap<ChainId, StatePart>,
    history: &HistoryStart,
    out: &mut WriteSet,
) -> Position {
    let id: BundleId = bundle.id();
    let height_of = |chain: &ChainId| summary.chains.get(chain).map_or(0, |state| state.height);
    let heights = bundle.blocks.iter().map(|(chain, _)| (*chain, height_of(chain))).collect();
    let record = BundleRecord::new(&bundle, heights, proof);
    let position = Position { height: bundle.height, id, timestamp_ms: bundle.timestamp_ms };
    let node = Scope::NODE;
    target.put_chains(out);
    BUNDLES.put(out, node, &0, &target.genesis_record());
    BUNDLES.put(out, node, &bundle.height, &record);
    // Only nodes that do not decide alone join from a snapshot.
    BUNDLE_HEIGHTS.put(out, node, id.as_bytes(), &bundle.height);
    POSITION.put(out, node, &(), &position);
    HISTORY_START.put(out, node, &(), history);
    STATE.put(out, node, &(), summary);
    for (part, hash) in hashes {
        STATE_PARTS.put(out, node, part.as_bytes(), &hash);
    }
    UNFINISHED.delete(out, node, &());
    position
}
