//! A type-erased method, called with any dialect's arguments.

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use esker_primitives::{sync::Mutex, thread_memory};
use futures_util::{FutureExt, future::BoxFuture};

use crate::call_error::CallError;
use crate::context::{CallContext, CancelOnDrop};
use crate::discover::{Arguments, Signature};
use crate::error::RpcError;
use crate::fallback::{Fallback, Instead, OtherMethod, Unanswered};
use crate::method_info::MethodInfo;
use crate::off_thread::CALLER;
use crate::params::{Params, ParamsError};
use crate::reply_after::ReplyWait;
use crate::result_writer::WrittenResult;
use crate::work::{
    CallReservation, FailedCall, JobKind, Lane, ReplyBytes, RunMemory, SMALL_ARGUMENTS, SMALL_TEXT,
    estimate, panic_text,
};

/// Arguments up to this length, in bytes of text, can't take more than [`SMALL_ARGUMENTS`].
const TINY_TEXT: usize = 256;
/// Most times that a call runs again after it has waited for what it lacked.
const MAX_RUNS: usize = 10_000;
/// Most characters of an error that followers of failed calls get.
const MAX_SHOWN_ERROR: usize = 300;
/// Characters of an error's data that they get.
const MAX_SHOWN_DATA: usize = 100;

/// The outcome of a handler: the buffer it was given with the serialised result appended.
pub(crate) type Outcome = Result<Vec<u8>, RpcError>;

/// The execution of a handler once its arguments are decoded.
pub(crate) enum Step {
    Done(Outcome),
    Later(BoxFuture<'static, Outcome>),
    Blocking(Blocking),
}

/// A counted result, and what it waits for before it is sent.
type CountedReply = (ReplyBytes, Option<ReplyWait>);

/// Work that blocks its thread.
pub(crate) struct Blocking {
    /// The work may be ended and restarted any number of times.
    pub(crate) can_restart: bool,
    pub(crate) work: Box<BlockingWork>,
}

type BlockingWork = dyn FnMut(&CallContext) -> Result<WrittenResult, CallError> + Send;

/// How a run of blocking work ended.
enum Attempt {
    Done(Result<CountedReply, CallError>),
    /// There was too little memory for it.
    NeedsMemory,
}

/// Decodes the arguments and starts the handler, which appends its result to the buffer.
pub(crate) type ErasedHandler =
    Box<dyn Fn(Params<'_>, &CallContext, Vec<u8>) -> Result<Step, ParamsError> + Send + Sync>;

/// The lane in which the work of a method runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LanePolicy {
    /// The short lane.
    Short,
    /// The short lane first; the long lane if the work calls [`CallContext::leave_short_lane`].
    ShortFirst,
    /// The long lane.
    #[default]
    Long,
}

/// One method of an endpoint.
pub struct Method {
    info: MethodInfo,
    signature: Signature,
    lane_policy: LanePolicy,
    run: ErasedHandler,
    fallback: OnceLock<Arc<dyn Fallback>>,
    /// Whether numbers of arguments by position may have any form.
    takes_any_number_form: AtomicBool,
    deprecation_logged: AtomicBool,
}

/// The error that an untrusted page gets from a method for trusted callers.
pub const UNTRUSTED_ORIGIN: &str = "origin not allowed: this method answers web pages only from this machine, or \
    from origins that http-allowed-origins names";

impl Method {
    pub(crate) fn new(
        info: MethodInfo,
        signature: Signature,
        lane_policy: LanePolicy,
        run: ErasedHandler,
    ) -> Self {
        Self {
            info,
            signature,
            lane_policy,
            run,
            fallback: OnceLock::new(),
            takes_any_number_form: AtomicBool::new(false),
            deprecation_logged: AtomicBool::new(false),
        }
    }

    /// The known properties of the method.
    #[must_use]
    pub fn info(&self) -> &MethodInfo {
        &self.info
    }

    /// The argument and result types of the method.
    pub(crate) fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Asks this one from now on if the handler has an error or `null`, and runs calls again that have waited for what they
    /// lacked ([`crate::RunAgainAfter`]). Only the first counts.
    pub(crate) fn set_fallback(&self, fallback: &Arc<dyn Fallback>) {
        let _first = self.fallback.set(Arc::clone(fallback));
    }

    /// From now on numbers of arguments by position may have any form that says which number is meant.
    pub(crate) fn take_any_number_form(&self) {
        self.takes_any_number_form.store(true, Ordering::Relaxed);
    }

    /// Calls the method and appends its serialised result to `out`.
    ///
    /// A quick handler runs at once, a blocking one on a thread, on account of the context's client; the result counts
    /// as held for this client. Dropping the future cancels an asynchronous handler, and a blocking one that has not
    /// begun. A blocking handler that has begun sees [`CallContext::is_cancelled`].
    pub async fn call(
        &self,
        params: Params<'_>,
        context: &CallContext,
        out: Vec<u8>,
    ) -> Result<ReplyBytes, CallError> {
        let called = self.answer(params, context, out).await;
        if let (Err(error), Some(client)) = (&called, context.client()) {
            client.work().failed_calls().report(|| self.failed_call(error));
        }
        called
    }

    /// As [`Self::call`], without a report of a failed call.
    async fn answer(
        &self,
        params: Params<'_>,
        context: &CallContext,
        out: Vec<u8>,
    ) -> Result<ReplyBytes, CallError> {
        let Some(fallback) = self.fallback.get() else {
            return self.run(params, context, out).await;
        };
        let prefix = out.clone();
        let called = self.run_to_end(params, context, out).await;
        match self.ask(fallback, params, context, (&called, prefix.len())) {
            Some(instead) => self.answer_instead(instead, params, context, prefix).await,
            None => called,
        }
    }

    /// Runs the call again each time that it has waited for what it lacked.
    async fn run_to_end(
        &self,
        params: Params<'_>,
        context: &CallContext,
        out: Vec<u8>,
    ) -> Result<ReplyBytes, CallError> {
        let prefix = out.clone();
        let mut called = self.run(params, context, out).await;
        for _ in 0..MAX_RUNS {
            let Err(CallError::Handler(RpcError { wait: Some(wait), .. })) = &called else { break };
            let over = wait.clone().over().await;
            called = match over {
                Ok(()) => self.run(params, context, prefix.clone()).await,
                Err(error) => Err(error.into()),
            };
        }
        called
    }

    /// What to answer in place of an error or `null`. The reply begins with `prefix` bytes that are not the result.
    fn ask(
        &self,
        fallback: &Arc<dyn Fallback>,
        params: Params<'_>,
        context: &CallContext,
        (called, prefix): (&Result<ReplyBytes, CallError>, usize),
    ) -> Option<Instead> {
        let error = match called {
            Ok(reply) if reply.result_after(prefix) == Some(b"null") => None,
            Err(CallError::Handler(error)) => Some(error),
            _ => return None,
        };
        let MethodInfo { namespace, name: method, .. } = self.info;
        let client = context.client();
        fallback.instead(Unanswered { namespace, method, params: params.text(), error, client })
    }

    async fn answer_instead(
        &self,
        instead: Instead,
        params: Params<'_>,
        context: &CallContext,
        prefix: Vec<u8>,
    ) -> Result<ReplyBytes, CallError> {
        let mut out = prefix;
        match instead {
            Instead::Reply(reply) => out.extend_from_slice(reply.await?.as_bytes()),
            Instead::Before(before, own, change) => {
                let before = before.await?;
                let after = params.of_text(own.as_bytes());
                let after = self.run_to_end(after, context, Vec::new()).await;
                let after = after.map_err(|error| match error {
                    CallError::Handler(error) => CallError::Handler(change(error)),
                    error => error,
                })?;
                let after = after.result_after(0).ok_or_else(too_large)?;
                join_lists(before.as_bytes(), after, &mut out);
            }
            Instead::Own(own) => {
                let params = params.of_text(own.as_bytes());
                let reply = self.run_to_end(params, context, Vec::new()).await?;
                out.extend_from_slice(reply.result_after(0).ok_or_else(too_large)?);
            }
            Instead::OfMethod(method, arguments) => {
                let params = params.of_text(arguments.as_bytes());
                return method.answer_within(params, context, out).await;
            }
        }
        Ok(ReplyBytes::counted(out, context.client())?)
    }

    async fn run(
        &self,
        params: Params<'_>,
        context: &CallContext,
        out: Vec<u8>,
    ) -> Result<ReplyBytes, CallError> {
        if self.info.trusted_callers_only && context.caller().is_untrusted_page {
            return Err(RpcError::new(UNTRUSTED_ORIGIN).into());
        }
        self.log_deprecation();
        let (step, reservation) = self.start(params, context, out).await?;
        let outcome = match step {
            Step::Done(outcome) => outcome,
            Step::Later(future) => {
                let future = AssertUnwindSafe(future).catch_unwind();
                let done = match context.client() {
                    Some(client) => CALLER.scope(client.clone(), future).await,
                    None => future.await,
                };
                done.map_err(|panic| self.crashed(&*panic))?
            }
            Step::Blocking(blocking) => return self.block(blocking, context, reservation).await,
        };
        Ok(ReplyBytes::counted(outcome?, context.client())?)
    }

    /// Decodes the arguments and starts the handler. What long arguments take is reserved before.
    async fn start(
        &self,
        params: Params<'_>,
        context: &CallContext,
        out: Vec<u8>,
    ) -> Result<(Step, Option<CallReservation>), CallError> {
        let params = match self.takes_any_number_form.load(Ordering::Relaxed) {
            true => params.with_any_number_form(),
            false => params,
        };
        // Unwind safety: services keep their state behind snapshots and poison-free locks, and the
        // buffer is lost with the panic.
        let run = |out| catch_unwind(AssertUnwindSafe(|| (self.run)(params, context, out)));
        let text_bytes = params.text().len();
        let Some(client) = context.client().filter(|_| text_bytes > TINY_TEXT) else {
            return Ok((run(out).map_err(|panic| self.crashed(&*panic))??, None));
        };
        let mut reservation = match text_bytes > SMALL_TEXT {
            true => Some(client.acquire_call_memory(estimate(text_bytes, client)).await?),
            false => None,
        };
        loop {
            let bytes = reservation.as_ref().map_or(SMALL_ARGUMENTS, CallReservation::bytes);
            let before = thread_memory::held_bytes();
            let (started, is_exceeded) = thread_memory::limited(bytes, || run(out.clone()));
            match started.map_err(|panic| self.crashed(&*panic))? {
                Err(_) if is_exceeded => {
                    let more = client.call_memory_beyond(bytes)?;
                    // Who waits holds nothing.
                    drop(reservation.take());
                    reservation = Some(client.acquire_call_memory(more).await?);
                }
                step => {
                    let step = step?;
                    if let (Step::Later(_), Some(reservation)) = (&step, &mut reservation) {
                        // The memory that it holds while it waits. Blocking work has not decoded its arguments yet.
                        let held = thread_memory::held_bytes().saturating_sub(before);
                        reservation.shrink_to(usize::try_from(held).unwrap_or(0));
                    }
                    return Ok((step, reservation));
                }
            }
        }
    }

    async fn block(
        &self,
        blocking: Blocking,
        context: &CallContext,
        mut reservation: Option<CallReservation>,
    ) -> Result<ReplyBytes, CallError> {
        let Blocking { can_restart, work } = blocking;
        let kind = JobKind {
            lane: if self.lane_policy == LanePolicy::Short { Lane::Short } else { Lane::Long },
            can_restart,
            is_brief_first: can_restart && self.lane_policy == LanePolicy::ShortFirst,
        };
        let work = Arc::new(Mutex::new(work));
        let done = loop {
            let Some(client) = context.client() else {
                break self.run_without_client(Arc::clone(&work), context).await;
            };
            let memory = Arc::new(RunMemory::new(client, reservation.take()));
            let attempt = attempt(Arc::clone(&work), can_restart, Arc::clone(&memory));
            let of_run = context.with_memory(Some(Arc::clone(&memory)));
            let leaving = CancelOnDrop::new(context);
            let done = client.work().run(client, kind, &of_run, attempt).await;
            let done = done.map_err(|_| CallError::Busy)?;
            leaving.disarm();
            match done {
                Ok(Attempt::Done(done)) => break Ok(done),
                Ok(Attempt::NeedsMemory) => {
                    let more = memory.next_bytes()?;
                    // Who waits holds nothing.
                    drop((memory, of_run));
                    reservation = Some(client.acquire_call_memory(more).await?);
                }
                Err(panic) => break Err(panic),
            }
        };
        let (reply, wait) = done.map_err(|panic| self.crashed(&*panic))??;
        let wait = match (wait, context.shared_delays()) {
            (Some(ReplyWait::SharedDelay(delay)), Some(shared)) => match shared.add(delay) {
                Ok(()) => None,
                Err(delay) => {
                    // With all that wait already, so that no more pile up.
                    shared.over().await;
                    Some(ReplyWait::SharedDelay(delay))
                }
            },
            (wait, _) => wait,
        };
        if let Some(wait) = wait {
            let waited = AssertUnwindSafe(wait.over()).catch_unwind().await;
            waited.map_err(|panic| self.crashed(&*panic))??;
        }
        Ok(reply)
    }

    /// Runs work of a program in the process, which has no limits.
    async fn run_without_client(
        &self,
        work: Arc<Mutex<Box<BlockingWork>>>,
        context: &CallContext,
    ) -> std::thread::Result<Result<CountedReply, CallError>> {
        let leaving = CancelOnDrop::new(context);
        let of_run = context.clone();
        let done = tokio::task::spawn_blocking(move || counted(&mut **work.lock(), &of_run)).await;
        leaving.disarm();
        match done.map_err(tokio::task::JoinError::try_into_panic) {
            Ok(done) => Ok(done),
            Err(Ok(panic)) => Err(panic),
            // Only a runtime that shuts down cancels blocking work.
            Err(Err(_)) => Ok(Err(RpcError::new("the node is shutting down").into())),
        }
    }

    /// The report for followers of failed calls.
    fn failed_call(&self, error: &CallError) -> FailedCall {
        let mut text: String = error.to_string().chars().take(MAX_SHOWN_ERROR).collect();
        if let CallError::Handler(error) = error
            && let Some(data) = &error.data
        {
            text.push(' ');
            text.extend(data.get().trim_matches('"').chars().take(MAX_SHOWN_DATA));
        }
        let separator = match self.signature.arguments {
            Arguments::Listed { .. } => '_',
            Arguments::Named(_) => '.',
        };
        let MethodInfo { namespace, name, .. } = self.info;
        FailedCall { method: format!("{namespace}{separator}{name}"), error: text }
    }

    fn log_deprecation(&self) {
        let Some(since) = self.info.deprecated_since else { return };
        if !self.deprecation_logged.swap(true, Ordering::Relaxed) {
            let MethodInfo { namespace, name, instead, .. } = self.info;
            let since = format_args!("AvalancheGo {since}");
            tracing::info!(namespace, method = name, %since, instead, "deprecated method called");
        }
    }

    fn crashed(&self, panic: &(dyn Any + Send)) -> CallError {
        let text = panic_text(panic);
        let MethodInfo { namespace, name, .. } = self.info;
        tracing::error!(namespace, method = name, panic = text, "method handler crashed");
        CallError::Panicked
    }
}

fn too_large() -> CallError {
    RpcError::with_code(RpcError::TOO_LARGE, "response too large").into()
}

/// Writes the entries of two lists of JSON as one list.
fn join_lists(first: &[u8], second: &[u8], out: &mut Vec<u8>) {
    let entries = |list: &[u8]| {
        let list = list.trim_ascii();
        list.strip_prefix(b"[").and_then(|list| list.strip_suffix(b"]")).unwrap_or(list).to_vec()
    };
    let (first, second) = (entries(first), entries(second));
    out.push(b'[');
    out.extend_from_slice(&first);
    if !first.trim_ascii().is_empty() && !second.trim_ascii().is_empty() {
        out.push(b',');
    }
    out.extend_from_slice(&second);
    out.push(b']');
}

/// Runs work whose result is counted on its thread: it may wait for a connection that does not read.
fn counted(work: &mut BlockingWork, context: &CallContext) -> Result<CountedReply, CallError> {
    let WrittenResult { file, bytes, wait } = work(context)?;
    let reply = ReplyBytes::counted(bytes, context.client())?.after(file.map(Box::new));
    Ok((reply, wait))
}

/// The runs of blocking work; `None`: it was interrupted.
fn attempt(
    work: Arc<Mutex<Box<BlockingWork>>>,
    can_restart: bool,
    memory: Arc<RunMemory>,
) -> impl FnMut(&CallContext) -> Option<Attempt> + Send + 'static {
    move |context| {
        let (done, is_exceeded) = memory.run(|| counted(&mut **work.lock(), context));
        if context.has_left_short_lane() {
            return None;
        }
        // Work that can't run again has done nothing yet if its arguments were too large.
        let may_run_again = can_restart || matches!(done, Err(CallError::Params(_)));
        if done.is_err() && is_exceeded && may_run_again && !context.is_abandoned() {
            return Some(Attempt::NeedsMemory);
        }
        (done.is_ok() || !context.must_restart()).then_some(Attempt::Done(done))
    }
}

impl OtherMethod for Method {
    fn answer_within<'a>(
        &'a self,
        params: Params<'a>,
        context: &'a CallContext,
        out: Vec<u8>,
    ) -> BoxFuture<'a, Result<ReplyBytes, CallError>> {
        self.answer(params, context, out).boxed()
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Method").field("info", &self.info).finish_non_exhaustive()
    }
}
