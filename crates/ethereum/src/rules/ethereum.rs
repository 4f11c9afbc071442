//! The rules of a chain as a whole.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use esker_evm_execution::rules::{
    BlockPoint, ExecutionRules, ForkConfigs, NextHeader, RuleError, Rules, StorageKeys,
};
use esker_evm_state::types::{Header, SealedHeader};
use serde_json::value::RawValue;

use super::published;
use crate::check::INITIAL_BASE_FEE;
use crate::execution::execution_rules;
use crate::forks::{ChainConfig, Fork};

/// The usual time between two blocks, s.
const SLOT_S: u64 = 12;

/// How far ahead of the clock a block may be, s.
const MAX_FUTURE_S: u64 = 15;

/// As [`MAX_FUTURE_S`], on development networks.
const MAX_DEVELOPMENT_FUTURE_S: u64 = u64::MAX / 2000;

/// Ethereum's rules with the forks of a configuration.
#[derive(Clone, Debug)]
pub struct EthereumRules {
    pub(super) config: ChainConfig,
    /// Header fields of the next block on a development node.
    pub(super) next_header: Option<Arc<NextHeader>>,
    pub(super) is_development: bool,
    has_log_timestamps: bool,
}

impl EthereumRules {
    /// Rules of a chain.
    pub const fn new(config: ChainConfig) -> Self {
        Self { config, next_header: None, is_development: false, has_log_timestamps: true }
    }

    /// The rules of a development chain: control records set the gas limit and the base fee of blocks.
    #[must_use]
    pub fn for_development(self) -> Self {
        Self { is_development: true, ..self }
    }

    /// Decides whether logs show the time of their block, as in the standard.
    #[must_use]
    pub fn with_log_timestamps(self, has_log_timestamps: bool) -> Self {
        Self { has_log_timestamps, ..self }
    }

    /// Adds the header fields that the next block will set.
    #[must_use]
    pub fn with_next_header(self, next: Arc<NextHeader>) -> Self {
        Self { next_header: Some(next), ..self }
    }

    /// The forks.
    pub const fn config(&self) -> &ChainConfig {
        &self.config
    }

    /// The fork of a block.
    pub(super) fn fork(&self, at: &BlockPoint) -> Fork {
        self.config.fork_at(at.number, at.time, at.is_merged)
    }
}

impl Rules for EthereumRules {
    fn chain_id(&self) -> u64 {
        self.config.chain_id
    }

    fn has_log_timestamps(&self) -> bool {
        self.has_log_timestamps
    }

    fn allows_impersonation(&self) -> bool {
        self.is_development
    }

    fn execution_rules(&self, at: &BlockPoint) -> Result<ExecutionRules, RuleError> {
        Ok(self.call_rules(at))
    }

    fn call_rules(&self, at: &BlockPoint) -> ExecutionRules {
        execution_rules(&self.config, self.fork(at))
    }

    fn storage_keys(&self) -> StorageKeys {
        StorageKeys::Whole
    }

    fn fee_recipient(&self) -> Address {
        Address::ZERO
    }

    fn initial_base_fee(&self) -> U256 {
        U256::from(INITIAL_BASE_FEE)
    }

    fn block_interval_s(&self) -> u64 {
        SLOT_S
    }

    fn max_future_s(&self) -> u64 {
        // Blocks in quick succession have a second each, whatever the clock says.
        if self.is_development { MAX_DEVELOPMENT_FUTURE_S } else { MAX_FUTURE_S }
    }

    fn chain_config(&self) -> Box<RawValue> {
        RawValue::from_string(self.config.to_json()).expect("a configuration is written as JSON")
    }

    fn forks(&self, genesis: &SealedHeader, head: &Header) -> ForkConfigs {
        published::forks(&self.config, genesis, head)
    }
}
