//! Errors of the store.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::refusal::WriteRefusal;

/// Result of a store operation.
pub type StorageResult<T> = Result<T, StorageError>;

/// Why a store operation failed. Cheap to clone: the error of one disk write reaches every commit that was
/// grouped into it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StorageError {
    /// The stored bytes are damaged: the file, or a record that can't be decoded.
    #[error("damaged data: {0}")]
    Corrupted(String),
    /// Another process uses the data folder.
    #[error(
        "data folder {} is in use by another process{}: stop that process or choose another folder",
        path.display(), pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    Locked {
        /// The data folder.
        path: PathBuf,
        /// ID of that process, if the lock file has one.
        pid: Option<u32>,
    },
    /// The data folder was written by a later release.
    #[error(
        "data folder {} was written by a later release (schema {found}, this one knows {known}): \
         use that release or a newer one, or choose another folder",
        path.display()
    )]
    NewerSchema {
        /// The data folder.
        path: PathBuf,
        /// Schema version of the folder.
        found: u32,
        /// Latest schema version that this program can read.
        known: u32,
    },
    /// The data folder belongs to another network, or to the same network with another genesis.
    #[error(
        "data folder belongs to {found}, but the node was started for {wanted}: \
         start it with the network that the folder was made for, or choose another folder"
    )]
    OtherNetwork {
        /// Network and genesis of the folder, as text.
        found: String,
        /// Network and genesis of this start, as text.
        wanted: String,
    },
    /// An invalid key: empty, or longer than [`crate::MAX_KEY_LEN`].
    #[error("key of {len} bytes: keys have 1 to {max} bytes", max = crate::MAX_KEY_LEN)]
    KeyLength {
        /// Length of the refused key.
        len: usize,
    },
    /// The store has reached its map size.
    #[error("store is full: {size} bytes is the limit that it was opened with")]
    Full {
        /// Map size in bytes.
        size: u64,
    },
    /// The disk has less free space than a write needs, or than is kept in reserve.
    #[error(
        "insufficient disk space: {available} bytes are free in {}, of which {reserve} are kept in reserve \
         (store-disk-reserve)",
        path.display()
    )]
    DiskSpace {
        /// The data folder.
        path: PathBuf,
        /// Free bytes.
        available: u64,
        /// Bytes that are kept free.
        reserve: u64,
    },
    /// The store refuses writes for now.
    #[error(transparent)]
    Refused(#[from] WriteRefusal),
    /// More snapshots are open than the store has slots for.
    #[error("too many open snapshots: {max} is the limit")]
    TooManySnapshots {
        /// Number of slots.
        max: u32,
    },
    /// The operating system reported an error.
    #[error("{action}: {error}")]
    Io {
        /// The failed action.
        action: String,
        /// The system's error.
        error: Arc<io::Error>,
    },
    /// The caller ended the operation, for this reason.
    #[error("{0}")]
    Cancelled(String),
    /// The writer is closed: no further commit is possible.
    #[error("store is closed")]
    Closed,
    /// The writer panicked in this commit. Until the store is reopened, it is unknown whether the commit succeeded.
    #[error("writer panicked: {0}")]
    Panicked(String),
    /// Any other error of the database.
    #[error("database: {0}")]
    Backend(String),
    /// A failure injected by a test ([`crate::FailingStore`]).
    #[error("injected failure")]
    Injected,
}

impl StorageError {
    /// The system's error with the action that failed.
    pub fn io(action: impl Into<String>, error: io::Error) -> Self {
        Self::Io { action: action.into(), error: Arc::new(error) }
    }

    /// Whether the data is damaged, so that a restart does not help.
    #[must_use]
    pub const fn is_corruption(&self) -> bool {
        matches!(self, Self::Corrupted(_))
    }

    /// Whether the same operation may succeed later, without a restart.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::TooManySnapshots { .. }) || WriteRefusal::of(self).is_some()
    }
}
