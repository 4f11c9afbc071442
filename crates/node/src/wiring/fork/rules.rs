//! The rules of a chain that begins on a block of another node.

use std::fmt;
use std::sync::Arc;

use esker_ethereum::forks::{ChainConfig, PublishedForks};
use esker_evm_execution::rules::CChainRules;
use esker_evm_state::types::Header;
use esker_fork::Fork;
use esker_fork::pin::{HeaderForm, Pin};
use esker_go_json::Document;
use esker_settings::config::{ForkedRules, Settings};
use esker_storage::{StorageError, Store, WriteSet, meta};

use super::c_chain_rules;
use super::rules_origin::{Origin, damaged, said};
use crate::wiring::error::StartError;

/// Owner of the record in the store.
const OWNER: &[u8] = b"fork rules";
/// The configuration in geth's form, or the C-Chain's in the form of a genesis.
const CONFIG: &str = "config";
/// The same with what was read from the source.
const TEXT: &str = "rules";

/// The rules of a chain that begins on a block of another node, and where they come from.
#[derive(Debug)]
pub(super) struct ForkRules {
    pub(super) rules: ForkedRules,
    /// The fork or the phase of the block.
    first: Option<String>,
    origin: Origin,
}

impl ForkRules {
    fn ethereum(config: Option<Arc<ChainConfig>>, origin: Origin) -> Self {
        let first = config.as_ref().map(|config| config.first_fork().name().to_owned());
        Self { rules: ForkedRules::Ethereum(config), first, origin }
    }

    fn c_chain((rules, origin): (CChainRules, Origin), time_s: u64) -> Self {
        let phase = rules.phase_at(time_s).ok().map(|rules| format!("{:?}", rules.phase));
        Self { rules: c_chain_rules::forked(&rules), first: phase, origin }
    }

    /// Those of a folder that has a forked block.
    pub(super) fn of_folder(
        settings: &Settings,
        pin: &Pin,
        store: &Store,
    ) -> Result<Self, StartError> {
        if !settings.hardfork.is_empty() {
            return Ok(Self::ethereum(None, Origin::Hardfork));
        }
        let values = meta::parameters(store.snapshot()?.as_ref(), OWNER)?.unwrap_or_default();
        let json = values.into_iter().find(|(name, _)| name == CONFIG).map(|(_, json)| json);
        match (pin.form, json) {
            (HeaderForm::CChain, json) => {
                let rules = c_chain_rules::read(pin.chain_id, &json.unwrap_or_default());
                let rules = rules.ok_or_else(damaged)?;
                Ok(Self::c_chain((rules, Origin::Folder), pin.header.time))
            }
            (_, Some(json)) => Ok(Self::ethereum(Some(config_of(&json)?), Origin::Folder)),
            (_, None) => Ok(Self::ethereum(None, Origin::Newest)),
        }
    }

    /// Those of a new folder: the user's, else those that the source publishes, else those of a known chain at the
    /// block, else the newest ones.
    pub(super) async fn choose(settings: &Settings, fork: &Fork) -> Result<Self, StartError> {
        if !settings.hardfork.is_empty() {
            return Ok(Self::ethereum(None, Origin::Hardfork));
        }
        let pin = fork.pin();
        match pin.form {
            HeaderForm::CChain => {
                let found = c_chain_rules::choose(fork, fork.text(TEXT).as_deref()).await?;
                Ok(Self::c_chain(found, pin.header.time))
            }
            HeaderForm::Ethereum if !fork.has_source() => {
                let config = fork.text(TEXT).map(|json| config_of(&json)).transpose()?;
                Ok(Self::ethereum(config, Origin::File))
            }
            HeaderForm::Ethereum => of_source(fork).await,
            HeaderForm::Unknown => Ok(Self::ethereum(None, Origin::Newest)),
        }
    }

    /// Keeps them with what was read from the source, for its file.
    pub(super) async fn keep(&self, fork: &Fork) -> Result<(), StartError> {
        let Some(json) = self.json(fork.pin().chain_id) else { return Ok(()) };
        Ok(fork.keep_text(TEXT, &json).await?)
    }

    /// Records them for the next start.
    pub(super) fn put(&self, chain_id: u64, out: &mut WriteSet) {
        let json = self.json(chain_id).into_iter();
        let values: Vec<_> = json.map(|json| (CONFIG.to_owned(), json)).collect();
        meta::put_parameters(out, OWNER, &values);
    }

    fn json(&self, chain_id: u64) -> Option<String> {
        match &self.rules {
            ForkedRules::Ethereum(config) => config.as_ref().map(|config| config.to_json()),
            ForkedRules::CChain { schedule, .. } => Some(c_chain_rules::write(chain_id, schedule)),
        }
    }
}

/// Those of Ethereum's that the source publishes, else those of a known chain at the block, else the newest ones.
async fn of_source(fork: &Fork) -> Result<ForkRules, StartError> {
    let pin = fork.pin();
    let (chain_id, header) = (pin.chain_id, &pin.header);
    let published = published(fork).await?;
    if let Some(contract) = published.as_ref().and_then(|forks| forks.unknown_contract(header)) {
        return Err(unknown_fork(header, contract));
    }
    let by_fields = published.as_ref().and_then(|forks| forks.config(chain_id, header));
    let is_exact = published.is_some_and(|forks| forks.reaches(header));
    let known = || known(chain_id, header).map(|known| (known, Origin::ChainId(chain_id)));
    let found = match (by_fields, is_exact) {
        (Some(config), true) => Some((config, Origin::Published)),
        (by_fields, _) => known().or_else(|| Some((by_fields?, Origin::Fields))),
    };
    Ok(match found {
        Some((config, origin)) => ForkRules::ethereum(Some(Arc::new(config)), origin),
        None => ForkRules::ethereum(None, Origin::Newest),
    })
}

impl fmt::Display for ForkRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(first) = &self.first {
            write!(f, "{first} ")?;
        }
        write!(f, "{}", self.origin)
    }
}

/// Reads a record.
fn config_of(json: &str) -> Result<Arc<ChainConfig>, StorageError> {
    let read = Document::whole(json.as_bytes()).ok();
    let config = read.and_then(|document| ChainConfig::parse(document).ok());
    config.map(Arc::new).ok_or_else(damaged)
}

/// The block has rules that this version does not know.
fn unknown_fork(header: &Header, contract: &str) -> StartError {
    let reason = format!(
        "block {} has the rules of a fork after Osaka, which this version does not know (the source's eth_config names \
         {contract}): choose an earlier block, or the rules of a known fork with --hardfork",
        header.number
    );
    StartError::ForkSetting { name: "fork-url", reason }
}

/// What the source says of its forks; `None` if it says nothing that can be used.
async fn published(fork: &Fork) -> Result<Option<PublishedForks>, StartError> {
    Ok(said(fork, "eth_config").await?.and_then(|forks| PublishedForks::read(&forks)))
}

/// The configuration of a known chain from a block on, if the block can be one of that chain.
fn known(chain_id: u64, header: &Header) -> Option<ChainConfig> {
    let known = ChainConfig::public(chain_id).filter(|known| known.fits(header))?;
    Some(known.on_block(header))
}
