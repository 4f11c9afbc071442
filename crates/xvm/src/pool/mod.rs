//! Transactions that wait for a block: first in, first out, no two that consume the same UTXO, bounded.
//!
//! Nothing is verified under the lock. A transaction that was verified on some state joins by
//! [`Mempool::add_verified`], which looks under the lock at what was accepted since. A transaction stays here while
//! it is in an undecided block, so that an abandoned block needs no repair; the builder passes over those that its
//! ancestors hold.

mod figures;
mod outputs;
mod recent;
#[cfg(test)]
mod tests;
mod wallet_queue;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use esker_primitives::sync::Mutex;
use esker_primitives::{Id, ShortId, TxId};
use esker_transactions::xvm::Tx;
use esker_utxo::{Utxo, UtxoId};
use lru::LruCache;
use thiserror::Error;

use outputs::{PooledOutputs, output_at};
use recent::RecentBlocks;

pub(crate) use figures::{PoolCounters, RefusalKind, RejectKind};
pub use wallet_queue::{MAX_WALLET_BYTES, MAX_WALLET_TXS, WalletFull};
pub(crate) use wallet_queue::{PendingList, PushOutcome, WalletQueue};

/// Refused transactions whose error is remembered.
const DROP_CACHE_LEN: NonZeroUsize = NonZeroUsize::new(64).expect("64 is not 0");

/// Limits of the pool.
#[derive(Clone, Copy, Debug)]
pub struct MempoolLimits {
    /// Bytes of all transactions together.
    pub max_bytes: usize,
    /// Bytes of one.
    pub max_tx_bytes: usize,
}

impl Default for MempoolLimits {
    /// The reference's: 64 MiB, 64 KiB.
    fn default() -> Self {
        Self { max_bytes: 64 << 20, max_tx_bytes: 64 << 10 }
    }
}

/// The reason why the pool does not take a transaction. Texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MempoolError {
    /// Longer than one transaction may be.
    #[error("tx too large: {tx_id} size ({size}) > max size ({max})")]
    TooLarge {
        /// The transaction.
        tx_id: TxId,
        /// Its bytes.
        size: usize,
        /// Most bytes of one transaction.
        max: usize,
    },
    /// There is no room at present.
    #[error("mempool is full: {tx_id} size ({size}) > available space ({available})")]
    Full {
        /// The transaction.
        tx_id: TxId,
        /// Its bytes.
        size: usize,
        /// Bytes that are free.
        available: usize,
    },
    /// A waiting transaction consumes one of the same UTXOs.
    #[error("tx conflicts with other tx: {0}")]
    Conflict(TxId),
}

/// The reason why a verified transaction cannot join the pool.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JoinError {
    /// The pool's own rules.
    Pool(MempoolError),
    /// A block that was accepted since consumed one of its inputs.
    Spent,
    /// A waiting transaction whose output it spends was rejected since.
    NoParent,
    /// It was verified too many blocks ago.
    Outdated,
}

/// A waiting transaction.
#[derive(Debug)]
pub(crate) struct Pooled {
    pub(crate) tx: Tx,
    /// UTXO IDs that it consumes, here or in shared memory.
    inputs: Vec<Id>,
    /// Whether it has passed the syntactic rules.
    pub(crate) well_formed: bool,
    /// Whether it was valid after those before it when it joined.
    verified: bool,
}

impl Pooled {
    pub(crate) fn new(tx: Tx, well_formed: bool) -> Self {
        let inputs = tx.unsigned().consumed_utxo_ids().map(|id| id.input_id()).collect();
        Self { tx, inputs, well_formed, verified: false }
    }
}

/// Time that a remembered refusal is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalValidity {
    /// Whatever the state.
    Always,
    /// While that is the height of the last accepted block.
    AtHeight(u64),
}

/// The pool.
#[derive(Debug)]
pub(crate) struct Mempool {
    limits: MempoolLimits,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    next: u64,
    /// In the order of arrival.
    queue: BTreeMap<u64, Arc<Pooled>>,
    by_id: HashMap<TxId, u64>,
    /// Which waiting transaction consumes a UTXO.
    spenders: HashMap<Id, TxId>,
    bytes: usize,
    /// Of those that have passed the syntactic rules; what another consumes is left out.
    outputs: PooledOutputs,
    /// Transactions that joined unverified: they may spend what is not there yet.
    unverified: usize,
    recent: RecentBlocks,
    /// Transactions removed so far.
    removals: u64,
    dropped: LruCache<TxId, (String, RefusalValidity)>,
}

/// Whether an added transaction is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddOutcome {
    New,
    Known,
}

impl Mempool {
    /// Bytes of the longest transaction that is taken.
    pub(crate) const fn max_tx_bytes(&self) -> usize {
        self.limits.max_tx_bytes
    }

    pub(crate) fn new(limits: MempoolLimits) -> Self {
        let inner = Inner {
            next: 0,
            queue: BTreeMap::new(),
            by_id: HashMap::new(),
            spenders: HashMap::new(),
            bytes: 0,
            outputs: PooledOutputs::default(),
            unverified: 0,
            recent: RecentBlocks::default(),
            removals: 0,
            dropped: LruCache::new(DROP_CACHE_LEN),
        };
        Self { limits, inner: Mutex::new_named("xvm.mempool", inner) }
    }

    pub(crate) fn contains(&self, id: &TxId) -> bool {
        self.inner.lock().by_id.contains_key(id)
    }

    pub(crate) fn get(&self, id: &TxId) -> Option<Arc<Pooled>> {
        let inner = self.inner.lock();
        inner.by_id.get(id).and_then(|at| inner.queue.get(at)).cloned()
    }

    /// Number and bytes of the waiting transactions.
    pub(crate) fn size(&self) -> (usize, usize) {
        let inner = self.inner.lock();
        (inner.queue.len(), inner.bytes)
    }

    /// Number of transactions that have been removed so far. While it is unchanged, no waiting transaction was
    /// decided.
    pub(crate) fn removals(&self) -> u64 {
        self.inner.lock().removals
    }

    /// Whether a waiting transaction consumes a UTXO.
    pub(crate) fn is_spent(&self, id: &Id) -> bool {
        self.inner.lock().spenders.contains_key(id)
    }

    /// Outputs of waiting transactions that no other consumes and that name one of `owners`, in the order of
    /// arrival. Those of transactions that have not passed the syntactic rules are left out.
    pub(crate) fn outputs_of(&self, owners: &BTreeSet<ShortId>) -> Vec<Utxo> {
        let found: Vec<(Arc<Pooled>, u32)> = {
            let inner = self.inner.lock();
            let places = inner.outputs.owned_by(owners).into_iter();
            let pooled = |place: u64| inner.queue.get(&place).map(Arc::clone);
            places.filter_map(|(place, index)| Some((pooled(place)?, index))).collect()
        };
        found.iter().filter_map(|(pooled, index)| output_at(&pooled.tx, *index)).collect()
    }

    /// An output of a waiting transaction that was verified, whether or not another consumes it.
    pub(crate) fn output(&self, id: &UtxoId) -> Option<Utxo> {
        let pooled = self.get(&id.tx_id).filter(|pooled| pooled.well_formed)?;
        output_at(&pooled.tx, id.output_index)
    }

    /// Appends a transaction that need not be valid.
    pub(crate) fn add(&self, pooled: Pooled) -> Result<AddOutcome, MempoolError> {
        self.inner.lock().add(pooled, &self.limits)
    }

    /// Appends a transaction that was valid on the state at height `verified_at`, after the waiting transactions
    /// `parents`, whose outputs it spends. It is valid after what was accepted since as well, or refused.
    pub(crate) fn add_verified(
        &self,
        mut pooled: Pooled,
        verified_at: u64,
        parents: &BTreeSet<TxId>,
    ) -> Result<AddOutcome, JoinError> {
        pooled.verified = true;
        let mut inner = self.inner.lock();
        if inner.by_id.contains_key(&pooled.tx.id()) {
            return Ok(AddOutcome::Known);
        }
        if !inner.recent.covers(verified_at) {
            return Err(JoinError::Outdated);
        }
        if pooled.inputs.iter().any(|id| inner.recent.is_consumed_above(verified_at, id)) {
            return Err(JoinError::Spent);
        }
        let is_there = |id: &TxId| inner.by_id.contains_key(id) || inner.recent.has_tx(id);
        if !parents.iter().all(is_there) {
            return Err(JoinError::NoParent);
        }
        inner.add(pooled, &self.limits).map_err(JoinError::Pool)
    }

    /// Follows an accepted block: its transactions leave. `consumed` are the UTXO IDs that they consume.
    pub(crate) fn accepted(&self, height: u64, txs: &[TxId], consumed: &[(Id, TxId)]) {
        let mut inner = self.inner.lock();
        inner.recent.add(height, txs, consumed);
        for id in txs {
            inner.remove(id);
        }
    }

    /// Updates the mempool after a rewind to a height: clears the recent blocks and the reasons of refusals. The
    /// builder checks the pooled transactions.
    pub(crate) fn rewound(&self, height: u64) {
        let mut inner = self.inner.lock();
        inner.recent = RecentBlocks::at(height);
        inner.dropped.clear();
    }

    /// A waiting transaction with all that spend its outputs, in the order of arrival.
    pub(crate) fn with_descendants(&self, id: &TxId) -> Vec<TxId> {
        let inner = self.inner.lock();
        let mut found: BTreeMap<u64, TxId> = BTreeMap::new();
        let mut open = vec![*id];
        while let Some(id) = open.pop() {
            let Some(place) = inner.by_id.get(&id) else { continue };
            if found.insert(*place, id).is_none()
                && let Some(pooled) = inner.queue.get(place)
            {
                let outputs = pooled.tx.produced_utxos().map(|utxo| utxo.utxo_id.input_id());
                open.extend(outputs.filter_map(|output| inner.spenders.get(&output)));
            }
        }
        found.into_values().collect()
    }

    /// The refusal that is remembered of a transaction, if it still holds.
    pub(crate) fn refusal(&self, id: &TxId, height: u64) -> Option<String> {
        let mut inner = self.inner.lock();
        let (reason, validity) = inner.dropped.get(id)?;
        match validity {
            RefusalValidity::AtHeight(then) if *then != height => {
                inner.dropped.pop(id);
                None
            }
            RefusalValidity::Always | RefusalValidity::AtHeight(_) => Some(reason.clone()),
        }
    }

    /// Remembers why a transaction was refused.
    pub(crate) fn remember_refusal(&self, id: TxId, reason: String, validity: RefusalValidity) {
        let mut inner = self.inner.lock();
        if !inner.by_id.contains_key(&id) {
            inner.dropped.put(id, (reason, validity));
        }
    }

    /// Waiting transactions from place `from` on, in order, without those in `taken`: at least one if there is
    /// any, up to the one with which they exceed `bytes`. With them the place after the last.
    pub(crate) fn candidates(
        &self,
        from: u64,
        bytes: usize,
        taken: &HashSet<TxId>,
    ) -> (Vec<Arc<Pooled>>, u64) {
        let inner = self.inner.lock();
        let mut found = Vec::new();
        let (mut next, mut total) = (from, 0usize);
        for (place, pooled) in inner.queue.range(from..) {
            if total > bytes {
                break;
            }
            next = place.saturating_add(1);
            if !taken.contains(&pooled.tx.id()) {
                total = total.saturating_add(pooled.tx.bytes().len());
                found.push(Arc::clone(pooled));
            }
        }
        (found, next)
    }

    /// Waiting transactions that consume what accepted ones consumed, each with the one that it conflicts with.
    /// `consumed` are UTXO IDs with their consumers, which are not among the answers; in its order.
    pub(crate) fn conflicts(&self, consumed: &[(Id, TxId)]) -> Vec<(TxId, TxId)> {
        let inner = self.inner.lock();
        let mut seen = HashSet::new();
        let mut conflicts = Vec::new();
        for (utxo_id, winner) in consumed {
            if let Some(loser) = inner.spenders.get(utxo_id)
                && loser != winner
                && seen.insert(*loser)
            {
                conflicts.push((*loser, *winner));
            }
        }
        conflicts
    }

    /// Removes transactions, and returns those that were in the pool.
    pub(crate) fn remove<'i>(&self, ids: impl IntoIterator<Item = &'i TxId>) -> Vec<Arc<Pooled>> {
        let mut inner = self.inner.lock();
        ids.into_iter().filter_map(|id| inner.remove(id)).collect()
    }
}

impl Inner {
    fn add(&mut self, pooled: Pooled, limits: &MempoolLimits) -> Result<AddOutcome, MempoolError> {
        let (tx_id, size) = (pooled.tx.id(), pooled.tx.bytes().len());
        if self.by_id.contains_key(&tx_id) {
            return Ok(AddOutcome::Known);
        }
        let max = limits.max_tx_bytes;
        if size > max {
            let error = MempoolError::TooLarge { tx_id, size, max };
            self.dropped.put(tx_id, (error.to_string(), RefusalValidity::Always));
            return Err(error);
        }
        let available = limits.max_bytes.saturating_sub(self.bytes);
        if size > available {
            return Err(MempoolError::Full { tx_id, size, available });
        }
        if pooled.inputs.iter().any(|input| self.spenders.contains_key(input)) {
            return Err(MempoolError::Conflict(tx_id));
        }
        self.insert(tx_id, size, pooled);
        Ok(AddOutcome::New)
    }

    fn insert(&mut self, tx_id: TxId, size: usize, pooled: Pooled) {
        let place = self.next;
        self.next = self.next.saturating_add(1);
        self.bytes = self.bytes.saturating_add(size);
        self.spenders.extend(pooled.inputs.iter().map(|input| (*input, tx_id)));
        for id in pooled.tx.unsigned().local_utxo_ids() {
            if let Some((place, parent)) = self.pooled(&id.tx_id) {
                self.outputs.remove_one(&parent.tx, place, id.output_index);
            }
        }
        if pooled.well_formed {
            self.outputs.add(&pooled.tx, place);
        }
        if !pooled.verified {
            self.unverified = self.unverified.saturating_add(1);
        }
        if self.unverified > 0 {
            for utxo in pooled.tx.produced_utxos() {
                if self.spenders.contains_key(&utxo.utxo_id.input_id()) {
                    self.outputs.remove_one(&pooled.tx, place, utxo.utxo_id.output_index);
                }
            }
        }
        self.by_id.insert(tx_id, place);
        self.queue.insert(place, Arc::new(pooled));
        self.dropped.pop(&tx_id);
    }

    fn pooled(&self, id: &TxId) -> Option<(u64, Arc<Pooled>)> {
        let place = self.by_id.get(id)?;
        Some((*place, Arc::clone(self.queue.get(place)?)))
    }

    fn remove(&mut self, id: &TxId) -> Option<Arc<Pooled>> {
        let place = self.by_id.remove(id)?;
        let pooled = self.queue.remove(&place)?;
        self.removals = self.removals.saturating_add(1);
        self.bytes = self.bytes.saturating_sub(pooled.tx.bytes().len());
        for input in &pooled.inputs {
            if self.spenders.get(input) == Some(id) {
                self.spenders.remove(input);
            }
        }
        if pooled.well_formed {
            self.outputs.remove(&pooled.tx, place);
        }
        if !pooled.verified {
            self.unverified = self.unverified.saturating_sub(1);
        }
        for consumed in pooled.tx.unsigned().local_utxo_ids() {
            if let Some((place, parent)) = self.pooled(&consumed.tx_id)
                && parent.well_formed
            {
                self.outputs.add_one(&parent.tx, place, consumed.output_index);
            }
        }
        Some(pooled)
    }
}
