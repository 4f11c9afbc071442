//! Opens the fork that the settings name.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use esker_chain::tables::CHAINS;
use esker_evm::fork_point::ForkPoint;
use esker_evm_state::types::SealedHeader;
use esker_fork::cache::CacheOptions;
use esker_fork::source::{Source, SourceLimits};
use esker_fork::{Fork, ForkBase, ForkOptions, Misses, OpenedFork, Trust, Want};
use esker_settings::config::{Config, ForkBlock};
use esker_storage::{Scope, Store};
use tokio::runtime::Handle;

use super::choice::{addresses, choice, fault, proofs};
use super::prepared::prepared;
use super::recorded::Recorded;
use super::rules::ForkRules;
use crate::environment::{Environment, NodeFork};
use crate::wiring::error::StartError;

/// Longest time of a group of calls to the source, and of a fetch: clients get the source's fault before their own request
/// has taken too long.
const MAX_WAIT: Duration = Duration::from_secs(20);
const MAX_FETCH: Duration = Duration::from_secs(25);

/// What was read from the source, in the data folder.
const FOLDER: &str = "fork";
/// Most bytes of it.
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
    if settings.fork_url.0.is_empty() {
        return match recorded {
            None => Ok((config, environment)),
            Some(block) => {
                let reason = format!(
                    "the data folder was made on top of block {} of chain {}: give the URL of a node that has it",
                    block.number, block.chain_id
                );
                Err(fault("fork-url", reason))
            }
        };
    }
    let is_new = recorded.is_none();
    if is_new && CHAINS.first(store.snapshot()?.as_ref(), Scope::NODE, &[], None)?.is_some() {
        let reason = "the data folder was made without a fork: start with another folder";
        return Err(fault("fork-url", reason.to_owned()));
    }
    let limits = SourceLimits {
        calls_per_second: settings.fork_rate,
        retries: settings.fork_retries,
        deadline: MAX_WAIT,
        ..SourceLimits::default()
    };
    let source = Source::new(addresses(settings)?, config.dialer.clone(), limits);
    let wanted = choice(&source, &settings.fork_block).await?;
    let choice = match recorded {
        Some(block) => block.checked(wanted)?,
        None => wanted,
    };
    let options = ForkOptions {
        proofs: proofs(settings.fork_proofs),
        deadline: MAX_FETCH,
        ..ForkOptions::default()
    };
    let cache = CacheOptions { folder: folder.join(FOLDER), max_bytes: MAX_CACHE };
    let opened = Fork::open(source, choice, options, Some(&cache)).await?;
    let OpenedFork { fork, damaged: _ } = opened;
    read_first(&fork).await?;
    let rules = match is_new {
        true => ForkRules::choose(settings, &fork).await?,
        false => ForkRules::of_folder(settings, store)?,
    };
    let pin = fork.pin();
    let header = pin.header.clone();
    let block = ForkBlock {
        chain_id: pin.chain_id,
        time_s: header.time,
        gas_limit: header.gas_limit,
        base_fee: header.base_fee.unwrap_or_default().saturating_to(),
        rules: rules.config.clone(),
    };
    if is_new {
        let (number, hash) = (header.number, pin.hash);
        Recorded { chain_id: pin.chain_id, number, hash }.write(&rules, store)?;
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
    let (chain_id, url) = (pin.chain_id, fork.url().map(str::to_owned));
    let config = config.on_fork(&block)?;
    let source = fork.clone();
    let state = Arc::new(ForkBase::new(fork, Handle::current()));
    let state = prepared(&config, &header, state).await?;
    let fork = NodeFork { point: ForkPoint { chain_id, url, header, state }, source };
    let environment = Environment { fork: Some(fork), ..environment };
    Ok((config, environment))
}

/// Reads an account, so that the root of the state is known.
async fn read_first(fork: &Fork) -> Result<(), StartError> {
    let misses = Misses::default();
    misses.add(Want::Account(Address::ZERO));
    Ok(fork.fetch(&misses).await?)
}
