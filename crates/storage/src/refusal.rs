//! Temporary refusals of writes.

use std::io;

use crate::error::StorageError;

/// Why the store temporarily refuses writes, although it can be read. Clients see the texts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteRefusal {
    /// The disk, or the user's share of it, is full.
    #[error("insufficient disk space")]
    DiskFull,
    /// The store has reached its map size, in bytes.
    #[error(
        "insufficient disk space: the store has reached its limit of {0} bytes (store-map-size)"
    )]
    MapFull(u64),
    /// The file system is mounted read-only.
    #[error("the disk is read-only")]
    ReadOnly,
    /// Any other error of the system, with its text.
    #[error("the disk does not take writes: {0}")]
    Device(String),
}

impl WriteRefusal {
    /// The refusal that caused a failed write; `None` if the error is not temporary.
    #[must_use]
    pub fn of(error: &StorageError) -> Option<Self> {
        match error {
            StorageError::Refused(refusal) => Some(refusal.clone()),
            StorageError::DiskSpace { .. } => Some(Self::DiskFull),
            StorageError::Full { size } => Some(Self::MapFull(*size)),
            StorageError::Io { error, .. } => Some(match error.kind() {
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::FileTooLarge => Self::DiskFull,
                io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
                _ => Self::Device(error.to_string()),
            }),
            StorageError::Corrupted(_)
            | StorageError::Locked { .. }
            | StorageError::NewerSchema { .. }
            | StorageError::OtherNetwork { .. }
            | StorageError::KeyLength { .. }
            | StorageError::TooManySnapshots { .. }
            | StorageError::Closed
            | StorageError::Panicked(_)
            | StorageError::Backend(_)
            | StorageError::Cancelled(_)
            | StorageError::Injected => None,
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
            let refusal = WriteRefusal::of(&StorageError::io("database", kind.into()));
            assert_eq!(refusal.unwrap().to_string(), text);
        }
        let broken = io::Error::from_raw_os_error(5);
        let refusal = WriteRefusal::of(&StorageError::io("database", broken)).unwrap();
        assert_eq!(
            refusal.to_string(),
            "the disk does not take writes: Input/output error (os error 5)"
        );
        assert_eq!(WriteRefusal::of(&StorageError::Corrupted("x".to_owned())), None);
        assert_eq!(WriteRefusal::of(&StorageError::Injected), None);
    }
}
