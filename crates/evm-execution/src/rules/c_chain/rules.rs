//! The rules of a network's C-Chain.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use esker_evm_state::types::{Header, SealedHeader};
use serde_json::value::{RawValue, to_raw_value};

use super::addresses::BLACKHOLE;
use super::block_gas_cost::TARGET_BLOCK_RATE_S;
use super::config::ChainConfig;
use super::fee_error::FeeRuleError;
use super::phase::{Phase, PhaseRules};
use super::published;
use super::schedule::ForkSchedule;
use super::syntactic::MAX_FUTURE_S;
use super::window::INITIAL_BASE_FEE;
use crate::rules::block_point::BlockPoint;
use crate::rules::dialect::Dialect;
use crate::rules::error::RuleError;
use crate::rules::execution::{ExecutionRules, StorageKeys};
use crate::rules::header_terms::NextHeader;
use crate::rules::interface::Rules;
use crate::rules::published::ForkConfigs;

/// Constants of a network file that replace those of all phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeeOverrides {
    /// Gas limit of blocks.
    pub gas_limit: Option<u64>,
    /// Target gas of the fee window.
    pub target_gas: Option<u64>,
    /// Minimum base fee, wei; also the base fee of the first block.
    pub min_base_fee: Option<u64>,
    /// Block gas cost for each second that a block is too early; 0 makes blocks in quick succession free.
    pub block_gas_cost_step: Option<u64>,
}

/// The C-Chain's rules.
#[derive(Clone, Debug)]
pub struct CChainRules {
    /// Header fields of the next block on a development node.
    pub(super) next_header: Option<Arc<NextHeader>>,
    chain_id: u64,
    pub(super) schedule: ForkSchedule,
    pub(super) overrides: FeeOverrides,
    is_development: bool,
    has_log_timestamps: bool,
}

impl CChainRules {
    /// Rules of a network.
    pub const fn new(chain_id: u64, schedule: ForkSchedule, overrides: FeeOverrides) -> Self {
        Self {
            next_header: None,
            chain_id,
            schedule,
            overrides,
            is_development: false,
            has_log_timestamps: false,
        }
    }

    /// The rules of a development network.
    #[must_use]
    pub fn for_development(self) -> Self {
        Self { is_development: true, ..self }
    }

    /// Decides whether logs show the time of their block. The reference's don't.
    #[must_use]
    pub fn with_log_timestamps(self, has_log_timestamps: bool) -> Self {
        Self { has_log_timestamps, ..self }
    }

    /// Adds the header fields that the next block will set.
    #[must_use]
    pub fn with_next_header(self, next: Arc<NextHeader>) -> Self {
        Self { next_header: Some(next), ..self }
    }

    /// The times at which phases begin.
    pub const fn schedule(&self) -> &ForkSchedule {
        &self.schedule
    }

    /// The rules at a time in Unix s.
    pub fn phase_at(&self, time: u64) -> Result<PhaseRules, FeeRuleError> {
        let phase = self.schedule.phase_at(time).ok_or(FeeRuleError::BeforeApricot5(time))?;
        let mut rules = phase.rules();
        let FeeOverrides { gas_limit, target_gas, min_base_fee, block_gas_cost_step } =
            self.overrides;
        rules.gas_limit = gas_limit.unwrap_or(rules.gas_limit);
        rules.target_gas = target_gas.unwrap_or(rules.target_gas);
        rules.min_base_fee = min_base_fee.unwrap_or(rules.min_base_fee);
        rules.block_gas_cost_step = block_gas_cost_step.unwrap_or(rules.block_gas_cost_step);
        Ok(rules)
    }
}

impl Rules for CChainRules {
    fn chain_id(&self) -> u64 {
        self.chain_id
    }

    fn dialect(&self) -> Dialect {
        Dialect::Reference
    }

    fn has_log_timestamps(&self) -> bool {
        self.has_log_timestamps
    }

    fn allows_impersonation(&self) -> bool {
        self.is_development
    }

    fn execution_rules(&self, at: &BlockPoint) -> Result<ExecutionRules, RuleError> {
        Ok(self.phase_at(at.time)?.execution)
    }

    fn call_rules(&self, at: &BlockPoint) -> ExecutionRules {
        // The genesis of the public networks is older than all known phases.
        let phase = self.phase_at(at.time);
        phase.unwrap_or_else(|_| Phase::Apricot5.rules()).execution
    }

    fn storage_keys(&self) -> StorageKeys {
        StorageKeys::Separated
    }

    fn fee_recipient(&self) -> Address {
        BLACKHOLE
    }

    fn initial_base_fee(&self) -> U256 {
        U256::from(self.overrides.min_base_fee.unwrap_or(INITIAL_BASE_FEE))
    }

    fn block_interval_s(&self) -> u64 {
        TARGET_BLOCK_RATE_S
    }

    fn max_future_s(&self) -> u64 {
        MAX_FUTURE_S
    }

    fn chain_config(&self) -> Box<RawValue> {
        let config = ChainConfig::new(self.chain_id, &self.schedule);
        to_raw_value(&config).expect("numbers and texts have a JSON form")
    }

    fn forks(&self, genesis: &SealedHeader, head: &Header) -> ForkConfigs {
        published::forks(&self.schedule, genesis, head.time)
    }
}
