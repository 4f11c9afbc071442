//! What a fork reads from: a source, the kept folder, or a pack.

use std::path::Path;
use std::time::Duration;

use esker_fork::cache::{CacheOptions, SharedOptions, verify_pack};
use esker_fork::pin::{BlockChoice, BlockInstead, block_instead, resolve};
use esker_fork::source::Source;
use esker_fork::{FileError, Fork, ForkError, ForkOptions, OpenedFork, Trust};
use esker_settings::config::Config;
use tokio::time::timeout;

use super::choice::{addresses, choice, fault, proofs};
use super::recorded::Recorded;
use crate::chains::source_limits;
use crate::wiring::error::StartError;

/// Longest time of a fetch: clients get the source's fault before their own request has taken too long.
const MAX_FETCH: Duration = Duration::from_secs(25);
/// Longest time in which the source of a kept folder is to say that it has the block.
const MAX_CONTACT: Duration = Duration::from_secs(8);
/// Most bytes of the cache that forks share, and of one block in it.
const MAX_SHARED: u64 = 2 << 30;
const MAX_SHARED_FILE: u64 = 256 << 20;

/// Opens the fork that the settings name, or that of a kept folder.
pub(super) async fn open(
    config: &Config,
    recorded: Option<Recorded>,
    cache: &CacheOptions,
) -> Result<Fork, StartError> {
    let settings = &config.settings;
    let mut options = ForkOptions {
        proofs: proofs(settings.fork_proofs),
        deadline: MAX_FETCH.max(settings.fork_timeout.0),
        shared: config.fork_cache.clone().map(|folder| SharedOptions {
            folder,
            max_bytes: MAX_SHARED,
            max_file_bytes: MAX_SHARED_FILE,
        }),
        ..ForkOptions::default()
    };
    if let Some(path) = &settings.fork_from {
        return of_pack(path, recorded, options, cache);
    }
    if let Some(block) = recorded.filter(|_| settings.fork_url.0.is_empty()) {
        return without_source(block, options, cache).await;
    }
    let limits = source_limits(settings);
    let source = Source::new(addresses(settings)?, config.dialer.clone(), limits);
    let Some(block) = recorded else {
        let choice = choice(&source, &settings.fork_block).await?;
        return Ok(Fork::open(source, choice, options, Some(cache)).await?.fork);
    };
    // A block that is counted from the latest one is the folder's, as the latest one is.
    if !settings.fork_block.starts_with('-') {
        block.checked(choice(&source, &settings.fork_block).await?)?;
    }
    options.proofs = block.proof_mode(options.proofs)?;
    kept(source, block, options, cache).await
}

/// The fork of a kept folder. If the source can't be reached, it is not asked until the next start.
async fn kept(
    source: Source,
    block: Recorded,
    options: ForkOptions,
    cache: &CacheOptions,
) -> Result<Fork, StartError> {
    let choice = BlockChoice::Hash(block.hash);
    let found =
        timeout(MAX_CONTACT, resolve(&source, choice, options.accepts_unknown_header)).await;
    let reason = match found {
        Ok(Ok(pin)) if pin.chain_id == block.chain_id => {
            return Ok(Fork::open(source, choice, options, Some(cache)).await?.fork);
        }
        Ok(Ok(pin)) => return Err(other_chain(&block, source.url(), pin.chain_id)),
        Ok(Err(ForkError::NoBlock { .. })) => return Err(other_source(&source, &block).await),
        Ok(Err(ForkError::Source(error))) if error.fault.is_transient() => error.to_string(),
        Ok(Err(error)) => return Err(error.into()),
        Err(_) => format!("{}: no reply within {} s", source.url(), MAX_CONTACT.as_secs()),
    };
    let opened = Fork::open_kept(block.kept(), options, cache).await;
    let OpenedFork { fork, .. } = opened.map_err(|error| no_file(&error, &block, &reason))?;
    tracing::warn!(
        height = block.number,
        reason,
        "the fork's source can't be reached: the chain goes on with what was read before, and what needs more fails; \
         start again when the source is there"
    );
    Ok(fork)
}

/// The fork of a kept folder alone.
async fn without_source(
    block: Recorded,
    options: ForkOptions,
    cache: &CacheOptions,
) -> Result<Fork, StartError> {
    let opened = Fork::open_kept(block.kept(), options, cache).await;
    let no_url = "no fork-url is given";
    let OpenedFork { fork, .. } = opened.map_err(|error| no_file(&error, &block, no_url))?;
    tracing::warn!(
        height = block.number,
        "the chain goes on without its source: nothing more of it can be read, and what needs more fails (--fork-url)"
    );
    Ok(fork)
}

/// The fork of a pack.
fn of_pack(
    path: &Path,
    recorded: Option<Recorded>,
    options: ForkOptions,
    cache: &CacheOptions,
) -> Result<Fork, StartError> {
    if let Some(block) = &recorded {
        let file = verify_pack(path, Some(block.hash), options.max_state_bytes as u64);
        file.map_err(ForkError::from)?;
    }
    let is_proven = recorded.and_then(|block| block.is_proven);
    let fork = Fork::open_pack(path, options, Some(cache))?;
    if is_proven.is_some_and(|proven| proven != (*fork.trust() == Trust::Proven)) {
        let reason =
            "the data folder has values with proofs, and the file without, or the other way round";
        return Err(fault("fork-from", reason.to_owned()));
    }
    Ok(fork)
}

/// Names a source that does not have the block.
async fn other_source(source: &Source, block: &Recorded) -> StartError {
    let BlockInstead { chain_id, hash } = block_instead(source, block.number).await;
    match chain_id.ok().flatten() {
        Some(chain) if chain != block.chain_id => other_chain(block, source.url(), chain),
        _ => other_block(block, source.url(), hash.as_deref()),
    }
}

fn other_chain(block: &Recorded, url: &str, found: u64) -> StartError {
    refused(block, format!("{url} is of chain {found}"))
}

fn other_block(block: &Recorded, url: &str, found: Option<&str>) -> StartError {
    let found = match found {
        Some(hash) => format!("block {} of {url} is {hash}", block.number),
        None => format!("{url} has no such block"),
    };
    refused(block, found)
}

fn refused(block: &Recorded, found: String) -> StartError {
    let Recorded { chain_id, number, hash, .. } = block;
    let reason = format!(
        "the data folder was made on top of block {number} ({hash}) of chain {chain_id}, and {found}: give the URL of a node \
         that has it, or leave fork-url out and go on with what was read before"
    );
    fault("fork-url", reason)
}

/// A folder whose file is not there, or damaged, needs the source.
fn no_file(error: &ForkError, block: &Recorded, reason: &str) -> StartError {
    let Recorded { chain_id, number, hash, .. } = block;
    let fork_url = match error {
        ForkError::File(FileError::Locked(_)) => String::new(),
        _ => {
            format!(": give the URL of a node that has block {number} ({hash}) of chain {chain_id}")
        }
    };
    fault(
        "fork-url",
        format!("{reason}, and what was read before can't be used: {error}{fork_url}"),
    )
}
