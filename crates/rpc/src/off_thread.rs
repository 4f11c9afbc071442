//! Runs long work of asynchronous methods on the threads for work.

use crate::work::{Client, JobKind, Lane};
use crate::{CallContext, Caller, context::CancelOnDrop};

tokio::task_local! {
    /// The connection whose call is running.
    pub(crate) static CALLER: Client;
}

/// Work did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WorkRefused {
    /// The node stops.
    #[error("the node is shutting down")]
    ShuttingDown,
    /// Too many calls wait already.
    #[error("too many calls wait")]
    Busy,
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

/// As [`off_thread`], for work that takes long: it runs in the long lane, and checks whether to go on
/// ([`CallContext::is_cancelled`]).
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
/// ([`CallContext::is_cancelled`]); one that returned for that reason may run again later. Dropping the future cancels it.
///
/// # Errors
/// Too many calls wait.
///
/// # Panics
/// If the work does.
pub async fn off_thread_restartable<T: Send + 'static>(
    caller: &Caller,
    mut work: impl FnMut(&CallContext) -> T + Send + 'static,
) -> Result<T, WorkRefused> {
    let context = CallContext::of(caller);
    let leaving = CancelOnDrop::new(&context);
    let mut unless_ended = move |context: &CallContext| {
        let done = work(context);
        (!context.is_cancelled()).then_some(done)
    };
    let done = match &caller.client {
        Some(client) => {
            let kind = JobKind { lane: Lane::Long, can_restart: true, is_brief_first: false };
            let done = client.work().run(client, kind, &context, unless_ended).await;
            done.map_err(|_| WorkRefused::Busy)?
        }
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

    /// As [`Self::run`], for work that checks whether to go on.
    async fn run_with<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce(&CallContext) -> T + Send + 'static,
    ) -> Result<T, WorkRefused> {
        let caller = Caller { client: Some(self.clone()), ..Caller::default() };
        let context = CallContext::of(&caller);
        let leaving = CancelOnDrop::new(&context);
        let mut work = Some(work);
        // `can_restart` is false, so the work runs once.
        let once = move |context: &CallContext| work.take().map(|work| work(context));
        let kind = JobKind { lane, can_restart: false, is_brief_first: false };
        let done = self.work().run(self, kind, &context, once).await;
        leaving.disarm();
        match done.map_err(|_| WorkRefused::Busy)? {
            Ok(result) => Ok(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
