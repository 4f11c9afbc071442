//! Transactions that wait for a block.
//!
//! [`Pool::add`] takes one that was checked as far as it can be without state ([`before_recovery`]) and whose
//! sender is recovered. *Pending* ones can run from their accounts' nonces on; *queued* ones wait for a nonce
//! or for funds. [`Pool::best`] gives the pending ones in the order in which a block takes them. The pool
//! follows the last accepted state: whoever accepts a block calls [`Pool::settle`].
//!
//! It never reads state itself, never recovers a signature, and writes nothing to disk: there is no journal.

mod account;
mod best;
mod checks;
mod error;
mod limits;
mod transaction;

use std::collections::{BTreeMap, HashMap};

use alloy_primitives::{Address, B256};
use esker_primitives::sync::Mutex;
use tokio::sync::broadcast;

pub use best::Best;
pub use checks::{AccountState, NextBlock, before_recovery};
pub use error::PoolError;
pub use transaction::PooledTx;

use account::AccountTxs;

/// Longest transaction, bytes.
pub const MAX_TX_SIZE: usize = 128 * 1024;

/// Transactions that a slow subscriber may lag behind.
const EVENT_BACKLOG: usize = 4096;

/// The pool's limits, with the reference's defaults (c-chain.md 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Least tip, wei a gas.
    pub min_tip: u128,
    /// Percent by which a replacement must pay more.
    pub price_bump: u64,
    /// Pending slots that every account may have however full the pool is.
    pub account_slots: usize,
    /// Pending slots of all accounts.
    pub global_slots: usize,
    /// Queued transactions of one account.
    pub account_queue: usize,
    /// Queued slots of all accounts.
    pub global_queue: usize,
    /// How long a queued transaction waits, ms.
    pub lifetime_ms: u64,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            min_tip: 0,
            price_bump: 10,
            account_slots: 16,
            global_slots: 5120,
            account_queue: 64,
            global_queue: 1024,
            lifetime_ms: 10 * 60 * 1000,
        }
    }
}

/// Pending and queued transactions of all accounts, for the pool views.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// Executable ones by account and nonce.
    pub pending: BTreeMap<Address, BTreeMap<u64, PooledTx>>,
    /// The others.
    pub queued: BTreeMap<Address, BTreeMap<u64, PooledTx>>,
}

/// Pending and queued transactions of one account.
#[derive(Clone, Debug, Default)]
pub struct AccountContent {
    /// Executable ones by nonce.
    pub pending: BTreeMap<u64, PooledTx>,
    /// The others.
    pub queued: BTreeMap<u64, PooledTx>,
}

/// The pool. All methods are quick and may be called from any thread.
#[derive(Debug)]
pub struct Pool {
    config: PoolConfig,
    inner: Mutex<Inner>,
    promoted: broadcast::Sender<PooledTx>,
}

#[derive(Debug, Default)]
struct Inner {
    accounts: BTreeMap<Address, AccountTxs>,
    by_hash: HashMap<B256, (Address, u64)>,
    slots: usize,
    pending: usize,
    queued: usize,
}

impl Pool {
    /// An empty pool.
    pub fn new(config: PoolConfig) -> Self {
        Self {
            config,
            inner: Mutex::new_named("evm.pool", Inner::default()),
            promoted: broadcast::channel(EVENT_BACKLOG).0,
        }
    }

    /// Transactions that become executable, from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<PooledTx> {
        self.promoted.subscribe()
    }

    /// Takes a transaction. `state` is its sender's in the last accepted state, `now_ms` Unix ms.
    pub fn add(
        &self,
        tx: PooledTx,
        state: AccountState,
        next: &NextBlock,
        now_ms: u64,
    ) -> Result<(), PoolError> {
        if self.contains(&tx.hash()) {
            return Err(PoolError::AlreadyKnown);
        }
        checks::after_recovery(&tx, &self.config, next)?;
        let mut inner = self.inner.lock();
        let promoted = inner.add(tx, state, next, now_ms, &self.config)?;
        self.announce(&inner, promoted);
        Ok(())
    }

    /// Tells while the pool is locked, so that everybody hears in the order in which it happened.
    fn announce(&self, _: &Inner, promoted: Vec<PooledTx>) {
        for tx in promoted {
            // Nobody listening is no error.
            let _listeners = self.promoted.send(tx);
        }
    }

    /// Does the pool hold it?
    pub fn contains(&self, hash: &B256) -> bool {
        self.inner.lock().by_hash.contains_key(hash)
    }

    /// A transaction, and whether it is pending.
    pub fn get(&self, hash: &B256) -> Option<(PooledTx, bool)> {
        let inner = self.inner.lock();
        let (sender, nonce) = inner.by_hash.get(hash)?;
        let account = inner.accounts.get(sender)?;
        let is_pending = account.pending.contains_key(nonce);
        account.get(*nonce).map(|tx| (tx.clone(), is_pending))
    }

    /// The nonce after an account's pending transactions, if the pool knows the account.
    pub fn next_nonce(&self, account: &Address) -> Option<u64> {
        self.inner.lock().accounts.get(account).map(AccountTxs::next_nonce)
    }

    /// How many are pending, and how many queued.
    pub fn counts(&self) -> (usize, usize) {
        let inner = self.inner.lock();
        (inner.pending, inner.queued)
    }

    /// Everything, by account and nonce.
    pub fn content(&self) -> Content {
        let inner = self.inner.lock();
        let mut content = Content::default();
        for (address, account) in &inner.accounts {
            if !account.pending.is_empty() {
                content.pending.insert(*address, account.pending.clone());
            }
            if !account.queued.is_empty() {
                content.queued.insert(*address, account.queued.clone());
            }
        }
        content
    }

    /// What waits of one account.
    pub fn content_of(&self, account: &Address) -> AccountContent {
        let inner = self.inner.lock();
        let found = inner.accounts.get(account).map(|account| AccountContent {
            pending: account.pending.clone(),
            queued: account.queued.clone(),
        });
        found.unwrap_or_default()
    }

    /// The pending ones of some accounts, by account in the order given and by nonce.
    pub fn pending_of(&self, accounts: &[Address]) -> Vec<PooledTx> {
        let inner = self.inner.lock();
        let found = accounts.iter().filter_map(|account| inner.accounts.get(account));
        found.flat_map(|account| account.pending.values().cloned()).collect()
    }

    /// The accounts that have transactions here.
    pub fn accounts(&self) -> Vec<Address> {
        self.inner.lock().accounts.keys().copied().collect()
    }

    /// The pending ones in the order in which a block of this base fee (wei) takes them.
    pub fn best(&self, base_fee: u128) -> Best {
        let inner = self.inner.lock();
        let queues = inner.accounts.values().map(|account| account.pending.values().cloned());
        Best::new(queues.map(Iterator::collect).collect(), base_fee)
    }

    /// Follows a new head: `states` are the accounts' states after it, for [`Self::accounts`] at least.
    pub fn settle(&self, states: &BTreeMap<Address, AccountState>, gas_limit: u64, now_ms: u64) {
        let mut inner = self.inner.lock();
        let promoted = inner.settle(states, gas_limit, now_ms, &self.config);
        self.announce(&inner, promoted);
    }

    /// Removes one that turned out not to be executable.
    pub fn remove(&self, hash: &B256) -> Option<PooledTx> {
        self.inner.lock().remove(hash)
    }
}

impl Inner {
    fn add(
        &mut self,
        tx: PooledTx,
        state: AccountState,
        next: &NextBlock,
        now_ms: u64,
        config: &PoolConfig,
    ) -> Result<Vec<PooledTx>, PoolError> {
        let (sender, nonce) = (tx.sender(), tx.nonce());
        let account = self.accounts.get(&sender);
        let queued_cost = account.map(AccountTxs::pending_cost).unwrap_or_default();
        let replaced = account.and_then(|account| account.pending.get(&nonce)).map(PooledTx::cost);
        state.check(&tx, queued_cost, replaced)?;
        let old = account.and_then(|account| account.get(nonce)).cloned();
        if old.as_ref().is_some_and(|old| !tx.replaces(old, config.price_bump)) {
            return Err(PoolError::ReplacementUnderpriced);
        }
        if old.is_none() {
            let is_gapped = nonce > account.map_or(state.nonce, AccountTxs::next_nonce);
            self.make_room(&tx, is_gapped, next.base_fee, config)?;
        }
        if let Some(old) = old {
            self.forget(&old);
        }
        self.by_hash.insert(tx.hash(), (sender, nonce));
        self.slots += tx.slots();
        let account = self.accounts.entry(sender).or_default();
        let is_next = account.state == state && account.queued.is_empty();
        account.state = state;
        account.heard_ms = now_ms;
        if is_next && nonce == account.next_nonce() {
            // By far the most frequent case: it follows those that can run, and nothing waits for it.
            account.pending.insert(nonce, tx.clone());
            self.count(sender);
            self.truncate(Some(sender), config);
            return Ok(vec![tx]);
        }
        let replaces_pending = account.pending.contains_key(&nonce);
        if replaces_pending {
            account.pending.insert(nonce, tx.clone());
        } else {
            account.queued.insert(nonce, tx.clone());
        }
        let (dropped, mut promoted) = account.settle(next.gas_limit);
        if replaces_pending {
            promoted.push(tx);
        }
        self.after_settling(sender, dropped);
        self.truncate(Some(sender), config);
        Ok(promoted)
    }

    fn settle(
        &mut self,
        states: &BTreeMap<Address, AccountState>,
        gas_limit: u64,
        now_ms: u64,
        config: &PoolConfig,
    ) -> Vec<PooledTx> {
        let mut all_promoted = Vec::new();
        let known: Vec<Address> = self.accounts.keys().copied().collect();
        for address in known {
            let Some(account) = self.accounts.get_mut(&address) else { continue };
            if let Some(state) = states.get(&address) {
                account.state = *state;
            }
            let (mut dropped, promoted) = account.settle(gas_limit);
            if now_ms.saturating_sub(account.heard_ms) > config.lifetime_ms {
                dropped.extend(std::mem::take(&mut account.queued).into_values());
            }
            all_promoted.extend(promoted);
            self.after_settling(address, dropped);
        }
        self.truncate(None, config);
        all_promoted
    }

    fn after_settling(&mut self, address: Address, dropped: Vec<PooledTx>) {
        for tx in dropped {
            self.forget(&tx);
        }
        self.count(address);
        if self.accounts.get(&address).is_some_and(AccountTxs::is_empty) {
            self.accounts.remove(&address);
        }
    }

    fn remove(&mut self, hash: &B256) -> Option<PooledTx> {
        let (sender, nonce) = *self.by_hash.get(hash)?;
        let tx = self.accounts.get_mut(&sender)?.remove(nonce)?;
        self.after_settling(sender, vec![tx.clone()]);
        Some(tx)
    }

    /// Takes one that its account no longer holds out of the books.
    fn forget(&mut self, tx: &PooledTx) {
        if self.by_hash.remove(&tx.hash()).is_some() {
            self.slots -= tx.slots();
        }
    }

    /// Brings the totals up to what an account holds now.
    fn count(&mut self, address: Address) {
        let Some(account) = self.accounts.get_mut(&address) else { return };
        let now = (account.pending.len(), account.queued.len());
        let before = std::mem::replace(&mut account.counted, now);
        self.pending = self.pending + now.0 - before.0;
        self.queued = self.queued + now.1 - before.1;
    }
}
