//! The reasons why blocks were not imported or exported, and the exit code of each reason.

use std::io;
use std::path::PathBuf;

use esker_chain::{ChainError, EngineError, FinalizeError};
use esker_node::wiring::StartError;
use esker_settings::exit_code;
use esker_storage::StorageError;
use thiserror::Error;

use super::lines::LineError;
use crate::offline::OfflineError;

/// The reason why an import or an export ended early.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The data can't be opened.
    #[error(transparent)]
    Offline(#[from] OfflineError),
    /// Input or output failed.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A line is not a block.
    #[error("line {line}: {error}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// The fault.
        error: LineError,
    },
    /// A line has a chain that the network does not have.
    #[error("line {line}: the network has no chain \"{chain}\"")]
    UnknownChain {
        /// Its number, from 1.
        line: u64,
        /// The name.
        chain: String,
    },
    /// The blocks are of a development network with other accounts or another start.
    #[error(
        "the blocks are of a development network with other --accounts, --balance, --mnemonic, --derivation-path or \
         --timestamp (it began at {start}): import them with the same"
    )]
    OtherNetwork {
        /// Its start, Unix seconds.
        start: u64,
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
        /// The rule's text.
        reason: String,
    },
    /// Another block is accepted at this height.
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
    /// Earlier blocks are missing.
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
    /// The folder lacks blocks that an export would have.
    #[error(
        "the history of this folder begins at bundle {first} (it joined from a snapshot), so not all blocks can be \
         exported: give --from {first} to export those from there on; only a folder that has the blocks before them can \
         import the file"
    )]
    BeforeHistory {
        /// Height of the first stored bundle.
        first: u64,
    },
    /// Other nodes would not have the bundles of an import.
    #[error(
        "network \"{0}\" has validators: they decide which blocks are final, and nothing is imported"
    )]
    SeveralNodes(String),
    /// A signal stopped the command.
    #[error("stopped: {done}")]
    Stopped {
        /// The work done before.
        done: String,
    },
    /// The runtime can't be created.
    #[error("can't start: {0}")]
    Runtime(io::Error),
}

impl ReplayError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Offline(error) => error.exit_code(),
            Self::File { error, .. } => exit_code::of_io(error),
            Self::BeforeHistory { .. } | Self::SeveralNodes(_) | Self::OtherNetwork { .. } => {
                exit_code::CONFIG
            }
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
