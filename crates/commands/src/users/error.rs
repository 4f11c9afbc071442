//! The reasons why a command on users failed, and the exit code of each reason.

use std::io;
use std::path::PathBuf;

use esker_keystore::KeystoreError;
use esker_node::wiring::storage_exit_code;
use esker_settings::exit_code;
use esker_storage::StorageError;
use thiserror::Error;

use crate::offline::OfflineError;

/// The reason why a command on users failed.
#[derive(Debug, Error)]
pub enum UserError {
    /// There is no folder with a node's data.
    #[error(transparent)]
    Folder(#[from] OfflineError),
    /// A running node uses the data.
    #[error("{0}: use the API of the running node at /ext/keystore, or stop the node")]
    Running(StorageError),
    /// The store can't be used.
    #[error(transparent)]
    Storage(StorageError),
    /// The keystore refused.
    #[error(transparent)]
    Keystore(#[from] KeystoreError),
    /// The password can't be read.
    #[error("{0}")]
    Password(String),
    /// Every user of the machine has the password.
    #[error("--password-file {}: {error}", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        error: io::Error,
    },
    /// Input or output failed.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file is not an exported user.
    #[error("{}: {reason}", path.display())]
    NotAUser {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// The runtime can't be created.
    #[error("can't start: {0}")]
    Runtime(io::Error),
}

impl From<StorageError> for UserError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Locked { .. } => Self::Running(error),
            other => Self::Storage(other),
        }
    }
}

impl UserError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Folder(error) => error.exit_code(),
            Self::Storage(error) | Self::Keystore(KeystoreError::Storage(error)) => {
                storage_exit_code(error)
            }
            Self::File { error, .. } => exit_code::of_io(error),
            Self::Exposed { .. } => exit_code::CONFIG,
            Self::Keystore(KeystoreError::Damaged) => exit_code::DAMAGED,
            Self::Running(_)
            | Self::Keystore(_)
            | Self::Password(_)
            | Self::NotAUser { .. }
            | Self::Runtime(_) => exit_code::FAILURE,
        }
    }
}
