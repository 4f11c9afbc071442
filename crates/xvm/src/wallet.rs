//! The wallet's queue: chains of transactions that nobody has accepted yet (`wallet.issueTx`).
//!
//! The oldest one is in the mempool; the next follows when it is decided. None is verified before the builder
//! comes to it.

use std::collections::{HashSet, VecDeque};

use esker_primitives::TxId;
use esker_primitives::sync::Mutex;
use thiserror::Error;

use crate::txs::Tx;

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
}

/// What to do with a transaction that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enqueued {
    /// It is the oldest: into the mempool with it.
    First,
    /// It waits.
    Waits,
    /// It was there.
    Known,
}

impl WalletQueue {
    pub(crate) fn new() -> Self {
        Self(Mutex::new_named("xvm.wallet", Queue::default()))
    }

    pub(crate) fn contains(&self, id: &TxId) -> bool {
        self.0.lock().ids.contains(id)
    }

    /// The pending transactions, oldest first.
    pub(crate) fn pending(&self) -> Vec<Tx> {
        self.0.lock().txs.iter().cloned().collect()
    }

    pub(crate) fn push(&self, tx: &Tx) -> Result<Enqueued, WalletFull> {
        let mut queue = self.0.lock();
        if queue.ids.contains(&tx.id()) {
            return Ok(Enqueued::Known);
        }
        let bytes = queue.bytes.saturating_add(tx.bytes().len());
        if queue.txs.len() >= MAX_WALLET_TXS || bytes > MAX_WALLET_BYTES {
            return Err(WalletFull);
        }
        let first = queue.txs.is_empty();
        queue.bytes = bytes;
        queue.ids.insert(tx.id());
        queue.txs.push_back(tx.clone());
        Ok(if first { Enqueued::First } else { Enqueued::Waits })
    }

    /// A transaction was decided on, or refused by the mempool. Gives the oldest of the others, if that one was
    /// pending.
    pub(crate) fn remove(&self, id: &TxId) -> Option<Tx> {
        let mut queue = self.0.lock();
        if !queue.ids.remove(id) {
            return None;
        }
        if let Some(at) = queue.txs.iter().position(|tx| tx.id() == *id)
            && let Some(tx) = queue.txs.remove(at)
        {
            queue.bytes = queue.bytes.saturating_sub(tx.bytes().len());
        }
        queue.txs.front().cloned()
    }
}
