//! Errors of shared memory. Texts are the reference's, since some reach clients.

use std::fmt;

use esker_storage::StorageError;

/// Result of a shared-memory operation.
pub type SharedMemoryResult<T> = Result<T, SharedMemoryError>;

/// The reason why an operation was refused.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SharedMemoryError {
    /// A requested key has no element: never put, or removed.
    #[error("not found")]
    NotFound,
    /// The source chain put a key that is still there.
    #[error("duplicate put: Key=0x{} Value=0x{}", Hex(key), Hex(value))]
    DuplicatePut {
        /// The element's key.
        key: Vec<u8>,
        /// The value that was to be put.
        value: Vec<u8>,
    },
    /// The destination chain removed a key twice before it was put.
    #[error("duplicate remove: Key=0x{}", Hex(key))]
    DuplicateRemove {
        /// The element's key.
        key: Vec<u8>,
    },
    /// A key or a trait is empty or too long for the store.
    #[error("shared memory: {what} of {len} bytes, not 1 to {max}")]
    Length {
        /// The kind of the value.
        what: &'static str,
        /// Its length in bytes.
        len: usize,
        /// The longest that is taken, in bytes.
        max: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
