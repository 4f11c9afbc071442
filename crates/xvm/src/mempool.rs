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

#[cfg(test)]
mod tests {
    use esker_utxo::{TransferableInput, UtxoId};

    use super::*;
    use crate::txs::{BaseTx, UnsignedTx};

    /// A transaction that consumes the outputs of those numbers; `salt` tells two of them apart.
    fn tx(outputs: &[u8], salt: u8) -> Tx {
        let input = |number: &u8| TransferableInput {
            utxo_id: UtxoId { tx_id: Id::new([*number; 32]), output_index: 0 },
            ..TransferableInput::default()
        };
        let inputs = outputs.iter().map(input).collect();
        let memo = vec![salt];
        Tx::new(UnsignedTx::Base(BaseTx { inputs, memo, ..BaseTx::default() }), Vec::new())
    }

    fn pool() -> Mempool {
        Mempool::new(MempoolLimits { max_bytes: 10_000, max_tx_bytes: 1000 })
    }

    fn add(pool: &Mempool, tx: &Tx) -> Result<Added, MempoolError> {
        pool.add(Pooled::new(tx.clone(), true))
    }

    fn ids(found: &[Arc<Pooled>]) -> Vec<TxId> {
        found.iter().map(|pooled| pooled.tx.id()).collect()
    }

    #[test]
    fn order_is_that_of_arrival() {
        let pool = pool();
        let txs: Vec<Tx> = (0..5).map(|n| tx(&[n], 0)).collect();
        for tx in &txs {
            assert_eq!(add(&pool, tx), Ok(Added::New));
            assert_eq!(add(&pool, tx), Ok(Added::Known));
        }
        let all: Vec<TxId> = txs.iter().map(Tx::id).collect();
        let none = HashSet::new();
        let (found, next) = pool.candidates(0, usize::MAX, &none);
        assert_eq!((ids(&found), next), (all.clone(), 5));
        // Up to the one that exceeds the room.
        let one = txs[0].bytes().len();
        let (found, next) = pool.candidates(0, one, &none);
        assert_eq!((ids(&found), next), (all[..2].to_vec(), 2));
        let (found, _) = pool.candidates(next, usize::MAX, &HashSet::from([all[3]]));
        assert_eq!(ids(&found), [all[2], all[4]]);
        pool.remove(&all[1..2]);
        assert!(!pool.contains(&all[1]));
        // Back again: behind the others.
        add(&pool, &txs[1]).unwrap();
        let (found, _) = pool.candidates(0, usize::MAX, &none);
        assert_eq!(ids(&found), [all[0], all[2], all[3], all[4], all[1]]);
        let size = txs.iter().map(|tx| tx.bytes().len()).sum();
        assert_eq!(pool.size(), (5, size));
        pool.remove(&all);
        assert_eq!(pool.size(), (0, 0));
    }

    #[test]
    fn what_consumes_the_same_conflicts() {
        let pool = pool();
        let (first, rival, other) = (tx(&[1, 2], 0), tx(&[2, 3], 1), tx(&[3], 2));
        add(&pool, &first).unwrap();
        assert_eq!(add(&pool, &rival), Err(MempoolError::Conflict(rival.id())));
        add(&pool, &other).unwrap();
        let consumed = |tx: &Tx| -> Vec<(Id, TxId)> {
            tx.unsigned().consumed_utxo_ids().map(|id| (id.input_id(), tx.id())).collect()
        };
        assert_eq!(
            pool.conflicts(&consumed(&rival)),
            [(first.id(), rival.id()), (other.id(), rival.id())]
        );
        assert!(pool.conflicts(&consumed(&first)).is_empty());
        pool.remove(&[first.id(), other.id()]);
        add(&pool, &rival).unwrap();
        assert!(pool.conflicts(&consumed(&rival)).is_empty());
    }

    #[test]
    fn sixty_four_refusals_are_remembered() {
        let pool = pool();
        let id = |n: u8| Id::new([n; 32]);
        for n in 0..65 {
            pool.remember_refusal(id(n), format!("no {n}"), Holds::Always);
        }
        assert_eq!(pool.refusal(&id(0), 1), None);
        assert_eq!(pool.refusal(&id(64), 1).as_deref(), Some("no 64"));
        pool.remember_refusal(id(70), "not now".into(), Holds::AtHeight(5));
        assert_eq!(pool.refusal(&id(70), 5).as_deref(), Some("not now"));
        assert_eq!(pool.refusal(&id(70), 6), None);
        assert_eq!(pool.refusal(&id(70), 5), None, "forgotten once it did not hold");
        // What is taken in after all is not refused any more, nor is what waits.
        let tx = tx(&[1], 0);
        pool.remember_refusal(tx.id(), "no".into(), Holds::Always);
        add(&pool, &tx).unwrap();
        pool.remember_refusal(tx.id(), "no".into(), Holds::Always);
        assert_eq!(pool.refusal(&tx.id(), 1), None);
    }
}
