//! Errors of the store.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::refusal::WriteRefusal;

/// Result of a store operation.
pub type StorageResult<T> = Result<T, StorageError>;

/// The reason why a store operation failed. Cheap to clone: the error of one disk write reaches every commit that was
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
        matches!(self, Self::TooManySnapshots { .. }) || self.refusal().is_some()
    }

    /// The reason why the store temporarily refuses writes, if that caused this error of a write.
    #[must_use]
    pub fn refusal(&self) -> Option<WriteRefusal> {
        match self {
            Self::Refused(refusal) => Some(refusal.clone()),
            Self::DiskSpace { .. } => Some(WriteRefusal::DiskFull),
            Self::Full { size } => Some(WriteRefusal::MapFull(*size)),
            Self::Io { error, .. } => Some(match error.kind() {
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::FileTooLarge => WriteRefusal::DiskFull,
                io::ErrorKind::ReadOnlyFilesystem => WriteRefusal::ReadOnly,
                _ => WriteRefusal::Device(error.to_string()),
            }),
            Self::Corrupted(_)
            | Self::Locked { .. }
            | Self::NewerSchema { .. }
            | Self::OtherNetwork { .. }
            | Self::KeyLength { .. }
            | Self::TooManySnapshots { .. }
            | Self::Closed
            | Self::Panicked(_)
            | Self::Backend(_)
            | Self::Cancelled(_)
            | Self::Injected => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_system_errors() {
        for (kind, text) in [
            (io::ErrorKind::StorageFull, "insufficient disk space"),
            (io::ErrorKind::QuotaExceeded, "insufficient disk space"),
            (io::ErrorKind::FileTooLarge, "insufficient disk space"),
            (io::ErrorKind::ReadOnlyFilesystem, "the disk is read-only"),
        ] {
            let refusal = StorageError::io("database", kind.into()).refusal();
            assert_eq!(refusal.unwrap().to_string(), text);
        }
        let broken = io::Error::from_raw_os_error(5);
        let refusal = StorageError::io("database", broken).refusal().unwrap();
        assert_eq!(
            refusal.to_string(),
            "the disk does not take writes: Input/output error (os error 5)"
        );
        assert_eq!(StorageError::Corrupted("x".to_owned()).refusal(), None);
        assert_eq!(StorageError::Injected.refusal(), None);
    }
}
