//! A store that counts its commits.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use esker_storage::{CopyProgress, KvRead, KvStore, StorageResult, StoreSpace, WriteSet};

use super::Metrics;

/// Wraps a store so that its write transactions are counted and timed.
#[derive(Debug)]
pub struct MeteredStore {
    store: Arc<dyn KvStore>,
    metrics: Arc<Metrics>,
}

impl MeteredStore {
    /// Wraps a store and registers its size with the metrics.
    pub fn new(store: Arc<dyn KvStore>, metrics: Arc<Metrics>) -> Self {
        metrics.watch_store(&store);
        Self { store, metrics }
    }
}

impl KvStore for MeteredStore {
    fn snapshot(&self) -> StorageResult<Box<dyn KvRead>> {
        self.store.snapshot()
    }

    fn write_all(&self, sets: &[&WriteSet]) -> StorageResult<()> {
        let start = Instant::now();
        let written = self.store.write_all(sets);
        self.metrics.commit_seconds.observe(start.elapsed().as_secs_f64());
        let outcome = if written.is_ok() { "ok" } else { "failed" };
        self.metrics.commits.with_label_values(&[outcome]).inc();
        written
    }

    fn reset(&self, keep: &dyn Fn(&[u8]) -> bool, set: &WriteSet) -> StorageResult<()> {
        self.store.reset(keep, set)
    }

    fn flush(&self) -> StorageResult<()> {
        self.store.flush()
    }

    fn check_room(&self, bytes: usize) -> StorageResult<()> {
        self.store.check_room(bytes)
    }

    fn backup(&self, to: &Path, progress: &mut CopyProgress<'_>) -> StorageResult<()> {
        self.store.backup(to, progress)
    }

    fn size_on_disk(&self) -> StorageResult<u64> {
        self.store.size_on_disk()
    }

    fn oldest_reader_ms(&self) -> Option<u64> {
        self.store.oldest_reader_ms()
    }

    fn space(&self) -> StoreSpace {
        self.store.space()
    }
}
