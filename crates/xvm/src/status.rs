//! What became of transactions (decision 5), as far as the state does not tell: those in undecided blocks, and
//! those that this node had taken in and that can't be accepted any more.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use esker_chain::ExecutedBlock;
use esker_primitives::sync::Mutex;
use esker_primitives::{BlockId, TxId};
use esker_storage::{KvRead, Scope, StorageResult, WriteSet};

use crate::execute::BlockPayload;
use crate::state::tables::{REJECTED, REJECTED_ORDER, RejectedRecord};

/// Most rejected transactions whose reason is kept; the oldest make room.
pub const MAX_REJECTED: u64 = 65_536;
/// Most of them that wait in memory for the next commit.
const MAX_UNSAVED: usize = 4096;
/// Most bytes of a reason.
const MAX_REASON: usize = 512;

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxStatus {
    /// In an accepted block, or a genesis asset.
    Accepted,
    /// In the mempool, in the wallet's queue, or in a block that is being decided on.
    Processing,
    /// This node had taken it in, and it can't be accepted any more.
    Rejected {
        /// Why.
        reason: String,
    },
    /// None of these.
    Unknown,
}

/// Blocks that were executed and are not decided.
#[derive(Debug, Default)]
pub(crate) struct Undecided(Mutex<UndecidedBlocks>);

#[derive(Debug, Default)]
struct UndecidedBlocks {
    blocks: HashMap<BlockId, Arc<ExecutedBlock>>,
    /// How many of them hold a transaction.
    txs: HashMap<TxId, usize>,
}

impl Undecided {
    pub(crate) fn new() -> Self {
        Self(Mutex::new_named("xvm.undecided", UndecidedBlocks::default()))
    }

    pub(crate) fn add(&self, block: &Arc<ExecutedBlock>) {
        let mut inner = self.0.lock();
        if inner.blocks.insert(block.id, Arc::clone(block)).is_none() {
            for tx in BlockPayload::of(block).into_iter().flat_map(|payload| &payload.txs) {
                let count = inner.txs.entry(tx.id()).or_default();
                *count = count.saturating_add(1);
            }
        }
    }

    pub(crate) fn remove(&self, block: &ExecutedBlock) {
        let mut inner = self.0.lock();
        if inner.blocks.remove(&block.id).is_none() {
            return;
        }
        for tx in BlockPayload::of(block).into_iter().flat_map(|payload| &payload.txs) {
            if let Some(count) = inner.txs.get_mut(&tx.id()) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    inner.txs.remove(&tx.id());
                }
            }
        }
    }

    pub(crate) fn block(&self, id: &BlockId) -> Option<Arc<ExecutedBlock>> {
        self.0.lock().blocks.get(id).cloned()
    }

    pub(crate) fn has_tx(&self, id: &TxId) -> bool {
        self.0.lock().txs.contains_key(id)
    }
}

/// Rejected transactions: those that are not yet in the store, and how they get there.
#[derive(Debug)]
pub(crate) struct Rejections(Mutex<Unsaved>);

#[derive(Debug, Default)]
struct Unsaved {
    next: u64,
    queue: BTreeMap<u64, (TxId, String)>,
    by_id: HashMap<TxId, u64>,
}

impl Rejections {
    pub(crate) fn new() -> Self {
        Self(Mutex::new_named("xvm.rejections", Unsaved::default()))
    }

    /// Continues the numbers that the store has.
    pub(crate) fn open(&self, reader: &dyn KvRead, scope: Scope) -> StorageResult<()> {
        if let Some((last, _)) = REJECTED_ORDER.last(reader, scope, &[])? {
            let mut inner = self.0.lock();
            inner.next = inner.next.max(last.saturating_add(1));
        }
        Ok(())
    }

    /// A transaction can't be accepted any more.
    pub(crate) fn add(&self, id: TxId, mut reason: String) {
        let cut = (0..=MAX_REASON).rev().find(|at| reason.is_char_boundary(*at)).unwrap_or(0);
        reason.truncate(cut);
        let mut inner = self.0.lock();
        let order = inner.next;
        inner.next = inner.next.saturating_add(1);
        if let Some(before) = inner.by_id.insert(id, order) {
            inner.queue.remove(&before);
        }
        inner.queue.insert(order, (id, reason));
        if inner.queue.len() > MAX_UNSAVED
            && let Some((oldest, (id, _))) = inner.queue.pop_first()
            && inner.by_id.get(&id) == Some(&oldest)
        {
            inner.by_id.remove(&id);
        }
    }

    /// As [`Self::add`], of a transaction that may be among those that wait already.
    pub(crate) fn add_once(&self, id: TxId, reason: String) {
        if !self.0.lock().by_id.contains_key(&id) {
            self.add(id, reason);
        }
    }

    /// Why a transaction was rejected.
    pub(crate) fn reason(
        &self,
        reader: &dyn KvRead,
        scope: Scope,
        id: &TxId,
    ) -> StorageResult<Option<String>> {
        {
            let inner = self.0.lock();
            if let Some((_, reason)) = inner.by_id.get(id).and_then(|at| inner.queue.get(at)) {
                return Ok(Some(reason.clone()));
            }
        }
        Ok(REJECTED.get(reader, scope, id)?.map(|record| record.reason))
    }

    pub(crate) fn has_unsaved(&self) -> bool {
        !self.0.lock().queue.is_empty()
    }

    /// Writes what waits, and makes room. They go on waiting until [`Self::saved`] is told that the commit
    /// succeeded. Gives the number to tell it.
    pub(crate) fn write(
        &self,
        reader: &dyn KvRead,
        scope: Scope,
        out: &mut WriteSet,
    ) -> StorageResult<Option<u64>> {
        let waiting = self.0.lock().queue.clone();
        let Some(last) = waiting.last_key_value().map(|(order, _)| *order) else {
            return Ok(None);
        };
        for (order, id) in oldest_rows(reader, scope, last.saturating_sub(MAX_REJECTED))? {
            REJECTED_ORDER.delete(out, scope, &order);
            // Rejected again since: then a later row stands for it.
            if REJECTED.get(reader, scope, &id)?.is_some_and(|record| record.order == order) {
                REJECTED.delete(out, scope, &id);
            }
        }
        for (order, (id, reason)) in waiting {
            REJECTED.put(out, scope, &id, &RejectedRecord { order, reason });
            REJECTED_ORDER.put(out, scope, &order, &id);
        }
        Ok(Some(last))
    }

    /// What was written up to that number is in the store.
    pub(crate) fn saved(&self, last: u64) {
        let mut inner = self.0.lock();
        let later = match last.checked_add(1) {
            Some(next) => inner.queue.split_off(&next),
            None => BTreeMap::new(),
        };
        let saved = std::mem::replace(&mut inner.queue, later);
        for (order, (id, _)) in saved {
            if inner.by_id.get(&id) == Some(&order) {
                inner.by_id.remove(&id);
            }
        }
    }
}

/// Rows below a number.
fn oldest_rows(reader: &dyn KvRead, scope: Scope, bound: u64) -> StorageResult<Vec<(u64, TxId)>> {
    let mut rows = Vec::new();
    REJECTED_ORDER.scan(reader, scope, &[], None, |key, value| {
        match REJECTED_ORDER.entry(key, value) {
            Ok((order, _)) if order >= bound => return ControlFlow::Break(()),
            row => rows.push(row),
        }
        ControlFlow::Continue(())
    })?;
    rows.into_iter().collect()
}
