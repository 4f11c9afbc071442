//! Opens the fork that the settings name.

use std::path::Path;
use std::sync::Arc;

use alloy_primitives::Address;
use esker_chain::tables::CHAINS;
use esker_evm::fork_point::ForkPoint;
use esker_evm_state::types::SealedHeader;
use esker_fork::cache::{CacheOptions, FOLDER};
use esker_fork::{Fork, ForkBase, Misses, Trust, Want};
use esker_settings::config::{Config, ForkBlock};
use esker_storage::{Scope, Store};
use tokio::runtime::Handle;

use super::choice::fault;
use super::prepared::prepared;
use super::recorded::Recorded;
use super::rules::ForkRules;
use super::{form, origin};
use crate::environment::{Environment, NodeFork};
use crate::wiring::error::StartError;

/// Most bytes of what was read from the source.
const MAX_CACHE: u64 = 4 << 30;

/// Reads the block that the settings name, if they name one. Values that the user has not set are those of the block. The
/// block of a kept folder is recorded, and stays.
pub(in crate::wiring) async fn open(
    config: Config,
    environment: Environment,
    (store, folder): (&Store, &Path),
) -> Result<(Config, Environment), StartError> {
    let settings = &config.settings;
    let recorded = Recorded::read(store)?;
    let setting = if settings.fork_from.is_some() { "fork-from" } else { "fork-url" };
    let is_given = settings.fork_from.is_some() || !settings.fork_url.0.is_empty();
    if recorded.is_none() && !is_given {
        return Ok((config, environment));
    }
    let is_new = recorded.is_none();
    if is_new && CHAINS.first(store.snapshot()?.as_ref(), Scope::NODE, &[], None)?.is_some() {
        let reason = "the data folder was made without a fork: start with another folder";
        return Err(fault(setting, reason.to_owned()));
    }
    let keeps_balances = match &recorded {
        Some(block) => block.balances_kept(settings.fork_keep_balances)?,
        None => settings.fork_keep_balances,
    };
    let cache = CacheOptions { folder: folder.join(FOLDER), max_bytes: MAX_CACHE };
    let fork = origin::open(&config, recorded, &cache).await?;
    form::check(config.mode, (setting, is_given), &fork)?;
    read_first(&fork).await?;
    let rules = match is_new {
        true => ForkRules::choose(settings, &fork).await?,
        false => ForkRules::of_folder(settings, fork.pin(), store)?,
    };
    let pin = fork.pin();
    let header = pin.header.clone();
    let block = ForkBlock {
        chain_id: pin.chain_id,
        time_s: header.time,
        gas_limit: header.gas_limit,
        base_fee: header.base_fee.unwrap_or_default().saturating_to(),
        rules: rules.rules.clone(),
    };
    if is_new {
        rules.keep(&fork).await?;
        let recorded = Recorded {
            chain_id: pin.chain_id,
            number: header.number,
            hash: pin.hash,
            is_proven: Some(*fork.trust() == Trust::Proven),
            keeps_balances: Some(keeps_balances),
        };
        recorded.write(&rules, store)?;
    }
    tracing::info!(
        source = fork.url(),
        chain_id = pin.chain_id,
        height = header.number,
        hash = %pin.hash,
        proven = *fork.trust() == Trust::Proven,
        %rules,
        "the chain begins on a block of another node"
    );
    let header = SealedHeader { header, hash: pin.hash };
    let chain_id = pin.chain_id;
    let config = config.on_fork(&block)?;
    let source = fork.clone();
    let state = Arc::new(ForkBase::new(fork, Handle::current()));
    let state = prepared(&config, &header, state, keeps_balances).await?;
    let fork = NodeFork { point: ForkPoint { chain_id, header, state }, source };
    let environment = Environment { fork: Some(fork), ..environment };
    Ok((config, environment))
}

/// Reads an account, so that the root of the state is known.
async fn read_first(fork: &Fork) -> Result<(), StartError> {
    let misses = Misses::default();
    misses.add(Want::Account(Address::ZERO));
    Ok(fork.fetch(&misses).await?)
}
