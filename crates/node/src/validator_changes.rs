//! Where a node keeps the agreed changes of its network's validators: a table of the store, so that a backup has them, and
//! a crash keeps all or nothing of one.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use esker_engine_bft::ChangeLog;
use esker_storage::{Scope, StorageResult, Store, Table, WriteSet};

/// Signed changes of the validators by the epoch that they begin.
pub(crate) const VALIDATOR_CHANGES: Table<u64, Bytes> = Table::new(0x40, "validator-change");

/// The changes in a node's store.
#[derive(Clone)]
pub struct StoreChangeLog(Store);

impl StoreChangeLog {
    /// Those of this store.
    #[must_use]
    pub const fn new(store: Store) -> Self {
        Self(store)
    }

    /// All changes in order.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn all(&self) -> StorageResult<Vec<Bytes>> {
        let reader = self.0.snapshot()?;
        let rows = VALIDATOR_CHANGES.collect(&*reader, Scope::NODE, &[])?;
        Ok(rows.into_iter().map(|(_, document)| document).collect())
    }
}

#[async_trait]
impl ChangeLog for StoreChangeLog {
    fn read(&self) -> Result<Vec<Bytes>, String> {
        self.all().map_err(|error| error.to_string())
    }

    async fn append(&self, epoch: u64, document: &[u8]) -> Result<(), String> {
        let mut writes = WriteSet::default();
        let document = Bytes::copy_from_slice(document);
        VALIDATOR_CHANGES.put(&mut writes, Scope::NODE, &epoch, &document);
        self.0.commit(writes).await.map_err(|error| error.to_string())
    }
}

impl fmt::Debug for StoreChangeLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreChangeLog")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn changes_are_read_in_order() {
        let log = StoreChangeLog::new(Store::memory().unwrap());
        assert_eq!(log.read().unwrap(), Vec::<Bytes>::new());
        for (epoch, document) in [(1, b"one"), (2, b"two"), (300, b"end")] {
            log.append(epoch, document).await.unwrap();
        }
        assert_eq!(log.read().unwrap(), ["one", "two", "end"]);
    }
}
