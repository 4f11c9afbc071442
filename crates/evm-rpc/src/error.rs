//! Errors as clients see them.

use esker_evm::chain::SubmitError;
use esker_evm::view::ViewError;
use esker_evm_state::not_fetched::NotFetched;
use esker_evm_state::state::StateError;
use esker_rpc::{RpcError, RunAgainAfter};

/// Code of a request for a block that the node does not have (EIP-4444).
pub const PRUNED_HISTORY: i64 = 4444;

/// The error of data that can't be read. Errors that the request did not cause are logged. If state of a forked chain is
/// lacking, the call runs again once it is fetched.
pub fn read_error(error: impl Into<ViewError>) -> RpcError {
    let error = error.into();
    match &error {
        ViewError::StateGone(_)
        | ViewError::TakenBack(_)
        | ViewError::State(StateError::NotWhole | StateError::MissingPreimage(_)) => {}
        ViewError::State(state) if state.not_fetched().is_some() => {
            return state_error(state);
        }
        ViewError::BeforeHistory { .. } => {
            return RpcError::with_code(PRUNED_HISTORY, error.to_string());
        }
        ViewError::Storage(_) | ViewError::State(_) | ViewError::Damaged(_) => {
            tracing::error!(%error, "the chain can't be read");
        }
    }
    RpcError::new(error.to_string())
}

/// The error of state that can't be read.
pub(crate) fn state_error(error: &StateError) -> RpcError {
    let reply = RpcError::new(error.to_string());
    match error.not_fetched() {
        Some(lacking) => reply.run_again_after(after(lacking.clone())),
        None => reply,
    }
}

/// The error of a transaction that was refused.
pub(crate) fn submit_error(error: SubmitError) -> RpcError {
    match &error {
        SubmitError::State(error) => state_error(error),
        error => RpcError::new(error.to_string()),
    }
}

fn after(lacking: NotFetched) -> RunAgainAfter {
    RunAgainAfter::new(move || lacking.fetch())
}
