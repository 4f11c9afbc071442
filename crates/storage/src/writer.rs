//! The one thread that writes.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use tokio::sync::{mpsc, oneshot};

use crate::{KvStore, StorageError, StorageResult, WriteSet};

/// Sets that may wait; who brings more waits.
const QUEUE_LEN: usize = 256;
/// Sets that are written in one transaction at most.
const GROUP_LEN: usize = 64;
/// Bytes from which on a group takes no further set.
const GROUP_BYTES: usize = 4 << 20;

/// Handle to the writer thread of a store. Sets are committed in the order in which they were brought; sets that
/// wait together may share one transaction. Long work brings many small sets, so that others come in between. The
/// thread ends after [`Writer::close`], or with its last handle.
#[derive(Clone)]
pub struct Writer {
    queue: mpsc::Sender<Job>,
}

type AfterCommit = Box<dyn FnOnce() + Send>;

enum Job {
    Commit { set: WriteSet, after: Option<AfterCommit>, reply: oneshot::Sender<StorageResult<()>> },
    Close { reply: oneshot::Sender<StorageResult<()>> },
}

impl Writer {
    /// Starts the writer thread of `store`.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn spawn(store: Arc<dyn KvStore>) -> StorageResult<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE_LEN);
        thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || run(store, jobs))
            .map_err(|error| StorageError::io("cannot start the writer thread", error))?;
        Ok(Self { queue })
    }

    /// Commits `set`: atomic, and durable when it returns if the store was opened so. A set that was brought is
    /// committed even if the caller stops waiting.
    pub async fn commit(&self, set: WriteSet) -> StorageResult<()> {
        self.submit(set, None).await
    }

    /// As [`Self::commit`]; `after` runs on the writer thread when the set is in the store and before any later set
    /// is written. It must be quick and is not called if the commit fails.
    pub async fn commit_with(
        &self,
        set: WriteSet,
        after: impl FnOnce() + Send + 'static,
    ) -> StorageResult<()> {
        self.submit(set, Some(Box::new(after))).await
    }

    /// As [`Self::commit`], blocking the calling thread; not for the threads that serve connections.
    pub fn commit_blocking(&self, set: WriteSet) -> StorageResult<()> {
        block_on(self.submit(set, None))
    }

    /// Commits what was brought before, makes it durable and ends the thread; later sets are refused with
    /// [`StorageError::Closed`].
    pub async fn close(&self) -> StorageResult<()> {
        let (reply, done) = oneshot::channel();
        if self.queue.send(Job::Close { reply }).await.is_err() {
            return Ok(());
        }
        done.await.unwrap_or(Ok(()))
    }

    /// As [`Self::close`], blocking the calling thread.
    pub fn close_blocking(&self) -> StorageResult<()> {
        block_on(self.close())
    }

    async fn submit(&self, set: WriteSet, after: Option<AfterCommit>) -> StorageResult<()> {
        // Refused here, so that it cannot fail the sets it would be grouped with.
        set.check()?;
        let (reply, done) = oneshot::channel();
        let job = Job::Commit { set, after, reply };
        self.queue.send(job).await.map_err(|_| StorageError::Closed)?;
        done.await.map_err(|_| StorageError::Closed)?
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({} queued)", self.queue.max_capacity() - self.queue.capacity())
    }
}

/// Sets that are written together, and who waits for them.
#[derive(Default)]
struct Group {
    set: WriteSet,
    waiting: Vec<(Option<AfterCommit>, oneshot::Sender<StorageResult<()>>)>,
}

fn run(store: Arc<dyn KvStore>, mut jobs: mpsc::Receiver<Job>) {
    let mut closing = Vec::new();
    while let Some(job) = jobs.blocking_recv() {
        let mut group = Group::default();
        group.take(job, &mut closing);
        while group.has_room()
            && let Ok(job) = jobs.try_recv()
        {
            group.take(job, &mut closing);
        }
        group.write(&*store);
        if !closing.is_empty() {
            // What is already queued is still committed.
            jobs.close();
        }
    }
    let flushed = guarded(|| store.flush());
    // The caller of close may open the folder again at once.
    drop(store);
    for reply in closing {
        // Nobody waits any more if the caller was cancelled.
        let _ = reply.send(flushed.clone());
    }
}

impl Group {
    fn take(&mut self, job: Job, closing: &mut Vec<oneshot::Sender<StorageResult<()>>>) {
        match job {
            Job::Commit { set, after, reply } => {
                if self.waiting.is_empty() {
                    self.set = set;
                } else {
                    self.set.merge(&set);
                }
                self.waiting.push((after, reply));
            }
            Job::Close { reply } => closing.push(reply),
        }
    }

    fn has_room(&self) -> bool {
        self.waiting.len() < GROUP_LEN && self.set.size_bytes() < GROUP_BYTES
    }

    fn write(self, store: &dyn KvStore) {
        if self.waiting.is_empty() {
            return;
        }
        let written = guarded(|| store.write(&self.set));
        if let Err(error) = &written {
            tracing::error!(%error, sets = self.waiting.len(), "commit failed");
        }
        for (after, reply) in self.waiting {
            let mut outcome = written.clone();
            if outcome.is_ok()
                && let Some(after) = after
            {
                outcome = guarded(|| {
                    after();
                    Ok(())
                });
            }
            // Nobody waits any more if the caller was cancelled.
            let _ = reply.send(outcome);
        }
    }
}

/// Turns a panic into an error, so that the thread lives on for the other callers.
fn guarded(work: impl FnOnce() -> StorageResult<()>) -> StorageResult<()> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic_text(&*panic);
        tracing::error!(panic = text, "writer panicked");
        Err(StorageError::Panicked(text.to_owned()))
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}

/// Drives a future on this thread. Unlike tokio's blocking calls it may be used on any thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}
