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

#[cfg(test)]
mod tests {
    use esker_primitives::Id;
    use esker_storage::Store;

    use super::*;

    const SCOPE: Scope = Scope(3);

    fn id(number: u64) -> TxId {
        Id::sha256(&number.to_be_bytes())
    }

    fn save(rejections: &Rejections, store: &Store) {
        let mut out = WriteSet::new();
        let reader = store.snapshot().unwrap();
        if let Some(last) = rejections.write(reader.as_ref(), SCOPE, &mut out).unwrap() {
            store.writer.commit_blocking(out).unwrap();
            rejections.saved(last);
        }
    }

    fn reason(rejections: &Rejections, store: &Store, number: u64) -> Option<String> {
        rejections.reason(store.snapshot().unwrap().as_ref(), SCOPE, &id(number)).unwrap()
    }

    #[test]
    fn reasons_are_known_before_and_after_they_are_saved() {
        let store = Store::memory().unwrap();
        let rejections = Rejections::new();
        rejections.add(id(1), "first".into());
        rejections.add_once(id(1), "again".into());
        assert_eq!(reason(&rejections, &store, 1).as_deref(), Some("first"));
        save(&rejections, &store);
        assert!(!rejections.has_unsaved());
        assert_eq!(reason(&rejections, &store, 1).as_deref(), Some("first"));
        rejections.add(id(1), "second".into());
        save(&rejections, &store);
        // After a restart numbers go on.
        let rejections = Rejections::new();
        rejections.open(store.snapshot().unwrap().as_ref(), SCOPE).unwrap();
        rejections.add(id(2), "x".repeat(2000) + "é");
        save(&rejections, &store);
        assert_eq!(reason(&rejections, &store, 1).as_deref(), Some("second"));
        assert_eq!(reason(&rejections, &store, 2).unwrap().len(), MAX_REASON);
        let last = REJECTED_ORDER.last(store.snapshot().unwrap().as_ref(), SCOPE, &[]).unwrap();
        assert_eq!(last, Some((2, id(2))));
    }

    #[test]
    fn the_oldest_make_room() {
        let store = Store::memory().unwrap();
        let rejections = Rejections::new();
        let batch = u64::try_from(MAX_UNSAVED).unwrap();
        let all = MAX_REJECTED + 3 * batch;
        // The first one is rejected again later: that row stays.
        for number in 0..all {
            rejections.add(id(number), "old".into());
            if number % batch == batch - 1 {
                save(&rejections, &store);
            }
            if number == all - 2 {
                rejections.add(id(0), "new".into());
            }
        }
        save(&rejections, &store);
        let reader = store.snapshot().unwrap();
        let mut rows = 0;
        REJECTED_ORDER
            .scan(reader.as_ref(), SCOPE, &[], None, |_, _| {
                rows += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(rows <= MAX_REJECTED, "{rows}");
        assert_eq!(reason(&rejections, &store, 1), None);
        assert_eq!(reason(&rejections, &store, 0).as_deref(), Some("new"));
        assert_eq!(reason(&rejections, &store, all - 1).as_deref(), Some("old"));
    }

    #[test]
    fn memory_is_bounded_where_nothing_is_saved() {
        let rejections = Rejections::new();
        let store = Store::memory().unwrap();
        let bound = u64::try_from(MAX_UNSAVED).unwrap();
        for number in 0..=bound {
            rejections.add(id(number), "no".into());
        }
        assert_eq!(reason(&rejections, &store, 0), None);
        assert!(reason(&rejections, &store, 1).is_some());
    }
}
