//! The store on disk: LMDB through heed.
//!
//! One environment with one unnamed database for all data. Read transactions are not bound to their thread. A broken
//! environment (`env.rs`) is replaced by a new one of the same file.

mod copy;
mod disk_space;
mod env;
mod options;
mod snapshot;

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use esker_primitives::sync::RwLock;
use heed::EnvClosingEvent;

use self::disk_space::DiskSpace;
pub use self::disk_space::FileSpace;
use self::env::{Environment, is_panic};
pub use self::options::OpenOptions;
use self::snapshot::LmdbSnapshot;
use crate::check::{Thoroughness, check_file};
use crate::error::StorageResult;
use crate::folder::{Folder, action_error, sync_dir};
use crate::kv::{CopyProgress, KvStore, StoreSpace};
use crate::rows::KvRead;
use crate::write_set::WriteSet;

/// Most open snapshots: more than requests in flight. Each takes 64 bytes in a file.
const MAX_READERS: u32 = 2048;
/// Time to wait for the snapshots of a broken environment, which last milliseconds.
const CLOSING_WAIT: Duration = Duration::from_secs(1);

/// A store in one LMDB file. Opened through [`crate::meta::open_dir`].
pub struct LmdbStore {
    slot: RwLock<Slot>,
    options: OpenOptions,
    disk_space: DiskSpace,
    folder: Arc<Folder>,
}

enum Slot {
    Open(Arc<Environment>),
    /// The environment broke. The file can be reopened when the old environment is closed, after its last snapshot.
    Closing(EnvClosingEvent),
}

impl LmdbStore {
    /// Opens the database of `folder`, or creates it.
    pub(crate) fn open(folder: Folder, options: &OpenOptions) -> StorageResult<Self> {
        let path = folder.database();
        let is_new = match fs::metadata(&path) {
            Ok(meta) => meta.len() == 0,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(action_error("read", &path, error)),
        };
        if !is_new {
            check_file(&path, Thoroughness::Quick)?;
        }
        let folder = Arc::new(folder);
        let env = Arc::new(Environment::open(&folder, options)?);
        if is_new && options.durable {
            sync_dir(folder.path())?;
        }
        Ok(Self {
            slot: RwLock::new_named("store environment", Slot::Open(env)),
            options: *options,
            disk_space: DiskSpace::new(folder.path(), options.disk_reserve),
            folder,
        })
    }

    /// The folder of the database.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The environment; a new one if the last one broke.
    fn env(&self) -> StorageResult<Arc<Environment>> {
        loop {
            let closing = match &*self.slot.read() {
                Slot::Open(env) => return Ok(Arc::clone(env)),
                Slot::Closing(closing) => closing.clone(),
            };
            if !closing.wait_timeout(CLOSING_WAIT) {
                let error = std::io::Error::from(std::io::ErrorKind::TimedOut);
                return Err(action_error("reopen", &self.folder.database(), error));
            }
            let mut slot = self.slot.write();
            match &*slot {
                Slot::Open(env) => return Ok(Arc::clone(env)),
                Slot::Closing(closing) if closing.wait_timeout(Duration::ZERO) => {
                    let env = Arc::new(Environment::open_again(&self.folder, &self.options)?);
                    *slot = Slot::Open(Arc::clone(&env));
                    return Ok(env);
                }
                // Another thread reopened it, and it broke again.
                Slot::Closing(_) => {}
            }
        }
    }

    /// Discards a broken environment, unless another thread has done so.
    fn close_broken(&self, broken: Arc<Environment>) {
        let mut slot = self.slot.write();
        if let Slot::Open(env) = &*slot
            && Arc::ptr_eq(env, &broken)
        {
            tracing::warn!(folder = %self.folder().display(), "reopening the database file");
            broken.readers.drop_idle();
            *slot = Slot::Closing(broken.env.clone().prepare_for_closing());
        }
    }
}

impl KvStore for LmdbStore {
    fn snapshot(&self) -> StorageResult<Box<dyn KvRead>> {
        let env = self.env()?;
        match LmdbSnapshot::begin(&env) {
            Ok(snapshot) => return Ok(Box::new(snapshot)),
            Err(error) if is_panic(&error) => self.close_broken(env),
            Err(error) => return Err(env.error(error)),
        }
        let env = self.env()?;
        let snapshot = LmdbSnapshot::begin(&env).map_err(|error| env.error(error))?;
        Ok(Box::new(snapshot))
    }

    fn write_all(&self, sets: &[&WriteSet]) -> StorageResult<()> {
        sets.iter().try_for_each(|set| set.check())?;
        let bytes = sets.iter().map(|set| set.size_bytes()).sum();
        self.check_room(bytes)?;
        let env = self.env()?;
        let written = env.write(sets);
        if written.is_err() && env.is_broken() {
            self.close_broken(env);
        }
        written.map_err(|error| self.disk_space.classify(error, bytes))
    }

    fn reset(&self, keep: &dyn Fn(&[u8]) -> bool, set: &WriteSet) -> StorageResult<()> {
        set.check()?;
        self.check_room(set.size_bytes())?;
        let env = self.env()?;
        let written = env.reset(keep, set);
        if written.is_err() && env.is_broken() {
            self.close_broken(env);
        }
        written.map_err(|error| self.disk_space.classify(error, set.size_bytes()))
    }

    fn flush(&self) -> StorageResult<()> {
        let env = self.env()?;
        env.env.force_sync().map_err(|error| env.error(error))
    }

    fn check_room(&self, bytes: usize) -> StorageResult<()> {
        self.disk_space.check(bytes)
    }

    fn backup(&self, to: &Path, progress: &mut CopyProgress<'_>) -> StorageResult<()> {
        self.copy_to(to, progress)
    }

    fn size_on_disk(&self) -> StorageResult<u64> {
        let env = self.env()?;
        env.env.real_disk_size().map_err(|error| env.error(error))
    }

    fn oldest_reader_ms(&self) -> Option<u64> {
        self.env().ok()?.readers.oldest_ms()
    }

    fn space(&self) -> StoreSpace {
        let (free, reserve) = self.disk_space.free_and_reserve().unzip();
        let size_limit = self.env().ok().map(|env| env.map_size());
        StoreSpace { size_limit, disk_free: free, disk_reserve: reserve }
    }
}

impl fmt::Debug for LmdbStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LmdbStore({})", self.folder().display())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::meta::open_dir;

    fn numbered(number: u32) -> WriteSet {
        let mut set = WriteSet::new();
        set.put(b"number", &number.to_be_bytes());
        set
    }

    fn number(reader: &dyn KvRead) -> u32 {
        u32::from_be_bytes(reader.get(b"number").unwrap().unwrap().try_into().unwrap())
    }

    /// Repeats what `write` and `snapshot` do when LMDB reports a broken environment.
    fn break_env(store: &LmdbStore) {
        let env = store.env().unwrap();
        store.close_broken(env);
    }

    #[test]
    fn a_broken_environment_is_replaced_under_readers_and_writers() {
        let place = tempfile::tempdir().unwrap();
        let store = open_dir(place.path(), &OpenOptions::TEST).unwrap();
        store.write(&numbered(0)).unwrap();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = 0;
                    while last < 50 {
                        let now = number(&*store.snapshot().unwrap());
                        assert!(now >= last, "{now} after {last}");
                        last = now;
                    }
                });
            }
            for next in 1..=50 {
                break_env(&store);
                store.write(&numbered(next)).unwrap();
                assert_eq!(number(&*store.snapshot().unwrap()), next);
            }
        });
        assert_eq!(store.oldest_reader_ms(), None);
    }

    #[test]
    fn an_old_snapshot_delays_reopening() {
        let place = tempfile::tempdir().unwrap();
        let store = open_dir(place.path(), &OpenOptions::TEST).unwrap();
        store.write(&numbered(1)).unwrap();
        let old = store.snapshot().unwrap();
        break_env(&store);
        let error = store.write(&numbered(2)).unwrap_err();
        assert!(error.is_temporary() && error.to_string().contains("reopen"), "{error}");
        assert_eq!(number(&*old), 1);
        drop(old);
        store.write(&numbered(2)).unwrap();
        assert_eq!(number(&*store.snapshot().unwrap()), 2);
        // The folder is unlocked when the store is dropped.
        drop(store);
        open_dir(place.path(), &OpenOptions::TEST).unwrap();
    }
}
