//! The single thread that writes.
//!
//! A store can refuse writes for a while: its disk is full, or fails. A writer with a [`RetryPolicy`] then suspends
//! itself: it refuses new sets, except those that may wait ([`Writer::commit_when_writable`]), and retries until the
//! store takes a write. [`Writer::ensure_writable`] returns the reason meanwhile.

mod receive;
mod thread;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use self::thread::WriterThread;
use crate::{KvStore, StorageError, StorageResult, WriteRefusal, WriteSet};

/// Sets that may wait in the queue; callers with more wait for room.
const QUEUE_LEN: usize = 256;

/// When a suspended writer tries again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Wait before the first try; each one after it doubles.
    pub first: Duration,
    /// Longest wait between two tries.
    pub longest: Duration,
    /// How often to look for room while nothing fails, so that writes are refused before one fails.
    pub check: Duration,
}

impl RetryPolicy {
    /// That of a running node.
    pub const NODE: Self = Self {
        first: Duration::from_millis(250),
        longest: Duration::from_secs(2),
        check: Duration::from_millis(200),
    };

    /// The wait that follows `wait`.
    fn after(&self, wait: Duration) -> Duration {
        wait.saturating_mul(2).min(self.longest)
    }
}

/// Handle to the writer thread of a store. Sets are committed in the order of the calls; sets that wait together may
/// share one transaction. Long work commits many small sets, so that others come in between. The thread ends after
/// [`Writer::close`], or with its last handle.
#[derive(Clone)]
pub struct Writer {
    queue: mpsc::Sender<Job>,
    refusal: watch::Receiver<Option<WriteRefusal>>,
}

type AfterCommit = Box<dyn FnOnce() + Send>;
type Reply = oneshot::Sender<StorageResult<()>>;

/// The sets of one call, written together; the later ones win.
struct Commit {
    sets: Vec<Arc<WriteSet>>,
    after: Option<AfterCommit>,
    reply: Reply,
    /// It waits while the store refuses writes.
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
    /// As [`Self::spawn`].
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

    /// Commits `set`: atomic, and durable when it returns if the store was opened so. A set that is in the queue is
    /// committed even if the caller stops waiting. Refused at once while the writer is suspended.
    pub async fn commit(&self, set: WriteSet) -> StorageResult<()> {
        self.submit(one(set), None, false).await
    }

    /// As [`Self::commit`]; `after` runs on the writer thread when the set is in the store and before any later set
    /// is written. It must be quick and is not called if the commit fails.
    pub async fn commit_with(
        &self,
        set: WriteSet,
        after: impl FnOnce() + Send + 'static,
    ) -> StorageResult<()> {
        self.submit(one(set), Some(Box::new(after)), false).await
    }

    /// As [`Self::commit`], for a set that is final: while the writer is suspended the set waits, and is retried
    /// unchanged until the store takes it or [`Self::stop_waiting`] is called.
    pub async fn commit_when_writable(&self, set: WriteSet) -> StorageResult<()> {
        self.submit(one(set), None, true).await
    }

    /// As [`Self::commit_when_writable`], for several sets in one transaction; the later ones win. Nothing is copied.
    pub async fn commit_all_when_writable(&self, sets: Vec<Arc<WriteSet>>) -> StorageResult<()> {
        self.submit(sets, None, true).await
    }

    /// As [`Self::commit`], blocking the calling thread; not for the threads that serve connections.
    pub fn commit_blocking(&self, set: WriteSet) -> StorageResult<()> {
        pollster::block_on(self.submit(one(set), None, false))
    }

    /// Fails while the writer is suspended: to be checked before accepting anything that has to be written later.
    ///
    /// # Errors
    /// [`StorageError::Refused`].
    pub fn ensure_writable(&self) -> StorageResult<()> {
        match &*self.refusal.borrow() {
            None => Ok(()),
            Some(refusal) => Err(refusal.clone().into()),
        }
    }

    /// Why the writer is suspended, from now on.
    #[must_use]
    pub fn refusal(&self) -> watch::Receiver<Option<WriteRefusal>> {
        self.refusal.clone()
    }

    /// From now on no set waits for a suspended writer: waiting and later ones are refused. For the end of the process.
    pub async fn stop_waiting(&self) {
        // A writer that is closed lets nobody wait.
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

    /// As [`Self::close`], blocking the calling thread.
    pub fn close_blocking(&self) -> StorageResult<()> {
        pollster::block_on(self.close())
    }

    async fn submit(
        &self,
        sets: Vec<Arc<WriteSet>>,
        after: Option<AfterCommit>,
        may_wait: bool,
    ) -> StorageResult<()> {
        // Refused here, so that it cannot fail the sets it would be grouped with.
        sets.iter().try_for_each(|set| set.check())?;
        let (reply, done) = oneshot::channel();
        let job = Job::Commit(Commit { sets, after, reply, may_wait });
        self.queue.send(job).await.map_err(|_| StorageError::Closed)?;
        done.await.map_err(|_| StorageError::Closed)?
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
