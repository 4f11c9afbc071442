//! A writer whose store takes no writes for a while.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use esker_storage::meta::{OpenOptions, open_dir};
use esker_storage::{
    CopyProgress, FailingStore, KvRead, KvStore, MemoryStore, RetryPolicy, StorageError,
    StorageResult, Store, WriteRefusal, WriteSet,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::{contents_of, set};

/// Nothing here takes long.
const PATIENCE: Duration = Duration::from_secs(60);
const QUICK: RetryPolicy = RetryPolicy {
    first: Duration::from_millis(1),
    longest: Duration::from_millis(8),
    check: Duration::from_millis(1),
};

fn failing() -> (Arc<FailingStore>, Store) {
    let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let store = Store::retrying(Arc::clone(&failing) as Arc<dyn KvStore>, QUICK).unwrap();
    store.writer.commit_blocking(set(&[("first", Some("row"))])).unwrap();
    (failing, store)
}

fn system_error(kind: io::ErrorKind) -> StorageError {
    StorageError::io("database", kind.into())
}

/// Commits one row when the store takes writes.
fn decide(store: &Store, key: &str) -> JoinHandle<StorageResult<()>> {
    let (writer, set) = (store.writer.clone(), set(&[(key, Some("1"))]));
    tokio::spawn(async move { writer.commit_when_writable(set).await })
}

/// Waits until the writer is suspended for a reason, or not (`None`).
async fn until(store: &Store, wanted: Option<WriteRefusal>) {
    let mut refusal = store.writer.refusal();
    let seen = refusal.wait_for(|refusal| *refusal == wanted);
    let waited = timeout(PATIENCE, seen).await;
    waited.unwrap_or_else(|_| panic!("still not {wanted:?}")).unwrap();
}

fn is_refused(result: StorageResult<()>, wanted: &WriteRefusal) {
    match result {
        Err(StorageError::Refused(refusal)) => assert_eq!(refusal, *wanted),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn final_sets_wait_and_others_are_refused() {
    let (failing, store) = failing();
    for (error, refusal) in [
        (system_error(io::ErrorKind::StorageFull), WriteRefusal::DiskFull),
        (StorageError::Full { size: 9 }, WriteRefusal::MapFull(9)),
        (system_error(io::ErrorKind::ReadOnlyFilesystem), WriteRefusal::ReadOnly),
    ] {
        store.ensure_writable().unwrap();
        failing.refuse_writes(error);
        let waiting = tokio::spawn({
            let writer = store.writer.clone();
            async move { writer.commit_when_writable(set(&[("decided", Some("yes"))])).await }
        });
        until(&store, Some(refusal.clone())).await;
        is_refused(store.ensure_writable(), &refusal);
        is_refused(store.commit(set(&[("other", Some("x"))])).await, &refusal);
        assert_eq!(contents_of(&*failing).len(), 1);
        assert!(!waiting.is_finished());
        failing.refuse_writes(None);
        timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap();
        store.ensure_writable().unwrap();
        store.commit(set(&[("decided", None)])).await.unwrap();
        assert_eq!(
            contents_of(&*failing),
            contents_of(&*first_row()),
            "nothing refused came later"
        );
    }
}

fn first_row() -> Arc<MemoryStore> {
    let store = MemoryStore::new();
    store.write(&set(&[("first", Some("row"))])).unwrap();
    Arc::new(store)
}

#[tokio::test]
async fn a_writer_goes_on_by_itself_when_nothing_waits() {
    let (failing, store) = failing();
    failing.refuse_writes(system_error(io::ErrorKind::StorageFull));
    is_refused(store.commit(set(&[("a", Some("1"))])).await, &WriteRefusal::DiskFull);
    let tried = failing.writes();
    until(&store, Some(WriteRefusal::DiskFull)).await;
    failing.refuse_writes(None);
    until(&store, None).await;
    assert!(failing.writes() > tried, "a write showed it");
    assert_eq!(contents_of(&*failing), contents_of(&*first_row()));
    store.commit(set(&[("a", Some("1"))])).await.unwrap();
}

#[tokio::test]
async fn the_last_refusal_is_shown() {
    let (failing, store) = failing();
    let broken = system_error(io::ErrorKind::TimedOut);
    failing.refuse_writes(broken.clone());
    let shown = broken.refusal().unwrap();
    is_refused(store.commit(WriteSet::new()).await, &shown);
    failing.refuse_writes(system_error(io::ErrorKind::QuotaExceeded));
    until(&store, Some(WriteRefusal::DiskFull)).await;
    failing.refuse_writes(None);
    until(&store, None).await;
}

#[tokio::test]
async fn an_error_that_does_not_pass_ends_the_wait() {
    let (failing, store) = failing();
    failing.refuse_writes(system_error(io::ErrorKind::StorageFull));
    let waiting = decide(&store, "a");
    until(&store, Some(WriteRefusal::DiskFull)).await;
    failing.refuse_writes(StorageError::Corrupted("a page".to_owned()));
    let error = timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap_err();
    assert!(error.is_corruption(), "{error}");
    until(&store, None).await;
}

#[tokio::test]
async fn no_set_waits_after_stop_waiting() {
    let (failing, store) = failing();
    failing.refuse_writes(system_error(io::ErrorKind::StorageFull));
    let waiting = decide(&store, "a");
    until(&store, Some(WriteRefusal::DiskFull)).await;
    store.writer.stop_waiting().await;
    is_refused(timeout(PATIENCE, waiting).await.unwrap().unwrap(), &WriteRefusal::DiskFull);
    is_refused(decide(&store, "b").await.unwrap(), &WriteRefusal::DiskFull);
    failing.refuse_writes(None);
    until(&store, None).await;
    assert_eq!(contents_of(&*failing), contents_of(&*first_row()));
    store.writer.close().await.unwrap();
}

#[tokio::test]
async fn a_writer_that_is_closed_while_it_is_suspended_ends() {
    let (failing, store) = failing();
    failing.refuse_writes(system_error(io::ErrorKind::StorageFull));
    let waiting = decide(&store, "a");
    until(&store, Some(WriteRefusal::DiskFull)).await;
    timeout(PATIENCE, store.writer.close()).await.unwrap().unwrap();
    assert!(matches!(waiting.await.unwrap(), Err(StorageError::Closed)));
}

#[tokio::test]
async fn a_writer_without_a_policy_passes_the_error_on() {
    let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let store = Store::new(Arc::clone(&failing) as Arc<dyn KvStore>).unwrap();
    failing.refuse_writes(StorageError::Full { size: 9 });
    let error = store.writer.commit_when_writable(set(&[("a", Some("1"))])).await.unwrap_err();
    assert!(matches!(error, StorageError::Full { size: 9 }), "{error}");
    store.ensure_writable().unwrap();
}

/// Reports that there is no room before a write fails.
#[derive(Debug, Default)]
struct Crowded {
    inner: MemoryStore,
    is_full: AtomicBool,
    writes: AtomicU64,
}

impl KvStore for Crowded {
    fn snapshot(&self) -> StorageResult<Box<dyn KvRead>> {
        self.inner.snapshot()
    }

    fn write_all(&self, sets: &[&WriteSet]) -> StorageResult<()> {
        self.check_room(sets.iter().map(|set| set.size_bytes()).sum())?;
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.inner.write_all(sets)
    }

    fn check_room(&self, _: usize) -> StorageResult<()> {
        if !self.is_full.load(Ordering::SeqCst) {
            return Ok(());
        }
        Err(StorageError::DiskSpace { path: "disk".into(), available: 1, reserve: 2 })
    }

    fn backup(&self, to: &Path, progress: &mut CopyProgress<'_>) -> StorageResult<()> {
        self.inner.backup(to, progress)
    }

    fn size_on_disk(&self) -> StorageResult<u64> {
        self.inner.size_on_disk()
    }
}

#[tokio::test]
async fn a_disk_that_fills_up_suspends_a_writer_that_is_idle() {
    let crowded = Arc::new(Crowded::default());
    let store = Store::retrying(Arc::clone(&crowded) as Arc<dyn KvStore>, QUICK).unwrap();
    store.commit(set(&[("first", Some("row"))])).await.unwrap();
    let mut refusal = store.writer.refusal();
    crowded.is_full.store(true, Ordering::SeqCst);
    // Also before the writer has looked.
    is_refused(store.ensure_writable(), &WriteRefusal::DiskFull);
    let seen = refusal.wait_for(Option::is_some);
    timeout(PATIENCE, seen).await.unwrap().unwrap();
    assert_eq!(crowded.writes.load(Ordering::SeqCst), 1, "nothing was tried");
    crowded.is_full.store(false, Ordering::SeqCst);
    until(&store, None).await;
}

#[tokio::test]
async fn a_full_map_takes_writes_when_the_reader_ends() {
    let place = tempfile::tempdir().unwrap();
    let options = OpenOptions { map_size: 1 << 20, ..OpenOptions::TEST };
    let lmdb = Arc::new(open_dir(place.path(), &options).unwrap());
    let store = Store::retrying(Arc::clone(&lmdb) as Arc<dyn KvStore>, QUICK).unwrap();
    let large = |byte: u8| {
        let mut set = WriteSet::new();
        set.put(b"large", &vec![byte; 600 << 10]);
        set
    };
    store.commit(large(1)).await.unwrap();
    let reader = store.snapshot().unwrap();
    let waiting = tokio::spawn({
        let (writer, set) = (store.writer.clone(), large(2));
        async move {
            writer.commit(set_deleting("large")).await?;
            writer.commit_when_writable(set).await
        }
    });
    until(&store, Some(WriteRefusal::MapFull(1 << 20))).await;
    assert_eq!(reader.get(b"large").unwrap().unwrap()[0], 1);
    assert!(!waiting.is_finished());
    drop(reader);
    timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap();
    assert_eq!(store.snapshot().unwrap().get(b"large").unwrap().unwrap()[0], 2);
}

fn set_deleting(key: &str) -> WriteSet {
    set(&[(key, None)])
}
