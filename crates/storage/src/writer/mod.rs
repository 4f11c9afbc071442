//! The single writer thread.
//!
//! A store refuses writes while its disk is full or fails. A writer with a [`RetryPolicy`] then suspends itself: it
//! refuses new sets, except those that may wait ([`Writer::commit_when_writable`]), and retries until a write
//! succeeds. [`Writer::ensure_writable`] returns the reason meanwhile.

mod receive;
mod thread;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use self::thread::WriterThread;
use crate::error::{StorageError, StorageResult};
use crate::kv::KvStore;
use crate::refusal::WriteRefusal;
use crate::write_set::WriteSet;

/// Most sets in the queue; further callers wait for room.
const QUEUE_LEN: usize = 256;

/// When a suspended writer retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Delay of the first retry; each further delay is doubled.
    pub first: Duration,
    /// Longest delay between two retries.
    pub longest: Duration,
    /// How often free space is checked while no write fails, so that writes are refused before one fails.
    pub check: Duration,
}

impl RetryPolicy {
    /// The policy of a running node.
    pub const NODE: Self = Self {
        first: Duration::from_millis(250),
        longest: Duration::from_secs(2),
        check: Duration::from_millis(200),
    };

    /// The delay after `wait`.
    fn after(&self, wait: Duration) -> Duration {
        wait.saturating_mul(2).min(self.longest)
    }
}

/// Handle to the writer thread of a store. Sets are committed in the order of the calls; queued sets may share one
/// transaction. Long work commits many small sets, so that other sets are committed in between. The thread ends after
/// [`Writer::close`], or with its last handle.
#[derive(Clone)]
pub struct Writer {
    queue: mpsc::Sender<Job>,
    refusal: watch::Receiver<Option<WriteRefusal>>,
}

type AfterCommit = Box<dyn FnOnce() + Send>;
type Reply = oneshot::Sender<StorageResult<()>>;

/// The sets of one call, written together; later ones override earlier ones.
struct Commit {
    sets: Vec<Arc<WriteSet>>,
    after: Option<AfterCommit>,
    reply: Reply,
    /// Whether it waits while the store refuses writes.
    may_wait: bool,
}

enum Job {
    Commit(Commit),
    StopWaiting,
    Close { reply: Reply },
}

impl Writer {
    /// Starts the writer thread of `store`. It returns every error to its caller and never suspends itself.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn spawn(store: Arc<dyn KvStore>) -> StorageResult<Self> {
        Self::start(store, None)
    }

    /// Starts the writer thread of `store`, which suspends itself while the store refuses writes.
    ///
    /// # Errors
    /// See [`Self::spawn`].
    pub fn spawn_retrying(store: Arc<dyn KvStore>, retry: RetryPolicy) -> StorageResult<Self> {
        Self::start(store, Some(retry))
    }

    fn start(store: Arc<dyn KvStore>, retry: Option<RetryPolicy>) -> StorageResult<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE_LEN);
        let (sender, refusal) = watch::channel(None);
        let thread = WriterThread::new(store, jobs, retry, sender);
        std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || thread.run())
            .map_err(|error| StorageError::io("cannot start the writer thread", error))?;
        Ok(Self { queue, refusal })
    }

    /// Commits `set`: atomic, and durable when it returns if the store was opened as durable. A queued set is
    /// committed even if the caller stops waiting. Refused at once while the writer is suspended.
    pub async fn commit(&self, set: WriteSet) -> StorageResult<()> {
        self.submit(one(set), None, false).await
    }

    /// Like [`Self::commit`]; `after` runs on the writer thread after the commit, before any later set is written. It
    /// must be quick, and does not run if the commit fails.
    pub async fn commit_with(
        &self,
        set: WriteSet,
        after: impl FnOnce() + Send + 'static,
    ) -> StorageResult<()> {
        self.submit(one(set), Some(Box::new(after)), false).await
    }

    /// Like [`Self::commit`], for a set that is final. While the writer is suspended, the set waits and is retried
    /// unchanged until a write succeeds or [`Self::stop_waiting`] is called.
    pub async fn commit_when_writable(&self, set: WriteSet) -> StorageResult<()> {
        self.submit(one(set), None, true).await
    }

    /// Like [`Self::commit_when_writable`], for several sets in one transaction; later ones override earlier ones.
    /// The sets are not copied.
    pub async fn commit_all_when_writable(&self, sets: Vec<Arc<WriteSet>>) -> StorageResult<()> {
        self.submit(sets, None, true).await
    }

    /// Like [`Self::commit_all_when_writable`], but returns once the sets are in the queue.
    pub async fn enqueue_all_when_writable(
        &self,
        sets: Vec<Arc<WriteSet>>,
    ) -> StorageResult<QueuedCommit> {
        self.enqueue(sets, None, true).await
    }

    /// Like [`Self::commit`], blocking the calling thread; not for the threads that serve connections.
    pub fn commit_blocking(&self, set: WriteSet) -> StorageResult<()> {
        pollster::block_on(self.submit(one(set), None, false))
    }

    /// Queues `set` like [`Self::commit_when_writable`] and returns: the caller prepares the next set while this one is
    /// written. Not for the threads that serve connections.
    pub fn enqueue_blocking(&self, set: WriteSet) -> StorageResult<QueuedCommit> {
        pollster::block_on(self.enqueue(one(set), None, true))
    }

    /// Fails while the writer is suspended. Check it before accepting anything that must be written later.
    ///
    /// # Errors
    /// [`StorageError::Refused`].
    pub fn ensure_writable(&self) -> StorageResult<()> {
        match &*self.refusal.borrow() {
            None => Ok(()),
            Some(refusal) => Err(refusal.clone().into()),
        }
    }

    /// Observes why the writer is suspended.
    #[must_use]
    pub fn refusal(&self) -> watch::Receiver<Option<WriteRefusal>> {
        self.refusal.clone()
    }

    /// Refuses waiting and later sets from now on while the writer is suspended. Called when the process ends.
    pub async fn stop_waiting(&self) {
        // A closed writer has no waiting sets.
        let _closed = self.queue.send(Job::StopWaiting).await;
    }

    /// Commits what is queued, makes it durable and ends the thread; later sets are refused with
    /// [`StorageError::Closed`].
    pub async fn close(&self) -> StorageResult<()> {
        let (reply, done) = oneshot::channel();
        if self.queue.send(Job::Close { reply }).await.is_err() {
            return Ok(());
        }
        done.await.unwrap_or(Ok(()))
    }

    /// Like [`Self::close`], blocking the calling thread.
    pub fn close_blocking(&self) -> StorageResult<()> {
        pollster::block_on(self.close())
    }

    async fn submit(
        &self,
        sets: Vec<Arc<WriteSet>>,
        after: Option<AfterCommit>,
        may_wait: bool,
    ) -> StorageResult<()> {
        self.enqueue(sets, after, may_wait).await?.done().await
    }

    async fn enqueue(
        &self,
        sets: Vec<Arc<WriteSet>>,
        after: Option<AfterCommit>,
        may_wait: bool,
    ) -> StorageResult<QueuedCommit> {
        // Checked here, so that an invalid set does not fail the others of its group.
        sets.iter().try_for_each(|set| set.check())?;
        let (reply, done) = oneshot::channel();
        let job = Job::Commit(Commit { sets, after, reply, may_wait });
        self.queue.send(job).await.map_err(|_| StorageError::Closed)?;
        Ok(QueuedCommit(done))
    }
}

/// A commit in the writer's queue. Dropping this does not cancel it.
#[derive(Debug)]
#[must_use = "the commit may fail"]
pub struct QueuedCommit(oneshot::Receiver<StorageResult<()>>);

impl QueuedCommit {
    /// Waits until the commit is done, and durable if the store was opened as durable.
    pub async fn done(self) -> StorageResult<()> {
        self.0.await.map_err(|_| StorageError::Closed)?
    }

    /// Like [`Self::done`], blocking the calling thread.
    pub fn wait(self) -> StorageResult<()> {
        pollster::block_on(self.done())
    }
}

fn one(set: WriteSet) -> Vec<Arc<WriteSet>> {
    vec![Arc::new(set)]
}

impl Commit {
    fn size_bytes(&self) -> usize {
        self.sets.iter().map(|set| set.size_bytes()).sum()
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({} queued)", self.queue.max_capacity() - self.queue.capacity())
    }
}
