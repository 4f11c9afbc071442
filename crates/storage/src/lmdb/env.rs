//! An LMDB environment: the mapped file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, MdbError, RoTxn, WithoutTls};

use super::MAX_READERS;
use super::disk_space::reserve_reader_table;
use super::options::OpenOptions;
use crate::error::{StorageError, StorageResult};
use crate::folder::{Folder, action_error};
use crate::kv::is_kept;
use crate::readers::Readers;
use crate::scope::Scope;
use crate::write_set::WriteSet;

/// Map sizes are multiples of the largest page size of common systems.
const MAP_GRAIN: u64 = 64 << 10;

/// An environment, shared by the store and its snapshots. Fields are dropped in this order: idle transactions, the
/// environment, the folder's lock, the folder if it is temporary.
pub(super) struct Environment {
    pub(super) readers: Readers<RoTxn<'static, WithoutTls>>,
    pub(super) db: Database<Bytes, Bytes>,
    pub(super) env: Env<WithoutTls>,
    map_size: u64,
    max_readers: u32,
    /// The last write of an earlier environment of the file may not be on the disk.
    unsynced: AtomicBool,
    _folder: Arc<Folder>,
}

impl Environment {
    /// Maps the database of `folder`, and creates it if it is missing.
    pub(super) fn open(folder: &Arc<Folder>, options: &OpenOptions) -> StorageResult<Self> {
        let path = folder.database();
        let map_size = options.map_size.next_multiple_of(MAP_GRAIN);
        reserve_reader_table(&path)?;
        let env = open_env(&path, map_size, options.durable)?;
        let max_readers = env.info().maximum_number_of_readers;
        let in_context = |error| backend(error, map_size, max_readers);
        let mut txn = env.write_txn().map_err(in_context)?;
        let db = env.create_database::<Bytes, Bytes>(&mut txn, None).map_err(in_context)?;
        txn.commit().map_err(in_context)?;
        let (readers, unsynced) = (Readers::new(), AtomicBool::new(false));
        let _folder = Arc::clone(folder);
        Ok(Self { readers, db, env, map_size, max_readers, unsynced, _folder })
    }

    /// Like [`Self::open`], after an environment of the same file broke ([`Self::is_broken`]). LMDB has restored the
    /// old content of the meta page, at least in memory. It must be on the disk before the next write: otherwise a
    /// power cut could bring back the new content, which refers to pages that are overwritten by then.
    pub(super) fn open_again(folder: &Arc<Folder>, options: &OpenOptions) -> StorageResult<Self> {
        Ok(Self { unsynced: AtomicBool::new(true), ..Self::open(folder, options)? })
    }

    /// Writes the sets in one transaction. After an error nothing of it is in the store. If the environment is
    /// broken, opening the file again shows whether it is.
    pub(super) fn write(&self, sets: &[&WriteSet]) -> StorageResult<()> {
        let in_context = |error| self.error(error);
        if self.unsynced.load(Ordering::Acquire) {
            self.env.force_sync().map_err(in_context)?;
            self.unsynced.store(false, Ordering::Release);
        }
        let mut txn = self.env.write_txn().map_err(in_context)?;
        for (key, value) in sets.iter().flat_map(|set| set.iter()) {
            match value {
                Some(value) => self.db.put(&mut txn, key, value).map_err(in_context)?,
                None => {
                    self.db.delete(&mut txn, key).map_err(in_context)?;
                }
            }
        }
        self.readers.commit(|| txn.commit()).map_err(in_context)
    }

    /// Like [`crate::KvStore::reset`]. After an error nothing is changed.
    pub(super) fn reset(&self, keep: &dyn Fn(&[u8]) -> bool, set: &WriteSet) -> StorageResult<()> {
        let in_context = |error| self.error(error);
        let mut txn = self.env.write_txn().map_err(in_context)?;
        let node = Scope::NODE.0.to_be_bytes();
        let mut kept = WriteSet::new();
        for entry in self.db.prefix_iter(&txn, &node).map_err(in_context)? {
            let (key, value) = entry.map_err(in_context)?;
            if is_kept(key, keep) {
                kept.put(key, value);
            }
        }
        kept.merge(set);
        self.db.clear(&mut txn).map_err(in_context)?;
        for (key, value) in kept.iter() {
            if let Some(value) = value {
                self.db.put(&mut txn, key, value).map_err(in_context)?;
            }
        }
        self.readers.commit(|| txn.commit()).map_err(in_context)
    }

    /// Whether LMDB refuses all further transactions, including reads. It does so permanently after it failed to
    /// write a meta page. All other failures only end their transaction.
    pub(super) fn is_broken(&self) -> bool {
        self.env.read_txn().is_err_and(|error| is_panic(&error))
    }

    /// Bytes of the pages that hold rows: those of a compacted copy, and a few more.
    pub(super) fn live_bytes(&self) -> StorageResult<usize> {
        let in_context = |error| self.error(error);
        let txn = self.env.read_txn().map_err(in_context)?;
        let stat = self.db.stat(&txn).map_err(in_context)?;
        Ok((stat.branch_pages + stat.leaf_pages + stat.overflow_pages) * stat.page_size as usize)
    }

    /// Largest size of the file, in bytes.
    pub(super) const fn map_size(&self) -> u64 {
        self.map_size
    }

    pub(super) fn error(&self, error: heed::Error) -> StorageError {
        backend(error, self.map_size, self.max_readers)
    }
}

/// Whether the error is that of a broken environment ([`Environment::is_broken`]).
pub(super) fn is_panic(error: &heed::Error) -> bool {
    matches!(error, heed::Error::Mdb(MdbError::Panic))
}

/// Maps the file.
#[expect(unsafe_code, reason = "LMDB maps the file into memory and trusts it")]
fn open_env(path: &Path, map_size: u64, durable: bool) -> StorageResult<Env<WithoutTls>> {
    let size = usize::try_from(map_size)
        .map_err(|_| StorageError::Backend(format!("map size {map_size} on this machine")))?;
    // Never WRITE_MAP: data is written with system calls, which report a full or failing disk. A write to mapped
    // memory would end the process.
    let mut flags = EnvFlags::NO_SUB_DIR;
    if !durable {
        flags |= EnvFlags::NO_SYNC;
    }
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(size).max_readers(MAX_READERS);
    // SAFETY: of the dangerous flags, only NO_SYNC is ever set, and only for a store that need not survive a power
    // cut. The map is sound while only LMDB changes the file. The folder's lock keeps out other processes of ours
    // while the environment exists (the lock is dropped after it). Heed refuses a second environment of the same file
    // in this process. The file's size and pages were checked before.
    let opened = unsafe { options.flags(flags).open(path) };
    opened.map_err(|error| match error {
        heed::Error::Io(error) if error.kind() == std::io::ErrorKind::OutOfMemory => {
            let action = format!(
                "map {map_size} bytes of address space (a lower store-map-size may fit) for"
            );
            action_error(&action, path, error)
        }
        heed::Error::Io(error) => action_error("open", path, error),
        error => backend(error, map_size, MAX_READERS),
    })
}

fn backend(error: heed::Error, map_size: u64, max_readers: u32) -> StorageError {
    match error {
        heed::Error::Mdb(MdbError::MapFull) => StorageError::Full { size: map_size },
        heed::Error::Mdb(MdbError::ReadersFull) => {
            StorageError::TooManySnapshots { max: max_readers }
        }
        heed::Error::Mdb(
            kind @ (MdbError::Corrupted
            | MdbError::PageNotFound
            | MdbError::Invalid
            | MdbError::VersionMismatch
            | MdbError::Incompatible),
        ) => StorageError::Corrupted(kind.to_string()),
        heed::Error::Io(error) => StorageError::io("database", error),
        heed::Error::Mdb(kind @ MdbError::Panic) => {
            StorageError::io("database", std::io::Error::other(kind.to_string()))
        }
        error => StorageError::Backend(error.to_string()),
    }
}
