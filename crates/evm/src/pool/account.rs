//! The transactions of one account.

use std::collections::BTreeMap;

use alloy_primitives::U256;

use super::{AccountState, PooledTx};

/// Those that can run one after another from the account's nonce on (`pending`), and the others.
#[derive(Debug, Default)]
pub(super) struct AccountTxs {
    pub(super) state: AccountState,
    pub(super) pending: BTreeMap<u64, PooledTx>,
    pub(super) queued: BTreeMap<u64, PooledTx>,
    /// When the account last sent one, Unix ms.
    pub(super) heard_ms: u64,
    /// How many pending and queued ones the pool's totals count.
    pub(super) counted: (usize, usize),
}

impl AccountTxs {
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.queued.is_empty()
    }

    /// What the pending ones cost together.
    pub(super) fn pending_cost(&self) -> U256 {
        self.pending.values().fold(U256::ZERO, |sum, tx| sum.saturating_add(tx.cost()))
    }

    /// The nonce after the pending ones.
    pub(super) fn next_nonce(&self) -> u64 {
        self.pending.last_key_value().map_or(self.state.nonce, |(nonce, _)| nonce + 1)
    }

    pub(super) fn get(&self, nonce: u64) -> Option<&PooledTx> {
        self.pending.get(&nonce).or_else(|| self.queued.get(&nonce))
    }

    pub(super) fn remove(&mut self, nonce: u64) -> Option<PooledTx> {
        match self.pending.remove(&nonce) {
            Some(tx) => {
                // What followed it can't run any more.
                let later = self.pending.split_off(&nonce);
                self.queued.extend(later);
                Some(tx)
            }
            None => self.queued.remove(&nonce),
        }
    }

    /// Follows the account's state: drops what was used or can't be paid, and moves the rest to where it
    /// belongs. Gives what was dropped and what became executable.
    pub(super) fn settle(&mut self, gas_limit: u64) -> (Vec<PooledTx>, Vec<PooledTx>) {
        use alloy_consensus::Transaction as _;
        let AccountState { nonce, balance } = self.state;
        let fits = |tx: &PooledTx| tx.cost() <= balance && tx.tx().gas_limit() <= gas_limit;
        let mut dropped = Vec::new();
        let was_pending: Vec<u64> = self.pending.keys().copied().collect();
        let mut all = std::mem::take(&mut self.queued);
        all.append(&mut self.pending);
        all.retain(|at, tx| {
            let keep = *at >= nonce && fits(tx);
            if !keep {
                dropped.push(tx.clone());
            }
            keep
        });
        let mut promoted = Vec::new();
        let mut next = nonce;
        for (at, tx) in all {
            if at == next {
                if was_pending.binary_search(&at).is_err() {
                    promoted.push(tx.clone());
                }
                self.pending.insert(at, tx);
                next += 1;
            } else {
                self.queued.insert(at, tx);
            }
        }
        (dropped, promoted)
    }
}
