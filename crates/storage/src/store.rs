//! A store with its writer, as each chain gets it.

use std::sync::Arc;

use esker_primitives::sync::{Mutex, MutexGuard};

use crate::{
    KvRead, KvStore, MemoryStore, RetryPolicy, StorageResult, WriteRefusal, WriteSet, Writer,
};

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
    /// Takes over `kv` and starts its writer, which returns every error to its caller.
    pub fn new(kv: Arc<dyn KvStore>) -> StorageResult<Self> {
        let writer = Writer::spawn(Arc::clone(&kv))?;
        Ok(Self::of(kv, writer))
    }

    /// As [`Self::new`], with a writer that suspends itself while the store refuses writes.
    pub fn retrying(kv: Arc<dyn KvStore>, retry: RetryPolicy) -> StorageResult<Self> {
        let writer = Writer::spawn_retrying(Arc::clone(&kv), retry)?;
        Ok(Self::of(kv, writer))
    }

    fn of(kv: Arc<dyn KvStore>, writer: Writer) -> Self {
        Self { kv, writer, upkeep: Arc::new(Mutex::new_named("store.upkeep", ())) }
    }

    /// Held by work beside the blocks, from where it reads the chains' rows to the end of the commit that follows from
    /// them: meanwhile no block is taken back. No other lock is held where it is waited for.
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

    /// As [`Writer::ensure_writable`]; also refuses when the disk is full and no write has failed yet.
    pub fn ensure_writable(&self) -> StorageResult<()> {
        self.writer.ensure_writable()?;
        self.kv.check_room(0).map_err(|error| match WriteRefusal::of(&error) {
            Some(refusal) => refusal.into(),
            None => error,
        })
    }

    /// As [`Writer::commit`].
    pub async fn commit(&self, set: WriteSet) -> StorageResult<()> {
        self.writer.commit(set).await
    }
}
