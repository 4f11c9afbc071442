//! Type-erased methods, found by name and called with any dialect's arguments.

use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use esker_primitives::{sync::Mutex, thread_memory};
use futures_util::{FutureExt, future::BoxFuture};

use crate::context::{CallContext, CancelOnDrop};
use crate::discover::{Arguments, DISCOVER, Signature};
use crate::error::RpcError;
use crate::off_thread::CALLER;
use crate::params::{Params, ParamsError};
use crate::reply_after::ReplyWait;
use crate::result_writer::WrittenResult;
use crate::work::{
    CallMemoryError, CallReservation, JobKind, Lane, MemoryError, ReplyBytes, RunMemory,
    SMALL_ARGUMENTS, SMALL_TEXT, estimate, panic_text,
};

/// Arguments up to this length, in bytes of text, can't take more than [`SMALL_ARGUMENTS`].
const TINY_TEXT: usize = 256;

/// The outcome of a handler: the buffer it was given with the serialised result appended.
pub(crate) type Outcome = Result<Vec<u8>, RpcError>;

/// What a handler does once its arguments are decoded.
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
    deprecation_logged: AtomicBool,
}

/// What is known about a method without calling it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodInfo {
    /// The canonical namespace.
    pub namespace: &'static str,
    /// Other names of the namespace.
    pub namespace_aliases: Arc<[&'static str]>,
    /// The canonical name, without the namespace.
    pub name: &'static str,
    /// Other names of the method.
    pub aliases: Vec<&'static str>,
    /// The release of the reference in which the method became deprecated, such as `v1.9.12`.
    pub deprecated_since: Option<&'static str>,
    /// What to call instead of a deprecated method.
    pub instead: Option<&'static str>,
    /// Whether web pages of untrusted origins are refused ([`crate::MethodTable::trusted_callers_only`]).
    pub trusted_callers_only: bool,
    /// Units that a call takes of what its address may use ([`crate::work::RateLimitConfig`]).
    pub cost: u32,
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The arguments do not fit; the handler did not run.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The handler's own error.
    #[error(transparent)]
    Handler(#[from] RpcError),
    /// The handler panicked. It has been logged.
    #[error("method handler crashed")]
    Panicked,
    /// Too many calls wait already.
    #[error("too many calls wait")]
    Busy,
    /// There is no memory for the result.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// There is no memory for what the call takes.
    #[error(transparent)]
    CallMemory(#[from] CallMemoryError),
}

/// The error that an untrusted page gets from a method for trusted callers.
pub const UNTRUSTED_ORIGIN: &str = "origin not allowed: this method answers web pages only from this machine, or \
    from origins that http-allowed-origins names";

impl MethodInfo {
    /// The canonical name with its namespace, as clients call it: `xvm.getHeight`, `evm_chainId`. `separator` is that of
    /// the dialect.
    #[must_use]
    pub fn full_name(&self, separator: char) -> String {
        let Self { namespace, name, .. } = self;
        let full = format!("{namespace}.{name}");
        // OpenRPC has one name for it in all dialects.
        if full == DISCOVER { full } else { format!("{namespace}{separator}{name}") }
    }
}

impl Method {
    pub(crate) fn new(
        info: MethodInfo,
        signature: Signature,
        lane_policy: LanePolicy,
        run: ErasedHandler,
    ) -> Self {
        Self { info, signature, lane_policy, run, deprecation_logged: AtomicBool::new(false) }
    }

    /// What is known about the method.
    #[must_use]
    pub fn info(&self) -> &MethodInfo {
        &self.info
    }

    /// What the method takes and returns.
    pub(crate) fn signature(&self) -> &Signature {
        &self.signature
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
        let called = self.run(params, context, out).await;
        if let (Err(error), Some(client)) = (&called, context.client()) {
            let takes_list = matches!(self.signature.arguments, Arguments::Listed { .. });
            client.work().failed_calls().report(&self.info, takes_list, error);
        }
        called
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
            let before = thread_memory::held();
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
                        // What it waits with. Blocking work has not decoded its arguments yet.
                        let held = thread_memory::held().saturating_sub(before);
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

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Method").field("info", &self.info).finish_non_exhaustive()
    }
}

/// The methods of one endpoint. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Service {
    namespaces: Arc<BTreeMap<&'static str, BTreeMap<&'static str, Arc<Method>>>>,
    listing: Arc<[Arc<Method>]>,
}

/// The outcome of looking up a method.
#[derive(Debug, Clone, Copy)]
pub enum Lookup<'a> {
    /// There is no such namespace.
    NoNamespace,
    /// The namespace has no such method.
    NoMethod,
    /// The method.
    Found(&'a Method),
}

impl Service {
    pub(crate) fn new(methods: Vec<Method>) -> Self {
        let mut service = Self::default();
        service.add(methods.into_iter().map(Arc::new));
        service
    }

    /// Joins the methods of both into one endpoint.
    ///
    /// # Panics
    ///
    /// If a name is registered for two methods. Endpoints are assembled once, at the start.
    #[must_use]
    pub fn merge(mut self, other: &Self) -> Self {
        self.add(other.listing.iter().cloned());
        self
    }

    /// The methods that fit.
    #[must_use]
    pub fn only(&self, fits: impl Fn(&MethodInfo) -> bool) -> Self {
        let mut service = Self::default();
        service.add(self.listing.iter().filter(|method| fits(method.info())).cloned());
        service
    }

    /// Finds a method by any of its names. Names are case-sensitive.
    #[must_use]
    pub fn find(&self, namespace: &str, name: &str) -> Lookup<'_> {
        let Some(methods) = self.namespaces.get(namespace) else { return Lookup::NoNamespace };
        methods.get(name).map_or(Lookup::NoMethod, |method| Lookup::Found(method))
    }

    /// Every method in the order of registration, for documentation and tests.
    pub fn methods(&self) -> impl Iterator<Item = &MethodInfo> {
        self.listing.iter().map(|method| method.info())
    }

    /// Every method in the order of registration.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Method> {
        self.listing.iter().map(|method| &**method)
    }

    /// Whether there are methods, and all of them are for trusted callers.
    #[must_use]
    pub fn is_for_trusted_callers(&self) -> bool {
        !self.listing.is_empty() && self.methods().all(|method| method.trusted_callers_only)
    }

    fn add(&mut self, added: impl Iterator<Item = Arc<Method>>) {
        let mut namespaces = (*self.namespaces).clone();
        let mut listing = self.listing.to_vec();
        for method in added {
            let info = method.info();
            for namespace in [info.namespace].iter().chain(info.namespace_aliases.iter()) {
                let methods = namespaces.entry(namespace).or_default();
                for name in [info.name].iter().chain(&info.aliases) {
                    let earlier = methods.insert(name, Arc::clone(&method));
                    assert!(earlier.is_none(), "{namespace}.{name} is registered twice");
                }
            }
            listing.push(method);
        }
        self.namespaces = Arc::new(namespaces);
        self.listing = listing.into();
    }
}
