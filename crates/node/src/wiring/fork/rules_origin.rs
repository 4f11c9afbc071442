//! Where the rules of a fork come from, and what its source says of them.

use std::fmt;

use esker_fork::source::{Call, Fault};
use esker_fork::{Fork, ForkError};
use esker_storage::StorageError;
use serde_json::{Value, json};

use crate::wiring::error::StartError;

/// Where rules come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The user's setting.
    Hardfork,
    /// The data folder.
    Folder,
    /// The file of a fork.
    File,
    /// `eth_config` of the source.
    Published,
    /// What is known of the chain with this ID.
    ChainId(u64),
    /// The fields of the header, and later forks by `eth_config`.
    Fields,
    /// Nothing is known.
    Newest,
    /// `eth_getChainConfig` of the source.
    ChainConfig,
    /// The development network, since nothing else is known.
    Development,
    /// The form of the header, since nothing else is known.
    HeaderForm,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hardfork => f.write_str("by hardfork"),
            Self::Folder => f.write_str("as recorded in the data folder"),
            Self::File => f.write_str("as recorded in the fork's file"),
            Self::Published => f.write_str("by the source's eth_config"),
            Self::ChainId(id) => write!(f, "by chain ID {id} and the block"),
            Self::Fields => f.write_str("by the block's fields and the source's eth_config"),
            Self::Newest => f.write_str("newest: the source does not say, the chain is unknown"),
            Self::ChainConfig => f.write_str("by the source's eth_getChainConfig"),
            Self::Development => f.write_str(
                "of the development network: the source does not say, the chain is unknown",
            ),
            Self::HeaderForm => f.write_str(
                "by the form of the block's header: the source does not say, the chain is unknown",
            ),
        }
    }
}

/// A record that can't be read.
pub(super) fn damaged() -> StorageError {
    StorageError::Corrupted("the record of the fork's rules".to_owned())
}

/// What the source answers to a method without parameters; `None` if it refuses it.
pub(super) async fn said(fork: &Fork, method: &'static str) -> Result<Option<Value>, StartError> {
    match fork.ask(Call::new(method, json!([]))).await {
        Ok(answer) => Ok(Some(answer.result)),
        Err(ForkError::Source(error)) if is_outage(&error.fault) => {
            Err(StartError::from(ForkError::Source(error)))
        }
        Err(_) => Ok(None),
    }
}

/// Whether the source may answer later.
fn is_outage(fault: &Fault) -> bool {
    matches!(fault, Fault::Unreachable(_) | Fault::TimedOut(_) | Fault::RateLimited { .. })
}
