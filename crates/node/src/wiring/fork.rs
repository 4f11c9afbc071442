//! The block of another node on which the EVM chain begins.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use esker_chain::tables::CHAINS;
use esker_evm::fork_point::ForkPoint;
use esker_evm_state::state::{BaseChange, ChangedBase, StateBase};
use esker_evm_state::types::SealedHeader;
use esker_fork::cache::CacheOptions;
use esker_fork::pin::{BlockChoice, resolve};
use esker_fork::source::{Source, SourceAddress, SourceLimits};
use esker_fork::{Fork, ForkBase, ForkOptions, Misses, OpenedFork, ProofMode, Trust, Want};
use esker_settings::config::{Config, ForkBlock, Settings, Switch};
use esker_settings::networks::accounts::Account;
use esker_storage::{Scope, StorageError, Store, WriteSet, meta};
use tokio::runtime::Handle;

use super::error::StartError;
use crate::chains::rules::{called_contracts, of_chain};
use crate::environment::{Environment, NodeFork};

/// Characters of a hash in hex.
const HASH_LENGTH: usize = 66;

/// Owner of the record in the store.
const OWNER: &[u8] = b"fork";
/// ID of the chain.
const CHAIN: &str = "chain";
/// Height of the block.
const NUMBER: &str = "number";
/// Hash of the block.
const HASH: &str = "hash";

/// Longest time of a group of calls to the source, and of a fetch: clients get the source's fault before their own request
/// has taken too long.
const MAX_WAIT: Duration = Duration::from_secs(20);
const MAX_FETCH: Duration = Duration::from_secs(25);

/// What was read from the source, in the data folder.
const FOLDER: &str = "fork";
/// Most bytes of it.
const MAX_CACHE: u64 = 4 << 30;

/// Wei of a whole unit.
const UNIT: u64 = 1_000_000_000_000_000_000;

/// Reads the block that the settings name, if they name one. Values that the user has not set are those of the block. The
/// block of a kept folder is recorded, and stays.
pub(super) async fn open(
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
    let pin = fork.pin();
    let header = pin.header.clone();
    let block = ForkBlock {
        chain_id: pin.chain_id,
        time_s: header.time,
        gas_limit: header.gas_limit,
        base_fee: header.base_fee.unwrap_or_default().saturating_to(),
    };
    if is_new {
        Recorded { chain_id: pin.chain_id, number: header.number, hash: pin.hash }.write(store)?;
    }
    tracing::info!(
        source = fork.url(),
        chain_id = pin.chain_id,
        height = header.number,
        hash = %pin.hash,
        proven = *fork.trust() == Trust::Proven,
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

/// The state in which the accounts for development have their balances, and contracts that each block calls exist.
async fn prepared(
    config: &Config,
    header: &SealedHeader,
    state: Arc<dyn StateBase>,
) -> Result<Arc<dyn StateBase>, StartError> {
    let dev = config.network.dev_accounts.as_ref();
    let mut changes = Vec::new();
    if let Some(dev) = dev.filter(|_| !config.settings.fork_keep_balances) {
        let balance = BaseChange::Balance(U256::from(dev.balance) * U256::from(UNIT));
        let accounts = dev.accounts.iter().map(Account::c_address);
        changes.extend(accounts.map(|address| (address, balance.clone())));
    }
    let contracts = called_contracts(config.network.evm_parameters(), &header.header);
    let code = |(address, code)| (address, BaseChange::CodeIfNone(code));
    changes.extend(contracts.into_iter().map(code));
    let (rules, _) = of_chain(config.network.evm_parameters(), false, None, false);
    let root = header.header.state_root;
    loop {
        let below = Arc::clone(&state);
        match ChangedBase::new(below, root, &*rules, &changes) {
            Ok(changed) => return Ok(Arc::new(changed)),
            Err(error) => match error.not_fetched() {
                Some(lacking) => lacking.fetch().await.map_err(StartError::ForkState)?,
                None => return Err(StartError::ForkState(error.to_string())),
            },
        }
    }
}

/// Refuses commands that need the whole state of a folder.
pub(super) fn refuse(store: &Store) -> Result<(), StartError> {
    let Some(block) = Recorded::read(store)? else { return Ok(()) };
    Err(StartError::OfFork { number: block.number, chain_id: block.chain_id })
}

/// Reads an account, so that the root of the state is known.
async fn read_first(fork: &Fork) -> Result<(), StartError> {
    let misses = Misses::default();
    misses.add(Want::Account(Address::ZERO));
    Ok(fork.fetch(&misses).await?)
}

fn addresses(settings: &Settings) -> Result<Vec<SourceAddress>, StartError> {
    let address = |text: &String| {
        let address = SourceAddress::parse(text);
        let address = address.map_err(|error| fault("fork-url", error.to_string()))?;
        settings.fork_header.0.iter().try_fold(address, |address, header| {
            let with = address.with_header(header);
            with.map_err(|error| fault("fork-header", error.to_string()))
        })
    };
    settings.fork_url.0.iter().map(address).collect()
}

/// The block that a setting names. A negative number counts from the latest one.
async fn choice(source: &Source, text: &str) -> Result<BlockChoice, StartError> {
    let expected = || {
        let reason = "expected a number, a hash, latest, safe or finalized".to_owned();
        fault("fork-block", reason)
    };
    match text {
        "latest" => return Ok(BlockChoice::Latest),
        "safe" => return Ok(BlockChoice::Safe),
        "finalized" => return Ok(BlockChoice::Finalized),
        _ => {}
    }
    if text.len() == HASH_LENGTH {
        return text.parse().map(BlockChoice::Hash).map_err(|_| expected());
    }
    if let Some(back) = text.strip_prefix('-') {
        let back: u64 = back.parse().map_err(|_| expected())?;
        let latest = resolve(source, BlockChoice::Latest, true).await?;
        return Ok(BlockChoice::Number(latest.header.number.saturating_sub(back)));
    }
    let number = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    number.map(BlockChoice::Number).map_err(|_| expected())
}

fn proofs(switch: Switch) -> ProofMode {
    match switch {
        Switch::Auto => ProofMode::IfAvailable,
        Switch::On => ProofMode::Required,
        Switch::Off => ProofMode::Never,
    }
}

fn fault(name: &'static str, reason: String) -> StartError {
    StartError::ForkSetting { name, reason }
}

/// The block on which the chain of a folder began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Recorded {
    chain_id: u64,
    number: u64,
    hash: B256,
}

impl Recorded {
    fn read(store: &Store) -> Result<Option<Self>, StartError> {
        let Some(values) = meta::parameters(store.snapshot()?.as_ref(), OWNER)? else {
            return Ok(None);
        };
        let value = |wanted: &str| {
            values.iter().find(|(name, _)| name == wanted).map_or("", |(_, value)| value)
        };
        let damaged = || StorageError::Corrupted("the record of the forked block".to_owned());
        let number = |text: &str| text.parse().map_err(|_| damaged());
        Ok(Some(Self {
            chain_id: number(value(CHAIN))?,
            number: number(value(NUMBER))?,
            hash: value(HASH).parse().map_err(|_| damaged())?,
        }))
    }

    fn write(&self, store: &Store) -> Result<(), StartError> {
        let values = [
            (CHAIN, self.chain_id.to_string()),
            (NUMBER, self.number.to_string()),
            (HASH, self.hash.to_string()),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value)).into();
        let mut out = WriteSet::new();
        meta::put_parameters(&mut out, OWNER, &values);
        Ok(store.writer.commit_blocking(out)?)
    }

    /// This block, unless another one is asked for.
    fn checked(&self, wanted: BlockChoice) -> Result<BlockChoice, StartError> {
        let is_other = match wanted {
            BlockChoice::Number(number) => number != self.number,
            BlockChoice::Hash(hash) => hash != self.hash,
            BlockChoice::Latest | BlockChoice::Safe | BlockChoice::Finalized => false,
        };
        match is_other {
            true => {
                let reason = format!(
                    "the data folder was made on top of block {} ({}): leave it out, or start with another folder",
                    self.number, self.hash
                );
                Err(fault("fork-block", reason))
            }
            false => Ok(BlockChoice::Hash(self.hash)),
        }
    }
}
