//! The rules of a chain that begins on a block of another node.

use std::fmt;
use std::sync::Arc;

use esker_ethereum::forks::{ChainConfig, PublishedForks};
use esker_evm_state::types::Header;
use esker_fork::pin::HeaderForm;
use esker_fork::source::{Call, Fault};
use esker_fork::{Fork, ForkError};
use esker_go_json::Document;
use esker_settings::config::Settings;
use esker_storage::{StorageError, Store, WriteSet, meta};
use serde_json::json;

use crate::wiring::error::StartError;

/// Owner of the record in the store.
const OWNER: &[u8] = b"fork rules";
/// The configuration in geth's form.
const CONFIG: &str = "config";
/// The same with what was read from the source.
const TEXT: &str = "rules";

/// The rules of a chain that begins on a block of another node, and where they come from.
#[derive(Debug)]
pub(super) struct ForkRules {
    /// The forks; `None`: those of `hardfork`.
    pub(super) config: Option<Arc<ChainConfig>>,
    origin: Origin,
}

/// Where rules come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
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
}

impl ForkRules {
    /// Those of a folder that has a forked block.
    pub(super) fn of_folder(settings: &Settings, store: &Store) -> Result<Self, StartError> {
        if !settings.hardfork.is_empty() {
            return Ok(Self { config: None, origin: Origin::Hardfork });
        }
        let values = meta::parameters(store.snapshot()?.as_ref(), OWNER)?.unwrap_or_default();
        let Some((_, json)) = values.into_iter().find(|(name, _)| name == CONFIG) else {
            return Ok(Self { config: None, origin: Origin::Newest });
        };
        Ok(Self { config: Some(config_of(&json)?), origin: Origin::Folder })
    }

    /// Those of a new folder: the user's, else those that the source publishes, else those of a known chain at the
    /// block, else the newest ones.
    pub(super) async fn choose(settings: &Settings, fork: &Fork) -> Result<Self, StartError> {
        if !settings.hardfork.is_empty() {
            return Ok(Self { config: None, origin: Origin::Hardfork });
        }
        if fork.url().is_none() {
            let config = fork.text(TEXT).map(|json| config_of(&json)).transpose()?;
            return Ok(Self { config, origin: Origin::File });
        }
        let pin = fork.pin();
        let (chain_id, header) = (pin.chain_id, &pin.header);
        if pin.form != HeaderForm::Ethereum {
            return Ok(Self { config: None, origin: Origin::Newest });
        }
        let published = published(fork).await?;
        let by_fields = published.as_ref().and_then(|forks| forks.config(chain_id, header));
        let is_exact = published.is_some_and(|forks| forks.reaches(header));
        let known = || known(chain_id, header).map(|known| (known, Origin::ChainId(chain_id)));
        let found = match (by_fields, is_exact) {
            (Some(config), true) => Some((config, Origin::Published)),
            (by_fields, _) => known().or_else(|| Some((by_fields?, Origin::Fields))),
        };
        Ok(match found {
            Some((config, origin)) => Self { config: Some(Arc::new(config)), origin },
            None => Self { config: None, origin: Origin::Newest },
        })
    }

    /// Keeps them with what was read from the source, for its file.
    pub(super) async fn keep(&self, fork: &Fork) -> Result<(), StartError> {
        let Some(config) = &self.config else { return Ok(()) };
        Ok(fork.keep_text(TEXT, &config.to_json()).await?)
    }

    /// Records them for the next start.
    pub(super) fn put(&self, out: &mut WriteSet) {
        let config = self.config.iter();
        let values: Vec<_> = config.map(|config| (CONFIG.to_owned(), config.to_json())).collect();
        meta::put_parameters(out, OWNER, &values);
    }
}

impl fmt::Display for ForkRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(config) = &self.config {
            write!(f, "{} ", config.first_fork().name())?;
        }
        match self.origin {
            Origin::Hardfork => f.write_str("by hardfork"),
            Origin::Folder => f.write_str("as recorded in the data folder"),
            Origin::File => f.write_str("as recorded in the fork's file"),
            Origin::Published => f.write_str("by the source's eth_config"),
            Origin::ChainId(id) => write!(f, "by chain ID {id} and the block"),
            Origin::Fields => f.write_str("by the block's fields and the source's eth_config"),
            Origin::Newest => f.write_str("newest: the source does not say, the chain is unknown"),
        }
    }
}

/// Reads a record.
fn config_of(json: &str) -> Result<Arc<ChainConfig>, StorageError> {
    let read = Document::whole(json.as_bytes()).ok();
    let config = read.and_then(|document| ChainConfig::parse(document).ok());
    let damaged = || StorageError::Corrupted("the record of the fork's rules".to_owned());
    config.map(Arc::new).ok_or_else(damaged)
}

/// What the source says of its forks; `None` if it says nothing that can be used.
async fn published(fork: &Fork) -> Result<Option<PublishedForks>, StartError> {
    match fork.ask(Call::new("eth_config", json!([]))).await {
        Ok(answer) => Ok(PublishedForks::read(&answer.result)),
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

/// The configuration of a known chain from a block on, if the block can be one of that chain.
fn known(chain_id: u64, header: &Header) -> Option<ChainConfig> {
    let known = ChainConfig::public(chain_id).filter(|known| known.fits(header))?;
    Some(known.on_block(header))
}
