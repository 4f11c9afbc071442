//! The nonces and the wei that an account's pending transactions use.

use alloy_primitives::{Address, U256};

use super::Pool;

impl Pool {
    /// The nonce after an account's pending transactions, and their total cost from `nonce` on, wei. `nonce` is the
    /// account's own. Returns `nonce` and 0 if there are no pending transactions.
    pub fn pending_from(&self, account: &Address, nonce: u64) -> (u64, U256) {
        let inner = self.inner.lock();
        let Some(found) = inner.accounts.get(account) else { return (nonce, U256::ZERO) };
        if found.state.nonce == nonce {
            return (found.next_nonce(), found.pending_cost());
        }
        // The pool may not have followed the last block yet.
        let next = found.next_nonce().max(nonce);
        let costs = (nonce..next).filter_map(|at| found.get(at)).map(super::PooledTx::cost);
        (next, costs.fold(U256::ZERO, U256::saturating_add))
    }
}
