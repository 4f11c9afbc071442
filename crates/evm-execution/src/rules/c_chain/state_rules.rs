//! Changes of the state at the beginning of a block.

use alloy_eips::eip4788::SYSTEM_ADDRESS;
use alloy_primitives::{Bytes, U256, keccak256};
use alloy_trie::KECCAK_EMPTY;
use esker_evm_state::state::{AccountChange, AccountParts, StateChanges, StateError};

use super::addresses::beacon_roots;
use super::phase::Phase;
use super::rules::CChainRules;
use crate::executor::{StateOverlay, WARP};
use crate::rules::block_point::BlockPoint;
use crate::rules::error::BlockStepError;
use crate::rules::interface::{RunningBlock, SYSTEM_CALL_GAS, StateRules, SystemCalls};

/// Code of the warp precompile in the state.
const WARP_CODE: &[u8] = &[1];

impl StateRules for CChainRules {
    fn genesis_accounts(&self, at: &BlockPoint) -> StateChanges {
        let mut changes = StateChanges::new();
        if self.schedule.begins(Phase::Durango) <= at.time {
            let code_hash = keccak256(WARP_CODE);
            let (balance, is_multi_coin) = (U256::ZERO, false);
            let account = AccountParts { nonce: 1, balance, code_hash, is_multi_coin };
            let code = Some((code_hash, Bytes::from_static(WARP_CODE)));
            let change = AccountChange { account: Some(account), code, ..Default::default() };
            changes.insert(WARP, change);
        }
        changes
    }

    fn apply_forks(
        &self,
        from: &BlockPoint,
        to: &BlockPoint,
        state: &mut StateOverlay<'_>,
    ) -> Result<(), StateError> {
        let durango = self.schedule.begins(Phase::Durango);
        if from.time < durango && durango <= to.time {
            activate_warp(state)?;
        }
        Ok(())
    }

    fn begin_block(
        &self,
        block: &RunningBlock<'_>,
        calls: &mut dyn SystemCalls<'_>,
    ) -> Result<(), BlockStepError> {
        if let Some(contract) = beacon_roots(&block.rules)
            && !calls.state().code(contract)?.is_empty()
        {
            let root = block.beacon_root.unwrap_or_default();
            // The block continues whatever the outcome of the call.
            let _outcome =
                calls.system_call(SYSTEM_ADDRESS, contract, root.into(), SYSTEM_CALL_GAS)?;
        }
        Ok(())
    }
}

/// Creates the account of the warp precompile in the state, which then looks like a contract.
fn activate_warp(state: &mut StateOverlay<'_>) -> Result<(), StateError> {
    let balance = state.balance(WARP)?;
    let is_multi_coin = state.account(WARP)?.is_some_and(|account| account.is_multi_coin);
    let code_hash = KECCAK_EMPTY;
    state.set_account(WARP, AccountParts { nonce: 1, balance, code_hash, is_multi_coin })?;
    state.set_code(WARP, Bytes::from_static(WARP_CODE))
}
