//! Errors of this dialect.

use esker_primitives::excerpt;

use super::ErrorTexts;
use super::message::NotAList;
use crate::call_error::CallError;
use crate::error::RpcError;
use crate::params::ParamsError;
use crate::work::{CallMemoryError, MemoryError};

/// The error for a method that is not served.
pub(super) fn not_found(name: &str, texts: ErrorTexts, is_socket: bool) -> RpcError {
    /// The code of Hardhat's node for what it does not support.
    const NOT_SUPPORTED: i64 = -32004;
    let name = excerpt(name);
    match texts {
        ErrorTexts::Geth => RpcError::with_code(
            RpcError::METHOD_NOT_FOUND,
            format!("the method {name} does not exist/is not available"),
        ),
        ErrorTexts::Anvil if is_socket => {
            let text = "data did not match any variant of untagged enum EthRpcCall";
            RpcError::with_code(RpcError::INVALID_PARAMS, text)
        }
        ErrorTexts::Anvil => RpcError::with_code(RpcError::METHOD_NOT_FOUND, "Method not found"),
        ErrorTexts::Hardhat => {
            RpcError::with_code(NOT_SUPPORTED, format!("Method {name} is not supported"))
        }
    }
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
pub(super) fn to_rpc_error(error: CallError, texts: ErrorTexts) -> RpcError {
    match error {
        CallError::Params(error) => in_texts(invalid_params(&error), texts),
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

/// The error of arguments that do not fit, in these texts.
fn in_texts(error: RpcError, texts: ErrorTexts) -> RpcError {
    let is_odd = error.message.contains("hex string of odd length");
    match texts {
        ErrorTexts::Anvil if is_odd => RpcError::with_code(error.code, "odd number of digits"),
        ErrorTexts::Anvil | ErrorTexts::Hardhat | ErrorTexts::Geth => error,
    }
}
