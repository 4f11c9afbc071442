//! Overrides of simulated blocks.

use std::collections::BTreeMap;

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, U256};

use super::SimulateError;
use crate::call::{CallLimits, StateOverrides};
use crate::executor::{MovedPrecompiles, StateOverlay};
use crate::rules::ExecutionRules;

/// Overrides of a simulated header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderOverrides {
    /// Height.
    pub number: Option<U256>,
    /// Time, Unix s. It also selects the rules.
    pub time: Option<u64>,
    /// DIFFICULTY, unless `prev_randao` is given.
    pub difficulty: Option<U256>,
    /// Gas limit of the block and the later ones.
    pub gas_limit: Option<u64>,
    /// Recipient of the fees of the block and the later ones.
    pub fee_recipient: Option<Address>,
    /// The result of DIFFICULTY, and the header's `mixHash`.
    pub prev_randao: Option<B256>,
    /// Base fee, wei a gas.
    pub base_fee: Option<U256>,
    /// BLOBBASEFEE, wei.
    pub blob_base_fee: Option<U256>,
    /// The parent's beacon root.
    pub beacon_root: Option<B256>,
    /// Withdrawals of validators.
    pub withdrawals: Option<Vec<Withdrawal>>,
}

/// Overrides of the state before the calls of a simulated block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedState {
    /// Accounts.
    pub accounts: StateOverrides,
    /// Moved precompiled contracts, and their addresses in this block.
    pub moves: BTreeMap<Address, Address>,
}

impl SimulatedState {
    /// Applies the overrides. Returns the addresses of the precompiled contracts. A contract whose account has
    /// overrides is not precompiled in this block.
    pub(super) fn apply(
        &self,
        execution: &ExecutionRules,
        state: &mut StateOverlay<'_>,
        limits: &CallLimits<'_>,
    ) -> Result<MovedPrecompiles, SimulateError> {
        let mut moved = MovedPrecompiles::default();
        for from in self.accounts.0.keys() {
            let is_precompile = moved.has(execution, *from);
            if let Some(to) = self.moves.get(from) {
                if from == to {
                    return Err(SimulateError::MovedToItself);
                }
                if !is_precompile {
                    return Err(SimulateError::NotPrecompile(*from));
                }
                if self.accounts.0.contains_key(to) {
                    return Err(SimulateError::Overridden(*to));
                }
                moved.put(*from, *to);
            }
            if is_precompile {
                moved.take(*from);
            }
        }
        self.accounts.apply(execution.storage_keys, state, limits)?;
        Ok(moved)
    }
}
