//! In which block an account used a nonce.

use alloy_primitives::Address;
use esker_evm_state::state::{StateError, StateView};

use super::ChainView;
use crate::view::{NonceUse, ViewError};

impl ChainView<'_> {
    /// The block after which the account's nonce was above `nonce` for the first time, by a binary search over the
    /// states that are kept (docs/decisions.md, "Sender and nonce"): the nonce of an account with a key never falls.
    ///
    /// It reads one row for each halving of the chain's height. The block may hold no transaction of that nonce: an
    /// atomic export takes a nonce too, and a contract's counts what it created.
    pub fn nonce_use(&self, address: &Address, nonce: u64) -> Result<NonceUse, ViewError> {
        let tip = self.tip()?;
        if nonce_in(self.latest_state(), address)? <= nonce {
            return Ok(NonceUse::Unused);
        }
        let (mut before, mut used_by) = (tip.oldest_state, tip.height);
        if nonce_in(self.state_at(before), address)? > nonce {
            // Nobody sent what genesis begins with.
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
