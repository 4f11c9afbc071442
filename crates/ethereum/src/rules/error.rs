//! Why a block can't be executed to its end.

use esker_evm_execution::rules::{BlockStepError, RuleError};
use thiserror::Error;

use crate::system::DepositError;

/// What is wrong with a block apart from its header, its body and its transactions. The texts are go-ethereum's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StepError {
    /// The block is too far ahead of the clock.
    #[error("block in the future")]
    Future,
    /// A contract of the system has no code.
    #[error("empty system contract")]
    NoContract,
    /// A contract of the system failed.
    #[error("system call failed to execute: execution reverted")]
    Call,
    /// A log of the deposit contract is no deposit.
    #[error(transparent)]
    Deposit(#[from] DepositError),
}

impl From<StepError> for BlockStepError {
    fn from(error: StepError) -> Self {
        RuleError::new(error).into()
    }
}
