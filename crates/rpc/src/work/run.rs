//! Runs the work of a call as a job.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::oneshot;

use super::queue::{Job, Progress, Task};
use super::{Busy, Client, JobKind, Lane, Work};
use crate::context::CallContext;

impl Work {
    /// Runs work on a thread when its turn comes. If it `can_restart`, its context may ask it to end; then it returns
    /// `None` and is run again later. Work that leaves the short lane is run again as long work.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        client: &Client,
        kind: JobKind,
        context: &CallContext,
        work: impl FnMut(&CallContext) -> Option<T> + Send + 'static,
    ) -> Result<std::thread::Result<T>, Busy> {
        let (sender, receiver) = oneshot::channel();
        let JobKind { lane, can_restart, mut is_brief_first } = kind;
        let lane = if is_brief_first { Lane::Short } else { lane };
        let mut call = Some((context.clone(), work, sender));
        let task: Task = Box::new(move |run_state| {
            let Some((of_call, work, _)) = &mut call else { return Progress::Done };
            let context = of_call.with_run_state(run_state).with_brief(is_brief_first);
            // Unwind safety: as for every handler; see `Method::call`.
            let done = match catch_unwind(AssertUnwindSafe(|| work(&context))) {
                Ok(None) if context.has_left_short_lane() => {
                    is_brief_first = false;
                    return Progress::Longer;
                }
                Ok(None) if context.must_restart() => return Progress::Again,
                Ok(None) => return Progress::Done,
                Ok(Some(done)) => Ok(done),
                Err(panic) => Err(panic),
            };
            drop(context);
            if let Some((of_call, work, sender)) = call.take() {
                // The memory that the call has reserved is free once its result exists.
                drop((of_call, work));
                // The client may have left.
                let _ = sender.send(done);
            }
            Progress::Done
        });
        let is_cancelled = context.abandoned_flag();
        let client = client.clone();
        let job = Job { client, lane, can_restart, is_cancelled, rank_us: 0, task };
        self.workers().submit(job);
        // A job that is refused is dropped.
        receiver.await.map_err(|_| Busy)
    }
}

/// The payload of a panic, as text.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a text")
}
