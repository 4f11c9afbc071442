//! What a simulated block finds otherwise than it would be.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};

use super::SimulateError;
use crate::call::{CallLimits, StateOverrides};
use crate::executor::{ChainParams, MovedPrecompiles, StateOverlay};
use crate::rules::PhaseRules;

/// What a simulated header has otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderOverrides {
    /// Height.
    pub number: Option<U256>,
    /// Unix s; it also decides which rules hold.
    pub time: Option<u64>,
    /// DIFFICULTY, unless `prev_randao` is given.
    pub difficulty: Option<U256>,
    /// Gas of the block and of those after it.
    pub gas_limit: Option<u64>,
    /// Who gets the fees of the block and of those after it.
    pub fee_recipient: Option<Address>,
    /// What DIFFICULTY answers, and the header's `mixHash`.
    pub prev_randao: Option<B256>,
    /// Wei a gas.
    pub base_fee: Option<U256>,
    /// BLOBBASEFEE, wei.
    pub blob_base_fee: Option<U256>,
    /// The parent's beacon root.
    pub beacon_root: Option<B256>,
}

/// What is changed in the state before the calls of a simulated block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedState {
    /// Accounts.
    pub accounts: StateOverrides,
    /// Precompiled contracts, and where each is for this block.
    pub moves: BTreeMap<Address, Address>,
}

impl SimulatedState {
    /// Changes accounts; gives where precompiled contracts are. One whose account is changed is none in
    /// this block.
    pub(super) fn apply(
        &self,
        chain: &ChainParams,
        phase: &PhaseRules,
        state: &mut StateOverlay<'_>,
        limits: &CallLimits<'_>,
    ) -> Result<MovedPrecompiles, SimulateError> {
        let mut moved = MovedPrecompiles::default();
        for from in self.accounts.0.keys() {
            let is_precompile = moved.has(phase, *from);
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
        self.accounts.apply(&*chain.rules, state, limits)?;
        Ok(moved)
    }
}
