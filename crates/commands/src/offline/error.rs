//! The reasons why a data folder can't be opened.

use std::path::PathBuf;

use esker_node::wiring::StartError;
use esker_settings::exit_code;
use esker_storage::StorageError;
use thiserror::Error;

/// The reason why a data folder can't be opened.
#[derive(Debug, Error)]
pub enum OfflineError {
    /// No folder is configured.
    #[error(
        "esker dev keeps its data in a temporary folder unless it has --data-dir: name that folder"
    )]
    NoFolder,
    /// The folder has no node's data.
    #[error("no node data in {}: start the node once, or choose another --data-dir", .0.display())]
    NoData(PathBuf),
    /// A running node uses the data.
    #[error("{0}")]
    Running(StorageError),
    /// The store or a chain can't be opened.
    #[error(transparent)]
    Start(StartError),
}

impl From<StartError> for OfflineError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Storage(locked @ StorageError::Locked { .. }) => Self::Running(locked),
            other => Self::Start(other),
        }
    }
}

impl OfflineError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoFolder | Self::NoData(_) => exit_code::CONFIG,
            Self::Running(_) => exit_code::FAILURE,
            Self::Start(error) => error.exit_code(),
        }
    }
}
