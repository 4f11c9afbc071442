//! The ways to register a method.

use std::{future::Future, sync::Arc};

use esker_primitives::ClientAddress;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use super::MethodTable;
use super::arguments::Arguments;
use super::rows::{at_once, at_once_with, listed, named, ran_twice, write_list};
use crate::args::FromParams;
use crate::context::{CallContext, Caller};
use crate::discover::Signature;
use crate::error::RpcError;
use crate::method::{Blocking, Step};
use crate::reply_after::ReplyAfter;
use crate::result_writer::ResultWriter;

/// A larger reply, in bytes, is not serialised on the task that serves the connection, if its size is known before.
const LARGE_REPLY: usize = 64 * 1024;

impl<S: Send + Sync + 'static> MethodTable<S> {
    /// A quick method, run in place.
    #[must_use]
    pub fn on<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.add_inline(name, named(), handler)
    }

    /// A method that waits.
    #[must_use]
    pub fn on_async<P, R, F, Fut>(self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(Arc<S>, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        self.add_async(name, named(), move |service, arguments, _| handler(service, arguments))
    }

    /// Like [`MethodTable::on_async`], for handlers that need the client's address.
    #[must_use]
    pub fn on_async_from<P, R, F, Fut>(self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(Arc<S>, P, ClientAddress) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        self.add_async(name, named(), move |service, arguments, context: &CallContext| {
            handler(service, arguments, context.address())
        })
    }

    /// A method that computes, or reads the disk, for long: it runs on a thread for such work.
    #[must_use]
    pub fn on_blocking<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.add_blocking(name, named(), at_once(handler))
    }

    /// Like [`MethodTable::on_blocking`], for replies that wait for something after the handler has returned.
    #[must_use]
    pub fn on_blocking_then<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
    {
        self.add_blocking(name, named(), move |service, arguments, _| handler(service, arguments))
    }

    /// Like [`MethodTable::on_blocking`], for handlers that check whether to go on ([`CallContext::is_cancelled`]). A
    /// cancelled handler may be restarted from its beginning, so it must change nothing before its last check.
    #[must_use]
    pub fn on_blocking_with<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.add_restartable(name, named(), |_, _| None, at_once_with(handler))
    }

    /// A quick method that takes its arguments by position: `P` is `()` or a tuple of
    /// [`esker_go_json::args::Argument`]s.
    #[must_use]
    pub fn on_list<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.add_inline(name, listed(), handler)
    }

    /// [`MethodTable::on_list`] of a method that finds its reply at once, but whose reply may be large: `bytes` returns
    /// its approximate size. A large reply is serialised on a thread of the long lane.
    #[must_use]
    pub fn on_list_sized<P, R, B, F>(self, name: &'static str, bytes: B, handler: F) -> Self
    where
        P: FromParams + 'static,
        R: Serialize + JsonSchema + Send + 'static,
        B: Fn(&R) -> usize + Send + Sync + 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.add_row(name, Signature::listed::<P, R>(), move |service| {
            Box::new(move |params, _, out| {
                let found = handler(&service, P::from_params(params)?);
                let reply = match found {
                    Ok(reply) if bytes(&reply) > LARGE_REPLY => reply,
                    found => {
                        let written = found.and_then(|reply| write_list(&reply, out));
                        return Ok(Step::Done(written));
                    }
                };
                let mut work = Some((reply, out));
                let work = move |_: &CallContext| {
                    let (reply, out) = work.take().ok_or_else(ran_twice)?;
                    Ok(write_list(&reply, out)?.into())
                };
                Ok(Step::Blocking(Blocking { can_restart: false, work: Box::new(work) }))
            })
        })
    }

    /// [`MethodTable::on_list`] of a method that waits.
    #[must_use]
    pub fn on_list_async<P, R, F, Fut>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(Arc<S>, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        self.add_async(name, listed(), move |service, arguments, _| handler(service, arguments))
    }

    /// Like [`MethodTable::on_list_async`], for handlers that need the client's address.
    #[must_use]
    pub fn on_list_async_from<P, R, F, Fut>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(Arc<S>, P, ClientAddress) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        self.on_list_async_by(name, move |service, arguments, caller: Caller| {
            handler(service, arguments, caller.address())
        })
    }

    /// Like [`MethodTable::on_list_async`], for handlers that need to know who calls.
    #[must_use]
    pub fn on_list_async_by<P, R, F, Fut>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(Arc<S>, P, Caller) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        self.add_async(name, listed(), move |service, arguments, context: &CallContext| {
            // The bytes of a large request aren't kept while the handler waits.
            let caller = Caller { request: None, ..context.caller().clone() };
            handler(service, arguments, caller)
        })
    }

    /// [`MethodTable::on_list`] of a method that computes, or reads the disk, for long: it runs on a thread for
    /// such work.
    #[must_use]
    pub fn on_list_blocking<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.add_blocking(name, listed(), at_once(handler))
    }

    /// Like [`MethodTable::on_list_blocking`], for replies that wait for something after the handler has returned.
    /// The wait may hold the service.
    #[must_use]
    pub fn on_list_blocking_then<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&Arc<S>, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
    {
        self.add_blocking(name, listed(), handler)
    }

    /// Like [`MethodTable::on_list_blocking`], for handlers that check whether to go on; see
    /// [`MethodTable::on_blocking_with`].
    #[must_use]
    pub fn on_list_blocking_with<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.add_restartable(name, listed(), |_, _| None, at_once_with(handler))
    }

    /// Like [`MethodTable::on_list_blocking_with`], for replies that wait for something after the handler has
    /// returned. The wait may hold the service.
    #[must_use]
    pub fn on_list_blocking_with_then<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&Arc<S>, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
    {
        self.add_restartable(name, listed(), |_, _| None, handler)
    }

    /// Like [`MethodTable::on_list_blocking_with`], for results that may be large: the handler writes the JSON text
    /// itself, piece by piece. After an error what it has written is discarded. [`MethodTable::returns`] describes
    /// the result.
    #[must_use]
    pub fn on_list_written<P, F>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + Send + 'static,
        F: Fn(&S, P, &CallContext, &mut ResultWriter) -> Result<(), RpcError>
            + Send
            + Sync
            + 'static,
    {
        self.add_row(name, Signature::listed::<P, serde_json::Value>(), move |service| {
            let handler = Arc::new(handler);
            Box::new(move |params, context, out| {
                let mut arguments = Arguments::new(params, context, P::from_params)?;
                let (service, handler) = (Arc::clone(&service), Arc::clone(&handler));
                let work = move |context: &CallContext| {
                    let mut writer = ResultWriter::new(out.clone(), context);
                    handler(&service, arguments.take()?, context, &mut writer)?;
                    Ok(writer.finish())
                };
                Ok(Step::Blocking(Blocking { can_restart: true, work: Box::new(work) }))
            })
        })
    }

    /// Like [`MethodTable::on_list_blocking_with`], for a method that is mostly quick: `try_first` runs in place, and
    /// `handler` runs on a thread only if that gives no answer. Handing a call to another thread and back takes
    /// longer than most calls do.
    #[must_use]
    pub fn on_list_try_first<P, R, T, F>(self, name: &'static str, try_first: T, handler: F) -> Self
    where
        P: FromParams + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        T: Fn(&S, &P) -> Option<Result<R, RpcError>> + Send + Sync + 'static,
        F: Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.add_restartable(name, listed(), try_first, at_once_with(handler))
    }
}
