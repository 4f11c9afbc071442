//! The loop of the writer thread: commits in groups, and retries while the store refuses writes.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::receive::{Received, receive};
use super::{Commit, Job, Reply, RetryPolicy};
use crate::error::{StorageError, StorageResult};
use crate::kv::KvStore;
use crate::refusal::WriteRefusal;
use crate::write_set::WriteSet;

/// Most sets in one transaction.
const GROUP_LEN: usize = 64;
/// Bytes at which a group is full.
const GROUP_BYTES: usize = 4 << 20;
/// A writer that is suspended again within this time continues with its last delay, so that a store that fails
/// intermittently is not retried and logged all the time.
const STEADY_TIME: Duration = Duration::from_secs(60);

pub(super) struct WriterThread {
    store: Arc<dyn KvStore>,
    jobs: mpsc::Receiver<Job>,
    retry: Option<RetryPolicy>,
    refusal: watch::Sender<Option<WriteRefusal>>,
    suspended: Option<Suspension>,
    /// When the last suspension ended, and its last delay.
    resumed: Option<(Instant, Duration)>,
    next_check: Instant,
    has_stopped_waiting: bool,
    closing: Vec<Reply>,
}

/// A suspension: the store refuses writes.
struct Suspension {
    since: Instant,
    next_try: Instant,
    wait: Duration,
    /// The jobs to retry, in order.
    held: Vec<Commit>,
}

impl WriterThread {
    pub(super) fn new(
        store: Arc<dyn KvStore>,
        jobs: mpsc::Receiver<Job>,
        retry: Option<RetryPolicy>,
        refusal: watch::Sender<Option<WriteRefusal>>,
    ) -> Self {
        Self {
            store,
            jobs,
            retry,
            refusal,
            suspended: None,
            resumed: None,
            next_check: Instant::now(),
            has_stopped_waiting: false,
            closing: Vec::new(),
        }
    }

    pub(super) fn run(mut self) {
        loop {
            let deadline = self.deadline();
            // Checked between jobs too: they may arrive without a pause.
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                self.on_deadline();
                continue;
            }
            match receive(&mut self.jobs, deadline) {
                Received::Message(job) => self.take(job),
                Received::TimedOut => {}
                Received::Closed => break,
            }
        }
        self.finish();
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.suspended {
            Some(suspension) => Some(suspension.next_try),
            None => self.retry.map(|_| self.next_check),
        }
    }

    fn on_deadline(&mut self) {
        if self.suspended.is_some() {
            self.retry_writes();
            return;
        }
        self.next_check = Instant::now() + self.retry.map_or(Duration::ZERO, |retry| retry.check);
        if let Err(error) = self.store.check_room(0)
            && let Some(refusal) = error.refusal()
        {
            self.suspend(refusal, &error, Vec::new());
        }
    }

    fn take(&mut self, job: Job) {
        match job {
            Job::Commit(commit) if self.suspended.is_some() => self.hold_or_refuse(commit),
            Job::Commit(commit) => {
                let group = self.collect_group(commit);
                self.write(group);
            }
            Job::StopWaiting => self.stop_waiting(),
            Job::Close { reply } => self.close(reply),
        }
    }

    /// The set and queued sets, up to the limits of a group.
    fn collect_group(&mut self, first: Commit) -> Vec<Commit> {
        let mut bytes = first.size_bytes();
        let mut group = vec![first];
        while group.len() < GROUP_LEN && bytes < GROUP_BYTES {
            match self.jobs.try_recv() {
                Ok(Job::Commit(commit)) => {
                    bytes += commit.size_bytes();
                    group.push(commit);
                }
                Ok(Job::StopWaiting) => self.stop_waiting(),
                Ok(Job::Close { reply }) => self.close(reply),
                Err(_) => break,
            }
        }
        group
    }

    fn write(&mut self, group: Vec<Commit>) {
        let written = write_all(&*self.store, &group);
        if let Err(error) = &written {
            if self.retry.is_some()
                && let Some(refusal) = error.refusal()
            {
                self.suspend(refusal, error, group);
                return;
            }
            tracing::error!(%error, sets = group.len(), "commit failed");
        }
        answer(group, &written);
    }

    /// Suspends the writer. Sets of the failed group that may wait are kept.
    fn suspend(&mut self, refusal: WriteRefusal, cause: &StorageError, group: Vec<Commit>) {
        let Some(retry) = self.retry else { return };
        tracing::error!(
            reason = %refusal,
            %cause,
            "the disk is not writable: no blocks are made and writes are refused"
        );
        let now = Instant::now();
        let wait = match self.resumed {
            Some((at, wait)) if now.duration_since(at) < STEADY_TIME => retry.after(wait),
            _ => retry.first,
        };
        self.refusal.send_replace(Some(refusal));
        let held = Vec::new();
        self.suspended = Some(Suspension { since: now, next_try: now + wait, wait, held });
        for commit in group {
            self.hold_or_refuse(commit);
        }
    }

    fn hold_or_refuse(&mut self, commit: Commit) {
        let refusal = self.refusal.borrow().clone();
        match (&mut self.suspended, refusal) {
            (Some(suspension), _) if commit.may_wait && !self.has_stopped_waiting => {
                suspension.held.push(commit);
            }
            (_, Some(refusal)) => answer(vec![commit], &Err(refusal.into())),
            (_, None) => self.write(vec![commit]),
        }
    }

    /// Retries the waiting sets, or probes the store if there are none.
    fn retry_writes(&mut self) {
        let Some(mut suspension) = self.suspended.take() else { return };
        let held = std::mem::take(&mut suspension.held);
        let mut tried = match held.is_empty() {
            true => catch_panic(|| self.store.probe()),
            false => write_all(&*self.store, &held),
        };
        if matches!(tried, Err(StorageError::Full { .. })) && !held.is_empty() {
            // LMDB does not reuse the pages that its last commit freed; a further commit makes them available.
            tried =
                catch_panic(|| self.store.probe()).and_then(|()| write_all(&*self.store, &held));
        }
        if let Err(error) = &tried
            && let Some(refusal) = error.refusal()
        {
            tracing::debug!(%error, "the disk is still not writable");
            self.refusal.send_if_modified(|shown| {
                let differs = shown.as_ref() != Some(&refusal);
                *shown = Some(refusal);
                differs
            });
            suspension.wait =
                self.retry.map_or(suspension.wait, |retry| retry.after(suspension.wait));
            suspension.next_try = Instant::now() + suspension.wait;
            suspension.held = held;
            self.suspended = Some(suspension);
            return;
        }
        self.resumed = Some((Instant::now(), suspension.wait));
        self.refusal.send_replace(None);
        let seconds = suspension.since.elapsed().as_secs();
        match &tried {
            Ok(()) => tracing::warn!(seconds, "the disk is writable again"),
            Err(error) => tracing::error!(%error, sets = held.len(), "commit failed"),
        }
        answer(held, &tried);
    }

    fn stop_waiting(&mut self) {
        self.has_stopped_waiting = true;
        let held = self.suspended.as_mut().map(|s| std::mem::take(&mut s.held)).unwrap_or_default();
        for commit in held {
            self.hold_or_refuse(commit);
        }
    }

    fn close(&mut self, reply: Reply) {
        self.closing.push(reply);
        // Queued sets are still committed.
        self.jobs.close();
    }

    fn finish(mut self) {
        let held = self.suspended.take().map(|suspension| suspension.held).unwrap_or_default();
        if !held.is_empty() {
            answer(held, &Err(StorageError::Closed));
        }
        let flushed = catch_panic(|| self.store.flush());
        // The caller of close may reopen the folder at once.
        drop(self.store);
        for reply in self.closing {
            // Fails if the caller was cancelled.
            let _ = reply.send(flushed.clone());
        }
    }
}

/// Writes the sets in one transaction, the later ones over the earlier ones.
fn write_all(store: &dyn KvStore, group: &[Commit]) -> StorageResult<()> {
    let sets: Vec<&WriteSet> = group.iter().flat_map(|commit| &commit.sets).map(|s| &**s).collect();
    catch_panic(|| store.write_all(&sets))
}

/// Sends the result of a write to its callers.
fn answer(group: Vec<Commit>, written: &StorageResult<()>) {
    for commit in group {
        let mut outcome = written.clone();
        if outcome.is_ok()
            && let Some(after) = commit.after
        {
            outcome = catch_panic(|| {
                after();
                Ok(())
            });
        }
        // Fails if the caller was cancelled.
        let _ = commit.reply.send(outcome);
    }
}

/// Turns a panic into an error, so that the thread continues for other callers.
fn catch_panic(work: impl FnOnce() -> StorageResult<()>) -> StorageResult<()> {
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
