//! The settings of `esker evm` that follow from anvil's flags.

use std::path::{Path, PathBuf};
use std::time::Duration;

use esker_settings::config::value::PathList;
use esker_settings::config::{Flags, MAX_BACKOFF, MAX_TIMEOUT};
use esker_settings::networks::{GAS_LIMITS, has_base_fee};

use super::error::FlagError;
use super::flags::{AnvilFlags, ForkFlags, GasFlags, MiningFlags, Order, ServerFlags};
use super::init::InitFile;
use super::mnemonic;

/// Anvil's gas price of chains before London, wei.
const GAS_PRICE: u64 = 1_875_000_000;
/// The least tip that anvil and Hardhat suggest, wei.
pub(crate) const SUGGESTED_TIP: &str = "1000000000";
/// Most states that anvil keeps in memory besides those on disk.
const MEMORY_STATES: u64 = 500;

/// Bytes of all requests in memory by default (`http-body-memory`), which limit one in any case.
const BODY_MEMORY: u64 = 256 << 20;

/// The settings.
///
/// # Errors
/// A flag can't be used here.
pub(super) fn of(flags: &AnvilFlags) -> Result<Flags, FlagError> {
    let mut set = Flags::new();
    set.insert("evm-port", flags.port.to_string());
    set.insert("accounts", flags.accounts.to_string());
    set.insert("balance", flags.balance.to_string());
    let mnemonic = match (flags.mnemonic_random, flags.mnemonic_seed_unsafe) {
        (Some(words), _) => Some(mnemonic::random(words)?),
        (None, Some(seed)) => Some(mnemonic::of_seed(seed)),
        (None, None) => flags.mnemonic.clone(),
    };
    insert(&mut set, "mnemonic", mnemonic);
    insert(&mut set, "derivation-path", flags.derivation_path.clone());
    // The newest fork is that of `esker evm` without a name.
    let hardfork = flags.hardfork.clone().filter(|name| !name.eq_ignore_ascii_case("latest"));
    insert(&mut set, "hardfork", hardfork);
    insert_number(&mut set, "timestamp", flags.timestamp);
    // The blocks of a fork follow those of its source.
    let number = flags.mining.number.filter(|_| !flags.fork.is_given());
    insert_number(&mut set, "number", number);
    insert_number(&mut set, "chain-id", flags.chain_id);
    insert_gas(&mut set, &flags.gas);
    if let Some(file) = &flags.init {
        insert_init(&mut set, file)?;
    }
    insert_fork(&mut set, &flags.fork);
    insert_mining(&mut set, &flags.mining);
    insert_state(&mut set, flags)?;
    insert_server(&mut set, &flags.server)?;
    Ok(set)
}

fn insert(set: &mut Flags, name: &'static str, text: Option<String>) {
    set.extend(text.map(|text| (name, text)));
}

fn insert_number(set: &mut Flags, name: &'static str, number: Option<u64>) {
    insert(set, name, number.map(|number| number.to_string()));
}

fn insert_switch(set: &mut Flags, name: &'static str, is_on: bool) {
    insert(set, name, is_on.then(|| "true".to_owned()));
}

fn insert_path(set: &mut Flags, name: &'static str, path: Option<&Path>) -> Result<(), FlagError> {
    let Some(path) = path else { return Ok(()) };
    let text = path.to_str().ok_or_else(|| FlagError::Path(path.to_owned()))?;
    set.insert(name, text.to_owned());
    Ok(())
}

fn insert_gas(set: &mut Flags, gas: &GasFlags) {
    let highest = gas.disable_block_gas_limit.then_some(*GAS_LIMITS.end());
    insert_number(set, "gas-limit", gas.gas_limit.or(highest));
    insert_number(set, "base-fee", gas.block_base_fee_per_gas);
    insert_number(set, "memory-limit", gas.memory_limit);
    insert_switch(set, "no-create2-deployer", gas.disable_default_create2_deployer);
    // Other forks have a base fee, and anvil does not use the price then either.
    let has_price = set.get("hardfork").is_some_and(|name| !has_base_fee(name));
    insert_number(set, "gas-price", has_price.then(|| gas.gas_price.unwrap_or(GAS_PRICE)));
    let tip = (!has_price && !gas.disable_min_priority_fee).then(|| SUGGESTED_TIP.to_owned());
    insert(set, "suggested-tip", tip);
    let unlimited = gas.disable_code_size_limit.then_some(u64::MAX);
    insert_number(set, "code-size-limit", gas.code_size_limit.or(unlimited));
    insert_switch(set, "no-tx-gas-limit", !gas.enable_tx_gas_limit);
}

/// Anvil's estimate of the compute units of a call.
const UNITS_PER_CALL: u64 = 17;

/// The fork: a block in the URL goes before the flag.
fn insert_fork(set: &mut Flags, fork: &ForkFlags) {
    insert(set, "fork-from", fork.fork_from.as_ref().map(|path| path.display().to_string()));
    let Some(url) = &fork.fork_url else { return };
    let (url, block) = match url.rsplit_once('@') {
        Some((url, block)) if block.parse::<u64>().is_ok() => (url, Some(block.to_owned())),
        _ => (url.as_str(), None),
    };
    set.insert("fork-url", url.to_owned());
    let number = fork.fork_block_number.map(|number| number.to_string());
    insert(set, "fork-block", block.or(number));
    let headers = Some(fork.fork_header.join("\n")).filter(|headers| !headers.is_empty());
    insert(set, "fork-header", headers);
    insert_number(set, "fork-retries", fork.retries);
    let units = fork.compute_units_per_second.filter(|_| !fork.no_rate_limit);
    insert_number(set, "fork-rate", units.map(|units| units.div_ceil(UNITS_PER_CALL)));
    let time = |ms: Option<u64>, most: Duration| {
        ms.map(|ms| format!("{}ms", u128::from(ms.max(1)).min(most.as_millis())))
    };
    insert(set, "fork-timeout", time(fork.timeout, MAX_TIMEOUT));
    insert(set, "fork-backoff", time(fork.fork_retry_backoff, MAX_BACKOFF));
    insert(set, "fork-cache", fork.no_storage_caching.then(|| "off".to_owned()));
    if let Some(id) = fork.fork_chain_id {
        set.entry("chain-id").or_insert_with(|| id.to_string());
    }
}

/// Flags go before members of the file.
fn insert_init(set: &mut Flags, path: &Path) -> Result<(), FlagError> {
    let InitFile { chain_id, timestamp, base_fee } = InitFile::read(path)?;
    insert_path(set, "alloc", Some(path))?;
    let members = [("chain-id", chain_id), ("timestamp", timestamp), ("base-fee", base_fee)];
    for (name, number) in members {
        if !set.contains_key(name) {
            insert_number(set, name, number);
        }
    }
    Ok(())
}

fn insert_mining(set: &mut Flags, mining: &MiningFlags) {
    let interval = mining.block_time.map(|time| format!("{}ms", time.as_millis().max(1)));
    insert(set, "mine-interval", interval);
    insert_switch(set, "no-mining", mining.no_mining);
    insert_switch(set, "refuse-low-fees", true);
    insert_switch(set, "anvil-answers", true);
    insert_switch(set, "mixed-mining", mining.mixed_mining);
    insert_switch(set, "order-by-arrival", mining.order == Order::Fifo);
    insert_switch(set, "auto-impersonate", mining.auto_impersonate);
    insert_switch(set, "no-pool-balance-checks", mining.disable_pool_balance_checks);
    insert_number(set, "max-block-transactions", mining.max_transactions);
    insert_number(set, "slots-in-an-epoch", Some(mining.slots_in_an_epoch));
}

fn insert_state(set: &mut Flags, flags: &AnvilFlags) -> Result<(), FlagError> {
    let state = &flags.state;
    insert_path(set, "state", state.state.as_deref())?;
    insert_path(set, "dump-state", state.dump_state.as_deref())?;
    insert_path(set, "load-state", state.load_state.as_deref())?;
    insert_path(set, "temporary-folder", state.cache_path.as_deref())?;
    let pruned = state.prune_history.map(Option::unwrap_or_default);
    let persisted = state.max_persisted_states.map(|states| states.saturating_add(MEMORY_STATES));
    // A fork keeps all its states.
    let window = pruned.or(persisted).filter(|_| !flags.fork.is_given());
    insert_number(set, "state-window", window);
    let is_written = state.state.is_some() || state.dump_state.is_some();
    insert_number(set, "state-interval", state.state_interval.filter(|_| is_written));
    let with_states = state.preserve_historical_states && is_written;
    insert_switch(set, "preserve-historical-states", with_states);
    Ok(())
}

/// The folders of artifacts, if there are any.
pub(crate) fn insert_artifacts(set: &mut Flags, folders: &[PathBuf]) {
    if !folders.is_empty() {
        let texts: Vec<_> =
            folders.iter().map(|folder| PathList::escape(&folder.display().to_string())).collect();
        set.insert("artifacts", texts.join(","));
    }
}

fn insert_server(set: &mut Flags, server: &ServerFlags) -> Result<(), FlagError> {
    let mut hosts = server.host.iter().map(ToString::to_string);
    insert(set, "http-host", hosts.next());
    let further: Vec<_> = hosts.collect();
    insert(set, "http-further-hosts", (!further.is_empty()).then(|| further.join(",")));
    let origins = if server.no_cors { "" } else { server.allow_origin.as_str() };
    set.insert("http-allowed-origins", origins.to_owned());
    let most = server.no_request_size_limit.then_some(BODY_MEMORY);
    insert_number(set, "http-body-limit", most);
    insert_number(set, "threads", server.threads);
    insert_switch(set, "silent", server.quiet);
    insert_switch(set, "no-console", server.disable_console_log);
    insert_switch(set, "print-traces", server.print_traces);
    insert_artifacts(set, &server.artifacts);
    insert_path(set, "ipc", server.ipc_path().as_deref())
}
