//! The error member of a reply.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;

/// The `error` member of a reply: what a handler returns when it has no result.
///
/// The text is part of the interface: clients compare it.
///
/// ```
/// let error = esker_rpc::RpcError::new("not found");
/// assert_eq!((error.code, error.to_string().as_str()), (-32000, "not found"));
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// JSON-RPC error code; [`RpcError::SERVER`] for the errors of a service.
    pub code: i64,
    /// The text that clients see.
    pub message: String,
    /// The `data` member. Each dialect has its own form for a missing one.
    pub data: Option<Box<RawValue>>,
    /// After what the call may run again from its beginning, if its service has a [`crate::Fallback`].
    pub wait: Option<RunAgainAfter>,
}

/// What a call lacks. The call has changed nothing; once this future is over, it runs again.
#[derive(Clone)]
pub struct RunAgainAfter(Arc<dyn Fn() -> Waiting + Send + Sync>);

type Waiting = BoxFuture<'static, Result<(), String>>;

impl RunAgainAfter {
    /// The call runs again after the future that this returns. The error of the future becomes that of the call.
    pub fn new(wait: impl Fn() -> Waiting + Send + Sync + 'static) -> Self {
        Self(Arc::new(wait))
    }

    /// Waits.
    pub(crate) async fn over(&self) -> Result<(), RpcError> {
        (self.0)().await.map_err(RpcError::new)
    }
}

impl fmt::Debug for RunAgainAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunAgainAfter")
    }
}

impl RpcError {
    /// Code of an error of a service that has no code of its own.
    pub const SERVER: i64 = -32000;
    /// Code of bytes that are no JSON.
    pub const PARSE: i64 = -32700;
    /// Code of a message that is no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// Code of a method or a kind of subscription that does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Code of arguments that do not fit.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Code of a call that took too long.
    pub const TIMEOUT: i64 = -32002;
    /// Code of a request that exceeds a limit, as node providers use it.
    pub const LIMIT_EXCEEDED: i64 = -32005;
    /// Code of an answer that is too large.
    pub const TOO_LARGE: i64 = -32003;
    /// Code of an internal fault: a handler that panicked, a result without a JSON form.
    pub const INTERNAL: i64 = -32603;

    /// An error of the service: code [`RpcError::SERVER`], no data.
    pub fn new(message: impl Into<String>) -> Self {
        Self::with_code(Self::SERVER, message)
    }

    /// An error with a code of its own.
    pub fn with_code(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None, wait: None }
    }

    /// Attaches `data`; a value that cannot be written as JSON leaves the error without data.
    #[must_use]
    pub fn with_data(mut self, data: &impl Serialize) -> Self {
        self.data = serde_json::value::to_raw_value(data).ok();
        self
    }
}

impl RpcError {
    /// Lets the call run again from its beginning after it has waited for what it lacks. It must have changed nothing.
    #[must_use]
    pub fn run_again_after(mut self, wait: RunAgainAfter) -> Self {
        self.wait = Some(wait);
        self
    }
}

impl PartialEq for RpcError {
    fn eq(&self, other: &Self) -> bool {
        let data = |error: &Self| error.data.as_ref().map(|data| data.get().to_owned());
        self.code == other.code && self.message == other.message && data(self) == data(other)
    }
}
