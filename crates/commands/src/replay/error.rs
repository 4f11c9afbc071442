//! Why blocks were not imported or exported, and the exit code of each reason.

use std::io;
use std::path::PathBuf;

use esker_chain::{ChainError, EngineError, FinalizeError};
use esker_node::wiring::{StartError, exit_code};
use esker_storage::StorageError;
use thiserror::Error;

use super::lines::LineError;
use crate::offline::OfflineError;

/// Why an import or an export ended early.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The data can't be opened.
    #[error(transparent)]
    Offline(#[from] OfflineError),
    /// A file can't be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A line is no block.
    #[error("line {line}: {error}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        error: LineError,
    },
    /// A line names a chain that the network lacks.
    #[error("line {line}: the network has no chain \"{chain}\"")]
    UnknownChain {
        /// Its number, from 1.
        line: u64,
        /// The name.
        chain: String,
    },
    /// A block breaks a rule.
    #[error("block {height} of chain {chain} (line {line}) is refused: {reason}")]
    Refused {
        /// The chain.
        chain: String,
        /// The block's height.
        height: u64,
        /// The line's number, from 1.
        line: u64,
        /// The rule, in the chain's words.
        reason: String,
    },
    /// Another block was accepted.
    #[error(
        "block {height} of chain {chain} (line {line}) is refused: another block of this height was accepted"
    )]
    Differs {
        /// The chain.
        chain: String,
        /// The block's height.
        height: u64,
        /// The line's number, from 1.
        line: u64,
    },
    /// Blocks before it are missing.
    #[error(
        "block {height} of chain {chain} (line {line}) is refused: the last accepted block is {last}"
    )]
    Gap {
        /// The chain.
        chain: String,
        /// The block's height.
        height: u64,
        /// Height of the chain's last accepted block.
        last: u64,
        /// The line's number, from 1.
        line: u64,
    },
    /// A signal asked to stop.
    #[error("stopped: {done}")]
    Stopped {
        /// What was done until then.
        done: String,
    },
    /// The system gives no runtime.
    #[error("can't start: {0}")]
    Runtime(io::Error),
}

impl ReplayError {
    /// The exit code of the process.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Offline(error) => error.exit_code(),
            _ => exit_code::FAILURE,
        }
    }
}

impl From<ChainError> for ReplayError {
    fn from(error: ChainError) -> Self {
        OfflineError::from(StartError::from(error)).into()
    }
}

impl From<StorageError> for ReplayError {
    fn from(error: StorageError) -> Self {
        OfflineError::from(StartError::from(error)).into()
    }
}

impl From<FinalizeError> for ReplayError {
    fn from(error: FinalizeError) -> Self {
        OfflineError::from(StartError::from(EngineError::from(error))).into()
    }
}
