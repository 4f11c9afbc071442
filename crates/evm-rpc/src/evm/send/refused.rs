//! Refusals by their text.

use esker_rpc::RpcError;

pub(super) fn refused(error: impl std::fmt::Display) -> RpcError {
    RpcError::new(error.to_string())
}
