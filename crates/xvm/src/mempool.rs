//! Transactions that wait for a block: first in, first out, no two that consume the same UTXO, bounded.
//!
//! Nothing is verified under the lock. A transaction stays here while it is in an undecided block, so that an
//! abandoned block needs no repair; the builder passes over those that its ancestors hold.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use esker_primitives::sync::Mutex;
use esker_primitives::{Id, TxId};
use lru::LruCache;
use thiserror::Error;

use crate::txs::Tx;

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

/// Why the pool does not take a transaction. Texts are the reference's.
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

/// A waiting transaction.
#[derive(Debug)]
pub(crate) struct Pooled {
    pub(crate) tx: Tx,
    /// UTXO IDs that it consumes, here or in shared memory.
    inputs: Vec<Id>,
    /// Whether it has passed the syntactic rules.
    pub(crate) well_formed: bool,
}

impl Pooled {
    pub(crate) fn new(tx: Tx, well_formed: bool) -> Self {
        let inputs = tx.unsigned().consumed_utxo_ids().map(|id| id.input_id()).collect();
        Self { tx, inputs, well_formed }
    }
}

/// How long a remembered refusal holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
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
    dropped: LruCache<TxId, (String, Holds)>,
}

/// What became of a transaction that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    New,
    Known,
}

impl Mempool {
    pub(crate) fn new(limits: MempoolLimits) -> Self {
        let inner = Inner {
            next: 0,
            queue: BTreeMap::new(),
            by_id: HashMap::new(),
            spenders: HashMap::new(),
            bytes: 0,
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

    /// Appends a transaction.
    pub(crate) fn add(&self, pooled: Pooled) -> Result<Added, MempoolError> {
        let (tx_id, size) = (pooled.tx.id(), pooled.tx.bytes().len());
        let mut inner = self.inner.lock();
        if inner.by_id.contains_key(&tx_id) {
            return Ok(Added::Known);
        }
        let max = self.limits.max_tx_bytes;
        if size > max {
            let error = MempoolError::TooLarge { tx_id, size, max };
            inner.dropped.put(tx_id, (error.to_string(), Holds::Always));
            return Err(error);
        }
        let available = self.limits.max_bytes.saturating_sub(inner.bytes);
        if size > available {
            return Err(MempoolError::Full { tx_id, size, available });
        }
        if pooled.inputs.iter().any(|input| inner.spenders.contains_key(input)) {
            return Err(MempoolError::Conflict(tx_id));
        }
        inner.insert(tx_id, size, pooled);
        Ok(Added::New)
    }

    /// The refusal that is remembered of a transaction, if it still holds.
    pub(crate) fn refusal(&self, id: &TxId, height: u64) -> Option<String> {
        let mut inner = self.inner.lock();
        let (reason, holds) = inner.dropped.get(id)?;
        match holds {
            Holds::AtHeight(then) if *then != height => {
                inner.dropped.pop(id);
                None
            }
            Holds::Always | Holds::AtHeight(_) => Some(reason.clone()),
        }
    }

    /// Remembers why a transaction was refused.
    pub(crate) fn remember_refusal(&self, id: TxId, reason: String, holds: Holds) {
        let mut inner = self.inner.lock();
        if !inner.by_id.contains_key(&id) {
            inner.dropped.put(id, (reason, holds));
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

    /// Removes transactions. Gives those that were there.
    pub(crate) fn remove<'i>(&self, ids: impl IntoIterator<Item = &'i TxId>) -> Vec<Arc<Pooled>> {
        let mut inner = self.inner.lock();
        ids.into_iter().filter_map(|id| inner.remove(id)).collect()
    }
}

impl Inner {
    fn insert(&mut self, tx_id: TxId, size: usize, pooled: Pooled) {
        let place = self.next;
        self.next = self.next.saturating_add(1);
        self.bytes = self.bytes.saturating_add(size);
        self.spenders.extend(pooled.inputs.iter().map(|input| (*input, tx_id)));
        self.by_id.insert(tx_id, place);
        self.queue.insert(place, Arc::new(pooled));
        self.dropped.pop(&tx_id);
    }

    fn remove(&mut self, id: &TxId) -> Option<Arc<Pooled>> {
        let pooled = self.queue.remove(&self.by_id.remove(id)?)?;
        self.bytes = self.bytes.saturating_sub(pooled.tx.bytes().len());
        for input in &pooled.inputs {
            if self.spenders.get(input) == Some(id) {
                self.spenders.remove(input);
            }
        }
        Some(pooled)
    }
}
