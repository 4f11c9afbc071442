//! The store of agreed changes of the validators.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use esker_primitives::sync::Mutex;
use esker_storage::StorageResult;

/// Keeps the agreed changes of a network, in order.
#[async_trait]
pub trait ChangeLog: fmt::Debug + Send + Sync {
    /// All changes.
    ///
    /// # Errors
    /// They can't be read.
    fn read(&self) -> StorageResult<Vec<Bytes>>;

    /// Adds the change that begins this epoch. It is durable on return.
    ///
    /// # Errors
    /// It can't be written.
    async fn append(&self, epoch: u64, document: &[u8]) -> StorageResult<()>;
}

/// Changes in memory, for tests and for nodes that are not validators.
#[derive(Debug)]
pub struct MemoryChangeLog(Mutex<Vec<Bytes>>);

impl Default for MemoryChangeLog {
    fn default() -> Self {
        Self(Mutex::new_named("validators.change_log", Vec::new()))
    }
}

#[async_trait]
impl ChangeLog for MemoryChangeLog {
    fn read(&self) -> StorageResult<Vec<Bytes>> {
        Ok(self.0.lock().clone())
    }

    async fn append(&self, _: u64, document: &[u8]) -> StorageResult<()> {
        self.0.lock().push(Bytes::copy_from_slice(document));
        Ok(())
    }
}
