//! Backups: copies of the data folder, also of a running node's.
//!
//! A backup is a data folder: the store at one moment, the node's identity, the key files of its accounts, and the
//! pool's journal of a stopped node. `folder.rs` writes one; [`Backups`] is what a running node does with it. The
//! store's copy is a read transaction that lasts long (ARCHITECTURE.md, "Invariants"), so there is one at a time, and it
//! ends when the store's file has grown too much.

mod folder;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use esker_storage::{GrowthLimit, KvStore, StorageError, StorageResult};
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

pub use folder::BackupSource;

/// Time between two lines of the log about the same backup.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Time that a backup with a limited rate sleeps between two checks whether the node stops.
const PAUSE: Duration = Duration::from_millis(20);

/// The reason why there is no backup. No files of it are left.
#[derive(Debug, Error)]
pub enum BackupError {
    /// The target exists.
    #[error("{} already exists; choose another folder", .0.display())]
    Exists(PathBuf),
    /// Another process writes this backup.
    #[error("{} is being written by another process", .0.display())]
    InUse(PathBuf),
    /// The path has no folder's name.
    #[error("invalid folder: \"{}\"", .0.display())]
    NoName(PathBuf),
    /// A backup is running.
    #[error("another backup is running")]
    Running,
    /// The node stops.
    #[error("the node is stopping")]
    Stopping,
    /// A folder has too many files to copy.
    #[error("too many files in {}", .0.display())]
    TooManyFiles(PathBuf),
    /// The store can't be copied, or the copy was ended.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The operating system reported an error.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// The failed action.
        action: &'static str,
        /// Its file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// A finished backup.
#[derive(Clone, Debug)]
pub struct Backup {
    /// Its folder.
    pub path: PathBuf,
    /// Bytes of the store's copy.
    pub bytes: u64,
}

/// The backups of a running node.
#[derive(Debug)]
pub struct Backups {
    store: Arc<dyn KvStore>,
    source: BackupSource,
    /// One permit, which a running backup has.
    turn: Arc<Semaphore>,
    stopping: AtomicBool,
}

impl Backups {
    /// The backups of this store, and of the files of its folder.
    pub fn new(store: Arc<dyn KvStore>, source: BackupSource) -> Arc<Self> {
        Arc::new(Self {
            store,
            source,
            turn: Arc::new(Semaphore::new(1)),
            stopping: AtomicBool::new(false),
        })
    }

    /// Writes the folder `to`; a relative path is below the data folder. `rate` limits the bytes a second; 0 means no
    /// limit. If the caller stops waiting, the backup continues.
    ///
    /// # Errors
    /// See [`BackupError`].
    pub async fn write(self: Arc<Self>, to: &Path, rate: u64) -> Result<Backup, BackupError> {
        if to.as_os_str().is_empty() {
            return Err(BackupError::NoName(to.to_owned()));
        }
        let turn = Arc::clone(&self.turn).try_acquire_owned().map_err(|_| BackupError::Running)?;
        let to = self.source.data_dir().join(to);
        let (done, finished) = oneshot::channel();
        let run = move || {
            let written = self.run(to, rate, turn);
            // Nobody waits any more. The log has the result.
            let _gone = done.send(written);
        };
        let spawned = thread::Builder::new().name("backup".to_owned()).spawn(run);
        spawned.map_err(|error| BackupError::Storage(StorageError::io("thread", error)))?;
        finished.await.unwrap_or_else(|_| {
            Err(BackupError::Storage(StorageError::Panicked("the backup".to_owned())))
        })
    }

    /// Ends the running backup and refuses further ones. Returns when none of its files are left.
    pub async fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        // It is never closed.
        let _turn = self.turn.acquire().await;
    }

    /// The permit is released when the folder is finished or removed.
    fn run(
        &self,
        path: PathBuf,
        rate: u64,
        turn: OwnedSemaphorePermit,
    ) -> Result<Backup, BackupError> {
        let begun = Instant::now();
        tracing::info!(path = %path.display(), "backup begun");
        let mut watch = Watch { backups: self, begun, rate, logged: begun, bytes: 0 };
        let limit = GrowthLimit::for_store(&*self.store).and_then(|limit| {
            self.check_running()?;
            Ok(limit)
        });
        let written = limit.map_err(BackupError::from).and_then(|limit| {
            self.source.write(&*self.store, &path, &mut |bytes| watch.check(bytes, &limit))
        });
        let (bytes, ms) = (watch.bytes, begun.elapsed().as_millis());
        let ms = u64::try_from(ms).unwrap_or(u64::MAX);
        drop(turn);
        match written {
            Ok(()) => {
                tracing::info!(path = %path.display(), bytes, ms, "backup written");
                Ok(Backup { path, bytes })
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), bytes, ms, %error, "backup failed");
                Err(error)
            }
        }
    }

    fn check_running(&self) -> StorageResult<()> {
        match self.stopping.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(StorageError::Cancelled(BackupError::Stopping.to_string())),
        }
    }
}

/// Watches a copy: ends it when the node stops or the store grows too much, limits its rate, and logs it.
struct Watch<'a> {
    backups: &'a Backups,
    begun: Instant,
    rate: u64,
    logged: Instant,
    bytes: u64,
}

impl Watch<'_> {
    fn check(&mut self, bytes: u64, limit: &GrowthLimit) -> StorageResult<()> {
        self.bytes = bytes;
        self.log();
        limit.check(&*self.backups.store, "backup")?;
        let due = self.begun + due_after(bytes, self.rate);
        loop {
            self.backups.check_running()?;
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.log();
            thread::sleep(left.min(PAUSE));
        }
    }

    fn log(&mut self) {
        if self.logged.elapsed() >= LOG_INTERVAL {
            self.logged = Instant::now();
            let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(bytes = self.bytes, ms, "backup continues");
        }
    }
}

/// The time at which this many bytes may have been written, at this rate a second; the beginning if the rate is 0.
pub fn due_after(bytes: u64, rate: u64) -> Duration {
    match rate {
        0 => Duration::ZERO,
        rate => Duration::from_millis(bytes.saturating_mul(1000) / rate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_says_when_bytes_are_due() {
        assert_eq!(due_after(1 << 40, 0), Duration::ZERO);
        assert_eq!(due_after(3000, 2000), Duration::from_millis(1500));
        assert_eq!(due_after(u64::MAX, 1), Duration::from_millis(u64::MAX));
    }
}
