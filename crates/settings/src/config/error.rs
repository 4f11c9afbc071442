//! Errors of the configuration. Every text has the origin of the invalid value.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use crate::networks::NetworkError;

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The default.
    Default,
    /// The profile of a public node.
    Public,
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
    /// The block on which the chain begins ([`super::Config::on_fork`]).
    Fork,
    /// A reset to another chain ([`super::Config::reset_to`]).
    Reset,
}

impl Origin {
    /// The kind in one word: `default`, `public`, `file`, `env`, `flag`, `fork`, `reset`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Public => "public",
            Self::File { .. } => "file",
            Self::Env(_) => "env",
            Self::Flag(_) => "flag",
            Self::Fork => "fork",
            Self::Reset => "reset",
        }
    }

    /// The line of the file, the variable, or the flag; `None` for the kinds that have only one place.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::File { .. } | Self::Env(_) | Self::Flag(_) => Some(self.to_string()),
            Self::Default | Self::Public | Self::Fork | Self::Reset => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env(name) => f.write_str(name),
            Self::Flag(name) => write!(f, "--{name}"),
            Self::Default | Self::Public | Self::Fork | Self::Reset => f.write_str(self.kind()),
        }
    }
}

/// The reason why a configuration can't be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// An unknown name.
    #[error("{origin}: unknown {what} \"{name}\"{hint}")]
    Unknown {
        /// Its origin.
        origin: Origin,
        /// `key`, `chain`.
        what: &'static str,
        /// The unknown name.
        name: String,
        /// `, did you mean "..."?`, or nothing.
        hint: String,
    },
    /// An invalid value.
    #[error("{origin}: {key}: {reason}")]
    Value {
        /// Its origin.
        origin: Origin,
        /// The setting.
        key: String,
        /// The fault.
        reason: String,
    },
    /// The file is not TOML.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// The fault.
        message: String,
    },
    /// A file can't be read.
    #[error("can't read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// Conflicting settings.
    #[error("{0}")]
    Conflict(String),
    /// The network is unusable.
    #[error(transparent)]
    Network(#[from] NetworkError),
}
