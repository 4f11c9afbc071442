//! The index of a chain: sections in the store, and later blooms in memory.

use std::sync::Arc;

use alloy_primitives::Bloom;
use esker_primitives::sync::RwLock;
use esker_storage::{KvRead, KvWrite, PendingWrites, Scope, StorageResult, Store, WriteSet};

use super::query::LogQuery;
use super::row::SECTION;
use super::section::{self, rows_of};
use super::tables::{LOG_ROWS, LOG_SECTIONS};

/// Most blooms in memory that one look-up tests.
const STEP: usize = 512;

/// Blocks of a part of the requested range that may match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogCandidates {
    /// Heights of the blocks, ascending.
    pub heights: Vec<u64>,
    /// The height at which to continue; `None` at the end of the range.
    pub next: Option<u64>,
}

/// Progress of [`LogIndex::backfill`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackfillProgress {
    /// Number of blocks with rows.
    pub done: u64,
    /// Number of blocks that will have rows.
    pub total: u64,
}

/// The index of logs.
#[derive(Debug)]
pub struct LogIndex {
    scope: Scope,
    tail: RwLock<Arc<Tail>>,
}

/// Blooms of the blocks after the last complete section.
#[derive(Clone, Debug, Default)]
struct Tail {
    /// Height of the first of these blocks. All earlier blocks are in the store.
    first: u64,
    /// Blooms by height, without blocks that have no logs.
    blooms: Vec<(u64, Bloom)>,
}

/// The state in memory after a rewind.
#[derive(Debug)]
pub struct RewoundTail(Tail);

impl Tail {
    fn push(&mut self, height: u64, bloom: &Bloom) {
        if !bloom.is_zero() {
            self.blooms.push((height, *bloom));
        }
    }
}

impl LogIndex {
    /// The index of an empty chain.
    pub fn new(scope: Scope) -> Self {
        Self { scope, tail: RwLock::new_named("evm.logs", Arc::default()) }
    }

    /// One step of indexing a store whose last block has the height `tip`. It writes the rows of the next section
    /// that an earlier version did not index, in a commit of its own and without an open snapshot. Returns `None` if
    /// all sections have rows and the later blooms are in memory, so that the index can be used.
    ///
    /// Blocks below `first_block` are not in the store: their bits in a section are empty, and sections without other
    /// blocks are left out.
    ///
    /// The rows of a section and the number of sections are one commit: a failed step is repeated.
    pub fn backfill<E: From<esker_storage::StorageError>>(
        &self,
        store: &Store,
        first_block: u64,
        tip: u64,
        bloom_of: impl Fn(&dyn KvRead, u64) -> Result<Bloom, E>,
    ) -> Result<Option<BackfillProgress>, E> {
        let whole = tip.saturating_add(1) / SECTION;
        let reader = store.snapshot()?;
        let section = LOG_SECTIONS.get(reader.as_ref(), self.scope, &())?.unwrap_or(0);
        let section = section.max(first_block / SECTION);
        let read = |first: u64, end: u64| {
            let mut tail = Tail { first, blooms: Vec::new() };
            for height in first.max(first_block)..end {
                tail.push(height, &bloom_of(reader.as_ref(), height)?);
            }
            Ok::<_, E>(tail)
        };
        if section >= whole {
            *self.tail.write() = Arc::new(read(whole * SECTION, tip.saturating_add(1))?);
            return Ok(None);
        }
        let tail = read(section * SECTION, (section + 1) * SECTION)?;
        drop(reader);
        let mut out = WriteSet::new();
        self.write(section, tail.blooms.iter().map(|(at, bloom)| (*at, bloom)), &mut out);
        store.writer.commit_blocking(out)?;
        Ok(Some(BackfillProgress { done: (section + 1) * SECTION, total: whole * SECTION }))
    }

    /// Adds the rows of sections to the commit of the blocks that complete them. `blocks` are heights with blooms,
    /// from the one after the last accepted block.
    pub fn extend_commit(&self, blocks: &[(u64, Bloom)], out: &mut impl KvWrite) {
        let tail = Arc::clone(&self.tail.read());
        for (last, _) in blocks.iter().filter(|(height, _)| completes(*height)) {
            let section = last / SECTION;
            let is_in = |height: u64| height / SECTION == section && height <= *last;
            let before = tail.blooms.iter().filter(|(height, _)| is_in(*height));
            let here = blocks.iter().filter(|(height, _)| is_in(*height));
            let blooms = before.map(|(at, bloom)| (*at, bloom));
            self.write(section, blooms.chain(here.map(|(at, bloom)| (*at, bloom))), out);
        }
    }

    /// Adds a block with this bloom, which is in the store.
    pub fn accepted(&self, height: u64, bloom: &Bloom) {
        let mut tail = self.tail.write();
        if completes(height) {
            *tail = Arc::new(Tail { first: height + 1, blooms: Vec::new() });
        } else {
            // The blooms are copied if a search holds them.
            Arc::make_mut(&mut tail).push(height, bloom);
        }
    }

    /// Prepares a rewind to a height: deletes the sections that become incomplete and were not written by the commits
    /// of their blocks. Returns the input of [`Self::follow`].
    pub fn prepare_rewind<E: From<esker_storage::StorageError>>(
        &self,
        tip: u64,
        after: &mut PendingWrites<'_>,
        bloom_of: impl Fn(&dyn KvRead, u64) -> Result<Bloom, E>,
    ) -> Result<RewoundTail, E> {
        let whole = tip.saturating_add(1) / SECTION;
        let stored = LOG_SECTIONS.get(after, self.scope, &())?.unwrap_or(0);
        for section in whole..stored {
            for (key, _) in LOG_ROWS.collect(after, self.scope, &section.to_be_bytes())? {
                LOG_ROWS.delete(after, self.scope, &key);
            }
        }
        match whole {
            _ if stored <= whole => {}
            0 => LOG_SECTIONS.delete(after, self.scope, &()),
            _ => LOG_SECTIONS.put(after, self.scope, &(), &whole),
        }
        let mut tail = Tail { first: whole * SECTION, blooms: Vec::new() };
        for height in tail.first..=tip {
            tail.push(height, &bloom_of(after, height)?);
        }
        Ok(RewoundTail(tail))
    }

    /// Updates memory after the rewind of [`Self::prepare_rewind`].
    pub fn follow(&self, after: RewoundTail) {
        *self.tail.write() = Arc::new(after.0);
    }

    fn write<'a>(
        &self,
        section: u64,
        blooms: impl Iterator<Item = (u64, &'a Bloom)>,
        out: &mut impl KvWrite,
    ) {
        for (bit, row) in rows_of(blooms) {
            LOG_ROWS.put(out, self.scope, &(section, bit), &row);
        }
        LOG_SECTIONS.put(out, self.scope, &(), &(section + 1));
    }

    /// Searches the first part of a range of heights, both ends included: a section of the store, or some hundred
    /// blocks in memory. The range must not go beyond the last block passed to [`Self::accepted`].
    pub fn find(
        &self,
        store: &Store,
        query: &LogQuery,
        from: u64,
        to: u64,
    ) -> StorageResult<LogCandidates> {
        let tail = Arc::clone(&self.tail.read());
        if from >= tail.first {
            let start = tail.blooms.partition_point(|(height, _)| *height < from);
            let ahead = tail.blooms[start..].iter().take_while(|(height, _)| *height <= to);
            let mut ahead = ahead.peekable();
            let mut heights = Vec::new();
            for (height, bloom) in ahead.by_ref().take(STEP) {
                if query.may_match(bloom) {
                    heights.push(*height);
                }
            }
            return Ok(LogCandidates { heights, next: ahead.peek().map(|(height, _)| *height) });
        }
        let section = from / SECTION;
        let first = section * SECTION;
        let last = to.min(first + (SECTION - 1));
        // Blooms are in the store before they leave memory, so the snapshot must be opened after reading memory.
        let found = section::find(store.snapshot()?.as_ref(), self.scope, section, query)?;
        let heights = found.places().map(|place| first + place);
        let heights = heights.filter(|height| (from..=last).contains(height)).collect();
        Ok(LogCandidates { heights, next: (last < to).then(|| last + 1) })
    }
}

/// Writes the rows of a complete section, as [`LogIndex::extend_commit`] does.
pub fn write_section(scope: Scope, section: u64, blooms: &[(u64, Bloom)], out: &mut impl KvWrite) {
    LogIndex::new(scope).write(section, blooms.iter().map(|(at, bloom)| (*at, bloom)), out);
}

/// Whether it is the last block of a section.
fn completes(height: u64) -> bool {
    height % SECTION == SECTION - 1
}
