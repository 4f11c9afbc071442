//! What can be wrong with a configuration. Every text names the place where it was given.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use crate::networks::NetworkError;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody gave one.
    Default,
    /// The configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
    },
    /// An environment variable.
    Env(String),
    /// A command-line flag.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env(name) => f.write_str(name),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// Why a configuration can't be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file names something that there is not.
    #[error("{origin}: unknown {what} \"{name}\"{hint}")]
    Unknown {
        /// Where.
        origin: Origin,
        /// `key`, `chain`.
        what: &'static str,
        /// The unknown name.
        name: String,
        /// `, did you mean "..."?`, or nothing.
        hint: String,
    },
    /// A value that the setting can't have.
    #[error("{origin}: {key}: {reason}")]
    Value {
        /// Where.
        origin: Origin,
        /// The setting.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// The file is no TOML.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A file can't be read.
    #[error("can't read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Settings that do not go together.
    #[error("{0}")]
    Conflict(String),
    /// The network can't be used.
    #[error(transparent)]
    Network(#[from] NetworkError),
}
