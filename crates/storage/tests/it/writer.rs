//! The writer thread: order, groups, failures, end.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_primitives::sync::{Condvar, Mutex};
use esker_storage::{
    CopyProgress, FailPoint, FailingStore, KvRead, KvStore, MemoryStore, StorageError,
    StorageResult, Store, WriteSet, Writer,
};

use crate::{contents_of, set};

/// Holds writes back until it is opened, counts them, and panics on demand.
#[derive(Debug, Default)]
struct GateStore {
    inner: MemoryStore,
    closed: Mutex<bool>,
    opened: Condvar,
    entered: AtomicU64,
    flushes: AtomicU64,
}

impl GateStore {
    fn close(&self) {
        *self.closed.lock() = true;
    }

    fn open(&self) {
        *self.closed.lock() = false;
        self.opened.notify_all();
    }
}

impl KvStore for GateStore {
    fn snapshot(&self) -> StorageResult<Box<dyn KvRead>> {
        self.inner.snapshot()
    }

    fn write_all(&self, sets: &[&WriteSet]) -> StorageResult<()> {
        self.entered.fetch_add(1, Ordering::SeqCst);
        let mut closed = self.closed.lock();
        while *closed {
            self.opened.wait(&mut closed);
        }
        assert!(sets.iter().all(|set| set.get(b"panic").is_none()), "asked to");
        self.inner.write_all(sets)
    }

    fn flush(&self) -> StorageResult<()> {
        self.flushes.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn backup(&self, to: &Path, progress: &mut CopyProgress<'_>) -> StorageResult<()> {
        self.inner.backup(to, progress)
    }

    fn size_on_disk(&self) -> StorageResult<u64> {
        self.inner.size_on_disk()
    }
}

fn gate() -> (Arc<GateStore>, Writer) {
    let store = Arc::new(GateStore::default());
    let writer = Writer::spawn(Arc::clone(&store) as Arc<dyn KvStore>).unwrap();
    (store, writer)
}

fn numbered(number: u64) -> WriteSet {
    set(&[(&format!("k{number}"), Some("v")), ("last", Some(&number.to_string()))])
}

#[test]
fn a_commit_is_seen_when_it_returns() {
    let store = Store::memory().unwrap();
    store.writer.commit_blocking(set(&[("a", Some("1"))])).unwrap();
    assert_eq!(store.snapshot().unwrap().get(b"a").unwrap().unwrap(), b"1");
    // An empty set is a commit like any other.
    store.writer.commit_blocking(WriteSet::new()).unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn waiting_sets_share_a_write_and_keep_their_order() {
    let (store, writer) = gate();
    store.close();
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let (writer, order) = (writer.clone(), Arc::clone(&order));
            tokio::spawn(async move {
                writer.commit_with(numbered(number), move || order.lock().push(number)).await
            })
        })
        .collect();
    // Each task runs until it waits for its commit: all are queued.
    tokio::task::yield_now().await;
    store.open();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(*order.lock(), (0..20).collect::<Vec<_>>());
    let contents = contents_of(&*store);
    assert_eq!(contents.len(), 21);
    assert_eq!(contents[b"last".as_slice()], b"19");
    // The first write had whatever was queued when it began; the second had the rest.
    assert!(store.entered.load(Ordering::SeqCst) <= 2);
}

#[tokio::test(flavor = "current_thread")]
async fn a_full_queue_makes_callers_wait_and_loses_nothing() {
    let (store, writer) = gate();
    store.close();
    let tasks: Vec<_> = (0..1000)
        .map(|number| {
            let writer = writer.clone();
            tokio::spawn(async move { writer.commit(numbered(number)).await })
        })
        .collect();
    // Until each task has run: one turn of the runtime takes some of them.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(format!("{writer:?}"), "Writer(256 queued)");
    store.open();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(contents_of(&*store).len(), 1001);
}

#[test]
fn a_bad_key_fails_its_own_set_only() {
    let store = Store::memory().unwrap();
    let error = store.writer.commit_blocking(set(&[("", Some("x"))])).unwrap_err();
    assert!(matches!(error, StorageError::KeyLength { len: 0 }));
    store.writer.commit_blocking(set(&[("a", Some("1"))])).unwrap();
}

#[test]
fn a_failed_write_reaches_its_caller_and_the_next_goes_on() {
    let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let store = Store::new(Arc::clone(&failing) as Arc<dyn KvStore>).unwrap();
    failing.fail_nth_write(1, FailPoint::Before);
    let error = store.writer.commit_blocking(set(&[("a", Some("1"))])).unwrap_err();
    assert!(matches!(error, StorageError::Injected));
    store.writer.commit_blocking(set(&[("b", Some("1"))])).unwrap();
    assert_eq!(contents_of(&*failing).len(), 1);
}

#[test]
fn a_panic_reaches_its_caller_and_the_next_goes_on() {
    let (store, writer) = gate();
    let error = writer.commit_blocking(set(&[("panic", Some("1"))])).unwrap_err();
    assert!(matches!(&error, StorageError::Panicked(text) if text.contains("asked to")), "{error}");
    writer.commit_blocking(set(&[("b", Some("1"))])).unwrap();
    assert_eq!(contents_of(&*store).len(), 1);
}

#[tokio::test(flavor = "current_thread")]
async fn after_runs_only_after_a_successful_commit() {
    let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let store = Store::new(Arc::clone(&failing) as Arc<dyn KvStore>).unwrap();
    failing.fail_nth_write(1, FailPoint::After);
    let called = store.writer.commit_with(numbered(1), || panic!("not after a failure")).await;
    assert!(matches!(called, Err(StorageError::Injected)));
    let called = store.writer.commit_with(numbered(2), || panic!("on purpose")).await;
    assert!(matches!(called, Err(StorageError::Panicked(text)) if text == "on purpose"));
    store.commit(numbered(3)).await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_set_of_a_cancelled_caller_is_committed() {
    let (store, writer) = gate();
    store.close();
    let task = {
        let writer = writer.clone();
        tokio::spawn(async move { writer.commit(numbered(1)).await })
    };
    tokio::task::yield_now().await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    store.open();
    writer.close().await.unwrap();
    assert_eq!(contents_of(&*store).len(), 2);
}

#[tokio::test(flavor = "current_thread")]
async fn closing_commits_the_queue_flushes_and_lets_the_store_go() {
    let (store, writer) = gate();
    store.close();
    let tasks: Vec<_> = (0..100)
        .map(|number| {
            let writer = writer.clone();
            tokio::spawn(async move { writer.commit(numbered(number)).await })
        })
        .collect();
    let closing = {
        let writer = writer.clone();
        tokio::spawn(async move { writer.close().await })
    };
    tokio::task::yield_now().await;
    store.open();
    closing.await.unwrap().unwrap();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(contents_of(&*store).len(), 101);
    assert_eq!(store.flushes.load(Ordering::SeqCst), 1);
    assert_eq!(Arc::strong_count(&store), 1);
    let refused = writer.commit(numbered(1000)).await;
    assert!(matches!(refused, Err(StorageError::Closed)));
    // A second close has nothing to do.
    writer.close().await.unwrap();
    let refused = writer.commit_blocking(numbered(1000));
    assert!(matches!(refused, Err(StorageError::Closed)));
}

#[tokio::test(flavor = "current_thread")]
async fn blocking_calls_work_on_a_thread_of_the_runtime() {
    let store = Store::memory().unwrap();
    store.writer.commit_blocking(numbered(1)).unwrap();
    store.writer.close_blocking().unwrap();
}
