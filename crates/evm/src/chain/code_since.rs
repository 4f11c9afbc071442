//! Finds the block that gave an account its code.

use alloy_primitives::Address;
use alloy_trie::KECCAK_EMPTY;
use esker_evm_state::state::{StateError, StateView};

use super::ChainView;
use crate::view::{CodeSince, ViewError};

impl ChainView<'_> {
    /// The block before which an account had no code, and after which it had some, by a binary search over the kept
    /// states. If the code was destroyed and made again, it is one of these blocks.
    ///
    /// It reads one row per step.
    pub fn code_since(&self, address: &Address) -> Result<CodeSince, ViewError> {
        let tip = self.tip()?;
        if !has_code(self.latest_state(), address)? {
            return Ok(CodeSince::NoCode);
        }
        let (mut before, mut since) = (tip.oldest_state, tip.height);
        if has_code(self.state_at(before), address)? {
            return Ok(match before {
                0 => CodeSince::Genesis,
                oldest => CodeSince::Pruned { oldest },
            });
        }
        while since - before > 1 {
            let middle = before + (since - before) / 2;
            if has_code(self.state_at(middle), address)? {
                since = middle;
            } else {
                before = middle;
            }
        }
        Ok(CodeSince::Block(since))
    }
}

fn has_code(state: StateView<'_>, address: &Address) -> Result<bool, StateError> {
    let account = state.account(address)?;
    Ok(account.is_some_and(|account| account.code_hash != KECCAK_EMPTY))
}
