//! The reasons why a node does not start or stops by itself, and the exit code of each.

use std::io;
use std::path::PathBuf;

use esker_chain::{ChainError, EngineError, FinalizeError, ProposeError};
use esker_evm::control::ControlError;
use esker_evm_rpc::StateFileError;
use esker_fork::ForkError;
use esker_http::{CertificateError, RouteError};
use esker_settings::config::{ConfigError, ValidatorError};
use esker_settings::exit_code;
use esker_storage::StorageError;
use thiserror::Error;

use super::chain_file_error::ChainFileError;
use super::parameter_error::ParameterError;
use crate::aliases::AliasError;
use crate::identity::IdentityError;
use crate::validator_changes::ValidatorsError;

/// The reason why a node does not run.
#[derive(Debug, Error)]
pub enum StartError {
    /// The store is unusable.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The block on which the chain is to begin can't be read.
    #[error("cannot fork {0}")]
    Fork(Box<ForkError>),
    /// The state of that block can't be read.
    #[error("cannot fork: {0}")]
    ForkState(String),
    /// The folder has only a part of the state.
    #[error(
        "the data folder was made on top of block {number} of chain {chain_id}, and has only the part of its state that was \
         read: this command can't be used on it"
    )]
    OfFork {
        /// Height of the block.
        number: u64,
        /// ID of the other chain.
        chain_id: u64,
    },
    /// A setting of the fork is wrong.
    #[error("{name}: {reason}")]
    ForkSetting {
        /// The setting.
        name: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The settings don't go together with the block on which the chain begins.
    #[error(transparent)]
    ForkConfig(Box<ConfigError>),
    /// A chain can't start.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The node's own keys are unusable.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The data folder was made with other parameters.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// The snapshots of a development node can't be read.
    #[error("cannot read the snapshots: {0}")]
    Snapshots(ControlError),
    /// The file of a state can't be read or written.
    #[error("cannot {doing} the state {error}")]
    State {
        /// `load` or `dump`.
        doing: &'static str,
        /// The reason.
        error: StateFileError,
    },
    /// Two chains have the same alias.
    #[error(transparent)]
    Alias(#[from] AliasError),
    /// Two endpoints have the same path.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// Another process listens on the port.
    #[error(
        "port in use: {address}: stop the other program or choose another --{setting} (0 picks one)"
    )]
    PortInUse {
        /// As configured.
        address: String,
        /// The setting of the port.
        setting: &'static str,
    },
    /// Listening on the address failed.
    #[error("can't listen on {address}: {error}")]
    Listen {
        /// As configured.
        address: String,
        /// The system's error.
        error: io::Error,
    },
    /// The certificate of the HTTP server can't be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A file can't be written.
    #[error("can't write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Logs can't be written.
    #[error("can't write logs to {}: {error}; choose another --log-dir", path.display())]
    Logs {
        /// The folder or file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A thread can't be started.
    #[error("can't start a thread: {0}")]
    Thread(io::Error),
    /// Funding the development accounts failed.
    #[error("the development accounts can't be funded: {0}")]
    Funding(String),
    /// Blocks of a file can't be imported.
    #[error(transparent)]
    ChainFile(#[from] ChainFileError),
    /// The fixture can't be applied.
    #[error("the fixture can't be applied: {0}")]
    Fixture(String),
    /// The node is not a validator of its network.
    #[error(transparent)]
    Validator(#[from] ValidatorError),
    /// The node can't take part in a network with validators.
    #[error(transparent)]
    Validators(#[from] ValidatorsError),
    /// The node was told to stop while it started.
    #[error("stopped while starting")]
    Stopped,
    /// The engine ended by itself.
    #[error("the engine stopped: {0}")]
    Engine(#[from] EngineError),
    /// The engine's thread panicked.
    #[error("the engine's thread panicked")]
    EnginePanic,
}

impl From<ForkError> for StartError {
    fn from(error: ForkError) -> Self {
        Self::Fork(Box::new(error))
    }
}

impl From<ConfigError> for StartError {
    fn from(error: ConfigError) -> Self {
        Self::ForkConfig(Box::new(error))
    }
}

impl StartError {
    /// Whether another process uses the data folder, and with it the log.
    pub const fn is_folder_in_use(&self) -> bool {
        matches!(self, Self::Storage(StorageError::Locked { .. }))
    }

    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Storage(error) => of_storage(error),
            Self::Identity(IdentityError::Damaged { .. })
            | Self::ChainFile(ChainFileError::Block { .. }) => exit_code::DAMAGED,
            Self::Identity(IdentityError::Io { error, .. })
            | Self::Write { error, .. }
            | Self::ChainFile(ChainFileError::Read { error, .. }) => exit_code::of_io(error),
            Self::PortInUse { .. } => exit_code::PORT_IN_USE,
            Self::Validator(ValidatorError::InUse { .. }) => exit_code::FAILURE,
            Self::Identity(IdentityError::Exposed { .. })
            | Self::Parameters(_)
            | Self::Alias(_)
            | Self::Route(_)
            | Self::Listen { .. }
            | Self::Certificate(_)
            | Self::Validator(_)
            | Self::Validators(_)
            | Self::OfFork { .. }
            | Self::ForkSetting { .. }
            | Self::ForkConfig(_)
            | Self::Logs { .. } => exit_code::CONFIG,
            Self::Chain(error)
            | Self::Engine(
                EngineError::Chain(error)
                | EngineError::Propose(ProposeError::Chain(error))
                | EngineError::Finalize(FinalizeError::Chain(error)),
            ) => of_chain(error),
            Self::Identity(IdentityError::Generate(_))
            | Self::Snapshots(_)
            | Self::State { .. }
            | Self::Thread(_)
            | Self::Funding(_)
            | Self::Fixture(_)
            | Self::Stopped
            | Self::Engine(_)
            | Self::Fork(_)
            | Self::ForkState(_)
            | Self::EnginePanic => exit_code::FAILURE,
        }
    }

    /// The error of a failed bind.
    pub(super) fn from_bind(address: String, setting: &'static str, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::PortInUse { address, setting },
            _ => Self::Listen { address, error },
        }
    }
}

/// The exit code of an error of the store.
pub fn of_storage(error: &StorageError) -> u8 {
    match error {
        StorageError::Corrupted(_) => exit_code::DAMAGED,
        StorageError::Io { error, .. } => exit_code::of_io(error),
        StorageError::NewerSchema { .. } | StorageError::OtherNetwork { .. } => exit_code::CONFIG,
        _ => exit_code::FAILURE,
    }
}

fn of_chain(error: &ChainError) -> u8 {
    match error {
        ChainError::Storage(error) => of_storage(error),
        ChainError::Corrupted(_) => exit_code::DAMAGED,
        ChainError::Genesis(_) | ChainError::Mismatch(_) => exit_code::CONFIG,
        ChainError::TooManyUndecided { .. } | ChainError::Stopped => exit_code::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes() {
        let damaged = || StorageError::Corrupted("x".to_owned());
        for (error, code) in [
            (StartError::Storage(damaged()), 3),
            (StartError::Chain(ChainError::Storage(damaged())), 3),
            (StartError::Engine(EngineError::Chain(ChainError::Corrupted("x".into()))), 3),
            (StartError::Engine(EngineError::Protocol("x".into())), 1),
            (StartError::Storage(StorageError::Locked { path: "x".into(), pid: None }), 1),
            (StartError::Chain(ChainError::Mismatch("x".into())), 2),
            (StartError::from_bind("x".into(), "http-port", io::ErrorKind::AddrInUse.into()), 4),
            (StartError::from_bind("x".into(), "y", io::ErrorKind::AddrNotAvailable.into()), 2),
            (StartError::Funding("x".into()), 1),
            (StartError::Storage(StorageError::io("x", io::ErrorKind::PermissionDenied.into())), 2),
            (StartError::Storage(StorageError::io("x", io::ErrorKind::StorageFull.into())), 1),
            (
                StartError::Write {
                    path: "x".into(),
                    error: io::ErrorKind::PermissionDenied.into(),
                },
                2,
            ),
            (StartError::Write { path: "x".into(), error: io::ErrorKind::NotFound.into() }, 1),
        ] {
            assert_eq!(error.exit_code(), code, "{error}");
        }
    }
}
