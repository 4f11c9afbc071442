//! Errors of this dialect.

use esker_primitives::excerpt;

use super::message::NotAList;
use crate::call_error::CallError;
use crate::error::RpcError;
use crate::params::ParamsError;
use crate::work::{CallMemoryError, MemoryError};

/// The reference's error for a method that is not served.
pub(super) fn not_found(name: &str) -> RpcError {
    let text = format!("the method {} does not exist/is not available", excerpt(name));
    RpcError::with_code(RpcError::METHOD_NOT_FOUND, text)
}

/// The error for a method of HTTP on a websocket that serves subscriptions alone.
pub(super) fn not_on_sockets(name: &str) -> RpcError {
    let name = excerpt(name);
    let text =
        format!("the method {name} is not served over websockets by this node: call it over HTTP");
    RpcError::with_code(RpcError::METHOD_NOT_FOUND, text)
}

/// The error for a call that did not end in time.
pub(super) fn timed_out() -> RpcError {
    RpcError::with_code(RpcError::TIMEOUT, "request timed out")
}

/// The reference's error for results that are too large together.
pub(super) fn too_large() -> RpcError {
    RpcError::with_code(RpcError::TOO_LARGE, "response too large")
}

/// The error for params that are no list.
pub(super) fn not_a_list(error: NotAList) -> RpcError {
    RpcError::with_code(RpcError::INVALID_PARAMS, error.into_text())
}

/// This dialect's error for arguments that do not fit.
pub(super) fn invalid_params(error: &ParamsError) -> RpcError {
    RpcError::with_code(RpcError::INVALID_PARAMS, error.to_string())
}

/// This dialect's error for a call without a result.
pub(super) fn to_rpc_error(error: CallError) -> RpcError {
    match error {
        CallError::Params(error) => invalid_params(&error),
        CallError::Handler(error) => error,
        CallError::Panicked => RpcError::with_code(RpcError::INTERNAL, error.to_string()),
        CallError::Memory(MemoryError::TooLarge) => too_large(),
        CallError::Memory(MemoryError::Full)
        | CallError::Busy
        | CallError::CallMemory(CallMemoryError::TooLarge(_) | CallMemoryError::Full { .. }) => {
            RpcError::with_code(RpcError::LIMIT_EXCEEDED, error.to_string())
        }
    }
}
