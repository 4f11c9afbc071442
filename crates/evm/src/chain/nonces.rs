//! Finds the block in which an account used a nonce.

use alloy_primitives::Address;
use esker_evm_state::state::{StateError, StateView};

use super::ChainView;
use crate::view::{NonceUse, ViewError};

impl ChainView<'_> {
    /// The block after which the account's nonce first exceeded `nonce`, by a binary search over the kept states
    /// (docs/decisions.md, "Sender and nonce"): the nonce of an account with a key never decreases.
    ///
    /// It reads one row per step. The block may have no transaction with that nonce: an atomic export uses a nonce
    /// too, and a contract's nonce counts the contracts that it created.
    pub fn nonce_use(&self, address: &Address, nonce: u64) -> Result<NonceUse, ViewError> {
        let tip = self.tip()?;
        if nonce_in(self.latest_state(), address)? <= nonce {
            return Ok(NonceUse::Unused);
        }
        let (mut before, mut used_by) = (tip.oldest_state, tip.height);
        if nonce_in(self.state_at(before), address)? > nonce {
            // Genesis accounts were not sent by a transaction.
            return Ok(match before {
                0 => NonceUse::Unused,
                oldest => NonceUse::Pruned { oldest },
            });
        }
        while used_by - before > 1 {
            let middle = before + (used_by - before) / 2;
            if nonce_in(self.state_at(middle), address)? > nonce {
                used_by = middle;
            } else {
                before = middle;
            }
        }
        Ok(NonceUse::At(used_by))
    }
}

fn nonce_in(state: StateView<'_>, address: &Address) -> Result<u64, StateError> {
    Ok(state.account(address)?.unwrap_or_default().nonce)
}
