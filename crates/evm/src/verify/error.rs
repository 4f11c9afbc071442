//! Why a block is refused.

use alloy_primitives::B256;
use esker_evm_execution::executor::TxError;
use esker_evm_execution::rules::{BlockStepError, RuleError};
use esker_evm_state::not_fetched::NotFetched;
use esker_evm_state::state::StateError;
use thiserror::Error;

use crate::extension::ExtError;

/// Why a block is refused. The texts are the reference's.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The block has another parent.
    #[error("unknown ancestor")]
    UnknownAncestor,
    /// The block breaks a rule of the chain.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// A transaction can't be executed.
    #[error("could not apply tx {index} [{hash}]: {error}")]
    Apply {
        /// Index of the transaction in the block.
        index: usize,
        /// Hash of the transaction.
        hash: B256,
        /// Why it can't be executed.
        error: Box<TxError>,
    },
    /// The ext data is refused.
    #[error(transparent)]
    Extension(#[from] ExtError),
    /// The ext data can't be applied after the transactions.
    #[error("engine finalization check failed: {0}")]
    ApplyExtension(ExtError),
    /// The state root is not the one in the header.
    #[error("invalid merkle root (remote: {remote:x} local: {local:x})")]
    StateRoot {
        /// The value in the header.
        remote: B256,
        /// The computed value.
        local: B256,
    },
    /// State can't be read: a fault of this node, not of the block.
    #[error(transparent)]
    State(#[from] StateError),
}

impl VerifyError {
    /// What was lacking of the state on which the chain began.
    pub fn not_fetched(&self) -> Option<&NotFetched> {
        match self {
            Self::State(error)
            | Self::Extension(ExtError::State(error))
            | Self::ApplyExtension(ExtError::State(error)) => error.not_fetched(),
            Self::Apply { error, .. } => match &**error {
                TxError::State(error) => error.not_fetched(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The error of the state if this is a fault of the node rather than the block.
    pub fn internal(self) -> Result<StateError, Self> {
        match self {
            Self::State(error)
            | Self::Extension(ExtError::State(error))
            | Self::ApplyExtension(ExtError::State(error)) => Ok(error),
            Self::Apply { index, hash, error } => match *error {
                TxError::State(error) => Ok(error),
                error => Err(Self::Apply { index, hash, error: Box::new(error) }),
            },
            other => Err(other),
        }
    }

    /// The block's time and the latest accepted time (Unix s), if the block is only too early.
    pub fn too_early(&self) -> Option<(u64, u64)> {
        match self {
            Self::Rules(error) => error.too_early(),
            _ => None,
        }
    }
}

impl From<BlockStepError> for VerifyError {
    fn from(error: BlockStepError) -> Self {
        match error {
            BlockStepError::Rule(error) => error.into(),
            BlockStepError::State(error) => error.into(),
        }
    }
}
