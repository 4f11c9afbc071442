//! Errors as clients see them.

use esker_evm::view::ViewError;
use esker_rpc::RpcError;

/// Code of a request for a block that the node does not have (EIP-4444).
const PRUNED_HISTORY: i64 = 4444;

/// The error of data that can't be read. Errors that the request did not cause are logged.
pub fn read_error(error: impl Into<ViewError>) -> RpcError {
    let error = error.into();
    match &error {
        ViewError::StateGone(_) | ViewError::TakenBack(_) => {}
        ViewError::BeforeHistory { .. } => {
            return RpcError::with_code(PRUNED_HISTORY, error.to_string());
        }
        ViewError::Storage(_) | ViewError::State(_) | ViewError::Damaged(_) => {
            tracing::error!(%error, "the chain can't be read");
        }
    }
    RpcError::new(error.to_string())
}
