//! `esker db verify`: checks all data of a stopped node.
//!
//! Each part checks its own rows: the store its pages, each chain its blocks, state and indexes ([`Audit`]), shared
//! memory its elements, the machine its bundles. Only the supply of the native asset needs all parts (`supply.rs`).
//!
//! [`Audit`]: esker_chain::audit::Audit

mod cli;
mod report;
mod shared;
mod supply;

use std::io::{self, Write};
use std::sync::Arc;

use esker_chain::audit::{Audit, AuditContext, Ledger, Scratch, audit_bundles, audit_state};
use esker_chain::tables::{CHAINS, HistoryStart, POSITION};
use esker_chain::{ChainError, ChainVm};
use esker_node::Environment;
use esker_node::wiring::{StartError, open_unchecked};
use esker_primitives::AssetId;
use esker_settings::config::Config;
use esker_settings::exit_code;
use esker_settings::networks::Coin;
use esker_storage::audit::{AuditError, AuditLog as _, Finding};
use esker_storage::{KvRead, Scope, StorageError, meta};
use thiserror::Error;

pub(crate) use cli::command;

use self::report::Report;
use self::shared::SharedMemory;
use self::supply::Supply;
use crate::offline::{self, OfflineError, StopSignal};

/// Most bytes of the temporary folder for derived rows.
const SCRATCH_MAP_SIZE: u64 = 1 << 40;

/// The reason why the verification failed.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The data can't be opened.
    #[error(transparent)]
    Offline(#[from] OfflineError),
    /// A signal stopped the command.
    #[error("stopped before everything was checked")]
    Stopped,
    /// The result can't be written.
    #[error("can't write the result: {0}")]
    Output(io::Error),
    /// The runtime can't be created.
    #[error("can't start: {0}")]
    Runtime(io::Error),
}

impl VerifyError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Offline(error) => error.exit_code(),
            Self::Stopped | Self::Output(_) | Self::Runtime(_) => exit_code::FAILURE,
        }
    }
}

impl From<StartError> for VerifyError {
    fn from(error: StartError) -> Self {
        OfflineError::from(error).into()
    }
}

impl From<StorageError> for VerifyError {
    fn from(error: StorageError) -> Self {
        StartError::from(error).into()
    }
}

impl From<AuditError> for VerifyError {
    fn from(error: AuditError) -> Self {
        match error {
            AuditError::Storage(error) => error.into(),
            AuditError::Stopped => Self::Stopped,
        }
    }
}

/// Checks everything and writes the findings, one per line, then a summary. Returns the number of findings.
///
/// # Errors
/// The data can't be opened at all, or the verification was stopped.
pub fn run(config: &Config, out: &mut dyn Write) -> Result<u64, VerifyError> {
    let stop = StopSignal::listen().map_err(VerifyError::Runtime)?;
    let environment = Environment::system();
    let folder = offline::existing_folder(config)?;
    let mut report = Report::new(out, stop, Arc::clone(&environment.clock));
    report.progress("pages of the store", 0, None)?;
    if let Err(error) = meta::check_dir(folder) {
        let StorageError::Corrupted(found) = error else { return Err(error.into()) };
        // LMDB trusts its pages, so a damaged store can't be read.
        report.finding(Finding::new("store", "pages that can be read", found));
        return report.finish("");
    }
    let (store, chains, observed_p) = open_unchecked(config, &environment)?;
    let stored = store.snapshot()?;
    if !has_begun(stored.as_ref())? {
        return Err(OfflineError::NoData(folder.to_owned()).into());
    }
    let p = observed_p.map(|p| (Arc::clone(&p) as Arc<dyn ChainVm>, p as Arc<dyn Audit>));
    let chains = chains.into_iter().map(|(_, chain)| (chain.vm(), chain.audit())).chain(p);
    let chains = chains_with_rows(chains, stored.as_ref(), &mut report)?;
    let vms: Vec<Arc<dyn ChainVm>> = chains.iter().map(|(vm, _)| Arc::clone(vm)).collect();
    audit_bundles(&vms, stored.as_ref(), &mut report)?;
    audit_state(&vms, stored.as_ref(), &mut report)?;

    // Exchanges and amounts before a snapshot are not stored.
    let first_bundle = HistoryStart::read(stored.as_ref())?.bundle;
    let mut memory = SharedMemory::new(config, &vms, scratch()?)?;
    let assets = audited_assets(config);
    let mut supplies: Vec<Supply> = assets.iter().map(|(_, name)| supply_of(name)).collect();
    let assets: Vec<AssetId> = assets.into_iter().map(|(asset, _)| asset).collect();
    let mut all = true;
    for (vm, audit) in &chains {
        let id = vm.context().chain_id;
        let mut exchanges = Vec::new();
        let mut ctx = AuditContext {
            stored: stored.as_ref(),
            assets: &assets,
            scratch: scratch()?,
            log: &mut report,
            exchanges: &mut |exchange| match first_bundle {
                0 => memory.exchange(&id, exchange, &mut exchanges),
                _ => Ok(()),
            },
        };
        let ledgers = audit.audit(&mut ctx)?;
        exchanges.into_iter().for_each(|finding| report.finding(finding));
        let Some(ledgers) = ledgers else {
            all = false;
            continue;
        };
        for (asset, supply) in assets.iter().zip(&mut supplies) {
            // Most chains know nothing of the coin of another one.
            let ledger = ledgers.get(asset).filter(|ledger| {
                *asset == config.network.native_asset_id || **ledger != Ledger::default()
            });
            if let Some(ledger) = ledger {
                supply.chains.insert(vm.name(), *ledger);
            }
        }
    }
    // The exchanges between chains and the supply need all blocks.
    let mut lines = Vec::new();
    if first_bundle > 0 {
        lines.push(format!(
            "supply and exchanges between chains: not verified, the history begins at bundle {first_bundle} (joined \
             from a snapshot)"
        ));
    } else if all {
        memory.compare(stored.as_ref(), &mut report)?;
        let in_memory = memory.amounts_in(stored.as_ref(), &assets)?;
        for ((asset, mut supply), in_memory) in assets.iter().zip(supplies).zip(in_memory) {
            supply.exported_by_p = memory.exported_by_p(asset);
            supply.in_memory = in_memory;
            supply.findings().into_iter().for_each(|finding| report.finding(finding));
            lines.push(supply.to_string());
        }
    }
    let supply = lines.join("\n");
    drop(stored);
    store.writer.close_blocking()?;
    report.finish(&supply)
}

/// Whether the store has a chain: a first start may end before.
fn has_begun(stored: &dyn KvRead) -> Result<bool, StorageError> {
    let first = CHAINS.first(stored, Scope::NODE, &[], None)?;
    Ok(first.is_some() || POSITION.contains(stored, Scope::NODE, &())?)
}

/// The assets whose supply is verified: the native one, then the coins of further EVM chains, each with its name.
fn audited_assets(config: &Config) -> Vec<(AssetId, Option<String>)> {
    let network = &config.network;
    let mut assets = vec![(network.native_asset_id, None)];
    for chain in &network.chains {
        let id = network.coin_of(chain);
        if assets.iter().any(|(known, _)| *known == id) {
            continue;
        }
        let name = match chain.coin() {
            Some(Coin::Asset { alias: Some(alias), .. }) => format!("{alias} ({id})"),
            Some(Coin::Asset { alias: None, .. }) => format!("asset {id}"),
            Some(Coin::Own) => format!("the coin of {}", chain.primary_alias()),
            Some(Coin::Native) | None => continue,
        };
        assets.push((id, Some(name)));
    }
    assets
}

fn supply_of(asset: &Option<String>) -> Supply {
    Supply { asset: asset.clone(), ..Supply::default() }
}

/// A store for expected rows; it is deleted with its last reference.
fn scratch() -> Result<Scratch, StorageError> {
    let options = meta::OpenOptions { map_size: SCRATCH_MAP_SIZE, durable: false, disk_reserve: 0 };
    Ok(Scratch::new(Arc::new(meta::open_temp(&options)?)))
}

/// A chain with its auditor.
type AuditedChain = (Arc<dyn ChainVm>, Arc<dyn Audit>);

/// The chains with rows. Reports chains whose record and rows disagree.
fn chains_with_rows(
    chains: impl Iterator<Item = AuditedChain>,
    stored: &dyn KvRead,
    report: &mut Report<'_>,
) -> Result<Vec<AuditedChain>, VerifyError> {
    let mut found = Vec::new();
    for (vm, audit) in chains {
        let (id, scope) = (vm.context().chain_id, vm.context().scope);
        let is_noted = CHAINS.contains(stored, Scope::NODE, id.as_bytes())?;
        let prefix = scope.0.to_be_bytes();
        let has_rows = stored.seek(&prefix)?.is_some_and(|(key, _)| key.starts_with(&prefix));
        if is_noted != has_rows {
            let state = |is: bool| if is { "a chain that has begun" } else { "one that has not" };
            let place = format!("chains: {}", vm.name());
            report.finding(Finding::new(place, state(has_rows), state(is_noted)));
        }
        if has_rows {
            found.push((vm, audit));
        }
    }
    Ok(found)
}

impl From<ChainError> for VerifyError {
    fn from(error: ChainError) -> Self {
        StartError::from(error).into()
    }
}
