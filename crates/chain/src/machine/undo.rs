//! The undo log: one row for each of the last final bundles, which a rewind restores. Rows are limited in number and
//! bytes.

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;

use esker_storage::{KvRead, KvWrite, Scope, StorageResult, Store, WriteSet};

use crate::tables::UNDO;

/// Most rows that one commit deletes, in addition to those that a bundle's own commit deletes.
const DELETE_STEP: usize = 2048;

/// Limits of the undo log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoLimits {
    /// Most bundles that can be rewound.
    pub bundles: u64,
    /// Most bytes of their rows. A bundle with a larger row can't be rewound.
    pub bytes: u64,
    /// All bundles above this height can be rewound, whatever the other limits are.
    pub all_above: u64,
}

impl UndoLimits {
    /// The default of `bytes`: 256 MiB.
    pub const BYTES: u64 = 256 << 20;

    /// This many bundles, and [`Self::BYTES`].
    #[must_use]
    pub const fn bundles(bundles: u64) -> Self {
        Self { bundles, bytes: Self::BYTES, all_above: u64::MAX }
    }

    /// Whether a log whose oldest row is of this height has to lose it.
    fn is_beyond(&self, oldest: u64, rows: u64, bytes: u64) -> bool {
        oldest <= self.all_above && (rows > self.bundles || bytes > self.bytes)
    }
}

/// Whether bundles can be rewound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undo {
    /// The stored rows stay, and no row is added: for commands on a stopped node's folder.
    #[default]
    AsStored,
    /// No row is kept. Stored rows are deleted.
    Off,
    /// The last bundles can be rewound.
    Keep(UndoLimits),
}

/// The stored undo rows: consecutive heights, up to the last bundle's.
#[derive(Debug)]
pub(super) struct UndoLog {
    undo: Undo,
    /// Heights and bytes, ascending.
    rows: VecDeque<(u64, u64)>,
    bytes: u64,
}

/// How a new row changes the log.
#[derive(Debug)]
pub(super) struct NewRow {
    row: (u64, u64),
    deleted: usize,
}

impl UndoLog {
    /// Reads the stored rows. `last` is the height of the last final bundle.
    pub(super) fn open(reader: &dyn KvRead, last: u64) -> StorageResult<Self> {
        let mut log = Self { undo: Undo::AsStored, rows: VecDeque::new(), bytes: 0 };
        for (height, bytes) in stored(reader)? {
            if log.rows.back().is_some_and(|(before, _)| before + 1 != height) {
                log.clear();
            }
            log.push((height, bytes));
        }
        // Later bundles became final without a row.
        if log.rows.back().is_some_and(|(height, _)| *height != last) {
            log.clear();
        }
        Ok(log)
    }

    /// Sets the limits and deletes rows beyond them, in commits of limited size.
    pub(super) fn set(&mut self, undo: Undo, store: &Store) -> StorageResult<()> {
        // Takes effect even if a deletion fails: the next call retries it.
        self.undo = undo;
        match undo {
            Undo::AsStored => return Ok(()),
            Undo::Off => self.clear(),
            Undo::Keep(limits) => while self.pop_beyond(&limits) {},
        }
        let kept: BTreeSet<u64> = self.rows.iter().map(|(height, _)| *height).collect();
        let mut gone = stored(store.snapshot()?.as_ref())?;
        gone.retain(|(height, _)| !kept.contains(height));
        delete(&gone, store)
    }

    /// Whether final bundles get an undo row.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self.undo, Undo::Keep(_))
    }

    /// The lowest height that a rewind can reach, if the last bundle can be rewound.
    pub(super) fn lowest(&self) -> Option<u64> {
        self.rows.front().map(|(height, _)| height.saturating_sub(1))
    }

    /// The height that one write of a rewind to `to` goes back to: it restores rows of at most this many bytes, or one.
    pub(super) fn step(&self, to: u64, bytes: u64) -> u64 {
        let (mut taken, mut total) = (0_u64, 0_u64);
        for (height, row) in self.rows.iter().rev().take_while(|(height, _)| *height > to) {
            total = total.saturating_add(*row);
            if total > bytes && taken > 0 {
                return *height;
            }
            taken += 1;
        }
        to
    }

    /// Adds a bundle's row to its commit and deletes rows beyond the limits. Call [`Self::committed`] after the
    /// commit.
    pub(super) fn extend_commit(
        &self,
        height: u64,
        row: &[u8],
        out: &mut impl KvWrite,
    ) -> Option<NewRow> {
        let Undo::Keep(limits) = self.undo else { return None };
        let bytes = row.len() as u64;
        let (mut rows, mut total) = (self.rows.len() as u64 + 1, self.bytes.saturating_add(bytes));
        let mut deleted = 0;
        for (oldest, bytes) in &self.rows {
            if !limits.is_beyond(*oldest, rows, total) {
                break;
            }
            UNDO.delete(out, Scope::NODE, oldest);
            (rows, total, deleted) = (rows - 1, total - bytes, deleted + 1);
        }
        let oldest = self.rows.get(deleted).map_or(height, |(oldest, _)| *oldest);
        if !limits.is_beyond(oldest, rows, total) {
            UNDO.put_bytes(out, Scope::NODE, &height, row);
        }
        Some(NewRow { row: (height, bytes), deleted })
    }

    /// The commit of [`Self::extend_commit`] is in the store; `None` if it had no row.
    pub(super) fn committed(&mut self, new: Option<NewRow>) {
        let (Undo::Keep(limits), Some(NewRow { row, deleted })) = (self.undo, new) else {
            self.clear();
            return;
        };
        for _ in 0..deleted {
            self.pop();
        }
        self.push(row);
        self.pop_beyond(&limits);
    }

    /// Removes the rows of bundles above a height after a rewind.
    pub(super) fn rewound(&mut self, to: u64) {
        while let Some((_, bytes)) = self.rows.pop_back_if(|(height, _)| *height > to) {
            self.bytes -= bytes;
        }
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.bytes = 0;
    }

    fn push(&mut self, row: (u64, u64)) {
        self.bytes = self.bytes.saturating_add(row.1);
        self.rows.push_back(row);
    }

    fn pop(&mut self) {
        if let Some((_, bytes)) = self.rows.pop_front() {
            self.bytes -= bytes;
        }
    }

    /// Removes the oldest row if there are too many; false if not.
    fn pop_beyond(&mut self, limits: &UndoLimits) -> bool {
        let Some((oldest, _)) = self.rows.front() else { return false };
        let is_beyond = limits.is_beyond(*oldest, self.rows.len() as u64, self.bytes);
        if is_beyond {
            self.pop();
        }
        is_beyond && !self.rows.is_empty()
    }
}

/// Deletes all stored rows.
pub(super) fn delete_all(store: &Store) -> StorageResult<()> {
    let rows = stored(store.snapshot()?.as_ref())?;
    delete(&rows, store)
}

/// Deletes rows, in commits of limited size.
fn delete(rows: &[(u64, u64)], store: &Store) -> StorageResult<()> {
    for step in rows.chunks(DELETE_STEP) {
        let mut out = WriteSet::new();
        step.iter().for_each(|(height, _)| UNDO.delete(&mut out, Scope::NODE, height));
        store.writer.commit_blocking(out)?;
    }
    Ok(())
}

/// Heights and bytes of all stored rows, ascending.
fn stored(reader: &dyn KvRead) -> StorageResult<Vec<(u64, u64)>> {
    let mut rows = Vec::new();
    let mut outcome = Ok(());
    UNDO.scan(reader, Scope::NODE, &[], None, |key, value| match UNDO.decode_key(key) {
        Ok(height) => {
            rows.push((height, value.len() as u64));
            ControlFlow::Continue(())
        }
        Err(error) => {
            outcome = Err(error);
            ControlFlow::Break(())
        }
    })?;
    outcome.map(|()| rows)
}
