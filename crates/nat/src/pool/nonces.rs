//! The nonces that waiting exports use.

use std::collections::BTreeMap;

use alloy_primitives::Address;
use esker_transactions::nat::{AccountNonce, UnsignedAtomicTx};

/// Nonces by account, with the number of inputs that use each: of two exports in undecided blocks both may wait.
#[derive(Debug, Default)]
pub(super) struct WaitingNonces(BTreeMap<AccountNonce, usize>);

impl WaitingNonces {
    pub(super) fn add(&mut self, tx: &UnsignedAtomicTx) {
        for nonce in tx.account_nonces() {
            let count = self.0.entry(nonce).or_default();
            *count = count.saturating_add(1);
        }
    }

    pub(super) fn remove(&mut self, tx: &UnsignedAtomicTx) {
        for nonce in tx.account_nonces() {
            let Some(count) = self.0.get_mut(&nonce) else { continue };
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.0.remove(&nonce);
            }
        }
    }

    pub(super) fn contains(&self, nonce: &AccountNonce) -> bool {
        self.0.contains_key(nonce)
    }

    pub(super) fn for_account(&self, account: &Address) -> Vec<u64> {
        let at = |nonce| AccountNonce { account: *account, nonce };
        self.0.range(at(0)..=at(u64::MAX)).map(|(found, _)| found.nonce).collect()
    }
}
