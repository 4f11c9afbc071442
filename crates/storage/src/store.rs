//! A store with its writer, shared by all chains.

use std::sync::Arc;

use esker_primitives::sync::{Mutex, MutexGuard};

use crate::error::StorageResult;
use crate::kv::KvStore;
use crate::memory::MemoryStore;
use crate::rows::KvRead;
use crate::write_set::WriteSet;
use crate::writer::{RetryPolicy, Writer};

/// Reads go to `kv` from any thread, writes through `writer`.
#[derive(Clone, Debug)]
pub struct Store {
    /// The store.
    pub kv: Arc<dyn KvStore>,
    /// Its only writer.
    pub writer: Writer,
    upkeep: Arc<Mutex<()>>,
}

impl Store {
    /// Starts a writer for `kv`, which returns every error to its caller.
    pub fn new(kv: Arc<dyn KvStore>) -> StorageResult<Self> {
        let writer = Writer::spawn(Arc::clone(&kv))?;
        Ok(Self::with_writer(kv, writer))
    }

    /// Like [`Self::new`], with a writer that suspends itself while the store refuses writes.
    pub fn retrying(kv: Arc<dyn KvStore>, retry: RetryPolicy) -> StorageResult<Self> {
        let writer = Writer::spawn_retrying(Arc::clone(&kv), retry)?;
        Ok(Self::with_writer(kv, writer))
    }

    fn with_writer(kv: Arc<dyn KvStore>, writer: Writer) -> Self {
        Self { kv, writer, upkeep: Arc::new(Mutex::new_named("store.upkeep", ())) }
    }

    /// Locked by work outside of the blocks, from reading a chain's rows to the end of the commit that depends on
    /// them. It excludes rewinds. Lock it without holding another lock.
    pub fn upkeep(&self) -> MutexGuard<'_, ()> {
        self.upkeep.lock()
    }

    /// A store in memory.
    pub fn memory() -> StorageResult<Self> {
        Self::new(Arc::new(MemoryStore::new()))
    }

    /// View of the last commit.
    pub fn snapshot(&self) -> StorageResult<Box<dyn KvRead>> {
        self.kv.snapshot()
    }

    /// Like [`Writer::ensure_writable`]; also fails if the disk is full and no write has failed yet.
    pub fn ensure_writable(&self) -> StorageResult<()> {
        self.writer.ensure_writable()?;
        self.kv.check_room(0).map_err(|error| match error.refusal() {
            Some(refusal) => refusal.into(),
            None => error,
        })
    }

    /// Like [`Writer::commit`].
    pub async fn commit(&self, set: WriteSet) -> StorageResult<()> {
        self.writer.commit(set).await
    }
}
