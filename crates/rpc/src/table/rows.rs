//! Rows of a table: a typed handler becomes one that reads arguments and writes its reply.

use std::{future::Future, sync::Arc};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use super::arguments::{Arguments, Read};
use super::{MethodTable, Row};
use crate::args::FromParams;
use crate::context::CallContext;
use crate::cost;
use crate::discover::Signature;
use crate::error::RpcError;
use crate::method::{Blocking, ErasedHandler, LanePolicy, Outcome, Step};
use crate::reply_after::ReplyAfter;
use crate::result_writer::WrittenResult;

/// Appends a reply as a dialect writes it.
pub(super) type Write<R> = fn(&R, Vec<u8>) -> Outcome;

/// How a dialect carries a method's arguments and its reply, and how they look.
pub(super) struct Form<P, R> {
    pub(super) read: Read<P>,
    pub(super) write: Write<R>,
    pub(super) signature: Signature,
}

impl<S: Send + Sync + 'static> MethodTable<S> {
    pub(super) fn add_inline<P, R, F>(
        self,
        name: &'static str,
        form: Form<P, R>,
        handler: F,
    ) -> Self
    where
        P: 'static,
        R: 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        let Form { read, write, signature } = form;
        self.add_row(name, signature, move |service| {
            Box::new(move |params, _, out| {
                let arguments = read(params)?;
                Ok(Step::Done(handler(&service, arguments).and_then(|reply| write(&reply, out))))
            })
        })
    }

    pub(super) fn add_async<P, R, F, Fut>(
        self,
        name: &'static str,
        form: Form<P, R>,
        handler: F,
    ) -> Self
    where
        P: 'static,
        R: 'static,
        F: Fn(Arc<S>, P, &CallContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        let Form { read, write, signature } = form;
        self.add_row(name, signature, move |service| {
            Box::new(move |params, context, out| {
                let answer = handler(Arc::clone(&service), read(params)?, context);
                Ok(Step::Later(Box::pin(async move { write(&answer.await?, out) })))
            })
        })
    }

    /// Work that runs once.
    pub(super) fn add_blocking<P, R, F>(
        self,
        name: &'static str,
        form: Form<P, R>,
        handler: F,
    ) -> Self
    where
        P: Send + 'static,
        R: 'static,
        F: Fn(&Arc<S>, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
    {
        let Form { read, write, signature } = form;
        self.add_row(name, signature, move |service| {
            let handler = Arc::new(handler);
            Box::new(move |params, context, out| {
                let (service, handler) = (Arc::clone(&service), Arc::clone(&handler));
                let mut arguments = Arguments::new(params, context, read)?;
                let mut out = Some(out);
                let work = move |context: &CallContext| {
                    let arguments = arguments.take()?;
                    let out = out.take().ok_or_else(ran_twice)?;
                    let ReplyAfter { reply, wait } = handler(&service, arguments, context)?;
                    Ok(WrittenResult { wait, ..write(&reply, out)?.into() })
                };
                let work = Box::new(work);
                Ok(Step::Blocking(Blocking { can_restart: false, work }))
            })
        })
    }

    /// Work that may be ended and run again.
    pub(super) fn add_restartable<P, R, T, F>(
        self,
        name: &'static str,
        form: Form<P, R>,
        try_first: T,
        handler: F,
    ) -> Self
    where
        P: Send + 'static,
        R: 'static,
        T: Fn(&S, &P) -> Option<Result<R, RpcError>> + Send + Sync + 'static,
        F: Fn(&Arc<S>, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
    {
        let Form { read, write, signature } = form;
        self.add_row(name, signature, move |service| {
            let handler = Arc::new(handler);
            Box::new(move |params, context, out| {
                let mut arguments = Arguments::new(params, context, read)?;
                if let Some(decoded) = arguments.decoded()
                    && let Some(answer) = try_first(&service, decoded)
                {
                    return Ok(Step::Done(answer.and_then(|reply| write(&reply, out))));
                }
                let (service, handler) = (Arc::clone(&service), Arc::clone(&handler));
                let work = move |context: &CallContext| {
                    let ReplyAfter { reply, wait } = handler(&service, arguments.take()?, context)?;
                    Ok(WrittenResult { wait, ..write(&reply, out.clone())?.into() })
                };
                Ok(Step::Blocking(Blocking { can_restart: true, work: Box::new(work) }))
            })
        })
    }

    pub(super) fn add_row(
        mut self,
        name: &'static str,
        signature: Signature,
        bind: impl FnOnce(Arc<S>) -> ErasedHandler + 'static,
    ) -> Self {
        let bind = Box::new(bind);
        self.rows.push(Row {
            name,
            signature,
            aliases: Vec::new(),
            deprecated_since: None,
            instead: None,
            trusted_callers_only: false,
            lane_policy: LanePolicy::default(),
            cost: cost::READ,
            check: None,
            bind,
        });
        self
    }
}

/// A handler whose reply waits for nothing.
pub(super) fn at_once<S, P, R>(
    handler: impl Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
) -> impl Fn(&Arc<S>, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static {
    move |service, arguments, _| handler(service, arguments).map(ReplyAfter::from)
}

/// Like [`at_once`], for a handler with a context.
pub(super) fn at_once_with<S, P, R>(
    handler: impl Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
) -> impl Fn(&Arc<S>, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static {
    move |service, arguments, context| handler(service, arguments, context).map(ReplyAfter::from)
}

pub(super) fn ran_twice() -> RpcError {
    RpcError::with_code(RpcError::INTERNAL, "the method ran already")
}

/// Arguments by name.
pub(super) fn named<P: DeserializeOwned + JsonSchema, R: Serialize + JsonSchema>() -> Form<P, R> {
    Form { read: |params| params.named(), write, signature: Signature::named::<P, R>() }
}

/// Arguments by position.
pub(super) fn listed<P: FromParams, R: Serialize + JsonSchema>() -> Form<P, R> {
    Form { read: P::from_params, write: write_list, signature: Signature::listed::<P, R>() }
}

fn write<R: Serialize>(reply: &R, mut out: Vec<u8>) -> Outcome {
    esker_go_json::write(reply, &mut out).map_err(|error| RpcError::new(error.to_string()))?;
    Ok(out)
}

/// [`write`] for the positional dialect, which has a code for a result that has no JSON form.
pub(super) fn write_list<R: Serialize>(reply: &R, mut out: Vec<u8>) -> Outcome {
    match esker_go_json::write(reply, &mut out) {
        Ok(()) => Ok(out),
        Err(error) => Err(RpcError::with_code(RpcError::INTERNAL, error.to_string())),
    }
}
