//! Stores that take real time: what a run must not depend on.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use esker_primitives::sync::Mutex;
use esker_storage::{CopyProgress, KvRead, KvStore, MemoryStore, StorageResult, WriteSet};

use super::scenario::Random;

/// Longest delay, µs. There is one before each write and one after it.
const LONGEST_US: u64 = 1_500;

/// One of so many snapshots is delayed.
const SNAPSHOTS: u64 = 32;

/// Makes stores in memory with delays, and counts these.
#[derive(Debug)]
pub(super) struct SlowStores {
    delays: Arc<Delays>,
}

impl SlowStores {
    pub(super) fn new(seed: u64) -> Self {
        let random = Mutex::new_named("simulation.delays", Random::new(seed));
        Self { delays: Arc::new(Delays { random, count: AtomicU64::new(0) }) }
    }

    /// A new store.
    pub(super) fn open(&self) -> Arc<dyn KvStore> {
        Arc::new(SlowStore { inner: MemoryStore::new(), delays: Arc::clone(&self.delays) })
    }

    /// Delays so far.
    pub(super) fn delays(&self) -> u64 {
        self.delays.count.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct Delays {
    random: Mutex<Random>,
    count: AtomicU64,
}

impl Delays {
    /// Delays the calling thread, in one of so many calls.
    fn delay(&self, one_of: u64) {
        let time = {
            let mut random = self.random.lock();
            (random.below(one_of) == 0).then(|| random.below(LONGEST_US))
        };
        if let Some(us) = time {
            self.count.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_micros(us));
        }
    }
}

#[derive(Debug)]
struct SlowStore {
    inner: MemoryStore,
    delays: Arc<Delays>,
}

impl KvStore for SlowStore {
    fn snapshot(&self) -> StorageResult<Box<dyn KvRead>> {
        self.delays.delay(SNAPSHOTS);
        self.inner.snapshot()
    }

    fn write_all(&self, sets: &[&WriteSet]) -> StorageResult<()> {
        self.delays.delay(1);
        self.inner.write_all(sets)?;
        self.delays.delay(1);
        Ok(())
    }

    fn backup(&self, to: &Path, progress: &mut CopyProgress<'_>) -> StorageResult<()> {
        self.inner.backup(to, progress)
    }

    fn size_on_disk(&self) -> StorageResult<u64> {
        self.inner.size_on_disk()
    }
}
