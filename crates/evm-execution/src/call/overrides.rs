//! Overrides of the state and the block of a call.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256};

use super::{CHANGES_BETWEEN_CHECKS, CallEnv, CallError, CallLimits};
use crate::executor::{BlockContext, StateOverlay};
use crate::rules::{BlockPoint, StorageKeys};

/// Overrides of accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateOverrides(pub BTreeMap<Address, AccountOverride>);

/// Overrides of one account. Code of a precompiled contract has no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountOverride {
    /// Wei.
    pub balance: Option<U256>,
    /// Nonce.
    pub nonce: Option<u64>,
    /// Code.
    pub code: Option<Bytes>,
    /// Its whole storage.
    pub state: Option<BTreeMap<B256, B256>>,
    /// Some of its storage.
    pub state_diff: Option<BTreeMap<B256, B256>>,
}

impl StateOverrides {
    /// Applies the overrides. An earlier checkpoint does not take them back.
    pub fn apply(
        &self,
        keys: StorageKeys,
        state: &mut StateOverlay<'_>,
        limits: &CallLimits<'_>,
    ) -> Result<(), CallError> {
        let mut changes = 0_usize;
        let mut count = || {
            changes += 1;
            if changes.is_multiple_of(CHANGES_BETWEEN_CHECKS) { limits.check() } else { Ok(()) }
        };
        for (address, account) in &self.0 {
            count()?;
            if let Some(nonce) = account.nonce {
                state.set_nonce(*address, nonce)?;
            }
            if let Some(code) = &account.code {
                state.set_code(*address, code.clone())?;
            }
            if let Some(balance) = account.balance {
                state.set_balance(*address, balance)?;
            }
            if account.state.is_some() && account.state_diff.is_some() {
                return Err(CallError::BothStates(*address));
            }
            if account.state.is_some() {
                state.wipe(*address)?;
            }
            for (key, value) in account.state.iter().chain(&account.state_diff).flatten() {
                count()?;
                let slot = keys.slot(U256::from_be_bytes(key.0));
                state.set_slot(*address, slot, U256::from_be_bytes(value.0))?;
            }
            state.forget_checkpoints();
        }
        Ok(())
    }
}

/// Overrides of the block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockOverrides {
    /// NUMBER. It also selects the rules.
    pub number: Option<U256>,
    /// DIFFICULTY.
    pub difficulty: Option<U256>,
    /// TIMESTAMP, Unix s. It also selects the rules.
    pub time: Option<u64>,
    /// GASLIMIT.
    pub gas_limit: Option<u64>,
    /// COINBASE.
    pub coinbase: Option<Address>,
    /// BASEFEE, wei.
    pub base_fee: Option<U256>,
    /// BLOBBASEFEE, wei.
    pub blob_base_fee: Option<U256>,
}

impl BlockOverrides {
    /// The block of an environment with these overrides.
    pub fn apply(&self, env: &CallEnv<'_>) -> BlockContext {
        let block = env.block.clone();
        let usual = block.point();
        let number = self.number.map_or(usual.number, |number| number.saturating_to());
        let point = BlockPoint { number, time: self.time.unwrap_or(usual.time), ..usual };
        let rules = match point == usual {
            true => block.rules,
            false => env.chain.rules.call_rules(&point),
        };
        BlockContext {
            number: self.number.unwrap_or(block.number),
            difficulty: self.difficulty.unwrap_or(block.difficulty),
            time: self.time.unwrap_or(block.time),
            gas_limit: self.gas_limit.unwrap_or(block.gas_limit),
            coinbase: self.coinbase.unwrap_or(block.coinbase),
            base_fee: self.base_fee.unwrap_or(block.base_fee),
            blob_base_fee: self.blob_base_fee.unwrap_or(block.blob_base_fee),
            rules,
        }
    }
}
