//! The pool's books, under its lock.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256};

use super::account::{AccountTxs, Booked, Changes, Idle};
use super::checks::{AccountRead, NextBlock};
use super::drops::{DropReason, DroppedTx};
use super::limits::Newcomer;
use super::price::{Price, PriceIndex, Rank};
use super::{NewHead, PoolConfig, PoolError, PooledTx};

/// Accounts with their transactions, and where each is. Whoever changes an account's transactions calls
/// [`Inner::sync`] for it afterwards.
#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) accounts: BTreeMap<Address, AccountTxs>,
    pub(super) by_hash: HashMap<B256, (Address, u64)>,
    /// All transactions, each with its owner and nonce.
    pub(super) by_price: ByPrice,
    /// The first pending transaction of each account.
    heads: PriceIndex<Address>,
    /// Accounts with queued transactions, the one that is silent for the longest time first.
    pub(super) by_idle: BTreeSet<(Idle, Address)>,
    idles: u64,
    pub(super) slots: usize,
    pub(super) bytes: usize,
    pub(super) pending: usize,
    pub(super) queued: usize,
    /// No transaction here needs more gas; may be too high.
    max_gas: u64,
    /// The account that was checked last against the store.
    checked: Address,
}

#[derive(Debug, Default)]
pub(super) struct ByPrice {
    pub(super) pending: PriceIndex<(Address, u64)>,
    pub(super) queued: PriceIndex<(Address, u64)>,
}

/// What a change came to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Executable now.
    pub(super) promoted: Vec<PooledTx>,
    /// Gone without being mined.
    pub(super) dropped: Vec<DroppedTx>,
}

impl Outcome {
    pub(super) fn drop(&mut self, tx: PooledTx, reason: DropReason) {
        self.dropped.push(DroppedTx { tx, reason });
    }
}

impl ByPrice {
    fn side(&mut self, is_pending: bool) -> &mut PriceIndex<(Address, u64)> {
        if is_pending { &mut self.pending } else { &mut self.queued }
    }

    fn insert(&mut self, tx: &PooledTx, is_pending: bool) {
        let place = (tx.sender(), tx.nonce());
        self.side(is_pending).insert(Price::of(tx), tx.arrival(), place);
    }

    fn remove(&mut self, tx: &PooledTx, was_pending: bool) {
        self.side(was_pending).remove(Price::of(tx), tx.arrival());
    }
}

impl Inner {
    /// Keeps an account known until [`Self::end_admission`].
    pub(super) fn begin_admission(&mut self, address: Address) {
        self.accounts.entry(address).or_default().admissions += 1;
    }

    pub(super) fn end_admission(&mut self, address: Address) {
        if let Some(account) = self.accounts.get_mut(&address) {
            account.admissions = account.admissions.saturating_sub(1);
        }
        self.sync(address);
    }

    /// Adds a transaction whose account is being admitted.
    pub(super) fn add(
        &mut self,
        tx: PooledTx,
        read: AccountRead,
        next: &NextBlock,
        now_ms: u64,
        config: &PoolConfig,
        outcome: &mut Outcome,
    ) -> Result<(), PoolError> {
        if self.by_hash.contains_key(&tx.hash()) {
            return Err(PoolError::AlreadyKnown);
        }
        let (sender, nonce) = (tx.sender(), tx.nonce());
        let account = self.accounts.entry(sender).or_default();
        if account.is_empty() && read.height >= account.height {
            (account.state, account.height) = (read.state, read.height);
        }
        // What was read may be of a block that the pool was not told of yet, or older than what it was told.
        let state = if read.height >= account.height { read.state } else { account.state };
        let replaced = account.pending().get(&nonce).map(PooledTx::cost);
        state.check(&tx, account.pending_cost(), replaced)?;
        let old = account.get(nonce).cloned();
        match &old {
            Some(old) if !tx.replaces(old, config.price_bump) => {
                return Err(PoolError::ReplacementUnderpriced);
            }
            Some(old) => self.check_growth(&tx, old, config)?,
            None => {
                let is_gapped = nonce > account.next_nonce();
                let newcomer = Newcomer { tx: &tx, is_gapped, base_fee: next.base_fee };
                self.make_room(newcomer, config, outcome)?;
            }
        }
        self.place(tx, old, now_ms, outcome);
        self.trim_queue([sender], config, outcome);
        self.expire(now_ms, config, outcome);
        Ok(())
    }

    /// A replacement may be longer than what it replaces, but not than there is room.
    fn check_growth(
        &self,
        tx: &PooledTx,
        old: &PooledTx,
        config: &PoolConfig,
    ) -> Result<(), PoolError> {
        let limit = config.global_slots.saturating_add(config.global_queue);
        let is_longer = tx.slots() > old.slots();
        let slots = (self.slots + tx.slots()).saturating_sub(old.slots());
        let bytes = (self.bytes + tx.size()).saturating_sub(old.size());
        let is_too_long = (is_longer && slots > limit) || bytes > config.max_bytes;
        if is_too_long { Err(PoolError::Full) } else { Ok(()) }
    }

    /// Puts a transaction where it belongs, in the place of `old`, and promotes those that it was missing for.
    fn place(&mut self, tx: PooledTx, old: Option<PooledTx>, now_ms: u64, outcome: &mut Outcome) {
        let sender = tx.sender();
        let was_pending = self
            .accounts
            .get(&sender)
            .is_some_and(|account| account.pending().contains_key(&tx.nonce()));
        if let Some(old) = old {
            self.book_out(&old, was_pending);
            outcome.drop(old, DropReason::Replaced { by: tx.hash() });
        }
        let idle = self.idle_since(now_ms);
        let account = self.accounts.entry(sender).or_default();
        account.idle = idle;
        let is_pending = account.insert(tx.clone());
        let mut changes = Changes::default();
        account.promote(&mut changes);
        self.max_gas = self.max_gas.max(tx.tx().gas_limit());
        self.book_in(&tx, is_pending);
        if is_pending {
            outcome.promoted.push(tx);
        }
        self.apply(sender, changes, &|_| true, outcome);
    }

    /// Follows a new head.
    pub(super) fn settle(
        &mut self,
        head: &NewHead<'_>,
        config: &PoolConfig,
        outcome: &mut Outcome,
    ) {
        for (address, state) in head.accounts {
            let Some(account) = self.accounts.get_mut(address) else { continue };
            if head.height < account.height {
                continue;
            }
            (account.state, account.height) = (*state, head.height);
            self.settle_account(*address, head, outcome);
        }
        if head.gas_limit < self.max_gas {
            self.max_gas = head.gas_limit;
            let too_much = self.accounts.iter().filter(|(_, a)| a.exceeds_gas(head.gas_limit));
            let too_much: Vec<Address> = too_much.map(|(address, _)| *address).collect();
            for address in too_much {
                self.settle_account(address, head, outcome);
            }
        }
        self.trim_queue(head.accounts.iter().map(|(address, _)| *address), config, outcome);
        self.expire(head.now_ms, config, outcome);
    }

    fn settle_account(&mut self, address: Address, head: &NewHead<'_>, outcome: &mut Outcome) {
        let idle = self.idle_since(head.now_ms);
        let Some(account) = self.accounts.get_mut(&address) else { return };
        let had_queued = !account.queued().is_empty();
        let changes = account.settle(head.gas_limit);
        if !had_queued {
            account.idle = idle;
        }
        self.apply(address, changes, head.is_mined, outcome);
    }

    /// Brings an account's changes to the books.
    fn apply(
        &mut self,
        address: Address,
        changes: Changes,
        is_mined: &dyn Fn(&B256) -> bool,
        outcome: &mut Outcome,
    ) {
        let Changes { promoted, demoted, used, unfit } = changes;
        for (txs, is_pending) in [(&promoted, true), (&demoted, false)] {
            for tx in txs {
                self.by_price.remove(tx, !is_pending);
                self.by_price.insert(tx, is_pending);
            }
        }
        for (tx, was_pending) in used {
            self.book_out(&tx, was_pending);
            if !is_mined(&tx.hash()) {
                let reason = DropReason::NonceUsed(tx.nonce());
                outcome.drop(tx, reason);
            }
        }
        for (tx, was_pending, reason) in unfit {
            self.book_out(&tx, was_pending);
            outcome.drop(tx, reason);
        }
        outcome.promoted.extend(promoted);
        self.sync(address);
    }

    fn idle_since(&mut self, since_ms: u64) -> Idle {
        self.idles = self.idles.wrapping_add(1);
        Idle { since_ms, order: self.idles }
    }

    fn book_in(&mut self, tx: &PooledTx, is_pending: bool) {
        self.by_hash.insert(tx.hash(), (tx.sender(), tx.nonce()));
        self.by_price.insert(tx, is_pending);
        self.slots += tx.slots();
        self.bytes += tx.size();
    }

    fn book_out(&mut self, tx: &PooledTx, was_pending: bool) {
        self.by_hash.remove(&tx.hash());
        self.by_price.remove(tx, was_pending);
        self.slots = self.slots.saturating_sub(tx.slots());
        self.bytes = self.bytes.saturating_sub(tx.size());
    }

    /// Takes out a queued transaction.
    pub(super) fn take_queued(&mut self, owner: &Address, nonce: u64) -> Option<PooledTx> {
        let tx = self.accounts.get_mut(owner)?.remove_queued(nonce)?;
        self.book_out(&tx, false);
        Some(tx)
    }

    /// Takes out an account's pending transaction with the highest nonce.
    pub(super) fn take_last_pending(&mut self, owner: &Address) -> Option<PooledTx> {
        let tx = self.accounts.get_mut(owner)?.pop_pending()?;
        self.book_out(&tx, true);
        Some(tx)
    }

    /// Puts back a transaction that was taken out a moment ago, before its account changed otherwise.
    pub(super) fn put_back(&mut self, tx: PooledTx) {
        if let Some(account) = self.accounts.get_mut(&tx.sender()) {
            let is_pending = account.insert(tx.clone());
            self.book_in(&tx, is_pending);
        }
    }

    /// Brings totals and indexes up to what an account holds now, and forgets an account that nobody needs.
    pub(super) fn sync(&mut self, address: Address) {
        let Some(account) = self.accounts.get_mut(&address) else { return };
        let before = account.booked;
        let (pending, queued) = (account.pending().len(), account.queued().len());
        self.pending = self.pending + pending - before.pending;
        self.queued = self.queued + queued - before.queued;
        let first = account.pending().first_key_value();
        let head = first.map(|(_, tx)| (Price::of(tx), tx.arrival()));
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
        account.booked = Booked { pending, queued, head, idle };
        if account.is_empty() && account.admissions == 0 {
            self.accounts.remove(&address);
        }
    }

    /// The first pending transactions of some accounts, the best first, from below `bound` on.
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

    /// As [`PriceIndex::payable_base_fee`], of the accounts' first pending transactions.
    pub(super) fn payable_base_fee(&self) -> Option<u128> {
        self.heads.payable_base_fee()
    }

    /// The next accounts, all in turn.
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
