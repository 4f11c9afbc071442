//! Why a chain or the machine could not do what it was asked.

use esker_storage::StorageError;
use thiserror::Error;

/// A chain failed for a reason that lies in the node, not in a block or a request.
#[derive(Debug, Error)]
pub enum ChainError {
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A row of the store can't be understood: the data is damaged.
    #[error("the stored data is damaged: {0}")]
    Corrupted(String),
    /// The genesis can't be used.
    #[error("invalid genesis: {0}")]
    Genesis(String),
    /// The store belongs to another genesis or configuration.
    #[error("{0}")]
    Mismatch(String),
}

/// Why a block was not taken.
#[derive(Debug, Error)]
pub enum BlockError {
    /// The block breaks a rule and always will; the text is the reference's where it has one.
    #[error("{0}")]
    Invalid(String),
    /// The block may become valid, not before the given Unix time in ms.
    #[error("{reason}")]
    NotYet {
        /// Unix time in ms to wait for.
        until_ms: u64,
        /// What is waited for.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

impl From<StorageError> for BlockError {
    fn from(error: StorageError) -> Self {
        Self::Chain(error.into())
    }
}

/// Why a bundle was not made final. Nothing was written unless the store itself failed half-way through
/// its answer; a restart then shows the state before or after, never between.
#[derive(Debug, Error)]
pub enum FinalizeError {
    /// Another bundle is final at this height.
    #[error("bundle {id} at height {height} conflicts with the final one")]
    Conflict {
        /// ID of the refused bundle.
        id: esker_primitives::Id,
        /// Its height.
        height: u64,
    },
    /// The parent is not the last final bundle.
    #[error("bundle {id} at height {height} does not follow the last final height {last}")]
    OutOfOrder {
        /// ID of the refused bundle.
        id: esker_primitives::Id,
        /// Its height.
        height: u64,
        /// Height of the last final bundle.
        last: u64,
    },
    /// The bundle is not valid on the final state.
    #[error("bundle is invalid: {0}")]
    Invalid(String),
    /// A chain or the store failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

impl From<StorageError> for FinalizeError {
    fn from(error: StorageError) -> Self {
        Self::Chain(error.into())
    }
}
