//! The outcome of state tests.

use std::fmt;

use alloy_primitives::B256;
use esker_evm_execution::executor::{SenderError, TxError};
use esker_evm_state::state::StateError;
use thiserror::Error;

use crate::text::TextError;

/// The outcome of one case.
#[derive(Debug)]
pub struct CaseResult {
    /// Name of the test.
    pub name: String,
    /// Name of the fork.
    pub fork: String,
    /// Places of data, gas limit and value in the lists of the transaction.
    pub indexes: (usize, usize, usize),
    /// Why the case failed; `Ok` if it passed.
    pub outcome: Result<(), Failure>,
}

impl fmt::Display for CaseResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, fork, indexes: (data, gas, value), outcome } = self;
        write!(f, "{name} [{fork}, data {data}, gas {gas}, value {value}]: ")?;
        match outcome {
            Ok(()) => f.write_str("passed"),
            Err(failure) => failure.fmt(f),
        }
    }
}

/// Why a case failed.
#[derive(Debug, Error)]
pub enum Failure {
    /// The state after the transaction is another one.
    #[error("state root: got {got}, want {want}")]
    Root {
        /// The root after the transaction.
        got: B256,
        /// The root that the test names.
        want: B256,
    },
    /// The logs are others.
    #[error("hash of logs: got {got}, want {want}")]
    Logs {
        /// Hash of the logs.
        got: B256,
        /// The hash that the test names.
        want: B256,
    },
    /// The transaction should have been refused.
    #[error("the transaction was executed; expected {0}")]
    Executed(String),
    /// The transaction was refused.
    #[error("the transaction was refused: {0}")]
    Refused(#[from] Refusal),
    /// The fork is a transition between two forks, or not known.
    #[error("fork {0} is not supported")]
    Fork(String),
    /// The case is malformed.
    #[error("malformed: {0}")]
    Malformed(#[from] TextError),
    /// A place is beyond the end of its list.
    #[error("malformed: there is no {0} with this index")]
    Index(&'static str),
    /// The state can't be read.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Why a transaction was refused.
#[derive(Debug, Error)]
pub enum Refusal {
    /// Its bytes are no transaction.
    #[error("rlp: {0}")]
    Bytes(#[from] alloy_eips::eip2718::Eip2718Error),
    /// A field is out of its range.
    #[error(transparent)]
    Field(#[from] TextError),
    /// Its signature or its type is not valid.
    #[error(transparent)]
    Sender(#[from] SenderError),
    /// It can't be part of the block.
    #[error(transparent)]
    Execution(#[from] TxError),
}

/// Why a file can't be run.
#[derive(Debug, Error)]
pub enum FileError {
    /// It can't be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// It holds no state tests.
    #[error("not a file of state tests: {0}")]
    Json(#[from] serde_json::Error),
}
