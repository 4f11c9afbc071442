//! Results that are too large for memory: written to a file while they are made, read from it as the client takes
//! them.

use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_primitives::sync::Mutex;

use super::error::MemoryError;

/// The free space of the disk that results are written to.
pub trait SpoolSpace: fmt::Debug + Send + Sync {
    /// Refuses so many further bytes if they would take what others need.
    ///
    /// # Errors
    /// The disk has too little free space; a client gets the text.
    fn check(&self, bytes: u64) -> io::Result<()>;
}

/// The folder of large results, and the part of the disk that they may take.
#[derive(Clone, Debug)]
pub struct SpoolConfig {
    /// The folder. Its files have no name, so a killed process leaves none behind.
    pub folder: PathBuf,
    /// Bytes of all results at once.
    pub limit: u64,
    /// Bytes of one result.
    pub result_limit: u64,
    /// The folder's disk; `None`: its free space is not looked at.
    pub space: Option<Arc<dyn SpoolSpace>>,
}

/// Equal spaces are the same one.
impl PartialEq for SpoolConfig {
    fn eq(&self, other: &Self) -> bool {
        let Self { folder, limit, result_limit, space } = self;
        let same_space = match (space, &other.space) {
            (Some(space), Some(other)) => Arc::ptr_eq(space, other),
            (space, other) => space.is_none() && other.is_none(),
        };
        (folder, limit, result_limit) == (&other.folder, &other.limit, &other.result_limit)
            && same_space
    }
}

impl Eq for SpoolConfig {}

/// The files of one server.
#[derive(Debug)]
pub(crate) struct Spool {
    config: SpoolConfig,
    used: Mutex<SpoolUsage>,
    /// The last write failed. Set, a failure is not logged again.
    has_failed: AtomicBool,
}

#[derive(Debug, Default)]
struct SpoolUsage {
    /// Bytes of all results.
    bytes: u64,
    /// The part of them that is about to be written: the disk does not count it yet.
    pending: u64,
}

/// The reason why a result can't be written to a file.
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
        let used = Mutex::new_named("rpc.spool", SpoolUsage::default());
        Arc::new(Self { config, used, has_failed: AtomicBool::new(false) })
    }

    /// A new file.
    pub(crate) fn create(self: &Arc<Self>) -> Result<SpoolFile, SpoolError> {
        let file = self.logged(tempfile::tempfile_in(&self.config.folder))?;
        Ok(SpoolFile { file, bytes: 0, spool: Arc::clone(self) })
    }

    /// Bytes of all results.
    pub(super) fn used(&self) -> u64 {
        self.used.lock().bytes
    }

    fn reserve(&self, written: u64, more: u64) -> Result<(), SpoolError> {
        if written.saturating_add(more) > self.config.result_limit {
            return Err(MemoryError::TooLarge.into());
        }
        let mut used = self.used.lock();
        if used.bytes.saturating_add(more) > self.config.limit {
            return Err(MemoryError::Full.into());
        }
        used.bytes += more;
        used.pending += more;
        Ok(())
    }

    /// Logs the first of several failures: clients could fill the log with them.
    fn logged<T>(&self, result: io::Result<T>) -> io::Result<T> {
        let has_failed = self.has_failed.swap(result.is_err(), Ordering::Relaxed);
        result.inspect_err(|error| {
            if !has_failed {
                tracing::warn!(%error, "a large result could not be written to a file");
            }
        })
    }
}

impl SpoolFile {
    /// Appends bytes.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), SpoolError> {
        let more = bytes.len() as u64;
        self.spool.reserve(self.bytes, more)?;
        self.bytes += more;
        let written = self.write(bytes);
        self.spool.used.lock().pending -= more;
        Ok(self.spool.logged(written)?)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(space) = &self.spool.config.space {
            // Read apart: a look at the disk may take long.
            let pending = self.spool.used.lock().pending;
            space.check(pending)?;
        }
        self.file.write_all(bytes)
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
        self.spool.used.lock().bytes -= self.bytes;
    }
}
