//! The ways in which a method runs: `quick`, `waits`, `blocking` and their variants make a [`Handler`] of a function.

use std::future::Future;
use std::sync::Arc;

use esker_primitives::ClientAddress;

use super::arguments::Arguments;
use super::form::{Form, ran_twice};
use crate::call_notes::CallNotes;
use crate::context::{CallContext, Caller};
use crate::error::RpcError;
use crate::method::{Blocking, ErasedHandler, Step};
use crate::reply_after::ReplyAfter;
use crate::result_writer::{ResultWriter, WrittenResult};

/// A larger reply, in bytes, is not serialised on the task that serves the connection, if its size is known before.
const LARGE_REPLY: usize = 64 * 1024;

/// A function over a service `S` with arguments `P` and the result `R`, and the way in which it runs.
pub struct Handler<S, P, R> {
    pub(super) bind: Box<Bind<S, P, R>>,
}

/// Makes the handler of a service that carries its arguments and its reply in a form.
type Bind<S, P, R> = dyn FnOnce(Arc<S>, Form<P, R>) -> ErasedHandler;

impl<S, P, R> Handler<S, P, R> {
    fn new(bind: impl FnOnce(Arc<S>, Form<P, R>) -> ErasedHandler + 'static) -> Self {
        Self { bind: Box::new(bind) }
    }
}

impl<S, P, R> std::fmt::Debug for Handler<S, P, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handler").finish_non_exhaustive()
    }
}

/// A function that only reads memory: it runs on the task that serves the connection.
pub fn quick<S, P, R, F>(run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: 'static,
    R: 'static,
    F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
{
    Handler::new(move |service, Form { read, write }| {
        Box::new(move |params, _, out| {
            let arguments = read(params)?;
            Ok(Step::Done(run(&service, arguments).and_then(|reply| write(&reply, out))))
        })
    })
}

/// Like [`quick`], for a result that may be large: `bytes` returns its approximate size. A large one is serialised on a
/// thread of the long lane.
pub fn sized<S, P, R, B, F>(bytes: B, run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: 'static,
    R: Send + 'static,
    B: Fn(&R) -> usize + Send + Sync + 'static,
    F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
{
    Handler::new(move |service, Form { read, write }| {
        Box::new(move |params, _, out| {
            let found = run(&service, read(params)?);
            let reply = match found {
                Ok(reply) if bytes(&reply) > LARGE_REPLY => reply,
                found => return Ok(Step::Done(found.and_then(|reply| write(&reply, out)))),
            };
            let mut unwritten = Some((reply, out));
            let work = move |_: &CallContext| {
                let (reply, out) = unwritten.take().ok_or_else(ran_twice)?;
                Ok(write(&reply, out)?.into())
            };
            Ok(Step::Blocking(Blocking { can_restart: false, work: Box::new(work) }))
        })
    })
}

/// A function that waits.
pub fn waits<S, P, R, F, Fut>(run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: 'static,
    R: 'static,
    F: Fn(Arc<S>, P) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
{
    waits_in(move |service, arguments, _| run(service, arguments))
}

/// Like [`waits`], for a function that needs the client's address.
pub fn waits_with_address<S, P, R, F, Fut>(run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: 'static,
    R: 'static,
    F: Fn(Arc<S>, P, ClientAddress) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
{
    waits_in(move |service, arguments, context| run(service, arguments, context.address()))
}

/// Like [`waits`], for a function that needs to know who calls.
pub fn waits_with_caller<S, P, R, F, Fut>(run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: 'static,
    R: 'static,
    F: Fn(Arc<S>, P, Caller) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
{
    waits_in(move |service, arguments, context| {
        // The bytes of a large request aren't kept while the function waits.
        let caller = Caller { request: None, ..context.caller().clone() };
        run(service, arguments, caller)
    })
}

/// Like [`waits`], for a function that notes what it did.
pub fn waits_with_notes<S, P, R, F, Fut>(run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: 'static,
    R: 'static,
    F: Fn(Arc<S>, P, CallNotes) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
{
    waits_in(move |service, arguments, context| run(service, arguments, context.notes().clone()))
}

fn waits_in<S, P, R, F, Fut>(run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: 'static,
    R: 'static,
    F: Fn(Arc<S>, P, &CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
{
    Handler::new(move |service, Form { read, write }| {
        Box::new(move |params, context, out| {
            let answer = run(Arc::clone(&service), read(params)?, context);
            Ok(Step::Later(Box::pin(async move { write(&answer.await?, out) })))
        })
    })
}

/// A function that computes, or reads the disk, for long: it runs on a thread for such work.
pub fn blocking<S, P, R, F>(run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: Send + 'static,
    R: 'static,
    F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
{
    blocking_then(move |service: &Arc<S>, arguments, _: &CallContext| {
        run(service, arguments).map(ReplyAfter::from)
    })
}

/// Like [`blocking`], for replies that wait for something after the function has returned. The wait may hold the service.
pub fn blocking_then<S, P, R, F>(run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: Send + 'static,
    R: 'static,
    F: Fn(&Arc<S>, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
{
    Handler::new(move |service, Form { read, write }| {
        let run = Arc::new(run);
        Box::new(move |params, context, out| {
            let (service, run) = (Arc::clone(&service), Arc::clone(&run));
            let mut arguments = Arguments::new(params, context, read)?;
            let mut out = Some(out);
            let work = move |context: &CallContext| {
                let arguments = arguments.take()?;
                let out = out.take().ok_or_else(ran_twice)?;
                let ReplyAfter { reply, wait } = run(&service, arguments, context)?;
                Ok(WrittenResult { wait, ..write(&reply, out)?.into() })
            };
            Ok(Step::Blocking(Blocking { can_restart: false, work: Box::new(work) }))
        })
    })
}

/// Like [`blocking`], for a function that checks whether to go on ([`CallContext::is_cancelled`]). A cancelled function
/// may be restarted from its beginning, so it must change nothing before its last check.
pub fn restartable<S, P, R, F>(run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: Send + 'static,
    R: 'static,
    F: Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
{
    restartable_after(|_, _, _| None, at_once(run))
}

/// Like [`restartable`], for replies that wait for something after the function has returned. The wait may hold the
/// service.
pub fn restartable_then<S, P, R, F>(run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: Send + 'static,
    R: 'static,
    F: Fn(&Arc<S>, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
{
    restartable_after(|_, _, _| None, run)
}

/// Like [`restartable`], for a function that is mostly quick: `try_first` runs in place, and `run` on a thread only if that
/// gives no answer. Handing a call to another thread and back takes longer than most calls do.
pub fn quick_or_restartable<S, P, R, T, F>(try_first: T, run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: Send + 'static,
    R: 'static,
    T: Fn(&S, &P) -> Option<Result<R, RpcError>> + Send + Sync + 'static,
    F: Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
{
    restartable_after(move |service, arguments, _| try_first(service, arguments), at_once(run))
}

/// Like [`quick_or_restartable`], where the first try notes what it ran ([`CallContext::notes`]), too.
pub fn quick_noted_or_restartable<S, P, R, T, F>(try_first: T, run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: Send + 'static,
    R: 'static,
    T: Fn(&S, &P, &CallContext) -> Option<Result<R, RpcError>> + Send + Sync + 'static,
    F: Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
{
    restartable_after(try_first, at_once(run))
}

fn restartable_after<S, P, R, T, F>(try_first: T, run: F) -> Handler<S, P, R>
where
    S: Send + Sync + 'static,
    P: Send + 'static,
    R: 'static,
    T: Fn(&S, &P, &CallContext) -> Option<Result<R, RpcError>> + Send + Sync + 'static,
    F: Fn(&Arc<S>, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
{
    Handler::new(move |service, Form { read, write }| {
        let run = Arc::new(run);
        Box::new(move |params, context, out| {
            let mut arguments = Arguments::new(params, context, read)?;
            if let Some(decoded) = arguments.decoded()
                && let Some(answer) = try_first(&service, decoded, context)
            {
                return Ok(Step::Done(answer.and_then(|reply| write(&reply, out))));
            }
            let (service, run) = (Arc::clone(&service), Arc::clone(&run));
            let work = move |context: &CallContext| {
                let ReplyAfter { reply, wait } = run(&service, arguments.take()?, context)?;
                Ok(WrittenResult { wait, ..write(&reply, out.clone())?.into() })
            };
            Ok(Step::Blocking(Blocking { can_restart: true, work: Box::new(work) }))
        })
    })
}

/// Like [`restartable`], for results that may be large: the function writes the JSON text itself, piece by piece. After an
/// error what it has written is discarded. [`MethodTable::returns`](super::MethodTable::returns) describes the result.
pub fn written<S, P, F>(run: F) -> Handler<S, P, serde_json::Value>
where
    S: Send + Sync + 'static,
    P: Send + 'static,
    F: Fn(&S, P, &CallContext, &mut ResultWriter) -> Result<(), RpcError> + Send + Sync + 'static,
{
    Handler::new(move |service, Form { read, write: _ }| {
        let run = Arc::new(run);
        Box::new(move |params, context, out| {
            let mut arguments = Arguments::new(params, context, read)?;
            let (service, run) = (Arc::clone(&service), Arc::clone(&run));
            let work = move |context: &CallContext| {
                let mut writer = ResultWriter::new(out.clone(), context);
                run(&service, arguments.take()?, context, &mut writer)?;
                Ok(writer.finish())
            };
            Ok(Step::Blocking(Blocking { can_restart: true, work: Box::new(work) }))
        })
    })
}

/// A function whose reply waits for nothing.
fn at_once<S, P, R>(
    run: impl Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
) -> impl Fn(&Arc<S>, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static {
    move |service, arguments, context| run(service, arguments, context).map(ReplyAfter::from)
}
