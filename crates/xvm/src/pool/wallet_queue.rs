//! The wallet's queue: chains of pending transactions (`wallet.issueTx`).
//!
//! The oldest one is in the mempool; the next follows when it is decided. None is verified before the builder
//! comes to it.

use std::collections::{HashSet, VecDeque};

use esker_primitives::TxId;
use esker_primitives::sync::Mutex;
use esker_transactions::xvm::Tx;
use esker_utxo::UtxoId;
use thiserror::Error;

/// Most transactions that may wait.
pub const MAX_WALLET_TXS: usize = 4096;
/// Most bytes of them.
pub const MAX_WALLET_BYTES: usize = 16 << 20;

/// The queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("too many pending wallet transactions")]
pub struct WalletFull;

/// Pending transactions, oldest first.
#[derive(Debug)]
pub(crate) struct WalletQueue(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    txs: VecDeque<Tx>,
    ids: HashSet<TxId>,
    bytes: usize,
    /// How often it has changed.
    version: u64,
}

/// The pending transactions at one moment.
#[derive(Debug)]
pub(crate) struct PendingList {
    /// Oldest first.
    pub(crate) txs: Vec<Tx>,
    version: u64,
}

/// The place of a new transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushOutcome {
    /// It is the oldest: add it to the mempool.
    First,
    /// It waits.
    Queued,
    /// It is in the queue already.
    Known,
}

impl WalletQueue {
    pub(crate) fn new() -> Self {
        Self(Mutex::new_named("xvm.wallet", Queue::default()))
    }

    pub(crate) fn contains(&self, id: &TxId) -> bool {
        self.0.lock().ids.contains(id)
    }

    /// A pending transaction.
    pub(crate) fn get(&self, id: &TxId) -> Option<Tx> {
        let queue = self.0.lock();
        let is_here = queue.ids.contains(id);
        is_here.then(|| queue.txs.iter().find(|tx| tx.id() == *id).cloned()).flatten()
    }

    /// The pending transactions, oldest first.
    pub(crate) fn pending(&self) -> PendingList {
        let queue = self.0.lock();
        PendingList { txs: queue.txs.iter().cloned().collect(), version: queue.version }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().txs.is_empty()
    }

    /// The UTXOs that the pending transactions consume.
    pub(crate) fn consumed(&self) -> HashSet<UtxoId> {
        let queue = self.0.lock();
        queue.txs.iter().flat_map(|tx| tx.unsigned().local_utxo_ids()).collect()
    }

    pub(crate) fn push(&self, tx: &Tx) -> Result<PushOutcome, WalletFull> {
        self.0.lock().push(tx)
    }

    /// Appends a transaction that was built on `pending`; `None` if those have changed since.
    pub(crate) fn push_after(
        &self,
        pending: &PendingList,
        tx: &Tx,
    ) -> Option<Result<PushOutcome, WalletFull>> {
        let mut queue = self.0.lock();
        (queue.version == pending.version).then(|| queue.push(tx))
    }

    /// Removes a transaction that was decided on, or refused by the mempool. If it was pending, returns the oldest of the
    /// others.
    pub(crate) fn remove(&self, id: &TxId) -> Option<Tx> {
        let mut queue = self.0.lock();
        if !queue.ids.remove(id) {
            return None;
        }
        queue.version = queue.version.saturating_add(1);
        if let Some(at) = queue.txs.iter().position(|tx| tx.id() == *id)
            && let Some(tx) = queue.txs.remove(at)
        {
            queue.bytes = queue.bytes.saturating_sub(tx.bytes().len());
        }
        queue.txs.front().cloned()
    }
}

impl Queue {
    fn push(&mut self, tx: &Tx) -> Result<PushOutcome, WalletFull> {
        if self.ids.contains(&tx.id()) {
            return Ok(PushOutcome::Known);
        }
        let bytes = self.bytes.saturating_add(tx.bytes().len());
        if self.txs.len() >= MAX_WALLET_TXS || bytes > MAX_WALLET_BYTES {
            return Err(WalletFull);
        }
        let first = self.txs.is_empty();
        self.version = self.version.saturating_add(1);
        self.bytes = bytes;
        self.ids.insert(tx.id());
        self.txs.push_back(tx.clone());
        Ok(if first { PushOutcome::First } else { PushOutcome::Queued })
    }
}
