//! Errors of reading the chain and of submitting transactions.

use esker_chain::ChainError;
use esker_chain::forward::ForwardError;
use esker_evm_execution::rules::RuleError;
use esker_evm_state::state::StateError;
use esker_evm_state::trie::TrieError;
use esker_storage::StorageError;
use thiserror::Error;

use crate::pool::PoolError;

/// Why the chain can't be read.
#[derive(Debug, Error)]
pub enum ChainReadError {
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The store has no block of this chain.
    #[error("the chain has no last block")]
    NoTip,
    /// A stored block can't be decoded.
    #[error("the stored block {height} is damaged: {cause}")]
    Damaged {
        /// Height of the block.
        height: u64,
        /// The decoder's error.
        cause: alloy_rlp::Error,
    },
}

/// Why a transaction was refused.
#[derive(Debug, Error)]
pub enum SubmitError {
    /// The pool refused it. The sender sees the text.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The node does not forward transactions, or forwards too many already.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// The fees of the next block can't be computed.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// The chain can't be read.
    #[error(transparent)]
    Chain(#[from] ChainReadError),
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<ChainReadError> for ChainError {
    fn from(error: ChainReadError) -> Self {
        match error {
            ChainReadError::Storage(error) => error.into(),
            other => Self::Corrupted(other.to_string()),
        }
    }
}

/// Keeps a failure of the store; any other error means damage.
pub(super) fn state_failed(error: StateError) -> ChainError {
    match error {
        StateError::Storage(error) | StateError::Trie(TrieError::Storage(error)) => error.into(),
        other => ChainError::Corrupted(other.to_string()),
    }
}
