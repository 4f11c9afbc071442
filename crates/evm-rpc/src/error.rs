//! Errors as clients see them.

use esker_evm::view::ViewError;
use esker_rpc::RpcError;

/// The error that a client gets for what can't be read. What is no fault of the request is logged.
pub fn read_error(error: impl Into<ViewError>) -> RpcError {
    let error = error.into();
    match &error {
        ViewError::StateGone(_) | ViewError::TakenBack(_) => {}
        ViewError::Storage(_) | ViewError::State(_) | ViewError::Damaged(_) => {
            tracing::error!(%error, "the chain can't be read");
        }
    }
    RpcError::new(error.to_string())
}
