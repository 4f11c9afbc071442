//! The store on disk: LMDB through heed. The only file with `unsafe`.
//!
//! One environment with one unnamed database for everything. Read transactions are not bound to their thread.

use std::fmt;
use std::fs::{self, File};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use heed::types::Bytes;
use heed::{
    CompactionOption, Database, Env, EnvFlags, EnvOpenOptions, MdbError, RoTxn, WithoutTls,
};
use parking_lot::ReentrantMutex;

use crate::check::{Thoroughness, check_file};
use crate::folder::{DATABASE_FILE, Folder, cannot, create_private_dir, private_file, sync_dir};
use crate::kv::{Entry, Visitor};
use crate::meta::OpenOptions;
use crate::readers::{Readers, Ticket};
use crate::{KvRead, KvStore, StorageError, StorageResult, WriteSet};

/// Snapshots that can be open at the same time: more than requests in flight. 64 bytes each, in a file.
const MAX_READERS: u32 = 2048;
/// Maps are whole pages of the largest kind that systems use.
const MAP_GRAIN: u64 = 64 << 10;

/// A store in one LMDB file. Opened through [`crate::meta::open_dir`].
pub struct LmdbStore {
    shared: Arc<Shared>,
}

/// What the store and its snapshots hold together. Fields are dropped in this order: idle transactions, the
/// environment, the folder's lock, the folder if it is temporary.
struct Shared {
    readers: Readers<RoTxn<'static, WithoutTls>>,
    db: Database<Bytes, Bytes>,
    env: Env<WithoutTls>,
    map_size: u64,
    folder: Folder,
}

impl LmdbStore {
    /// Opens the database of `folder`, or makes a new one.
    pub(crate) fn open(folder: Folder, options: &OpenOptions) -> StorageResult<Self> {
        let path = folder.database();
        let is_new = match fs::metadata(&path) {
            Ok(meta) => meta.len() == 0,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(cannot("read", &path, error)),
        };
        if !is_new {
            check_file(&path, Thoroughness::Quick)?;
        }
        let map_size = options.map_size.next_multiple_of(MAP_GRAIN);
        let env = open_env(&path, map_size, options.durable)?;
        let in_context = |error| backend(error, map_size);
        let mut txn = env.write_txn().map_err(in_context)?;
        let db = env.create_database::<Bytes, Bytes>(&mut txn, None).map_err(in_context)?;
        txn.commit().map_err(in_context)?;
        if is_new && options.durable {
            sync_dir(folder.path())?;
        }
        let shared = Shared { readers: Readers::new(), db, env, map_size, folder };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The folder that holds the database.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.shared.folder.path()
    }
}

/// Maps the file.
#[expect(unsafe_code, reason = "LMDB maps the file into memory and trusts it")]
fn open_env(path: &Path, map_size: u64, durable: bool) -> StorageResult<Env<WithoutTls>> {
    let size = usize::try_from(map_size)
        .map_err(|_| StorageError::Backend(format!("map size {map_size} on this machine")))?;
    let mut flags = EnvFlags::NO_SUB_DIR;
    if !durable {
        flags |= EnvFlags::NO_SYNC;
    }
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(size).max_readers(MAX_READERS);
    // SAFETY: of the flags that can break something, only NO_SYNC is ever set, and only for a store that need not
    // survive a power cut. The map is sound while nothing but LMDB changes the file: the folder's lock keeps other
    // processes of ours out for as long as the environment lives (the lock is dropped after it), heed refuses a
    // second environment of the same file in this process, and the file's size and pages were checked before.
    let opened = unsafe { options.flags(flags).open(path) };
    opened.map_err(|error| match error {
        heed::Error::Io(error) if error.kind() == std::io::ErrorKind::OutOfMemory => {
            let action = format!("cannot map {map_size} bytes of address space for");
            cannot(action.trim_start_matches("cannot "), path, error)
        }
        heed::Error::Io(error) => cannot("open", path, error),
        error => backend(error, map_size),
    })
}

impl Shared {
    fn error(&self, error: heed::Error) -> StorageError {
        backend(error, self.map_size)
    }
}

fn backend(error: heed::Error, map_size: u64) -> StorageError {
    match error {
        heed::Error::Mdb(MdbError::MapFull) => StorageError::Full { size: map_size },
        heed::Error::Mdb(MdbError::ReadersFull) => {
            StorageError::TooManySnapshots { max: MAX_READERS }
        }
        heed::Error::Mdb(
            kind @ (MdbError::Corrupted
            | MdbError::PageNotFound
            | MdbError::Invalid
            | MdbError::VersionMismatch
            | MdbError::Incompatible),
        ) => StorageError::Corrupted(kind.to_string()),
        heed::Error::Io(error) => StorageError::io("database", error),
        error => StorageError::Backend(error.to_string()),
    }
}

impl KvStore for LmdbStore {
    fn snapshot(&self) -> StorageResult<Box<dyn KvRead>> {
        LmdbSnapshot::begin(&self.shared).map(|snapshot| Box::new(snapshot) as _)
    }

    fn write(&self, batch: &WriteSet) -> StorageResult<()> {
        batch.check()?;
        let shared = &*self.shared;
        let in_context = |error| shared.error(error);
        let mut txn = shared.env.write_txn().map_err(in_context)?;
        for (key, value) in batch.iter() {
            match value {
                Some(value) => shared.db.put(&mut txn, key, value).map_err(in_context)?,
                None => {
                    shared.db.delete(&mut txn, key).map_err(in_context)?;
                }
            }
        }
        shared.readers.commit(|| txn.commit()).map_err(in_context)
    }

    fn flush(&self) -> StorageResult<()> {
        self.shared.env.force_sync().map_err(|error| self.shared.error(error))
    }

    /// Makes `to` a data folder with a compacted copy; it may exist, but hold no store.
    fn backup(&self, to: &Path) -> StorageResult<()> {
        create_private_dir(to)?;
        let target = to.join(DATABASE_FILE);
        let partial = to.join(format!("{DATABASE_FILE}.partial"));
        if target.try_exists().map_err(|error| cannot("read", &target, error))? {
            let error = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
            return Err(cannot("write the copy", &target, error));
        }
        let mut file = private_file()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&partial)
            .map_err(|error| cannot("create", &partial, error))?;
        let copied = self.copy_to(&mut file, &partial).and_then(|()| {
            fs::rename(&partial, &target).map_err(|error| cannot("rename", &partial, error))?;
            sync_dir(to)
        });
        if copied.is_err() {
            // The copy's own error is what matters.
            let _ = fs::remove_file(&partial);
        }
        copied
    }

    fn size_on_disk(&self) -> StorageResult<u64> {
        self.shared.env.real_disk_size().map_err(|error| self.shared.error(error))
    }

    fn oldest_reader_ms(&self) -> Option<u64> {
        self.shared.readers.oldest_ms()
    }
}

impl LmdbStore {
    fn copy_to(&self, file: &mut File, path: &Path) -> StorageResult<()> {
        let shared = &*self.shared;
        // LMDB reads under a transaction of its own, which should show as the open snapshot that it is.
        let (ticket, idle) = shared.readers.enter();
        let copied = shared.env.copy_to_file(file, CompactionOption::Enabled);
        shared.readers.leave(ticket, idle);
        copied.map_err(|error| shared.error(error))?;
        file.sync_all().map_err(|error| cannot("flush", path, error))
    }
}

impl fmt::Debug for LmdbStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LmdbStore({})", self.folder().display())
    }
}

/// A read transaction, and the store that it reads.
struct LmdbSnapshot {
    /// Read-only transactions may be used by several threads in turn, not at once; one thread may come again from
    /// within a visitor. Taken on drop only.
    txn: Option<ReentrantMutex<RoTxn<'static, WithoutTls>>>,
    /// After an error LMDB refuses the transaction: it is not used again.
    failed: AtomicBool,
    ticket: Ticket,
    shared: Arc<Shared>,
}

impl LmdbSnapshot {
    fn begin(shared: &Arc<Shared>) -> StorageResult<Self> {
        let (ticket, idle) = shared.readers.enter();
        let txn = match idle.map_or_else(|| shared.env.clone().static_read_txn(), Ok) {
            Ok(txn) => Some(ReentrantMutex::new(txn)),
            Err(error) => {
                shared.readers.leave(ticket, None);
                return Err(shared.error(error));
            }
        };
        Ok(Self { txn, failed: AtomicBool::new(false), ticket, shared: Arc::clone(shared) })
    }

    fn read<R>(
        &self,
        read: impl FnOnce(&RoTxn<'static, WithoutTls>, &Database<Bytes, Bytes>) -> heed::Result<R>,
    ) -> StorageResult<R> {
        let txn = self.txn.as_ref().expect("taken on drop only").lock();
        read(&txn, &self.shared.db).map_err(|error| {
            self.failed.store(true, Ordering::Relaxed);
            self.shared.error(error)
        })
    }
}

impl Drop for LmdbSnapshot {
    fn drop(&mut self) {
        let txn = self.txn.take().map(ReentrantMutex::into_inner);
        let failed = self.failed.load(Ordering::Relaxed);
        self.shared.readers.leave(self.ticket, txn.filter(|_| !failed));
    }
}

impl KvRead for LmdbSnapshot {
    fn get_with(&self, key: &[u8], f: &mut dyn FnMut(&[u8])) -> StorageResult<bool> {
        if key.is_empty() {
            return Ok(false);
        }
        self.read(|txn, db| Ok(db.get(txn, key)?.map(f).is_some()))
    }

    fn seek(&self, key: &[u8]) -> StorageResult<Option<Entry>> {
        let found = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
        self.read(|txn, db| {
            // LMDB has no empty keys, not even to look for.
            let entry = match key {
                [] => db.first(txn)?,
                key => db.get_greater_than_or_equal_to(txn, key)?,
            };
            Ok(entry.map(found))
        })
    }

    fn seek_back(&self, key: &[u8]) -> StorageResult<Option<Entry>> {
        if key.is_empty() {
            return Ok(None);
        }
        let found = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
        self.read(|txn, db| Ok(db.get_lower_than_or_equal_to(txn, key)?.map(found)))
    }

    fn scan(
        &self,
        prefix: &[u8],
        from: Option<&[u8]>,
        visit: &mut Visitor<'_>,
    ) -> StorageResult<()> {
        let start = from.map_or(prefix, |from| from.max(prefix));
        let bound = if start.is_empty() { Bound::Unbounded } else { Bound::Included(start) };
        self.read(|txn, db| {
            for entry in db.range(txn, &(bound, Bound::Unbounded))? {
                let (key, value) = entry?;
                if !key.starts_with(prefix) || visit(key, value) == ControlFlow::Break(()) {
                    break;
                }
            }
            Ok(())
        })
    }
}
