//! Transactions that wait for a block.
//!
//! [`Pool::admit`] takes a transaction that passed the checks without state ([`before_recovery`]) and whose sender is
//! recovered. Its caller then reads the sender's state, and [`Admission::decide`] adds or refuses the transaction.
//! *Pending* transactions can run from their accounts' nonces on; *queued* ones wait for a nonce. [`Pool::best`]
//! returns the pending ones in the order in which a block takes them. The pool follows the last accepted state: after
//! each accepted block, [`Pool::settle`] is called with the accounts that the block changed.
//!
//! The pool's account states only move forward, whatever the order of their arrival: each state has the height of its
//! block, and the pool tracks an account before its state is read, so that no block is missed. [`Pool::begin_rewind`]
//! resets them for a rewind.
//!
//! The pool never reads state itself and never recovers a signature. [`Pool::drop_log`] has the transactions that
//! left it without being mined.

mod account;
mod admission;
mod best;
mod books;
mod checks;
mod delegation;
mod drops;
mod error;
mod limits;
mod outlay;
mod price;
mod recent_blobs;
mod sidecar;
#[cfg(test)]
mod sidecar_tests;
mod transaction;

use std::collections::BTreeMap;
use std::fmt;

use alloy_eips::eip7594::CELLS_PER_EXT_BLOB;
use alloy_primitives::{Address, B256, U256};
use esker_chain::{DropLog, PoolFigures};
use esker_primitives::sync::Mutex;
use tokio::sync::broadcast;

pub use best::BestTransactions;
pub use checks::{AccountRead, AccountState, NextBlock, before_recovery, refuse_value};
pub use drops::{DROPPED, DropReason, DroppedTx};
pub use error::PoolError;
pub use esker_chain::Dropped;
pub use sidecar::{BlobError, Sidecar, sidecar_of, without_sidecar};
pub use transaction::{PooledTx, ReplacementPrice};

use account::AccountTxs;
use books::{PoolChanges, PoolState};
use drops::Drops;
use price::Rank;
use recent_blobs::RecentBlobs;

/// Longest transaction, bytes.
pub const MAX_TX_SIZE: usize = 128 * 1024;

/// Bytes of a blob in a sidecar, with its commitment and its proofs of cells.
const BLOB_SIZE: usize = 131_072 + 4 + (1 + CELLS_PER_EXT_BLOB) * 49;

/// Most bytes of all transactions.
const MAX_BYTES: usize = 1 << 30;

/// Accounts of a block that are settled under one lock of the pool.
const SETTLE_CHUNK: usize = 256;

/// Transactions that a slow subscriber may lag behind.
const EVENT_BACKLOG: usize = 4096;

/// The pool's limits, with the reference's defaults (docs/configuration.md, "Chains of the EVM").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Least tip, wei a gas.
    pub min_tip: u128,
    /// Percent by which a replacement must pay more.
    pub price_bump: u64,
    /// Pending transactions of an account that need not outbid others when `global_slots` are used up.
    pub account_slots: usize,
    /// Pending transactions of all accounts.
    pub global_slots: usize,
    /// Queued transactions of one account.
    pub account_queue: usize,
    /// Queued transactions of all accounts. All transactions together take at most the sum of this and
    /// `global_slots`, in slots.
    pub global_queue: usize,
    /// How long an account's queued transactions wait while the account is idle, ms.
    pub lifetime_ms: u64,
    /// Bytes of all transactions.
    pub max_bytes: usize,
    /// Whether blocks take transactions in the order of their arrival, whatever they pay.
    pub by_arrival: bool,
    /// Whether senders must own what their transactions may cost. Else a transaction that can't be paid is dropped when a
    /// block would take it ([`DropReason::Funds`]).
    pub checks_balance: bool,
    /// Blobs that are kept with the last blob transactions, also after their block.
    pub recent_blobs: usize,
    /// Transactions that are refused since the next block can't have them.
    pub refused: RefusedTxs,
}

/// Transactions that a development node refuses, as another tool does, in place of letting them wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RefusedTxs {
    /// None.
    #[default]
    None,
    /// Those that offer less than the next base fee.
    LowFees,
    /// Those that offer less than the next base fee, and those that wait for nonces before them; while blocks are made as soon
    /// as there is work.
    NotInNextBlock,
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
            max_bytes: MAX_BYTES,
            by_arrival: false,
            checks_balance: true,
            recent_blobs: 0,
            refused: RefusedTxs::None,
        }
    }
}

/// Pending and queued transactions of all accounts, for the pool views.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// Executable transactions by account and nonce.
    pub pending: BTreeMap<Address, BTreeMap<u64, PooledTx>>,
    /// The other transactions.
    pub queued: BTreeMap<Address, BTreeMap<u64, PooledTx>>,
}

/// Pending and queued transactions of one account.
#[derive(Clone, Debug, Default)]
pub struct AccountContent {
    /// Executable transactions by nonce.
    pub pending: BTreeMap<u64, PooledTx>,
    /// The other transactions.
    pub queued: BTreeMap<u64, PooledTx>,
}

/// A new head and its effects.
#[derive(Clone, Copy)]
pub struct NewHead<'a> {
    /// Height of the head.
    pub height: u64,
    /// The accounts that the block changed, with their states after it.
    pub accounts: &'a [(Address, AccountState)],
    /// Whether a transaction is in an accepted block.
    pub is_mined: &'a dyn Fn(&B256) -> bool,
    /// Gas of the block after it.
    pub gas_limit: u64,
    /// Unix ms.
    pub now_ms: u64,
}

impl fmt::Debug for NewHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewHead")
            .field("height", &self.height)
            .field("accounts", &self.accounts.len())
            .finish_non_exhaustive()
    }
}

/// The pool. All methods are quick and may be called from any thread.
#[derive(Debug)]
pub struct Pool {
    config: PoolConfig,
    inner: Mutex<PoolState>,
    recent_blobs: Mutex<RecentBlobs>,
    drops: Drops,
    promoted: broadcast::Sender<PooledTx>,
    dropped: broadcast::Sender<DroppedTx>,
}

/// A transaction that is being admitted. The pool tracks its sender's account meanwhile.
#[derive(Debug)]
pub struct Admission<'a> {
    pool: &'a Pool,
    tx: PooledTx,
    /// The number of rewinds when the admission began.
    rewinds: u64,
    refused: RefusedTxs,
    is_decided: bool,
}

impl Pool {
    /// An empty pool.
    pub fn new(config: PoolConfig) -> Self {
        Self {
            config,
            inner: Mutex::new_named("evm.pool", PoolState::default()),
            recent_blobs: Mutex::default(),
            drops: Drops::new(),
            promoted: broadcast::channel(EVENT_BACKLOG).0,
            dropped: broadcast::channel(EVENT_BACKLOG).0,
        }
    }

    /// Sets the chain for log lines of the pool: its primary alias.
    #[must_use]
    pub fn log_as(mut self, chain: String) -> Self {
        self.drops.chain = chain;
        self
    }

    /// Subscribes to transactions that become executable.
    pub fn subscribe(&self) -> broadcast::Receiver<PooledTx> {
        self.promoted.subscribe()
    }

    /// Subscribes to transactions that leave without being mined.
    pub fn subscribe_dropped(&self) -> broadcast::Receiver<DroppedTx> {
        self.dropped.subscribe()
    }

    /// Makes the checks of [`Admission::decide`] that do not depend on other transactions here. `state` is the sender's.
    pub(crate) fn check_alone(
        &self,
        tx: &PooledTx,
        state: &AccountState,
        next: &NextBlock,
    ) -> Result<(), PoolError> {
        checks::after_recovery(tx, &self.config, next)?;
        state.check(tx, U256::ZERO, None, self.config.checks_balance)
    }

    /// Begins to admit a transaction. The caller must read the sender's state after this, not before.
    pub fn admit(&self, tx: PooledTx) -> Admission<'_> {
        let rewinds = self.inner.lock().begin_admission(tx.sender());
        Admission { pool: self, tx, rewinds, refused: RefusedTxs::None, is_decided: false }
    }

    /// Changes the pool and notifies subscribers. The pool stays locked meanwhile, so that events come in the order of
    /// the changes.
    fn change<R>(
        &self,
        now_ms: u64,
        change: impl FnOnce(&mut PoolState, &mut PoolChanges) -> R,
    ) -> R {
        let mut outcome = PoolChanges::default();
        let mut inner = self.inner.lock();
        inner.revision = inner.revision.wrapping_add(1);
        let result = change(&mut inner, &mut outcome);
        for tx in &outcome.promoted {
            // It is not an error if there are no subscribers.
            let _listeners = self.promoted.send(tx.without_sidecar());
        }
        for DroppedTx { tx, reason } in &outcome.dropped {
            let dropped = DroppedTx { tx: tx.without_sidecar(), reason: reason.clone() };
            let _listeners = self.dropped.send(dropped);
        }
        drop(inner);
        self.drops.record(&outcome.dropped, now_ms);
        result
    }

    /// Whether the pool holds the transaction.
    pub fn contains(&self, hash: &B256) -> bool {
        self.inner.lock().by_hash.contains_key(hash)
    }

    /// A transaction, and whether it is pending.
    pub fn get(&self, hash: &B256) -> Option<(PooledTx, bool)> {
        let inner = self.inner.lock();
        let (sender, nonce) = inner.by_hash.get(hash)?;
        let account = inner.accounts.get(sender)?;
        let is_pending = account.pending().contains_key(nonce);
        account.get(*nonce).map(|tx| (tx.clone(), is_pending))
    }

    /// A blob transaction that came in lately, with its sidecar, whether it waits or not.
    pub fn recent_blob_tx(&self, hash: &B256) -> Option<PooledTx> {
        self.recent_blobs.lock().of_tx(hash)
    }

    /// A blob transaction that came in lately with the blob of this versioned hash, and the place of that blob.
    pub fn recent_blob(&self, hash: &B256) -> Option<(PooledTx, usize)> {
        self.recent_blobs.lock().of_blob(hash)
    }

    /// The transaction of an account with this nonce.
    pub fn get_by_nonce(&self, account: &Address, nonce: u64) -> Option<PooledTx> {
        self.inner.lock().accounts.get(account)?.get(nonce).cloned()
    }

    /// The price that a transaction must offer to replace the one of an account with this nonce; `None` if there is
    /// none.
    pub fn replacement_price(&self, account: &Address, nonce: u64) -> Option<ReplacementPrice> {
        let old = self.get_by_nonce(account, nonce)?;
        Some(old.least_replacement(self.config.price_bump))
    }

    /// The nonce after an account's pending transactions, if the pool holds any of the account.
    pub fn next_nonce(&self, account: &Address) -> Option<u64> {
        let inner = self.inner.lock();
        let account = inner.accounts.get(account).filter(|account| !account.is_empty());
        account.map(AccountTxs::next_nonce)
    }

    /// The numbers of pending and of queued transactions.
    pub fn counts(&self) -> (usize, usize) {
        let inner = self.inner.lock();
        (inner.pending, inner.queued)
    }

    /// A number that changes with each change of the pool.
    pub(crate) fn revision(&self) -> u64 {
        self.inner.lock().revision
    }

    /// Bytes of all transactions.
    pub fn bytes(&self) -> usize {
        self.inner.lock().bytes
    }

    /// All transactions by account and nonce.
    pub fn content(&self) -> Content {
        let inner = self.inner.lock();
        let mut content = Content::default();
        for (address, account) in &inner.accounts {
            if !account.pending().is_empty() {
                content.pending.insert(*address, account.pending().clone());
            }
            if !account.queued().is_empty() {
                content.queued.insert(*address, account.queued().clone());
            }
        }
        content
    }

    /// All transactions in the order of their arrival, those of one account in the order of nonces. Another pool
    /// admits them in this order.
    pub fn waiting(&self) -> Vec<PooledTx> {
        let inner = self.inner.lock();
        let mut waiting = Vec::with_capacity(inner.pending + inner.queued);
        for account in inner.accounts.values() {
            let mut latest = 0;
            for tx in account.pending().values().chain(account.queued().values()) {
                latest = latest.max(tx.arrival());
                waiting.push((latest, tx.nonce(), tx.clone()));
            }
        }
        drop(inner);
        waiting.sort_by_key(|(latest, nonce, _)| (*latest, *nonce));
        waiting.into_iter().map(|(.., tx)| tx).collect()
    }

    /// The transactions of one account.
    pub fn content_of(&self, account: &Address) -> AccountContent {
        let inner = self.inner.lock();
        let found = inner.accounts.get(account).map(|account| AccountContent {
            pending: account.pending().clone(),
            queued: account.queued().clone(),
        });
        found.unwrap_or_default()
    }

    /// The pending transactions of some accounts, in the order of `accounts` and of nonces.
    pub fn pending_of(&self, accounts: &[Address]) -> Vec<PooledTx> {
        let inner = self.inner.lock();
        let found = accounts.iter().filter_map(|account| inner.accounts.get(account));
        found.flat_map(|account| account.pending().values().cloned()).collect()
    }

    /// The pending transaction of an account with this nonce.
    pub(crate) fn pending_at(&self, account: &Address, nonce: u64) -> Option<PooledTx> {
        self.inner.lock().accounts.get(account)?.pending().get(&nonce).cloned()
    }

    /// The accounts that have transactions here.
    pub fn accounts(&self) -> Vec<Address> {
        let inner = self.inner.lock();
        let accounts = inner.accounts.iter().filter(|(_, account)| !account.is_empty());
        accounts.map(|(address, _)| *address).collect()
    }

    /// The pending transactions in the order in which a block with this base fee (wei) takes them.
    pub fn best(&self, base_fee: u128) -> BestTransactions<'_> {
        BestTransactions::new(self, base_fee)
    }

    /// The configuration.
    pub const fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// The next transactions of accounts whose rank is below `bound`, the best first.
    fn best_heads(
        &self,
        base_fee: u128,
        bound: Option<Rank>,
        count: usize,
    ) -> Vec<(Rank, PooledTx)> {
        self.inner.lock().best_heads(base_fee, bound, count)
    }

    /// The highest base fee (wei a gas) that the next transaction of an account pays. The result may be lower if it
    /// is above the base fee of the last built block.
    pub fn payable_base_fee(&self) -> Option<u128> {
        self.inner.lock().payable_base_fee()
    }

    /// Follows a new head. Heads come in the order of their heights.
    pub fn settle(&self, head: &NewHead<'_>) {
        let mut rest = head.accounts;
        loop {
            let (accounts, later) = rest.split_at(rest.len().min(SETTLE_CHUNK));
            let part = NewHead { accounts, ..*head };
            self.change(head.now_ms, |inner, outcome| inner.settle(&part, &self.config, outcome));
            rest = later;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Removes a transaction that can't be mined.
    pub fn withdraw(&self, hash: &B256, reason: DropReason, now_ms: u64) {
        let limits = (&self.config, now_ms);
        self.change(now_ms, |inner, outcome| inner.withdraw(hash, reason, limits, outcome));
    }

    /// The accounts that the pool follows, also those without transactions.
    pub fn known_accounts(&self) -> Vec<Address> {
        self.inner.lock().accounts.keys().copied().collect()
    }

    /// Begins a rewind: the pool's account states are out of date. Returns the accounts; the caller passes their
    /// restored states to [`Self::settle`]. Admissions whose senders were read before are refused, so that the
    /// transactions are checked again.
    pub fn begin_rewind(&self) -> Vec<Address> {
        self.inner.lock().begin_rewind()
    }

    /// The next accounts to compare with the store. All accounts take turns.
    pub fn next_to_check(&self, count: usize) -> Vec<Address> {
        self.inner.lock().next_to_check(count)
    }

    /// The reasons of the transactions that left the pool without being mined.
    pub fn drop_log(&self) -> &DropLog {
        self.drops.log()
    }

    /// Records the reason of a transaction that is not in the pool and will not be mined.
    pub fn note_dropped(&self, hash: B256, reason: &DropReason, now_ms: u64) {
        self.drops.note(hash, reason, now_ms);
    }

    /// Counts a refused transaction.
    pub fn count_refused(&self, error: &PoolError) {
        self.drops.count_refused(error);
    }

    /// The numbers of dropped and refused transactions, by reason.
    pub fn figures(&self) -> PoolFigures {
        self.drops.figures()
    }
}

impl Admission<'_> {
    /// The transaction.
    pub fn tx(&self) -> &PooledTx {
        &self.tx
    }

    /// Refuses these transactions, too.
    #[must_use]
    pub fn refusing(mut self, refused: RefusedTxs) -> Self {
        self.refused = refused;
        self
    }

    /// Adds or refuses the transaction. `sender` must be read after [`Pool::admit`]; `now_ms` is Unix ms.
    pub fn decide(
        mut self,
        sender: AccountRead,
        next: &NextBlock,
        now_ms: u64,
    ) -> Result<(), PoolError> {
        checks::after_recovery(&self.tx, &self.pool.config, next)?;
        self.is_decided = true;
        let Self { pool, tx, rewinds, refused, .. } = &self;
        pool.change(now_ms, |inner, outcome| {
            let decided = match inner.rewinds == *rewinds {
                true => inner.check_in_next(tx, &sender.state, next, *refused).and_then(|()| {
                    inner.add(tx.clone(), sender, next, now_ms, &pool.config, outcome)
                }),
                // The state may be from before the rewind.
                false => Err(PoolError::Rewound),
            };
            inner.end_admission(tx.sender());
            decided
        })?;
        pool.recent_blobs.lock().add(tx, pool.config.recent_blobs);
        Ok(())
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        if !self.is_decided {
            self.pool.inner.lock().end_admission(self.tx.sender());
        }
    }
}
