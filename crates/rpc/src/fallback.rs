//! Answers from elsewhere, where a service has none of its own.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::call_error::CallError;
use crate::context::CallContext;
use crate::error::RpcError;
use crate::params::Params;
use crate::work::{Client, ReplyBytes};

/// A call that a service could not answer: it has an error, or `null`.
#[derive(Clone, Copy, Debug)]
pub struct Unanswered<'a> {
    /// Namespace of the method, by its first name.
    pub namespace: &'static str,
    /// Name of the method.
    pub method: &'static str,
    /// The arguments by position, as JSON; empty if there are none.
    pub params: &'a [u8],
    /// The error; `None`: the result is `null`.
    pub error: Option<&'a RpcError>,
    /// The connection, for which the bytes of a long answer are counted.
    pub client: Option<&'a Client>,
}

/// The JSON of a result from elsewhere.
pub type ElsewhereReply = BoxFuture<'static, Result<String, RpcError>>;

/// Makes an error one about the client's arguments.
pub type ErrorChange = Box<dyn FnOnce(RpcError) -> RpcError + Send>;

/// The answer in place of an error or `null`.
pub enum Instead {
    /// This result.
    Reply(ElsewhereReply),
    /// The entries of this list, followed by those of the service's own reply to other arguments. An error of that reply
    /// is changed, since it is about these arguments.
    Before(ElsewhereReply, String, ErrorChange),
    /// The service's own reply to other arguments.
    Own(String),
    /// The reply of another method of the service to these arguments.
    OfMethod(Arc<dyn OtherMethod>, String),
}

impl fmt::Debug for Instead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reply(_) => "Reply",
            Self::Before(..) => "Before",
            Self::Own(_) => "Own",
            Self::OfMethod(..) => "OfMethod",
        })
    }
}

/// A method whose reply is the answer to a call of another one.
pub trait OtherMethod: Send + Sync {
    /// Appends the result to `out`, on account of the context's client. The method that was called reports a failure.
    fn answer_within<'a>(
        &'a self,
        params: Params<'a>,
        context: &'a CallContext,
        out: Vec<u8>,
    ) -> BoxFuture<'a, Result<ReplyBytes, CallError>>;
}

/// Knows what a service does not.
pub trait Fallback: Send + Sync + fmt::Debug {
    /// The answer to a call that the service could not answer; `None`: that of the service.
    fn instead(&self, call: Unanswered<'_>) -> Option<Instead>;
}
