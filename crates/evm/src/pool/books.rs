//! The pool's books, under its lock.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use alloy_primitives::{Address, B256};

use super::PooledTx;
use super::account::{AccountTotals, AccountTxs, IdleSince};
use super::drops::{DropReason, DroppedTx};
use super::price::{Price, PriceIndex, Rank};

/// Accounts with their transactions, and indexes over them. Call [`PoolState::sync`] after each change of an
/// account's transactions.
#[derive(Debug, Default)]
pub(super) struct PoolState {
    pub(super) accounts: BTreeMap<Address, AccountTxs>,
    pub(super) by_hash: HashMap<B256, (Address, u64)>,
    /// All transactions by price, each with its owner and nonce.
    pub(super) by_price: ByPrice,
    /// The first pending transaction of each account.
    heads: PriceIndex<Address>,
    /// Accounts with queued transactions; the account that is idle for the longest time is first.
    pub(super) by_idle: BTreeSet<(IdleSince, Address)>,
    idles: u64,
    pub(super) slots: usize,
    pub(super) bytes: usize,
    pub(super) pending: usize,
    pub(super) queued: usize,
    /// An upper bound of the gas of each transaction.
    pub(super) max_gas: u64,
    /// The account that was last compared with the store.
    checked: Address,
    /// The number of rewinds.
    pub(super) rewinds: u64,
    /// The number of changes.
    pub(super) revision: u64,
    /// Accounts that authorize delegations in transactions here, with the number of those.
    authorities: BTreeMap<Address, usize>,
}

#[derive(Debug, Default)]
pub(super) struct ByPrice {
    pub(super) pending: PriceIndex<(Address, u64)>,
    pub(super) queued: PriceIndex<(Address, u64)>,
}

/// The transactions that a change of the pool affected.
#[derive(Debug, Default)]
pub(super) struct PoolChanges {
    /// Transactions that became executable.
    pub(super) promoted: Vec<PooledTx>,
    /// Transactions that were dropped without being mined.
    pub(super) dropped: Vec<DroppedTx>,
}

impl PoolChanges {
    pub(super) fn drop(&mut self, tx: PooledTx, reason: DropReason) {
        self.dropped.push(DroppedTx { tx, reason });
    }
}

impl ByPrice {
    fn side(&mut self, is_pending: bool) -> &mut PriceIndex<(Address, u64)> {
        if is_pending { &mut self.pending } else { &mut self.queued }
    }

    pub(super) fn insert(&mut self, tx: &PooledTx, is_pending: bool) {
        let place = (tx.sender(), tx.nonce());
        self.side(is_pending).insert(Price::from_tx(tx), tx.arrival(), place);
    }

    pub(super) fn remove(&mut self, tx: &PooledTx, was_pending: bool) {
        self.side(was_pending).remove(Price::from_tx(tx), tx.arrival());
    }
}

impl PoolState {
    /// Keeps an account known until [`Self::end_admission`]. Returns the number of rewinds so far.
    pub(super) fn begin_admission(&mut self, address: Address) -> u64 {
        self.accounts.entry(address).or_default().admissions += 1;
        self.rewinds
    }

    /// Begins a rewind: from here on any state of an account counts as newer than the known one.
    pub(super) fn begin_rewind(&mut self) -> Vec<Address> {
        self.rewinds += 1;
        self.accounts.values_mut().for_each(|account| account.height = 0);
        self.accounts.keys().copied().collect()
    }

    pub(super) fn end_admission(&mut self, address: Address) {
        if let Some(account) = self.accounts.get_mut(&address) {
            account.admissions = account.admissions.saturating_sub(1);
        }
        self.sync(address);
    }

    pub(super) fn idle_since(&mut self, since_ms: u64) -> IdleSince {
        self.idles = self.idles.wrapping_add(1);
        IdleSince { since_ms, order: self.idles }
    }

    pub(super) fn track(&mut self, tx: &PooledTx, is_pending: bool) {
        self.by_hash.insert(tx.hash(), (tx.sender(), tx.nonce()));
        self.by_price.insert(tx, is_pending);
        self.slots += tx.slots();
        self.bytes += tx.size();
        for authority in tx.authorities() {
            *self.authorities.entry(*authority).or_default() += 1;
        }
    }

    /// Whether an account authorizes a delegation in a transaction here.
    pub(super) fn authorizes(&self, account: &Address) -> bool {
        self.authorities.contains_key(account)
    }

    pub(super) fn untrack(&mut self, tx: &PooledTx, was_pending: bool) {
        self.by_hash.remove(&tx.hash());
        self.by_price.remove(tx, was_pending);
        self.slots = self.slots.saturating_sub(tx.slots());
        self.bytes = self.bytes.saturating_sub(tx.size());
        for authority in tx.authorities() {
            if let Entry::Occupied(mut count) = self.authorities.entry(*authority) {
                match *count.get() {
                    ..=1 => {
                        count.remove();
                    }
                    more => *count.get_mut() = more - 1,
                }
            }
        }
    }

    /// Removes a queued transaction.
    pub(super) fn take_queued(&mut self, owner: &Address, nonce: u64) -> Option<PooledTx> {
        let tx = self.accounts.get_mut(owner)?.remove_queued(nonce)?;
        self.untrack(&tx, false);
        Some(tx)
    }

    /// Removes an account's pending transaction with the highest nonce.
    pub(super) fn take_last_pending(&mut self, owner: &Address) -> Option<PooledTx> {
        let tx = self.accounts.get_mut(owner)?.pop_pending()?;
        self.untrack(&tx, true);
        Some(tx)
    }

    /// Puts back a removed transaction. Its account must not have changed since.
    pub(super) fn put_back(&mut self, tx: PooledTx) {
        if let Some(account) = self.accounts.get_mut(&tx.sender()) {
            let is_pending = account.insert(tx.clone());
            self.track(&tx, is_pending);
        }
    }

    /// Updates totals and indexes after a change of an account, and removes an unused account.
    pub(super) fn sync(&mut self, address: Address) {
        let Some(account) = self.accounts.get_mut(&address) else { return };
        let before = account.booked;
        let (pending, queued) = (account.pending().len(), account.queued().len());
        self.pending = self.pending + pending - before.pending;
        self.queued = self.queued + queued - before.queued;
        let first = account.pending().first_key_value();
        let head = first.map(|(_, tx)| (Price::from_tx(tx), tx.arrival()));
        if head != before.head {
            if let Some((price, arrival)) = before.head {
                self.heads.remove(price, arrival);
            }
            if let Some((price, arrival)) = head {
                self.heads.insert(price, arrival, address);
            }
        }
        let idle = (queued > 0).then_some(account.idle);
        if idle != before.idle {
            if let Some(idle) = before.idle {
                self.by_idle.remove(&(idle, address));
            }
            if let Some(idle) = idle {
                self.by_idle.insert((idle, address));
            }
        }
        account.booked = AccountTotals { pending, queued, head, idle };
        if account.is_empty() && account.admissions == 0 {
            self.accounts.remove(&address);
        }
    }

    /// The first pending transactions of some accounts whose rank is below `bound`, the best first.
    pub(super) fn best_heads(
        &mut self,
        base_fee: u128,
        bound: Option<Rank>,
        count: usize,
    ) -> Vec<(Rank, PooledTx)> {
        self.heads.set_base_fee(base_fee);
        let heads = self.heads.best_below(bound).filter_map(|(rank, address)| {
            let first = self.accounts.get(&address)?.pending().first_key_value()?;
            Some((rank, first.1.clone()))
        });
        heads.take(count).collect()
    }

    /// [`PriceIndex::payable_base_fee`] of the accounts' first pending transactions.
    pub(super) fn payable_base_fee(&self) -> Option<u128> {
        self.heads.payable_base_fee()
    }

    /// The next accounts to check. All accounts take turns.
    pub(super) fn next_to_check(&mut self, count: usize) -> Vec<Address> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let after = self.accounts.range((Excluded(self.checked), Unbounded));
        let before = self.accounts.range((Unbounded, Included(self.checked)));
        let next = after.chain(before).filter(|(_, account)| !account.is_empty());
        let next: Vec<Address> = next.take(count).map(|(address, _)| *address).collect();
        self.checked = next.last().copied().unwrap_or_default();
        next
    }
}
