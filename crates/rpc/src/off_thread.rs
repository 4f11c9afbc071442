//! Runs long work of asynchronous methods on the threads for work.

use std::sync::Arc;

use esker_primitives::sync::Mutex;

use crate::context::{CallContext, Caller, CancelOnDrop};
use crate::error::RpcError;
use crate::work::{CallMemoryError, Client, JobKind, Lane, RunMemory};

tokio::task_local! {
    /// The connection whose call is running.
    pub(crate) static CALLER: Client;
}

/// Work did not run, or not to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WorkRefused {
    /// The node stops.
    #[error("the node is shutting down")]
    ShuttingDown,
    /// Too many calls wait already.
    #[error("too many calls wait")]
    Busy,
    /// It needs more memory than there is for it.
    #[error(transparent)]
    Memory(#[from] CallMemoryError),
}

impl From<WorkRefused> for RpcError {
    fn from(refused: WorkRefused) -> Self {
        match refused {
            WorkRefused::ShuttingDown => Self::new(refused.to_string()),
            WorkRefused::Busy | WorkRefused::Memory(_) => {
                Self::with_code(Self::LIMIT_EXCEEDED, refused.to_string())
            }
        }
    }
}

/// Runs work in the short lane, on account of the client that made the call.
///
/// # Panics
///
/// If the work does: the caller turns it into an error reply and a log line, as for every handler.
pub async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WorkRefused> {
    match CALLER.try_with(Client::clone) {
        Ok(client) => client.run(Lane::Short, work).await,
        // No client: the work runs on the runtime's own threads.
        Err(_) => match tokio::task::spawn_blocking(work).await {
            Ok(result) => Ok(result),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(WorkRefused::ShuttingDown),
            },
        },
    }
}

/// Like [`off_thread`], for work that takes long: it runs in the long lane, and checks whether to go on
/// ([`CallContext::is_cancelled`]). What it takes counts as the memory of the client's calls while it runs.
///
/// # Errors
/// Too many calls wait, or the work ended because there is too little memory for it.
///
/// # Panics
///
/// If the work does.
pub async fn off_thread_long<T: Send + 'static>(
    work: impl FnOnce(&CallContext) -> T + Send + 'static,
) -> Result<T, WorkRefused> {
    match CALLER.try_with(Client::clone) {
        Ok(client) => client.run_with(Lane::Long, work).await,
        Err(_) => off_thread(move || work(&CallContext::new())).await,
    }
}

/// Runs work in the long lane, on account of a caller that is known. It checks whether to go on
/// ([`CallContext::is_cancelled`]); one that returned for that reason may run again later, also when there is more memory.
/// Dropping the future cancels it.
///
/// # Errors
/// Too many calls wait, or the work needs more memory than there is for it.
///
/// # Panics
/// If the work does.
pub async fn off_thread_restartable<T: Send + 'static>(
    caller: &Caller,
    mut work: impl FnMut(&CallContext) -> T + Send + 'static,
) -> Result<T, WorkRefused> {
    let context = CallContext::for_caller(caller);
    let leaving = CancelOnDrop::new(&context);
    let mut unless_ended = move |context: &CallContext| {
        let done = work(context);
        (!context.is_cancelled()).then_some(done)
    };
    let done = match &caller.client {
        Some(client) => run_restartable(client, &context, unless_ended).await?,
        None => {
            let context = context.clone();
            match tokio::task::spawn_blocking(move || unless_ended(&context)).await {
                Ok(done) => Ok(done.ok_or(WorkRefused::Busy)?),
                Err(error) => Err(error.try_into_panic().map_err(|_| WorkRefused::ShuttingDown)?),
            }
        }
    };
    leaving.disarm();
    done.map_err(|panic| std::panic::resume_unwind(panic))
}

/// Runs work of a client until it has not ended early, with more memory where it had too little.
async fn run_restartable<T: Send + 'static>(
    client: &Client,
    context: &CallContext,
    work: impl FnMut(&CallContext) -> Option<T> + Send + 'static,
) -> Result<std::thread::Result<T>, WorkRefused> {
    let kind = JobKind { lane: Lane::Long, can_restart: true, is_brief_first: false };
    let work = Arc::new(Mutex::new(work));
    let mut reservation = None;
    loop {
        let memory = Arc::new(RunMemory::new(client, reservation.take()));
        let of_run = context.with_memory(Some(Arc::clone(&memory)));
        let run = {
            let (work, memory) = (Arc::clone(&work), Arc::clone(&memory));
            move |context: &CallContext| match memory.run(|| (*work.lock())(context)) {
                (None, true) if !context.is_abandoned() => Some(None),
                (done, _) => done.map(Some),
            }
        };
        match client.work().run(client, kind, &of_run, run).await.map_err(|_| WorkRefused::Busy)? {
            Ok(Some(done)) => return Ok(Ok(done)),
            Ok(None) => {
                let more = memory.next_bytes()?;
                // Who waits holds nothing.
                drop((memory, of_run));
                reservation = Some(client.acquire_call_memory(more).await?);
            }
            Err(panic) => return Ok(Err(panic)),
        }
    }
}

impl Client {
    /// Runs work on a thread, on account of the client. Dropping the future cancels work that has not begun.
    ///
    /// # Errors
    /// Too many calls wait.
    ///
    /// # Panics
    /// If the work does.
    pub async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkRefused> {
        self.run_with(lane, move |_| work()).await
    }

    /// Like [`Self::run`], for work that checks whether to go on.
    async fn run_with<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce(&CallContext) -> T + Send + 'static,
    ) -> Result<T, WorkRefused> {
        let caller = Caller { client: Some(self.clone()), ..Caller::default() };
        let memory = (lane == Lane::Long).then(|| Arc::new(RunMemory::new(self, None)));
        let context = CallContext::for_caller(&caller).with_memory(memory.clone());
        let leaving = CancelOnDrop::new(&context);
        let mut work = Some(work);
        let of_run = memory.clone();
        // `can_restart` is false, so the work runs once.
        let once = move |context: &CallContext| {
            let work = work.take()?;
            Some(match &of_run {
                Some(memory) => memory.run(|| work(context)),
                None => (work(context), false),
            })
        };
        let kind = JobKind { lane, can_restart: false, is_brief_first: false };
        let done = self.work().run(self, kind, &context, once).await;
        leaving.disarm();
        match (done.map_err(|_| WorkRefused::Busy)?, memory) {
            (Ok((_, true)), Some(memory)) => Err(memory.refusal().into()),
            (Ok((result, _)), _) => Ok(result),
            (Err(panic), _) => std::panic::resume_unwind(panic),
        }
    }
}
