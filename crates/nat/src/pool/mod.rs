//! Atomic transactions that wait for a block: the best-paying first, no two that consume the same, bounded
//! (docs/protocol/atomic-transactions.md, "Atomic pool").
//!
//! Nothing is verified under the lock. A transaction that was verified on some state joins by
//! [`AtomicPool::add_verified`], which looks under the lock whether a block was accepted since. A transaction stays
//! here while it is in an undecided block, so that an abandoned block needs no repair; the builder passes over those
//! that its ancestors hold. What it takes into a block under construction is as good as in an undecided block: nothing
//! replaces it ([`AtomicPool::take`]). Why a transaction was given up is kept in a [`DropLog`].

mod figures;
mod nonces;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use esker_chain::{DropLog, PoolFigures};
use esker_primitives::clock::Clock;
use esker_primitives::ids::{AssetId, Id, TxId};
use esker_primitives::sync::Mutex;
use esker_transactions::money::Wei;
use esker_transactions::nat::{AccountNonce, AmountError, AtomicTx, nonce_key};
use lru::LruCache;

use crate::state::tables::DROPPED;
use crate::verify::VerifyError;
use figures::PoolCounters;
use nonces::WaitingNonces;

pub(crate) use figures::{DropKind, RefusalKind};

/// Transactions that wait or are in undecided blocks.
pub const MAX_POOLED: usize = 4096;
/// Dropped transactions that are remembered as a whole; of others the reason is.
pub const MAX_DROPPED: NonZeroUsize = NonZeroUsize::new(50).expect("50 is not 0");

/// The reason why the pool does not take a transaction. Texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The burned amount can't be computed.
    #[error(transparent)]
    Amount(#[from] AmountError),
    /// It does not pay more than those that consume the same.
    #[error(
        "conflicting atomic tx present: issued tx ({tx}) gas price {price} <= conflict tx ({with}) \
         gas price {with_price} ({conflicts} total conflicts in mempool)"
    )]
    Conflict {
        /// The transaction.
        tx: TxId,
        /// Billionths a gas.
        price: u64,
        /// The best-paying of those.
        with: TxId,
        /// Billionths a gas.
        with_price: u64,
        /// Inputs that are consumed already.
        conflicts: usize,
    },
    /// An undecided block consumes the same UTXO or nonce.
    #[error(transparent)]
    Undecided(VerifyError),
    /// The pool is full, and it pays no more than the one that pays least.
    #[error("atomic tx fee too low for atomic mempool currentMin={min} provided={provided}")]
    FeeTooLow {
        /// Billionths a gas.
        min: u64,
        /// Billionths a gas.
        provided: u64,
    },
    /// All are in undecided blocks.
    #[error("too many atomic tx")]
    TooMany,
}

/// The reason why a transaction that was verified can't join the pool.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The pool's own rules.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A block was accepted since it was verified, or a transaction before it is gone.
    #[error("the chain moved on while the transaction was verified; try again")]
    Outdated,
}

/// The status of a transaction of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolStatus {
    /// Waits for a block.
    Pending,
    /// In a block that is being decided on.
    Issued,
    /// Given up, for this reason.
    Dropped(String),
}

/// The pool.
#[derive(Debug)]
pub struct AtomicPool {
    native: AssetId,
    capacity: usize,
    clock: Arc<dyn Clock>,
    drops: DropLog,
    /// The chain's primary alias, for log lines.
    chain: String,
    counters: PoolCounters,
    inner: Mutex<Inner>,
}

/// Place in the queue: the best price first, then the earliest arrival.
type Place = (Reverse<u64>, u64);

#[derive(Debug)]
struct Entry {
    tx: AtomicTx,
    place: Place,
    /// Undecided blocks that hold it.
    blocks: u32,
}

impl Entry {
    const fn price(&self) -> u64 {
        self.place.0.0
    }
}

#[derive(Debug)]
struct Inner {
    arrivals: u64,
    entries: HashMap<TxId, Entry>,
    /// The transactions in the block under construction.
    taken: HashSet<TxId>,
    queue: BTreeMap<Place, TxId>,
    /// Which transaction consumes what.
    spenders: HashMap<Id, TxId>,
    nonces: WaitingNonces,
    /// Height of the last accepted block; 0 until one was accepted since the start.
    tip: u64,
    dropped: LruCache<TxId, (AtomicTx, String)>,
}

impl AtomicPool {
    /// An empty pool; prices are what is burned of `native`.
    pub fn new(native: AssetId, clock: Arc<dyn Clock>) -> Self {
        Self::with_capacity(native, clock, MAX_POOLED)
    }

    /// An empty pool for `capacity` transactions.
    pub fn with_capacity(native: AssetId, clock: Arc<dyn Clock>, capacity: usize) -> Self {
        let inner = Inner {
            arrivals: 0,
            entries: HashMap::new(),
            taken: HashSet::new(),
            queue: BTreeMap::new(),
            spenders: HashMap::new(),
            nonces: WaitingNonces::default(),
            tip: 0,
            dropped: LruCache::new(MAX_DROPPED),
        };
        let drops = DropLog::new(&DROPPED, "nat.drops");
        let (counters, inner) = (PoolCounters::new(), Mutex::new_named("nat.pool", inner));
        Self { native, capacity, clock, drops, chain: String::new(), counters, inner }
    }

    /// Log lines of the pool go to this chain's logger: its primary alias.
    #[must_use]
    pub fn log_as(self, chain: String) -> Self {
        Self { chain, ..self }
    }

    /// Whether a transaction waits or is in an undecided block.
    pub fn contains(&self, id: &TxId) -> bool {
        self.inner.lock().entries.contains_key(id)
    }

    /// Transactions that wait or are in undecided blocks.
    pub fn len(&self) -> usize {
        self.inner.lock().entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A transaction of the pool, remembered dropped ones included.
    pub fn get(&self, id: &TxId) -> Option<(AtomicTx, PoolStatus)> {
        let inner = self.inner.lock();
        if let Some(entry) = inner.entries.get(id) {
            let status = match entry.blocks {
                0 => PoolStatus::Pending,
                _ => PoolStatus::Issued,
            };
            return Some((entry.tx.clone(), status));
        }
        let (tx, reason) = inner.dropped.peek(id)?;
        Some((tx.clone(), PoolStatus::Dropped(reason.clone())))
    }

    /// Takes in a transaction that was found valid. One that is known already is left as it is. Those that
    /// consume the same and pay less are dropped, as is the one that pays least of a full pool.
    pub fn add(&self, tx: AtomicTx) -> Result<(), PoolError> {
        let price = tx.gas_price(&self.native)?;
        self.add_to(&mut self.inner.lock(), tx, price)
    }

    /// Like [`Self::add`], for a transaction that was valid on the state at height `verified_at`: valid still, or
    /// refused.
    pub fn add_verified(&self, tx: AtomicTx, verified_at: u64) -> Result<(), JoinError> {
        let price = tx.gas_price(&self.native).map_err(PoolError::from)?;
        let mut inner = self.inner.lock();
        if inner.tip > verified_at {
            return Err(JoinError::Outdated);
        }
        Ok(self.add_to(&mut inner, tx, price)?)
    }

    /// Like [`Self::add_verified`], for a transaction that was built to follow exports of those nonces. It takes
    /// nothing from others, whatever it pays.
    pub fn add_built(
        &self,
        tx: AtomicTx,
        verified_at: u64,
        follows: &[AccountNonce],
    ) -> Result<(), JoinError> {
        let price = tx.gas_price(&self.native).map_err(PoolError::from)?;
        let mut inner = self.inner.lock();
        let is_waiting = |nonce: &AccountNonce| inner.nonces.contains(nonce);
        if inner.tip > verified_at
            || tx.conflict_keys().iter().any(|key| inner.spenders.contains_key(key))
            || !follows.iter().all(is_waiting)
        {
            return Err(JoinError::Outdated);
        }
        Ok(self.add_to(&mut inner, tx, price)?)
    }

    fn add_to(&self, inner: &mut Inner, tx: AtomicTx, price: u64) -> Result<(), PoolError> {
        if inner.entries.contains_key(&tx.id()) {
            return Ok(());
        }
        let rivals = inner.rivals_below(&tx, price)?;
        for rival in &rivals {
            let reason = format!("replaced by {}, which pays more", tx.id());
            self.drop_from(inner, rival, DropKind::Replaced, reason);
        }
        self.make_room(inner, price, &tx.id())?;
        inner.insert(tx, price, 0);
        Ok(())
    }

    /// Updates the pool after a rewind to a height: transactions that were dropped since are unknown again, and the
    /// drop log has the earlier ones. The builder checks the pooled ones.
    pub fn rewound(&self, height: u64) {
        let mut inner = self.inner.lock();
        inner.tip = height;
        inner.dropped.clear();
    }

    /// Whether a waiting transaction consumes that.
    pub fn is_consumed(&self, key: &Id) -> bool {
        self.inner.lock().spenders.contains_key(key)
    }

    /// The waiting export that uses a nonce.
    pub fn export_at(&self, nonce: &AccountNonce) -> Option<AtomicTx> {
        let inner = self.inner.lock();
        let id = inner.spenders.get(&nonce_key(&nonce.account, nonce.nonce))?;
        inner.entries.get(id).map(|entry| entry.tx.clone())
    }

    /// Whether a waiting export uses a nonce.
    pub fn is_used(&self, nonce: &AccountNonce) -> bool {
        self.inner.lock().nonces.contains(nonce)
    }

    /// The nonces of an account that waiting exports use, ascending.
    pub fn nonces_of(&self, account: &Address) -> Vec<u64> {
        self.inner.lock().nonces.for_account(account)
    }

    /// The log of dropped transactions, with the reasons.
    pub const fn drop_log(&self) -> &DropLog {
        &self.drops
    }

    /// The numbers of transactions that were dropped and refused, by reason.
    pub fn figures(&self) -> PoolFigures {
        self.counters.figures()
    }

    /// Counts a transaction that was not taken.
    pub(crate) fn count_refused(&self, kind: RefusalKind) {
        self.counters.count_refused(kind);
    }

    /// Notes a transaction that is not here, and why it will not be accepted.
    pub(crate) fn note_dropped(&self, id: TxId, kind: DropKind, reason: String) {
        self.counters.count_dropped(kind);
        self.drops.add(id, reason, self.clock.now_ms());
    }

    /// All transactions that wait or are in undecided blocks, the best-paying first.
    pub fn candidates(&self) -> Vec<AtomicTx> {
        let inner = self.inner.lock();
        inner.queue.values().filter_map(|id| inner.entries.get(id)).map(|e| e.tx.clone()).collect()
    }

    /// Like [`Self::candidates`], without those of undecided blocks that consume what another one consumes: that one
    /// was here before.
    pub fn first_spenders(&self) -> Vec<AtomicTx> {
        let mut found = self.candidates();
        let inner = self.inner.lock();
        found.retain(|tx| {
            let mut keys = tx.conflict_keys().iter();
            keys.all(|key| inner.spenders.get(key) == Some(&tx.id()))
        });
        found
    }

    /// The highest base fee, in wei a gas, that one of the transactions which are in no undecided block pays.
    pub fn highest_payable_base_fee(&self) -> Option<U256> {
        let inner = self.inner.lock();
        let waiting = inner.entries.values().filter(|entry| entry.blocks == 0);
        waiting.filter_map(|entry| payable_base_fee(&entry.tx, &self.native)).max()
    }

    /// Puts a transaction into the block under construction; false if it is not here any more. Nothing replaces it
    /// until it is put back, or its block is abandoned.
    pub fn take(&self, id: &TxId) -> bool {
        let mut inner = self.inner.lock();
        let is_here = inner.entries.contains_key(id);
        if is_here {
            inner.taken.insert(*id);
        }
        is_here
    }

    /// Puts a transaction back that [`Self::take`] took.
    pub fn put_back(&self, id: &TxId) {
        self.inner.lock().taken.remove(id);
    }

    /// No block is under construction: as [`Self::put_back`], of all.
    pub fn put_back_all(&self) {
        self.inner.lock().taken.clear();
    }

    /// Drops a pooled transaction that became invalid, and records the reason. One that an undecided block holds stays, as does one in the
    /// block under construction.
    pub fn drop_invalid(&self, id: &TxId, reason: String) {
        self.drop_waiting(id, DropKind::Invalid, reason);
    }

    /// Drops a waiting transaction that the node that decides did not take.
    pub(crate) fn withdraw(&self, id: &TxId, reason: String) {
        self.drop_waiting(id, DropKind::Source, reason);
    }

    fn drop_waiting(&self, id: &TxId, kind: DropKind, reason: String) {
        let mut inner = self.inner.lock();
        if inner.entries.get(id).is_some_and(|entry| !inner.is_in_block(entry)) {
            self.drop_from(&mut inner, id, kind, reason);
        }
    }

    fn drop_from(&self, inner: &mut Inner, id: &TxId, kind: DropKind, reason: String) {
        if let Some(entry) = inner.remove(id) {
            self.counters.count_dropped(kind);
            tracing::info!(chain = self.chain, txID = %id, reason, "atomic transaction dropped");
            self.drops.add(*id, reason.clone(), self.clock.now_ms());
            inner.dropped.put(*id, (entry.tx, reason));
        }
    }

    /// Drops the waiting transaction that pays least if there is no room for one more, which pays `price`.
    fn make_room(&self, inner: &mut Inner, price: u64, newcomer: &TxId) -> Result<(), PoolError> {
        if inner.entries.len() < self.capacity {
            return Ok(());
        }
        let mut worst_first = inner.queue.values().rev().filter_map(|id| inner.entries.get(id));
        let worst =
            worst_first.find(|entry| !inner.is_in_block(entry)).ok_or(PoolError::TooMany)?;
        let (worst, min) = (worst.tx.id(), worst.price());
        if min >= price {
            return Err(PoolError::FeeTooLow { min, provided: price });
        }
        let reason = format!("the pool is full, and {newcomer} pays more");
        self.drop_from(inner, &worst, DropKind::Outbid, reason);
        Ok(())
    }

    /// Lets a transaction of an abandoned block wait, by the rules that one which arrives has to follow.
    fn settle_returned(&self, inner: &mut Inner, tx: &AtomicTx) {
        let Some(entry) = inner.remove(&tx.id()) else { return };
        let price = entry.price();
        let fits = inner.rivals_below(tx, price).and_then(|rivals| {
            for rival in &rivals {
                let reason = format!("replaced by {}, which pays more", tx.id());
                self.drop_from(inner, rival, DropKind::Replaced, reason);
            }
            self.make_room(inner, price, &tx.id())
        });
        inner.insert(entry.tx, price, 0);
        if let Err(error) = fits {
            self.drop_from(inner, &tx.id(), DropKind::of_return(&error), error.to_string());
        }
    }

    /// A block with these transactions is being decided on.
    pub fn issued(&self, txs: Vec<AtomicTx>) {
        let mut inner = self.inner.lock();
        for tx in txs {
            inner.taken.remove(&tx.id());
            if let Some(entry) = inner.entries.get_mut(&tx.id()) {
                entry.blocks = entry.blocks.saturating_add(1);
            } else if let Ok(price) = tx.gas_price(&self.native) {
                inner.insert(tx, price, 1);
            }
        }
    }

    /// A block with these transactions was abandoned: they wait again, unless another block has them.
    pub fn returned(&self, txs: &[AtomicTx]) {
        let mut inner = self.inner.lock();
        for tx in txs {
            let Some(entry) = inner.entries.get_mut(&tx.id()) else { continue };
            entry.blocks = entry.blocks.saturating_sub(1);
            if entry.blocks == 0 {
                self.settle_returned(&mut inner, tx);
            }
        }
    }

    /// Transactions here that a block makes impossible, with the reasons: it holds `txs`, and leaves accounts with these
    /// nonces.
    pub fn conflicting_txs(
        &self,
        txs: &[AtomicTx],
        nonces: &[AccountNonce],
    ) -> BTreeMap<TxId, String> {
        self.inner.lock().conflicting_txs(txs, nonces)
    }

    /// The block of that height, with these transactions, was accepted and left accounts with these nonces: they leave,
    /// and what it made impossible is given up. Returns those.
    pub fn accepted(&self, height: u64, txs: &[AtomicTx], nonces: &[AccountNonce]) -> Vec<TxId> {
        let mut inner = self.inner.lock();
        inner.tip = height;
        let conflicting = inner.conflicting_txs(txs, nonces);
        for tx in txs {
            inner.remove(&tx.id());
            inner.dropped.pop(&tx.id());
        }
        let given_up = conflicting.keys().copied().collect();
        for (id, reason) in conflicting {
            let Some(entry) = inner.remove(&id) else { continue };
            self.counters.count_dropped(DropKind::Conflict);
            tracing::info!(chain = self.chain, txID = %id, reason, "atomic transaction dropped");
            // The block's commit may have it already.
            self.drops.add_once(id, reason.clone(), self.clock.now_ms());
            inner.dropped.put(id, (entry.tx, reason));
        }
        given_up
    }
}

/// The reason for dropping an export whose nonce was used.
pub(crate) fn used_nonce(account: &Address, nonce: u64) -> String {
    let error = VerifyError::InvalidNonce;
    format!("{error}: nonce {nonce} of {account} was used by another transaction")
}

/// The highest base fee, in wei a gas, at which what a transaction burns covers its gas.
fn payable_base_fee(tx: &AtomicTx, native: &AssetId) -> Option<U256> {
    let burned = Wei::from(esker_primitives::NanoNative(tx.burned(native).ok()?));
    burned.0.checked_div(U256::from(tx.gas()))
}

impl Inner {
    /// Whether an undecided block holds it, or the one under construction.
    fn is_in_block(&self, entry: &Entry) -> bool {
        entry.blocks > 0 || self.taken.contains(&entry.tx.id())
    }

    /// Transactions that consume something of what `tx` does.
    fn rivals(&self, tx: &AtomicTx) -> BTreeSet<TxId> {
        let spenders = tx.conflict_keys().iter().filter_map(|key| self.spenders.get(key));
        spenders.filter(|spender| **spender != tx.id()).copied().collect()
    }

    fn conflicting_txs(&self, txs: &[AtomicTx], nonces: &[AccountNonce]) -> BTreeMap<TxId, String> {
        let mut found = BTreeMap::new();
        for tx in txs {
            let id = tx.id();
            let reason = || format!("transaction {id}, which consumes the same, was accepted");
            found.extend(self.rivals(tx).into_iter().map(|rival| (rival, reason())));
        }
        for AccountNonce { account, nonce: next } in nonces {
            for nonce in
                self.nonces.for_account(account).into_iter().take_while(|nonce| nonce < next)
            {
                if let Some(id) = self.spenders.get(&nonce_key(account, nonce)) {
                    found.entry(*id).or_insert_with(|| used_nonce(account, nonce));
                }
            }
        }
        txs.iter().for_each(|tx| drop(found.remove(&tx.id())));
        found
    }

    /// The rivals, if `price` is above that of each.
    fn rivals_below(&self, tx: &AtomicTx, price: u64) -> Result<BTreeSet<TxId>, PoolError> {
        let rivals = self.rivals(tx);
        let entries = || rivals.iter().filter_map(|id| self.entries.get(id));
        if entries().any(|entry| self.is_in_block(entry)) {
            return Err(PoolError::Undecided(VerifyError::consumed_undecided(tx.unsigned())));
        }
        // Of equal prices the first: the order of a set.
        let best = entries().min_by_key(|entry| Reverse(entry.price()));
        match best.filter(|best| best.price() >= price) {
            None => Ok(rivals),
            Some(best) => Err(PoolError::Conflict {
                tx: tx.id(),
                price,
                with: best.tx.id(),
                with_price: best.price(),
                conflicts: tx
                    .conflict_keys()
                    .iter()
                    .filter(|key| self.spenders.contains_key(*key))
                    .count(),
            }),
        }
    }

    fn insert(&mut self, tx: AtomicTx, price: u64, blocks: u32) {
        let id = tx.id();
        let place = (Reverse(price), self.arrivals);
        self.arrivals = self.arrivals.saturating_add(1);
        for key in tx.conflict_keys() {
            self.spenders.entry(*key).or_insert(id);
        }
        self.nonces.add(tx.unsigned());
        self.queue.insert(place, id);
        self.entries.insert(id, Entry { tx, place, blocks });
        self.dropped.pop(&id);
    }

    fn remove(&mut self, id: &TxId) -> Option<Entry> {
        let entry = self.entries.remove(id)?;
        self.taken.remove(id);
        self.queue.remove(&entry.place);
        self.nonces.remove(entry.tx.unsigned());
        for key in entry.tx.conflict_keys() {
            if self.spenders.get(key) == Some(id) {
                self.spenders.remove(key);
            }
        }
        Some(entry)
    }
}
