//! The operations of every store.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::path::Path;

use crate::error::StorageResult;
use crate::rows::KvRead;
use crate::scope::Scope;
use crate::write_set::WriteSet;

/// Called with the bytes that were copied so far; its error ends the copy.
pub type CopyProgress<'p> = dyn FnMut(u64) -> StorageResult<()> + 'p;

/// An ordered key-value store with atomic writes and consistent snapshots.
pub trait KvStore: Send + Sync + Debug + 'static {
    /// The state after the last write that returned; later writes are not visible. Keep it short-lived: while it
    /// exists, the space of overwritten rows is not reused.
    fn snapshot(&self) -> StorageResult<Box<dyn KvRead>>;

    /// Applies the whole set or nothing. Durable before it returns if the store was opened so.
    fn write(&self, set: &WriteSet) -> StorageResult<()> {
        self.write_all(&[set])
    }

    /// Like [`Self::write`], for several sets in one transaction; the later ones win.
    fn write_all(&self, sets: &[&WriteSet]) -> StorageResult<()>;

    /// Deletes all rows but those of the node's scope that `keep` wants, and applies `set`, in one transaction. `keep` gets
    /// stored keys. Meant for a store that nobody else writes to; quick on disk, whatever the number of rows.
    fn reset(&self, keep: &dyn Fn(&[u8]) -> bool, set: &WriteSet) -> StorageResult<()> {
        let mut all = WriteSet::new();
        self.snapshot()?.scan(&[], None, &mut |key, _| {
            if !is_kept(key, keep) {
                all.delete(key);
            }
            ControlFlow::Continue(())
        })?;
        self.write_all(&[&all, set])
    }

    /// Makes every write so far durable, whatever the store's mode.
    fn flush(&self) -> StorageResult<()> {
        Ok(())
    }

    /// Whether there is room for a write of this many bytes, as far as can be determined without writing.
    fn check_room(&self, _bytes: usize) -> StorageResult<()> {
        Ok(())
    }

    /// Tests whether the store accepts writes, with a small write that changes nothing. Only the writer calls it.
    fn probe(&self) -> StorageResult<()> {
        let first = self.snapshot()?.seek(&[])?;
        let Some((key, value)) = first else { return Ok(()) };
        let mut same = WriteSet::new();
        same.put(&key, &value);
        self.write(&same)
    }

    /// Writes a compacted copy of the last state into the folder `to`, which is created if it is missing and must not
    /// have a store; reads and writes continue. `progress` is called after each mebibyte. The copy is a snapshot of long
    /// duration: the store's file grows by what is overwritten meanwhile. After an error no file is left.
    ///
    /// # Errors
    /// That of `progress`; `to` has a store; the disk of `to` has too little room, its reserve included; the system
    /// refuses.
    fn backup(&self, to: &Path, progress: &mut CopyProgress<'_>) -> StorageResult<()>;

    /// Bytes that the store uses on disk.
    fn size_on_disk(&self) -> StorageResult<u64>;

    /// Age of the oldest open snapshot in milliseconds, for metrics; `None` if none is open.
    fn oldest_reader_ms(&self) -> Option<u64> {
        None
    }

    /// How much the store may grow, for metrics. The call is cheap.
    fn space(&self) -> StoreSpace {
        StoreSpace::default()
    }
}

/// How much a store may grow, in bytes. `None`: there is no such limit, or the system does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreSpace {
    /// Largest size of the store.
    pub size_limit: Option<u64>,
    /// The bytes that the process can still write to the store's disk.
    pub disk_free: Option<u64>,
    /// The bytes of the disk that stay free: a write that would use them is refused.
    pub disk_reserve: Option<u64>,
}

/// Whether [`KvStore::reset`] keeps a row.
pub(crate) fn is_kept(key: &[u8], keep: &dyn Fn(&[u8]) -> bool) -> bool {
    key.starts_with(&Scope::NODE.0.to_be_bytes()) && keep(key)
}
