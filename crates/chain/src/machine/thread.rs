//! The thread that owns the machine's state, and its mailbox.

use std::fmt;
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use esker_primitives::ChainId;
use esker_storage::WriteSet;
use tokio::sync::{mpsc, oneshot};

use super::core::{Attempt, Core, Decision};
use super::{Rewound, Undo};
use crate::bundle::{Bundle, BundleId};
use crate::engine::ShutdownTrigger;
use crate::error::{ChainError, FinalizeError, ProposeError, RewindError};
use crate::verdict::Verdict;

/// Calls that may wait in the mailbox. Further callers wait for room.
const MAILBOX_LEN: usize = 64;

/// Sends the result of a call.
pub(super) type Reply<T> = oneshot::Sender<T>;

/// A call to the machine.
pub(super) enum Job {
    Build {
        parent: BundleId,
        ancestry: Vec<Bundle>,
        height: u64,
        is_empty_allowed: bool,
        reply: Reply<Result<Attempt, ProposeError>>,
    },
    Verify {
        ancestry: Vec<Bundle>,
        bundle: Bundle,
        reply: Reply<Result<Verdict, ChainError>>,
    },
    Finalize {
        bundles: Vec<(Bundle, Option<Bytes>)>,
        reply: Reply<Result<(), FinalizeError>>,
    },
    FinalizeBlocks {
        on: BundleId,
        blocks: Vec<(ChainId, Bytes)>,
        reply: Reply<Result<(), FinalizeError>>,
    },
    Compose {
        parent: BundleId,
        blocks: Vec<(ChainId, Bytes)>,
        reply: Reply<Result<Result<Bundle, Verdict>, ChainError>>,
    },
    Abandon {
        id: BundleId,
        reply: Reply<usize>,
    },
    Notarize {
        id: BundleId,
        reply: Reply<()>,
    },
    Rewind {
        /// The last bundle, as the caller knows it; `None`: whatever it is.
        last: Option<BundleId>,
        to: u64,
        also: WriteSet,
        reply: Reply<Result<Rewound, RewindError>>,
    },
    SetUndo {
        undo: Undo,
        reply: Reply<Result<(), RewindError>>,
    },
    LowestRewind {
        reply: Reply<Option<u64>>,
    },
}

/// The thread and its mailbox. Dropping this stops the thread after the running job. A commit that waits for the disk
/// is cancelled, and waiting calls are not executed.
pub(super) struct MachineThread {
    mailbox: mpsc::Sender<Job>,
    closing: ShutdownTrigger,
    thread: Option<JoinHandle<()>>,
}

impl MachineThread {
    /// Starts the thread. `core` observes `closing`.
    pub(super) fn spawn(core: Core, closing: ShutdownTrigger) -> Result<Self, ChainError> {
        let failed = |error| esker_storage::StorageError::io("cannot start the machine", error);
        // No timers or sockets: it only drives this thread's futures.
        let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(failed)?;
        let (mailbox, jobs) = mpsc::channel(MAILBOX_LEN);
        let thread = thread::Builder::new()
            .name("machine".to_owned())
            .spawn(move || runtime.block_on(run(core, jobs)))
            .map_err(failed)?;
        Ok(Self { mailbox, closing, thread: Some(thread) })
    }

    /// Makes a call and waits for its result.
    pub(super) async fn call<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, ChainError> {
        let (reply, answer) = oneshot::channel();
        self.mailbox.send(job(reply)).await.map_err(|_| ChainError::Stopped)?;
        answer.await.map_err(|_| ChainError::Stopped)
    }
}

impl fmt::Debug for MachineThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.mailbox.max_capacity() - self.mailbox.capacity();
        write!(f, "MachineThread({waiting} waiting)")
    }
}

impl Drop for MachineThread {
    fn drop(&mut self) {
        self.closing.trigger();
        let Some(thread) = self.thread.take() else { return };
        // A chain may drop the last reference to the machine, on the machine's own thread.
        if thread.thread().id() != thread::current().id() && thread.join().is_err() {
            tracing::error!("the machine's thread had panicked");
        }
    }
}

async fn run(mut core: Core, mut jobs: mpsc::Receiver<Job>) {
    let mut closing = core.closing.clone();
    loop {
        let job = tokio::select! {
            biased;
            () = closing.wait() => return,
            job = jobs.recv() => job,
        };
        let Some(job) = job else { return };
        work(&mut core, job).await;
        if core.is_lost {
            return;
        }
    }
}

/// Executes a job. If the caller has stopped waiting, the result is dropped.
async fn work(core: &mut Core, job: Job) {
    match job {
        // Skipped if the caller has stopped waiting: it can repeat the call.
        Job::Build { reply, .. } if reply.is_closed() => {}
        Job::Verify { reply, .. } if reply.is_closed() => {}
        Job::Build { parent, ancestry, height, is_empty_allowed, reply } => {
            let attempt = core.build(&parent, &ancestry, height, is_empty_allowed);
            if let Err(Ok(Attempt::Bundle(bundle, true))) = reply.send(attempt) {
                core.abandon(&bundle.id());
            }
        }
        Job::Verify { ancestry, bundle, reply } => {
            let _unwanted = reply.send(core.verify(&ancestry, &bundle));
        }
        Job::Finalize { bundles, reply } => {
            let bundles = bundles.into_iter();
            let decisions = bundles.map(|(bundle, proof)| Decision::Bundle(bundle, proof));
            let _unwanted = reply.send(core.finalize_all(decisions.collect()).await);
        }
        Job::FinalizeBlocks { on, blocks, reply } => {
            let _unwanted = reply.send(core.finalize_blocks(&on, blocks).await);
        }
        Job::Compose { parent, blocks, reply } => {
            let composed = core.compose(&parent, blocks, false);
            let _unwanted = reply.send(composed.map(|node| node.map(|node| node.bundle.clone())));
        }
        Job::Abandon { id, reply } => {
            let _unwanted = reply.send(core.abandon(&id));
        }
        Job::Notarize { id, reply } => {
            core.notarize(&id);
            let _unwanted = reply.send(());
        }
        Job::Rewind { last, to, also, reply } => {
            let found = core.tree.last().id;
            let rewound = match last.filter(|last| *last != found) {
                Some(last) => Err(RewindError::NotLast { last, found }),
                None => core.rewind(to, &also),
            };
            let _unwanted = reply.send(rewound);
        }
        Job::SetUndo { undo, reply } => {
            let _unwanted = reply.send(core.set_undo(undo));
        }
        Job::LowestRewind { reply } => {
            let _unwanted = reply.send(core.undo.lowest());
        }
    }
}
