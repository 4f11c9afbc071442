//! The network of `esker evm`: one chain of the EVM alone, for development or of a genesis file.

use std::path::Path;
use std::time::Duration;

use esker_ethereum::forks::{ChainConfig, Fork};
use esker_evm::control::MAX_INTERVAL_S;
use esker_evm_execution::rules::ExecutionLimits;
use esker_primitives::read_input;
use serde_json::{Map, Value};

use super::dev::{self, Fault};
use super::file::FileLayer;
use super::{ConfigError, Mode, Settings, evm, fork};
use crate::fixture::FixtureSource;
use crate::networks::{
    EvmOptions, MAX_FILE_BYTES, MAX_GENESIS_NUMBER, Network, evm_network, evm_network_of,
    has_base_fee,
};

/// EVM chain ID of a chain for development, as other tools have it.
const CHAIN_ID: u64 = 31_337;
/// Gas limit of its blocks.
const GAS_LIMIT: u64 = 30_000_000;
/// Base fee of its first block, wei.
const BASE_FEE: u64 = 1_000_000_000;
/// The newest fork.
const FORK: Fork = Fork::Osaka;

/// Refuses settings that only `esker evm` has, and those that it has not.
pub(super) fn check(settings: &Settings, mode: Mode) -> Result<(), Fault> {
    let own = [
        ("hardfork", !settings.hardfork.is_empty()),
        ("genesis", settings.genesis.is_some()),
        ("import", settings.import.is_some()),
        ("no-build", settings.no_build),
        ("ipc", settings.ipc.is_some()),
        ("http-further-hosts", !settings.http_further_hosts.0.is_empty()),
        ("temporary-folder", settings.temporary_folder.is_some()),
        ("alloc", settings.alloc.is_some()),
        ("code-size-limit", settings.code_size_limit.is_some()),
        ("no-tx-gas-limit", settings.no_tx_gas_limit),
        ("no-mining", settings.no_mining),
        ("mine-interval", !settings.mine_interval.0.is_zero()),
        ("mixed-mining", settings.mixed_mining),
        ("order-by-arrival", settings.order_by_arrival),
        ("max-block-transactions", settings.max_block_transactions > 0),
        ("no-pool-balance-checks", settings.no_pool_balance_checks),
        ("auto-impersonate", settings.auto_impersonate),
        ("slots-in-an-epoch", settings.slots_in_an_epoch > 0),
        ("print-traces", settings.print_traces),
        ("no-create2-deployer", settings.no_create2_deployer),
        ("state-window", settings.state_window.is_some()),
        ("memory-limit", settings.memory_limit.is_some()),
        ("number", settings.number > 0),
        ("hardhat-answers", settings.hardhat_answers),
        ("anvil-answers", settings.anvil_answers),
        ("refuse-low-fees", settings.refuse_low_fees),
        ("suggested-tip", settings.suggested_tip.is_some()),
    ];
    let foreign = [
        ("real-fees", settings.real_fees),
        ("gas-price", settings.gas_price.is_some() && has_base_fee(&settings.hardfork)),
        ("network-id", !settings.network_id.is_empty()),
    ];
    let of = |given: &[(&'static str, bool)]| {
        given.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name)
    };
    let fault = |name, reason: &str| Err((name, reason.to_owned()));
    match (mode, of(&own), of(&foreign)) {
        (Mode::Evm, _, Some("gas-price")) => {
            fault("gas-price", "only with a hardfork before london: others have a base fee")
        }
        (Mode::Evm, _, Some(name)) => {
            fault(name, "not under esker evm, which runs one chain of Ethereum's rules")
        }
        (Mode::Evm, ..) if settings.network != crate::networks::EVM_NETWORK => {
            fault("network", "esker evm has its own: for another network use esker node")
        }
        (Mode::Evm, ..) => check_together(settings),
        (Mode::Dev | Mode::Node, Some(name), _) => fault(name, "only for esker evm"),
        (Mode::Dev, None, _) => fork::check(settings),
        (Mode::Node, None, _) => fork::check_absent(settings),
    }
}

/// Refuses settings of `esker evm` that don't go together.
fn check_together(settings: &Settings) -> Result<(), Fault> {
    let of_genesis = [
        ("hardfork", !settings.hardfork.is_empty()),
        ("chain-id", settings.chain_id.is_some()),
        ("gas-limit", settings.gas_limit.is_some()),
        ("base-fee", settings.base_fee.is_some()),
        ("timestamp", settings.timestamp.is_some()),
        ("fixture", settings.fixture.is_some()),
        ("alloc", settings.alloc.is_some()),
        ("code-size-limit", settings.code_size_limit.is_some()),
        ("no-tx-gas-limit", settings.no_tx_gas_limit),
        ("no-create2-deployer", settings.no_create2_deployer),
        ("memory-limit", settings.memory_limit.is_some()),
        ("number", settings.number > 0),
    ];
    check_number(settings)?;
    fork::check(settings)?;
    let given =
        of_genesis.into_iter().find(|(_, is_given)| *is_given && settings.genesis.is_some());
    if let Some((name, _)) = given {
        return Err((name, "not with genesis, which says it".to_owned()));
    }
    let of_blocks = [
        ("fixture", settings.fixture.is_some()),
        ("load-state", settings.load_state.is_some()),
        ("state", settings.state.is_some()),
    ];
    if let Some((name, _)) =
        of_blocks.into_iter().find(|(_, is_given)| *is_given && settings.no_build)
    {
        return Err((name, "not with no-build: it takes blocks".to_owned()));
    }
    if settings.import.is_some() && !settings.follow.0.is_empty() {
        return Err(("import", "not with follow: the blocks come from there".to_owned()));
    }
    if settings.temporary_folder.is_some() && settings.data_dir.is_some() {
        return Err(("temporary-folder", "not with data-dir, which is kept".to_owned()));
    }
    if settings.anvil_answers && settings.hardhat_answers {
        let reason = "not with anvil-answers: answers are those of one tool";
        return Err(("hardhat-answers", reason.to_owned()));
    }
    check_mining(settings)?;
    evm::check_values(settings)
}

/// Refuses a number of the first block that is too high, and settings that such a chain can't have.
fn check_number(settings: &Settings) -> Result<(), Fault> {
    if settings.number > MAX_GENESIS_NUMBER {
        return Err(("number", format!("expected at most {MAX_GENESIS_NUMBER}")));
    }
    let of_followers = [
        ("api-sync-enabled", settings.api_sync_enabled),
        ("follow", !settings.follow.0.is_empty()),
    ];
    match of_followers.into_iter().find(|(_, is_given)| *is_given && settings.number > 0) {
        Some((name, _)) => Err((name, "not with number: followers begin with block 0".to_owned())),
        None => Ok(()),
    }
}

/// Refuses settings of how blocks are made that don't go together.
fn check_mining(settings: &Settings) -> Result<(), Fault> {
    let interval = settings.mine_interval.0;
    let of_controls = [
        ("no-mining", settings.no_mining),
        ("mine-interval", !interval.is_zero()),
        ("auto-impersonate", settings.auto_impersonate),
    ];
    let given = of_controls.into_iter().find(|(_, is_given)| *is_given && settings.no_build);
    if let Some((name, _)) = given {
        return Err((name, "not with no-build: the chain has no controls".to_owned()));
    }
    if settings.no_mining && !interval.is_zero() {
        return Err(("mine-interval", "not with no-mining".to_owned()));
    }
    if settings.mixed_mining && interval.is_zero() {
        return Err(("mixed-mining", "only together with mine-interval".to_owned()));
    }
    if interval > Duration::from_secs(MAX_INTERVAL_S) {
        let text = format!("expected at most {MAX_INTERVAL_S} s");
        return Err(("mine-interval", text));
    }
    Ok(())
}

/// Refuses tables that declare further chains.
pub(super) fn check_tables(file: &FileLayer) -> Result<(), ConfigError> {
    match file.chains.iter().find(|(_, table)| table.values.contains_key("vm")) {
        Some((name, table)) => Err(ConfigError::Value {
            origin: table.origin.clone(),
            key: format!("chains.{name}"),
            reason: "esker evm runs one chain: use esker node".to_owned(),
        }),
        None => Ok(()),
    }
}

/// The network, and the fixture that it is to have. `rules` are those of the chain on whose block it begins.
pub(super) fn network(
    settings: &mut Settings,
    rules: Option<&ChainConfig>,
    is_given: impl Fn(&str) -> bool,
) -> Result<(Network, Option<FixtureSource>), Fault> {
    if let Some(path) = &settings.genesis {
        let network = of_file(path, &is_given)?;
        let has_controls = !settings.no_build;
        return Ok((Network { has_controls, ..network }, None));
    }
    let fork = match settings.hardfork.as_str() {
        "" => rules.map_or(FORK, ChainConfig::first_fork),
        name => Fork::from_name(name).map_err(|error| ("hardfork", error.to_string()))?,
    };
    let fixture = settings.fixture.as_deref().map(FixtureSource::load).transpose();
    let fixture = fixture.map_err(dev::fixture_fault)?;
    let dev = match &fixture {
        Some(fixture) => fixture.options(dev::given_options(settings, is_given)),
        None => dev::options(settings),
    };
    let alloc = settings.alloc.as_deref().map(alloc_of).transpose()?;
    let code_size = settings.code_size_limit;
    let options = EvmOptions {
        alloc: alloc.as_ref(),
        has_deployer: !settings.no_create2_deployer,
        limits: ExecutionLimits {
            lifts_tx_gas: settings.no_tx_gas_limit,
            code_size: code_size.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            memory: settings.memory_limit,
        },
        dev,
        chain_id: settings.chain_id.unwrap_or(CHAIN_ID),
        fork,
        rules,
        gas_limit: settings.gas_limit.unwrap_or(GAS_LIMIT),
        number: settings.number,
        base_fee: settings.base_fee.unwrap_or(BASE_FEE),
    };
    let network = evm_network(&options);
    let network = network.map_err(|error| (dev::setting_of(&error), error.to_string()))?;
    if let Some(fixture) = &fixture {
        settings.timestamp = settings.timestamp.or(fixture.timestamp());
    }
    let has_controls = !settings.no_build;
    Ok((Network { has_controls, ..network }, fixture))
}

/// The accounts of a file in the format of a genesis.
fn alloc_of(path: &Path) -> Result<Map<String, Value>, Fault> {
    let fault = |reason: String| ("alloc", format!("{}: {reason}", path.display()));
    let bytes = read_input(path, MAX_FILE_BYTES).map_err(|error| fault(error.to_string()))?;
    let mut file: Value =
        serde_json::from_slice(&bytes).map_err(|error| fault(error.to_string()))?;
    match file.get_mut("alloc").map(Value::take) {
        Some(Value::Object(accounts)) => Ok(accounts),
        _ => Err(fault("expected an object with the accounts in its member alloc".to_owned())),
    }
}

/// The network of a genesis file, which has its own accounts.
fn of_file(path: &Path, is_given: impl Fn(&str) -> bool) -> Result<Network, Fault> {
    let own = ["accounts", "balance", "mnemonic", "derivation-path"];
    if let Some(name) = own.into_iter().find(|name| is_given(name)) {
        return Err((name, "not with genesis, which has its own accounts".to_owned()));
    }
    let fault = |reason: String| ("genesis", format!("{}: {reason}", path.display()));
    let bytes = read_input(path, MAX_FILE_BYTES).map_err(|error| fault(error.to_string()))?;
    evm_network_of(bytes.into()).map_err(|error| fault(error.to_string()))
}
