//! Limits of accounts that delegate to contracts (EIP-7702), which are geth's: code may spend what their waiting
//! transactions need.

use super::books::PoolState;
use super::{PoolError, PooledTx};

impl PoolState {
    /// Checks the limits. `has_code`: the sender has code.
    pub(super) fn check_delegation(&self, tx: &PooledTx, has_code: bool) -> Result<(), PoolError> {
        let sender = tx.sender();
        if (has_code || self.authorizes(&sender))
            && let Some(account) = self.accounts.get(&sender)
        {
            // One transaction at a time, and its replacements.
            let (nonce, pending) = (tx.nonce(), account.pending());
            if pending.is_empty() && nonce != account.next_nonce() {
                return Err(PoolError::GappedDelegated);
            }
            if !pending.is_empty() && !pending.contains_key(&nonce) {
                return Err(PoolError::InflightLimit);
            }
        }
        let waits_more = |authority| {
            let account = self.accounts.get(authority);
            account.is_some_and(|account| account.pending().len() + account.queued().len() > 1)
        };
        match tx.authorities().iter().any(waits_more) {
            true => Err(PoolError::AuthorityReserved),
            false => Ok(()),
        }
    }
}
