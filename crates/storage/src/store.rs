//! A store with its writer: what the node hands to each chain.

use std::sync::Arc;

use crate::{KvRead, KvStore, MemoryStore, StorageResult, WriteSet, Writer};

/// Reads go to `kv` from any thread, writes through `writer`.
#[derive(Clone, Debug)]
pub struct Store {
    /// The store.
    pub kv: Arc<dyn KvStore>,
    /// Its only writer.
    pub writer: Writer,
}

impl Store {
    /// Takes over `kv` and starts its writer.
    pub fn new(kv: Arc<dyn KvStore>) -> StorageResult<Self> {
        let writer = Writer::spawn(Arc::clone(&kv))?;
        Ok(Self { kv, writer })
    }

    /// A store in memory.
    pub fn memory() -> StorageResult<Self> {
        Self::new(Arc::new(MemoryStore::new()))
    }

    /// View of the last commit.
    pub fn snapshot(&self) -> StorageResult<Box<dyn KvRead>> {
        self.kv.snapshot()
    }

    /// As [`Writer::commit`].
    pub async fn commit(&self, set: WriteSet) -> StorageResult<()> {
        self.writer.commit(set).await
    }
}
