//! A store that fails on demand, for crash tests.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_primitives::sync::Mutex;

use crate::error::{StorageError, StorageResult};
use crate::kv::{CopyProgress, KvStore, StoreSpace};
use crate::rows::{Entry, KvRead, Visitor};
use crate::write_set::WriteSet;

/// When a write fails. In both cases its caller gets an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailPoint {
    /// Before the write: nothing of it is in the store.
    Before,
    /// After the write: all of it is in the store, like a crash before the commit returned.
    After,
}

/// Forwards everything to another store, except for injected failures.
#[derive(Debug)]
pub struct FailingStore {
    inner: Arc<dyn KvStore>,
    reads: Arc<Reads>,
    plan: Mutex<Plan>,
    reads_fail: Mutex<Option<StorageError>>,
    writes_fail: Mutex<Option<StorageError>>,
}

#[derive(Debug, Default)]
struct Plan {
    writes: u64,
    fails_at: Option<(u64, FailPoint)>,
    /// The failing write is the last one, like a crash.
    is_crash: bool,
    crashed: bool,
}

/// Counts the reads of all snapshots, and selects the failing one.
#[derive(Debug, Default)]
struct Reads {
    count: AtomicU64,
    /// 0 for none.
    fails_at: AtomicU64,
}

impl Reads {
    fn next(&self) -> StorageResult<()> {
        let read = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        let fails = self.fails_at.compare_exchange(read, 0, Ordering::SeqCst, Ordering::SeqCst);
        if fails.is_ok() { Err(StorageError::Injected) } else { Ok(()) }
    }
}

/// A snapshot whose reads are counted, and one of which may fail.
struct FailingReader {
    inner: Box<dyn KvRead>,
    reads: Arc<Reads>,
}

impl KvRead for FailingReader {
    fn get_with(&self, key: &[u8], f: &mut dyn FnMut(&[u8])) -> StorageResult<bool> {
        self.reads.next()?;
        self.inner.get_with(key, f)
    }

    fn seek_back(&self, key: &[u8]) -> StorageResult<Option<Entry>> {
        self.reads.next()?;
        self.inner.seek_back(key)
    }

    fn scan(
        &self,
        prefix: &[u8],
        from: Option<&[u8]>,
        visit: &mut Visitor<'_>,
    ) -> StorageResult<()> {
        self.reads.next()?;
        self.inner.scan(prefix, from, visit)
    }
}

impl FailingStore {
    /// Forwards everything to `inner`, whose state is what a restart would find.
    #[must_use]
    pub fn new(inner: Arc<dyn KvStore>) -> Self {
        let (reads_fail, writes_fail) = (Mutex::default(), Mutex::default());
        Self { inner, reads: Arc::default(), plan: Mutex::default(), reads_fail, writes_fail }
    }

    /// The `nth` write from now on (1 is the next) fails once.
    pub fn fail_nth_write(&self, nth: u64, point: FailPoint) {
        self.arm(nth, point, false);
    }

    /// The `nth` write from now on (1 is the next) fails, and so does everything after it until [`Self::clear_failures`].
    pub fn crash_at_nth_write(&self, nth: u64, point: FailPoint) {
        self.arm(nth, point, true);
    }

    /// The `nth` read from now on (1 is the next) fails once. Taking a snapshot is a read, and so is each access to
    /// one.
    pub fn fail_nth_read(&self, nth: u64) {
        self.reads.fails_at.store(self.reads() + nth, Ordering::SeqCst);
    }

    /// Reads so far, failed ones included.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.reads.count.load(Ordering::SeqCst)
    }

    /// Every snapshot fails with this error until `None` is set.
    pub fn refuse_reads(&self, error: impl Into<Option<StorageError>>) {
        *self.reads_fail.lock() = error.into();
    }

    /// Every write fails with this error and changes nothing until `None` is set, like a disk that is full or broken.
    pub fn refuse_writes(&self, error: impl Into<Option<StorageError>>) {
        *self.writes_fail.lock() = error.into();
    }

    /// Ends a crash and removes pending failures.
    pub fn clear_failures(&self) {
        let mut plan = self.plan.lock();
        plan.fails_at = None;
        plan.crashed = false;
        self.reads.fails_at.store(0, Ordering::SeqCst);
        self.refuse_writes(None);
        self.refuse_reads(None);
    }

    /// Whether a crash has taken place.
    #[must_use]
    pub fn has_crashed(&self) -> bool {
        self.plan.lock().crashed
    }

    /// Writes that were tried so far, failed ones included.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.plan.lock().writes
    }

    /// The wrapped store.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn KvStore> {
        &self.inner
    }

    fn arm(&self, nth: u64, point: FailPoint, is_crash: bool) {
        let mut plan = self.plan.lock();
        plan.fails_at = Some((plan.writes + nth, point));
        plan.is_crash = is_crash;
    }

    fn refuse_after_crash(&self) -> StorageResult<()> {
        if self.has_crashed() { Err(StorageError::Injected) } else { Ok(()) }
    }
}

impl KvStore for FailingStore {
    fn snapshot(&self) -> StorageResult<Box<dyn KvRead>> {
        self.refuse_after_crash()?;
        match self.reads_fail.lock().clone() {
            Some(error) => Err(error),
            None => {
                self.reads.next()?;
                let reads = Arc::clone(&self.reads);
                Ok(Box::new(FailingReader { inner: self.inner.snapshot()?, reads }))
            }
        }
    }

    fn write_all(&self, sets: &[&WriteSet]) -> StorageResult<()> {
        self.refuse_after_crash()?;
        let fails = {
            let mut plan = self.plan.lock();
            plan.writes += 1;
            let writes = plan.writes;
            let now = plan.fails_at.take_if(|(nth, _)| *nth == writes);
            plan.crashed = now.is_some() && plan.is_crash;
            now.map(|(_, point)| point)
        };
        if let Some(error) = self.writes_fail.lock().clone() {
            return Err(error);
        }
        match fails {
            None => self.inner.write_all(sets),
            Some(FailPoint::Before) => Err(StorageError::Injected),
            Some(FailPoint::After) => {
                self.inner.write_all(sets)?;
                Err(StorageError::Injected)
            }
        }
    }

    fn flush(&self) -> StorageResult<()> {
        self.refuse_after_crash()?;
        self.inner.flush()
    }

    fn check_room(&self, bytes: usize) -> StorageResult<()> {
        self.inner.check_room(bytes)
    }

    fn backup(&self, to: &Path, progress: &mut CopyProgress<'_>) -> StorageResult<()> {
        self.refuse_after_crash()?;
        self.inner.backup(to, progress)
    }

    fn size_on_disk(&self) -> StorageResult<u64> {
        self.refuse_after_crash()?;
        self.inner.size_on_disk()
    }

    fn oldest_reader_ms(&self) -> Option<u64> {
        self.inner.oldest_reader_ms()
    }

    fn space(&self) -> StoreSpace {
        self.inner.space()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;

    fn set(key: &[u8]) -> WriteSet {
        let mut set = WriteSet::new();
        set.put(key, b"value");
        set
    }

    fn has(store: &dyn KvStore, key: &[u8]) -> bool {
        store.snapshot().unwrap().contains(key).unwrap()
    }

    #[test]
    fn one_write_fails_before_or_after() {
        let store = FailingStore::new(Arc::new(MemoryStore::new()));
        store.fail_nth_write(2, FailPoint::Before);
        store.write(&set(b"1")).unwrap();
        store.write(&set(b"2")).unwrap_err();
        store.write(&set(b"3")).unwrap();
        store.fail_nth_write(1, FailPoint::After);
        store.write(&set(b"4")).unwrap_err();
        assert_eq!([b"1", b"2", b"3", b"4"].map(|key| has(&store, key)), [true, false, true, true]);
        assert_eq!(store.writes(), 4);
    }

    #[test]
    fn a_crash_lasts_until_failures_are_cleared() {
        let store = FailingStore::new(Arc::new(MemoryStore::new()));
        store.crash_at_nth_write(1, FailPoint::After);
        store.write(&set(b"1")).unwrap_err();
        assert!(store.has_crashed());
        store.write(&set(b"2")).unwrap_err();
        assert!(store.snapshot().is_err());
        assert!(has(&**store.inner(), b"1"));
        store.clear_failures();
        assert!(has(&store, b"1") && !has(&store, b"2"));
        store.write(&set(b"2")).unwrap();
    }

    #[test]
    fn writes_are_refused_until_reset() {
        let store = FailingStore::new(Arc::new(MemoryStore::new()));
        store.refuse_writes(StorageError::Full { size: 7 });
        for _ in 0..2 {
            assert!(matches!(store.write(&set(b"1")), Err(StorageError::Full { size: 7 })));
        }
        assert!(!has(&store, b"1"));
        store.refuse_writes(None);
        store.write(&set(b"1")).unwrap();
    }

    #[test]
    fn reads_are_refused_until_reset() {
        let store = FailingStore::new(Arc::new(MemoryStore::new()));
        store.refuse_reads(StorageError::Injected);
        assert!(store.snapshot().is_err());
        store.refuse_reads(None);
        store.snapshot().unwrap();
    }

    #[test]
    fn one_read_fails_once() {
        let store = FailingStore::new(Arc::new(MemoryStore::new()));
        store.write(&set(b"1")).unwrap();
        store.fail_nth_read(3);
        let reader = store.snapshot().unwrap();
        assert!(reader.contains(b"1").unwrap());
        assert!(reader.contains(b"1").is_err());
        assert!(reader.contains(b"1").unwrap());
        assert!(reader.seek_back(b"2").unwrap().is_some());
        assert_eq!(store.reads(), 5);
        store.fail_nth_read(1);
        assert!(store.snapshot().is_err());
        store.fail_nth_read(1);
        store.clear_failures();
        store.snapshot().unwrap();
    }
}
