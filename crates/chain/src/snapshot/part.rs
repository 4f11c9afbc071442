//! The port through which chains and shared memory describe their rows in a snapshot.

use bytes::Bytes;
use esker_primitives::BlockId;
use esker_storage::{KvRead, Scope, StorageError, WriteSet};
use thiserror::Error;

use crate::error::ChainError;

/// A table whose rows a snapshot has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotTable {
    /// Its tag.
    pub tag: u8,
    /// Its name, for messages.
    pub name: &'static str,
    /// Length of its shortest key, without scope and tag. Rows with other lengths are of a table that shares the tag.
    pub min_key: usize,
    /// Length of its longest key.
    pub max_key: usize,
    /// Length of its longest value.
    pub max_value: usize,
}

impl SnapshotTable {
    /// A table whose keys all have the same length.
    #[must_use]
    pub const fn new(tag: u8, name: &'static str, key: usize, max_value: usize) -> Self {
        Self { tag, name, min_key: key, max_key: key, max_value }
    }

    /// The first bytes of the stored keys.
    #[must_use]
    pub const fn prefix(&self, scope: Scope) -> [u8; 3] {
        let [high, low] = scope.0.to_be_bytes();
        [high, low, self.tag]
    }

    /// Whether a key of this length, without scope and tag, is one of the table.
    #[must_use]
    pub const fn has_key_of(&self, len: usize) -> bool {
        self.min_key <= len && len <= self.max_key
    }
}

/// The reason why the content of a snapshot is not written.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The snapshot is wrong.
    #[error("{0}")]
    Invalid(String),
    /// This node failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

impl RestoreError {
    /// The snapshot is wrong.
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid(reason.into())
    }
}

impl From<StorageError> for RestoreError {
    fn from(error: StorageError) -> Self {
        Self::Chain(error.into())
    }
}

/// The rows of a chain, or of shared memory.
pub trait PartSnapshot: Send + Sync {
    /// The tables, in the order in which their rows travel.
    fn tables(&self) -> Vec<SnapshotTable>;

    /// Begins to restore the part in a store without its rows.
    fn restore(&self) -> Box<dyn PartRestore + '_>;
}

/// The content of a chain's part besides rows.
pub trait ChainSnapshot: PartSnapshot {
    /// Number of blocks that travel: the last one and those before it, without the one of height 0.
    fn block_count(&self) -> u64 {
        1
    }

    /// The data that a snapshot sends with the block of a height, besides the block's bytes.
    fn block_extra(&self, _reader: &dyn KvRead, _height: u64) -> Result<Bytes, ChainError> {
        Ok(Bytes::new())
    }

    /// Whether a row that the genesis wrote stays beside the rows of a snapshot: the block of height 0 and what is known
    /// of it, but no state. The key is without the scope.
    fn keeps_genesis_row(&self, key: &[u8]) -> bool;
}

/// A block that arrives.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotBlock<'a> {
    /// Its height.
    pub height: u64,
    /// The ID that it must have.
    pub id: BlockId,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Like [`ChainSnapshot::block_extra`].
    pub extra: &'a [u8],
    /// Whether it is the chain's last one.
    pub is_last: bool,
}

/// Checks what arrives for one part, and writes what follows from it. The rows themselves are written by the caller, who
/// checks that their lengths are those of the table, that keys ascend, and that committed rows are those of the bundle.
pub trait PartRestore {
    /// Takes a block, the chain's last one first; it has to have the given ID. Writes its rows and returns its parent.
    /// A part without a chain gets none.
    fn block(
        &mut self,
        block: SnapshotBlock<'_>,
        out: &mut WriteSet,
    ) -> Result<BlockId, RestoreError>;

    /// Takes a row of the table with this tag. `stored` has the rows of the tables before it.
    fn row(
        &mut self,
        tag: u8,
        row: (&[u8], &[u8]),
        stored: &dyn KvRead,
        out: &mut WriteSet,
    ) -> Result<(), RestoreError>;

    /// All rows of a table were given. Called for each table in order, also for one without rows.
    fn end_table(
        &mut self,
        _tag: u8,
        _stored: &dyn KvRead,
        _out: &mut WriteSet,
    ) -> Result<(), RestoreError> {
        Ok(())
    }
}
