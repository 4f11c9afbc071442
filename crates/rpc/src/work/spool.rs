//! Results that are too large for memory: written to a file while they are made, read from it as the client takes
//! them.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use esker_primitives::sync::Mutex;

use super::MemoryError;

/// Where large results are written, and how much of the disk they may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolConfig {
    /// The folder. Its files have no name, so a killed process leaves none behind.
    pub folder: PathBuf,
    /// Bytes of all results at once.
    pub limit: u64,
    /// Bytes of one result.
    pub result_limit: u64,
}

/// The files of one server.
#[derive(Debug)]
pub(crate) struct Spool {
    config: SpoolConfig,
    used: Mutex<u64>,
}

/// Why a result can't be written to a file.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// There is no room for it.
    #[error(transparent)]
    Limit(#[from] MemoryError),
    /// The disk takes no more.
    #[error("the result does not fit into memory, and writing it to a file failed: {0}")]
    Io(#[from] io::Error),
}

/// A result, or its first part, in a file without a name. Dropping it frees the disk.
#[derive(Debug)]
pub struct SpoolFile {
    file: File,
    bytes: u64,
    spool: Arc<Spool>,
}

impl Spool {
    pub(super) fn new(config: SpoolConfig) -> Arc<Self> {
        Arc::new(Self { config, used: Mutex::new_named("rpc.spool", 0) })
    }

    /// A new file.
    pub(crate) fn create(self: &Arc<Self>) -> Result<SpoolFile, SpoolError> {
        let file = tempfile::tempfile_in(&self.config.folder)?;
        Ok(SpoolFile { file, bytes: 0, spool: Arc::clone(self) })
    }

    /// Bytes of all results.
    pub(super) fn used(&self) -> u64 {
        *self.used.lock()
    }

    fn reserve(&self, written: u64, more: u64) -> Result<(), MemoryError> {
        if written.saturating_add(more) > self.config.result_limit {
            return Err(MemoryError::TooLarge);
        }
        let mut used = self.used.lock();
        if used.saturating_add(more) > self.config.limit {
            return Err(MemoryError::Full);
        }
        *used += more;
        Ok(())
    }
}

impl SpoolFile {
    /// Appends bytes.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), SpoolError> {
        let more = bytes.len() as u64;
        self.spool.reserve(self.bytes, more)?;
        self.bytes += more;
        Ok(self.file.write_all(bytes)?)
    }

    /// Its length in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Reads bytes from a place on; fewer at the end.
    ///
    /// # Errors
    /// The disk fails.
    pub fn read_at(&self, buffer: &mut [u8], from: u64) -> io::Result<usize> {
        self.file.read_at(buffer, from)
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        *self.spool.used.lock() -= self.bytes;
    }
}
