//! Networks of one chain of the EVM alone: those of `esker evm`.

use bytes::Bytes;
use esker_ethereum::forks::{ChainConfig, Fork};
use esker_ethereum::genesis::{Genesis, GenesisError};
use esker_ethereum::system::{SystemContract, system_contracts};
use esker_evm_execution::executor::EVM_CHAIN_IDS;
use esker_evm_execution::rules::ExecutionLimits;
use esker_primitives::network::{self, LOCAL_ID};
use esker_xvm::genesis::primary;
use serde_json::{Map, Value};
use thiserror::Error;

use super::coin::Coin;
use super::dev::time_member;
use super::dev_accounts::{DEV_START_TIMES, DEV_TIME_S, DevAccounts, DevError, DevOptions};
use super::parameters::{ChainParameters, EvmParameters};
use super::presets::dev_contracts;
use super::spec::{ChainSpec, Network};
use super::validators::Validators;

/// Name of these networks.
pub const EVM_NETWORK: &str = "evm";
/// Name of the chain.
const CHAIN_NAME: &str = "EVM";
/// The highest number of a genesis block: clients in JavaScript read no higher ones, and blocks follow.
pub const MAX_GENESIS_NUMBER: u64 = (1 << 52) - 1;
/// Its alias.
const ALIAS: &str = "evm";

/// What a chain for development is made of.
#[derive(Clone, Copy, Debug)]
pub struct EvmOptions<'a> {
    /// Its accounts and its start.
    pub dev: DevOptions<'a>,
    /// Further accounts of block 0, as in a genesis file. They replace those with the same address.
    pub alloc: Option<&'a Map<String, Value>>,
    /// Whether block 0 has the CREATE2 deployer.
    pub has_deployer: bool,
    /// Limits of its transactions and code.
    pub limits: ExecutionLimits,
    /// Its EVM chain ID.
    pub chain_id: u64,
    /// The fork whose rules block 0 has.
    pub fork: Fork,
    /// All its forks; `None`: that one.
    pub rules: Option<&'a ChainConfig>,
    /// Gas limit of its blocks.
    pub gas_limit: u64,
    /// Number of its genesis block, at most [`MAX_GENESIS_NUMBER`].
    pub number: u64,
    /// Base fee of its first block, wei; forks before London have none.
    pub base_fee: u64,
}

/// Whether blocks of the fork of this name have a base fee. Without a name it is the newest fork.
pub fn has_base_fee(hardfork: &str) -> bool {
    Fork::from_name(hardfork).map_or(true, |fork| fork >= Fork::London)
}

/// Why a genesis can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EvmNetworkError {
    /// It is no genesis.
    #[error(transparent)]
    Genesis(#[from] GenesisError),
    /// The signatures of old transactions have no room for the chain ID.
    #[error(
        "chainId is {chain_id}, expected {} to {}",
        EVM_CHAIN_IDS.start(),
        EVM_CHAIN_IDS.end()
    )]
    ChainId {
        /// The chain ID.
        chain_id: u64,
    },
}

/// The network of a chain for development.
///
/// # Errors
/// An option can't be had.
pub fn evm_network(options: &EvmOptions<'_>) -> Result<Network, DevError> {
    let accounts = DevAccounts::without_limit(&options.dev)?;
    let start_time_s = options.dev.start_time_s.unwrap_or(DEV_TIME_S);
    if start_time_s > *DEV_START_TIMES.end() {
        return Err(DevError::StartTime { least: 0 });
    }
    let mut config = match options.rules {
        Some(rules) => rules.clone(),
        None => ChainConfig::development(options.chain_id, options.fork),
    };
    config.chain_id = options.chain_id;
    config.limits = options.limits;
    let mut genesis = genesis(options, &config, &accounts, start_time_s);
    if let Some(alloc) = options.alloc {
        genesis = with_accounts(&genesis, alloc);
        Genesis::parse(genesis.as_bytes())?;
    }
    let genesis_number = options.number;
    let parameters = EvmParameters { genesis_number, ..EvmParameters::ethereum(config) };
    let network = alone(genesis.into(), parameters);
    Ok(Network { start_time_s, has_controls: true, dev_accounts: Some(accounts), ..network })
}

/// The network of a chain with this genesis, in geth's format.
///
/// # Errors
/// It is none.
pub fn evm_network_of(genesis: Bytes) -> Result<Network, EvmNetworkError> {
    let parameters = EvmParameters::of_ethereum_genesis(&genesis)?;
    if !EVM_CHAIN_IDS.contains(&parameters.chain_id) {
        return Err(EvmNetworkError::ChainId { chain_id: parameters.chain_id });
    }
    Ok(Network { has_controls: true, ..alone(genesis, parameters) })
}

fn alone(genesis: Bytes, parameters: EvmParameters) -> Network {
    let id = primary::evm_chain_id(LOCAL_ID, CHAIN_NAME, &genesis);
    let chain = ChainSpec {
        id,
        name: CHAIN_NAME.to_owned(),
        aliases: vec![ALIAS.to_owned()],
        genesis,
        parameters: ChainParameters::Evm(Box::new(EvmParameters { coin: Coin::Own, ..parameters })),
    };
    Network {
        name: EVM_NETWORK.to_owned(),
        id: LOCAL_ID,
        hrp: network::hrp(LOCAL_ID),
        start_time_s: 0,
        // Its coin is an asset of no other chain.
        native_asset_id: id,
        chains: vec![chain],
        has_controls: false,
        exported: Vec::new(),
        dev_accounts: None,
        fixture: None,
        validators: Validators::default(),
    }
}

/// The genesis with further accounts, which replace those with the same address.
fn with_accounts(genesis: &str, alloc: &Map<String, Value>) -> String {
    let plain = |address: &String| address.trim_start_matches("0x").to_ascii_lowercase();
    let mut genesis: Value = serde_json::from_str(genesis).expect("the genesis is JSON");
    let own = genesis["alloc"].as_object().into_iter().flatten();
    let all = own.chain(alloc).map(|(address, account)| (plain(address), account.clone()));
    genesis["alloc"] = Value::Object(all.collect());
    genesis.to_string()
}

/// The genesis in geth's format: the same options always give the same bytes.
fn genesis(
    options: &EvmOptions<'_>,
    config: &ChainConfig,
    accounts: &DevAccounts,
    start_time_s: u64,
) -> String {
    let EvmOptions { fork, gas_limit, base_fee, .. } = options;
    let mut alloc = vec![accounts.allocations(), dev_contracts(options.has_deployer).to_owned()];
    alloc.extend(system_contracts(*fork).into_iter().map(|SystemContract { address, code }| {
        format!(r#""{}":{{"balance":"0x0","nonce":"0x1","code":"{code}"}}"#, hex::encode(address))
    }));
    let base_fee = match *fork >= Fork::London {
        true => format!(r#","baseFeePerGas":"{base_fee:#x}""#),
        false => String::new(),
    };
    // A chain without proof of work begins with none.
    let difficulty = u8::from(*fork < Fork::Paris);
    format!(
        r#"{{"config":{},"nonce":"0x0",{},"extraData":"0x","gasLimit":"{gas_limit:#x}","difficulty":"{difficulty:#x}"{base_fee},"alloc":{{{}}}}}"#,
        config.to_json(),
        time_member(start_time_s),
        alloc.join(","),
    )
}
