//! One state of the store, in a read transaction.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use heed::types::Bytes;
use heed::{Database, RoTxn, WithoutTls};
use parking_lot::ReentrantMutex;

use super::env::Environment;
use crate::error::StorageResult;
use crate::readers::Ticket;
use crate::rows::{Entry, KvRead, Visitor};

/// A read transaction with its environment.
pub(super) struct LmdbSnapshot {
    /// Several threads may use a read-only transaction in turn, not at once; a visitor may use it again on the same
    /// thread. Taken only on drop.
    txn: Option<ReentrantMutex<RoTxn<'static, WithoutTls>>>,
    /// After an error LMDB refuses the transaction, so it is not reused.
    failed: AtomicBool,
    ticket: Ticket,
    env: Arc<Environment>,
}

impl LmdbSnapshot {
    pub(super) fn begin(env: &Arc<Environment>) -> heed::Result<Self> {
        let (ticket, idle) = env.readers.enter();
        let txn = match idle.map_or_else(|| env.env.clone().static_read_txn(), Ok) {
            Ok(txn) => Some(ReentrantMutex::new(txn)),
            Err(error) => {
                env.readers.leave(ticket, None);
                return Err(error);
            }
        };
        Ok(Self { txn, failed: AtomicBool::new(false), ticket, env: Arc::clone(env) })
    }

    fn read<R>(
        &self,
        read: impl FnOnce(&RoTxn<'static, WithoutTls>, &Database<Bytes, Bytes>) -> heed::Result<R>,
    ) -> StorageResult<R> {
        let txn = self.txn.as_ref().expect("taken on drop only").lock();
        read(&txn, &self.env.db).map_err(|error| {
            self.failed.store(true, Ordering::Relaxed);
            self.env.error(error)
        })
    }
}

impl Drop for LmdbSnapshot {
    fn drop(&mut self) {
        let txn = self.txn.take().map(ReentrantMutex::into_inner);
        let failed = self.failed.load(Ordering::Relaxed);
        self.env.readers.leave(self.ticket, txn.filter(|_| !failed));
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
            // LMDB has no empty keys and refuses to search for one.
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
