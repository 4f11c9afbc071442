//! The transactions of one account.

use std::collections::BTreeMap;

use alloy_consensus::Transaction as _;
use alloy_primitives::{U256, U512};

use super::drops::DropReason;
use super::price::Price;
use super::{AccountState, PooledTx};

/// The transactions of an account. The pending ones can run one after another from the account's nonce on. The others
/// are queued.
#[derive(Debug, Default)]
pub(super) struct AccountTxs {
    /// The newest known state of the account, and the height of its block.
    pub(super) state: AccountState,
    pub(super) height: u64,
    /// Number of transactions of the account that are being admitted. The account stays known meanwhile, so that it
    /// follows every block between the read of its state and the decision.
    pub(super) admissions: usize,
    pending: BTreeMap<u64, PooledTx>,
    queued: BTreeMap<u64, PooledTx>,
    /// Total cost of the pending transactions.
    pending_cost: U512,
    /// An upper bound of the cost of each transaction; `max_gas` bounds its gas.
    max_cost: U256,
    max_gas: u64,
    /// When the account last sent a transaction.
    pub(super) idle: IdleSince,
    /// The share of the account that the pool's books contain.
    pub(super) booked: AccountTotals,
}

/// An account's share of the pool's totals and indexes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AccountTotals {
    pub(super) pending: usize,
    pub(super) queued: usize,
    /// Price and arrival of the first pending transaction.
    pub(super) head: Option<(Price, u64)>,
    /// The account's place among the accounts with queued transactions.
    pub(super) idle: Option<IdleSince>,
}

/// When an account became idle. The smaller value is idle for longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IdleSince {
    /// Unix ms.
    pub(super) since_ms: u64,
    /// Orders accounts of the same ms.
    pub(super) order: u64,
}

/// Changes to an account's transactions.
#[derive(Debug, Default)]
pub(super) struct AccountChanges {
    /// Transactions that were queued and are pending now.
    pub(super) promoted: Vec<PooledTx>,
    /// Transactions that were pending and are queued now.
    pub(super) demoted: Vec<PooledTx>,
    /// Transactions that were removed because their nonces were used, and whether each was pending.
    pub(super) used: Vec<(PooledTx, bool)>,
    /// Transactions that were removed because they can no longer run, and whether each was pending.
    pub(super) unfit: Vec<(PooledTx, bool, DropReason)>,
}

impl AccountTxs {
    pub(super) fn pending(&self) -> &BTreeMap<u64, PooledTx> {
        &self.pending
    }

    pub(super) fn queued(&self) -> &BTreeMap<u64, PooledTx> {
        &self.queued
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.queued.is_empty()
    }

    /// Total cost of the pending transactions.
    pub(super) fn pending_cost(&self) -> U256 {
        self.pending_cost.saturating_to()
    }

    /// The nonce after the pending transactions.
    pub(super) fn next_nonce(&self) -> u64 {
        let last = self.pending.last_key_value();
        last.map_or(self.state.nonce, |(nonce, _)| nonce.saturating_add(1))
    }

    pub(super) fn get(&self, nonce: u64) -> Option<&PooledTx> {
        self.pending.get(&nonce).or_else(|| self.queued.get(&nonce))
    }

    /// The pending transaction with the highest nonce. No other transaction depends on it.
    pub(super) fn last_pending(&self) -> Option<&PooledTx> {
        self.pending.last_key_value().map(|(_, tx)| tx)
    }

    /// The queued transaction with the highest nonce.
    pub(super) fn last_queued(&self) -> Option<&PooledTx> {
        self.queued.last_key_value().map(|(_, tx)| tx)
    }

    /// Adds a transaction, or replaces the one with its nonce. Returns true if it is pending. [`Self::promote`] moves
    /// queued transactions that can run now.
    pub(super) fn insert(&mut self, tx: PooledTx) -> bool {
        self.max_cost = self.max_cost.max(tx.cost());
        self.max_gas = self.max_gas.max(tx.tx().gas_limit());
        let nonce = tx.nonce();
        if nonce == self.next_nonce() || self.pending.contains_key(&nonce) {
            self.queued.remove(&nonce);
            self.insert_pending(nonce, tx);
            true
        } else {
            self.queued.insert(nonce, tx);
            false
        }
    }

    fn insert_pending(&mut self, nonce: u64, tx: PooledTx) {
        self.pending_cost += U512::from(tx.cost());
        if let Some(old) = self.pending.insert(nonce, tx) {
            self.pending_cost -= U512::from(old.cost());
        }
    }

    fn remove_pending(&mut self, nonce: u64) -> Option<PooledTx> {
        let tx = self.pending.remove(&nonce)?;
        self.pending_cost -= U512::from(tx.cost());
        Some(tx)
    }

    /// Removes the pending transaction with the highest nonce.
    pub(super) fn pop_pending(&mut self) -> Option<PooledTx> {
        let nonce = self.last_pending()?.nonce();
        self.remove_pending(nonce)
    }

    /// Removes a queued transaction.
    pub(super) fn remove_queued(&mut self, nonce: u64) -> Option<PooledTx> {
        self.queued.remove(&nonce)
    }

    /// Removes a transaction. The transactions after it wait for its nonce again.
    pub(super) fn withdraw(&mut self, nonce: u64, reason: DropReason) -> AccountChanges {
        let mut changes = AccountChanges::default();
        if let Some(tx) = self.remove_queued(nonce) {
            changes.unfit.push((tx, false, reason));
        } else if let Some(tx) = self.remove_pending(nonce) {
            changes.unfit.push((tx, true, reason));
            self.demote_from(nonce, &mut changes);
        }
        changes
    }

    /// Follows the account's state: removes used and impossible transactions, and moves the rest to pending or
    /// queued. The cost depends on the number of changes, unless some transactions may no longer fit.
    pub(super) fn settle(&mut self, gas_limit: u64, checks_balance: bool) -> AccountChanges {
        let mut changes = AccountChanges::default();
        self.remove_used(&mut changes);
        let balance = if checks_balance { self.state.balance } else { U256::MAX };
        if self.max_cost > balance || self.max_gas > gas_limit {
            self.remove_unfit(balance, gas_limit, &mut changes);
        }
        let nonce = self.state.nonce;
        if self.pending.first_key_value().is_some_and(|(first, _)| *first != nonce) {
            self.demote_from(0, &mut changes);
        }
        self.promote(&mut changes);
        changes
    }

    /// Moves queued transactions that can run now to the pending ones.
    pub(super) fn promote(&mut self, changes: &mut AccountChanges) {
        while let Some(tx) = self.queued.remove(&self.next_nonce()) {
            changes.promoted.push(tx.clone());
            self.insert_pending(tx.nonce(), tx);
        }
    }

    fn remove_used(&mut self, changes: &mut AccountChanges) {
        let nonce = self.state.nonce;
        while let Some((&first, _)) = self.pending.first_key_value().filter(|(at, _)| **at < nonce)
            && let Some(tx) = self.remove_pending(first)
        {
            changes.used.push((tx, true));
        }
        while let Some(first) = self.queued.first_entry().filter(|first| *first.key() < nonce) {
            changes.used.push((first.remove(), false));
        }
    }

    /// Removes transactions that no longer fit, and computes the cost and the highest gas limit of the rest.
    fn remove_unfit(&mut self, balance: U256, gas_limit: u64, changes: &mut AccountChanges) {
        let reason = |tx: &PooledTx| match (tx.cost(), tx.tx().gas_limit()) {
            (cost, _) if cost > balance => Some(DropReason::Funds { balance, cost }),
            (_, gas) if gas > gas_limit => Some(DropReason::GasLimit { gas, limit: gas_limit }),
            _ => None,
        };
        let unfit = |txs: &BTreeMap<u64, PooledTx>| -> Vec<(u64, DropReason)> {
            txs.iter().filter_map(|(nonce, tx)| Some((*nonce, reason(tx)?))).collect()
        };
        let (pending, queued) = (unfit(&self.pending), unfit(&self.queued));
        for (nonce, reason) in queued {
            changes.unfit.extend(self.queued.remove(&nonce).map(|tx| (tx, false, reason)));
        }
        let first = pending.first().map(|(nonce, _)| *nonce);
        for (nonce, reason) in pending {
            changes.unfit.extend(self.remove_pending(nonce).map(|tx| (tx, true, reason)));
        }
        if let Some(first) = first {
            self.demote_from(first, changes);
        }
        let all = || self.pending.values().chain(self.queued.values());
        self.max_cost = all().map(PooledTx::cost).max().unwrap_or_default();
        self.max_gas = all().map(|tx| tx.tx().gas_limit()).max().unwrap_or_default();
    }

    /// Moves the pending transactions from a nonce on to the queued ones.
    fn demote_from(&mut self, nonce: u64, changes: &mut AccountChanges) {
        for (nonce, tx) in self.pending.split_off(&nonce) {
            self.pending_cost -= U512::from(tx.cost());
            changes.demoted.push(tx.clone());
            self.queued.insert(nonce, tx);
        }
    }

    /// Whether [`Self::settle`] would check all transactions because of this gas limit.
    pub(super) fn exceeds_gas(&self, gas_limit: u64) -> bool {
        self.max_gas > gas_limit
    }
}
