//! Chain parameters. All nodes of a network have the same ones, because validity depends on them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::U256;
use esker_ethereum::forks::ChainConfig;
use esker_ethereum::genesis::{Genesis as EthereumGenesis, GenesisError as EthereumGenesisError};
use esker_evm_execution::genesis::{FORK_NAMES, Genesis, GenesisConfig, GenesisError};
use esker_evm_execution::rules::{ExecutionLimits, FeeOverrides, ForkSchedule, Phase};
use esker_primitives::network;
use serde_json::Value;

use super::coin::Coin;
use super::vm::Vm;

/// The name of a parameter, a setting or a member of a genesis, and its value.
pub type Parameter = (Cow<'static, str>, String);

/// Fees of an asset-VM chain, in nano-units of its fee asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fees {
    /// Fee of a transaction.
    pub tx_fee: u64,
    /// Fee of a transaction that creates an asset, instead of `tx_fee`.
    pub create_asset_tx_fee: u64,
}

impl Fees {
    /// The fees of a network (docs/protocol/x-chain-rules.md, "Fees").
    pub const fn of_network(network_id: u32) -> Self {
        let create_asset_tx_fee = match network_id {
            network::MAIN_ID | network::TEST_ID => 10_000_000,
            _ => 1_000_000,
        };
        Self { tx_fee: 1_000_000, create_asset_tx_fee }
    }
}

/// The parameters of a chain. Validity of blocks depends on them and on the genesis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainParameters {
    /// An asset-VM chain.
    Xvm(Fees),
    /// An EVM chain.
    Evm(Box<EvmParameters>),
}

/// The parameters of an EVM chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvmParameters {
    /// Chain ID of transactions (EIP-155).
    pub chain_id: u64,
    /// The rules of its blocks.
    pub rules: EvmRules,
    /// What its coin is to other chains.
    pub coin: Coin,
    /// Number of its genesis block; not 0 only on chains for development.
    pub genesis_number: u64,
}

/// The rules of an EVM chain's blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvmRules {
    /// The C-Chain's.
    CChain {
        /// Start times of the phases.
        schedule: ForkSchedule,
        /// Overrides of fee constants.
        fees: FeeOverrides,
    },
    /// Ethereum's, with this configuration of the genesis.
    Ethereum(Arc<ChainConfig>),
}

impl EvmParameters {
    /// Those of a chain with Ethereum's rules, whose coin is its own.
    pub fn ethereum(config: ChainConfig) -> Self {
        let chain_id = config.chain_id;
        let rules = EvmRules::Ethereum(Arc::new(config));
        Self { chain_id, rules, coin: Coin::Own, genesis_number: 0 }
    }

    /// Those of a genesis in geth's format.
    ///
    /// # Errors
    /// The JSON is not a genesis, or its forks are impossible.
    pub fn of_ethereum_genesis(json: &[u8]) -> Result<Self, EthereumGenesisError> {
        EthereumGenesis::parse(json).map(|genesis| Self::ethereum(genesis.config))
    }

    /// The parameters of a JSON genesis, with the usual fees and the native asset as coin.
    ///
    /// # Errors
    /// The JSON is not a genesis.
    pub fn of_genesis(json: &[u8]) -> Result<Self, GenesisError> {
        let config = GenesisConfig::parse(json)?;
        let (chain_id, schedule) = (config.chain_id, config.schedule()?);
        let rules = EvmRules::CChain { schedule, fees: FeeOverrides::default() };
        Ok(Self { chain_id, rules, coin: Coin::Native, genesis_number: 0 })
    }

    /// The sum of all balances in a genesis of these rules, wei; zero if the JSON is not a genesis.
    pub fn genesis_wei(&self, json: &[u8]) -> U256 {
        let genesis = match self.rules {
            EvmRules::CChain { .. } => Genesis::parse(json).ok(),
            EvmRules::Ethereum(_) => EthereumGenesis::parse(json).ok().map(|found| found.fields),
        };
        let accounts = genesis.map(|genesis| genesis.alloc).unwrap_or_default();
        let balances = accounts.values().map(|account| account.balance);
        balances.fold(U256::ZERO, U256::saturating_add)
    }

    /// The overrides of the C-Chain's fee constants; none under other rules.
    pub fn fees(&self) -> FeeOverrides {
        match self.rules {
            EvmRules::CChain { fees, .. } => fees,
            EvmRules::Ethereum(_) => FeeOverrides::default(),
        }
    }

    /// Sets the overrides of the C-Chain's fee constants. Other rules have none.
    pub fn set_fees(&mut self, overrides: FeeOverrides) {
        match &mut self.rules {
            EvmRules::CChain { fees, .. } => *fees = overrides,
            EvmRules::Ethereum(_) => {}
        }
    }

    /// Whether assets come from other chains and go there, by transactions in the blocks' ext data.
    pub const fn has_atomic_transactions(&self) -> bool {
        match self.rules {
            EvmRules::CChain { .. } => true,
            EvmRules::Ethereum(_) => false,
        }
    }

    /// Whether a node keeps all states unless it is told.
    pub const fn is_archive_by_default(&self) -> bool {
        match self.rules {
            EvmRules::CChain { .. } => false,
            EvmRules::Ethereum(_) => true,
        }
    }

    /// Whether a block soon after the one before costs more.
    pub fn charges_quick_blocks(&self) -> bool {
        match self.rules {
            EvmRules::CChain { fees, .. } => fees.block_gas_cost_step != Some(0),
            EvmRules::Ethereum(_) => false,
        }
    }

    /// When a phase of the C-Chain begins, Unix s; `None` under other rules.
    pub const fn phase_begins(&self, phase: Phase) -> Option<u64> {
        match &self.rules {
            EvmRules::CChain { schedule, .. } => Some(schedule.begins(phase)),
            EvmRules::Ethereum(_) => None,
        }
    }

    fn values(&self) -> Vec<Parameter> {
        let mut values = vec![("chain-id".into(), self.chain_id.to_string())];
        values.extend(self.rules.values());
        let number = Some(self.genesis_number).filter(|number| *number > 0);
        values.extend(number.map(|number| ("number".into(), number.to_string())));
        values.extend(self.coin.values().into_iter().map(|(name, value)| (name.into(), value)));
        values
    }
}

impl EvmRules {
    fn values(&self) -> Vec<Parameter> {
        match self {
            Self::CChain { schedule, fees } => c_chain_values(*schedule, *fees),
            Self::Ethereum(config) => ethereum_values(config),
        }
    }
}

/// The rules, and the members of the configuration.
fn ethereum_values(config: &ChainConfig) -> Vec<Parameter> {
    let members: BTreeMap<String, Value> =
        serde_json::from_str(&config.to_json()).expect("the configuration is written as JSON");
    let mut values = vec![("rules".into(), "ethereum".to_owned())];
    let others = members.into_iter().filter(|(name, _)| name != "chainId");
    values.extend(others.map(|(name, value)| (name.into(), value.to_string())));
    let ExecutionLimits { lifts_tx_gas, code_size, memory } = config.limits;
    values.extend(memory.map(|bytes| ("memory-limit".into(), bytes.to_string())));
    values.extend(code_size.map(|bytes| ("code-size-limit".into(), bytes.to_string())));
    values.extend(lifts_tx_gas.then(|| ("no-tx-gas-limit".into(), "true".to_owned())));
    values
}

fn c_chain_values(schedule: ForkSchedule, fees: FeeOverrides) -> Vec<Parameter> {
    // Destructured, so that a new field can't be forgotten here.
    let FeeOverrides { gas_limit, target_gas, min_base_fee, block_gas_cost_step } = fees;
    let fee = |value: Option<u64>| value.map_or_else(|| "default".to_owned(), |n| n.to_string());
    let mut values = vec![
        ("gas-limit".into(), fee(gas_limit)),
        ("target-gas".into(), fee(target_gas)),
        ("min-base-fee".into(), fee(min_base_fee)),
        ("block-gas-cost-step".into(), fee(block_gas_cost_step)),
    ];
    let ForkSchedule { history, phases } = schedule;
    let times = history.into_iter().chain(phases).map(|time| time.to_string());
    values.extend(FORK_NAMES.into_iter().map(Cow::from).zip(times));
    values
}

impl ChainParameters {
    /// The virtual machine.
    pub const fn vm(&self) -> Vm {
        match self {
            Self::Xvm(_) => Vm::Xvm,
            Self::Evm(_) => Vm::Evm,
        }
    }

    /// The fees of an asset-VM chain.
    pub const fn xvm(&self) -> Option<&Fees> {
        match self {
            Self::Xvm(fees) => Some(fees),
            Self::Evm(_) => None,
        }
    }

    /// The parameters of an EVM chain.
    pub const fn evm(&self) -> Option<&EvmParameters> {
        match self {
            Self::Xvm(_) => None,
            Self::Evm(parameters) => Some(parameters),
        }
    }

    /// The values, by name of the setting or of the genesis member, in a fixed order.
    pub fn values(&self) -> Vec<Parameter> {
        match self {
            Self::Xvm(Fees { tx_fee, create_asset_tx_fee }) => vec![
                ("tx-fee".into(), tx_fee.to_string()),
                ("create-asset-tx-fee".into(), create_asset_tx_fee.to_string()),
            ],
            Self::Evm(parameters) => parameters.values(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_a_name_of_its_own() {
        let evm = EvmParameters {
            chain_id: 7,
            rules: EvmRules::CChain {
                schedule: ForkSchedule::MAIN,
                fees: FeeOverrides { gas_limit: Some(8), ..FeeOverrides::default() },
            },
            coin: Coin::Native,
            genesis_number: 9,
        };
        let values = ChainParameters::Evm(Box::new(evm)).values();
        let names: std::collections::BTreeSet<_> = values.iter().map(|(name, _)| name).collect();
        assert_eq!((values.len(), names.len()), (19, 19));
        assert_eq!(values[0], ("chain-id".into(), "7".to_owned()));
        assert_eq!(values[1], ("gas-limit".into(), "8".to_owned()));
        assert_eq!(values[2], ("target-gas".into(), "default".to_owned()));
        assert_eq!(values[17], ("fortunaTimestamp".into(), "1744124400".to_owned()));
    }

    #[test]
    fn a_genesis_names_its_own() {
        let json = br#"{"config":{"chainId":9,"fortunaTimestamp":11e11}}"#;
        EvmParameters::of_genesis(json).unwrap_err();
        let json = br#"{"config":{"chainId":9,"fortunaTimestamp":2000000000},"alloc":{"ab":7}}"#;
        let parameters = EvmParameters::of_genesis(json).unwrap();
        assert_eq!(parameters.chain_id, 9);
        let EvmRules::CChain { schedule, .. } = parameters.rules else { panic!("the C-Chain's") };
        assert_eq!(schedule.phases[8], 2_000_000_000);
        assert_eq!(schedule.phases[7], ForkSchedule::LOCAL.phases[7]);
        EvmParameters::of_genesis(b"{}").unwrap_err();
    }
}
