//! The reasons why a chain's pooled transactions became invalid. Records are kept by transaction ID across restarts;
//! their number and age are limited.
//!
//! [`DropLog::add`] only changes memory. The commit of the next block saves the new records
//! ([`DropLog::extend_commit`], [`DropLog::on_committed`]), or a separate commit does ([`DropLog::save`]).

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_primitives::TxId;
use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::sync::Mutex;
use esker_storage::audit::{AuditError, Finding};
use esker_storage::{KvRead, PendingWrites, Scope, StorageResult, Store, Table, WriteSet};

use crate::audit::AuditContext;
use crate::vm::Rewinding;

/// Most records of one log in the store; the oldest are deleted first.
pub const MAX_RECORDS: u64 = 65_536;
/// Maximum age of a record, ms: seven days. Saving other records deletes older ones.
pub const MAX_AGE_MS: u64 = 7 * 24 * 60 * 60 * 1000;
/// Most records that wait in memory for a commit; the oldest are dropped first.
const MAX_UNSAVED: usize = 4096;
/// Most bytes of a reason.
const MAX_REASON: usize = 512;
/// Most expired records that one commit removes, so that it stays short.
const MAX_EXPIRED: usize = 1024;

/// The two tables of a log, in the chain's scope.
#[derive(Debug)]
pub struct DropTables {
    /// The records by transaction ID.
    pub records: Table<TxId, DropRecord>,
    /// Transaction IDs in the order of the drops. A transaction that was dropped twice has two rows; the later one is
    /// valid.
    pub order: Table<u64, TxId>,
}

impl DropTables {
    /// Checks that records and order agree. `what` names the log, its chain first: `X: rejected`.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn audit(
        &self,
        what: &str,
        scope: Scope,
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        let mut wrong = Vec::new();
        let mut check = |id: StorageResult<TxId>| {
            let (place, found) = match id {
                Ok(id) => (format!("{what} transaction {id}"), "nothing".to_owned()),
                Err(error) => (format!("{what} transactions"), error.to_string()),
            };
            wrong.push(Finding::new(place, "a reason and its place in the order", found));
        };
        self.records.scan(ctx.stored, scope, &[], None, |key, value| {
            let order = self.records.entry(key, value).and_then(|(id, record)| {
                Ok((id, self.order.get(ctx.stored, scope, &record.order)?))
            });
            match order {
                Ok((id, Some(found))) if found == id => {}
                Ok((id, _)) => check(Ok(id)),
                Err(error) => check(Err(error)),
            }
            ControlFlow::Continue(())
        })?;
        self.order.scan(ctx.stored, scope, &[], None, |key, value| {
            // For a transaction that was dropped twice, only the later row is valid.
            let record = self
                .order
                .entry(key, value)
                .and_then(|(_, id)| Ok((id, self.records.contains(ctx.stored, scope, &id)?)));
            match record {
                Ok((_, true)) => {}
                Ok((id, false)) => check(Ok(id)),
                Err(error) => check(Err(error)),
            }
            ControlFlow::Continue(())
        })?;
        wrong.into_iter().for_each(|finding| ctx.log.finding(finding));
        Ok(())
    }
}

/// A dropped transaction as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropRecord {
    /// Its row in [`DropTables::order`].
    pub order: u64,
    /// The reason why it was dropped.
    pub reason: String,
    /// Time of the drop, Unix ms; 0 if unknown.
    pub at_ms: u64,
}

/// The reason why and when a transaction was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The rule's error text.
    pub reason: String,
    /// Unix ms; 0 if unknown.
    pub at_ms: u64,
}

/// The dropped transactions of one pool.
#[derive(Debug)]
pub struct DropLog {
    tables: &'static DropTables,
    unsaved: Mutex<UnsavedDrops>,
    /// Number of the last record in the pending commit of blocks, plus one; 0 for none.
    committing: AtomicU64,
}

#[derive(Debug, Default)]
struct UnsavedDrops {
    next: u64,
    queue: BTreeMap<u64, (TxId, Dropped)>,
    by_id: HashMap<TxId, u64>,
}

impl DropLog {
    /// An empty log over these tables. `name` is the name of its lock.
    pub fn new(tables: &'static DropTables, name: &'static str) -> Self {
        let unsaved = Mutex::new_named(name, UnsavedDrops::default());
        Self { tables, unsaved, committing: AtomicU64::new(0) }
    }

    /// Continues the numbers of the store. Call it before the first save.
    pub fn open(&self, reader: &dyn KvRead, scope: Scope) -> StorageResult<()> {
        if let Some((last, _)) = self.tables.order.last(reader, scope, &[])? {
            let mut unsaved = self.unsaved.lock();
            unsaved.next = unsaved.next.max(last.saturating_add(1));
        }
        Ok(())
    }

    /// Records that a transaction can't be accepted any more. A later reason replaces an earlier one.
    pub fn add(&self, id: TxId, reason: String, at_ms: u64) {
        self.unsaved.lock().add(id, reason, at_ms);
    }

    /// Like [`Self::add`], but keeps an unsaved record of the same transaction.
    pub fn add_once(&self, id: TxId, reason: String, at_ms: u64) {
        let mut unsaved = self.unsaved.lock();
        if !unsaved.by_id.contains_key(&id) {
            unsaved.add(id, reason, at_ms);
        }
    }

    /// The reason why a transaction was dropped. The caller first checks that it was not pooled again or accepted
    /// since.
    pub fn get(
        &self,
        reader: &dyn KvRead,
        scope: Scope,
        id: &TxId,
    ) -> StorageResult<Option<Dropped>> {
        if let Some(dropped) = self.unsaved.lock().get(id) {
            return Ok(Some(dropped));
        }
        let record = self.tables.records.get(reader, scope, id)?;
        Ok(record.map(|DropRecord { reason, at_ms, .. }| Dropped { reason, at_ms }))
    }

    /// Whether records wait to be saved.
    pub fn has_unsaved(&self) -> bool {
        !self.unsaved.lock().queue.is_empty()
    }

    /// Adds the unsaved records to the commit of blocks and deletes old ones. Call [`Self::on_committed`] after the
    /// commit.
    pub fn extend_commit(
        &self,
        scope: Scope,
        now_ms: u64,
        commit: &mut PendingWrites<'_>,
    ) -> StorageResult<()> {
        let mut out = WriteSet::new();
        let last = self.write(&*commit, scope, now_ms, &mut out)?;
        commit.writes.merge(&out);
        self.committing.store(last.map_or(0, |last| last.saturating_add(1)), Ordering::Release);
        Ok(())
    }

    /// The commit of the last [`Self::extend_commit`] is in the store.
    pub fn on_committed(&self) {
        if let Some(last) = self.committing.swap(0, Ordering::AcqRel).checked_sub(1) {
            self.saved(last);
        }
    }

    /// Saves the unsaved records with a separate commit. Blocks the calling thread.
    pub fn save(&self, store: &Store, scope: Scope, now_ms: u64) -> StorageResult<()> {
        if !self.has_unsaved() {
            return Ok(());
        }
        let _upkeep = store.upkeep();
        let mut out = WriteSet::new();
        if let Some(last) = self.write(store.snapshot()?.as_ref(), scope, now_ms, &mut out)? {
            store.writer.commit_blocking(out)?;
            self.saved(last);
        }
        Ok(())
    }

    /// Prepares a rewind. Records from before the rewound bundles stay, also if a commit of one of these bundles
    /// saved them. Later records are deleted. Call [`Self::rewound`] after the commit.
    pub fn prepare_rewind(&self, scope: Scope, rewind: &mut Rewinding<'_>) -> StorageResult<()> {
        let DropTables { records, order: orders } = self.tables;
        let Rewinding { before, after, since_ms } = rewind;
        // A restart continues the numbers of the store, which are below those that an earlier rewind deleted. So a
        // number may have been given again.
        self.open(*before, scope)?;
        self.open(after, scope)?;
        for (id, mut record) in records.collect(*before, scope, &[])? {
            if record.at_ms < *since_ms {
                if orders.get(after, scope, &record.order)?.is_some_and(|other| other != id) {
                    record.order = self.unsaved.lock().take_number();
                }
                orders.put(after, scope, &record.order, &id);
                records.put(after, scope, &id, &record);
            }
        }
        for (id, record) in records.collect(after, scope, &[])? {
            if record.at_ms >= *since_ms {
                orders.delete(after, scope, &record.order);
                records.delete(after, scope, &id);
            }
        }
        for (order, id) in orders.collect(after, scope, &[])? {
            if !records.contains(after, scope, &id)? {
                orders.delete(after, scope, &order);
            }
        }
        Ok(())
    }

    /// Deletes the unsaved records of bundles that were accepted at that time (Unix ms) or later and are now rewound.
    pub fn rewound(&self, since_ms: u64) {
        let mut unsaved = self.unsaved.lock();
        let UnsavedDrops { queue, by_id, .. } = &mut *unsaved;
        queue.retain(|_, (_, dropped)| dropped.at_ms < since_ms);
        by_id.retain(|_, order| queue.contains_key(order));
    }

    /// Returns the number of the last written record. All records stay unsaved until [`Self::saved`].
    fn write(
        &self,
        reader: &dyn KvRead,
        scope: Scope,
        now_ms: u64,
        out: &mut WriteSet,
    ) -> StorageResult<Option<u64>> {
        let waiting = self.unsaved.lock().queue.clone();
        let Some(last) = waiting.last_key_value().map(|(order, _)| *order) else {
            return Ok(None);
        };
        let DropTables { records, order: orders } = self.tables;
        let bound = last.saturating_sub(MAX_RECORDS);
        for (order, id, is_last) in self.to_remove(reader, scope, bound, now_ms)? {
            orders.delete(out, scope, &order);
            if is_last {
                records.delete(out, scope, &id);
            }
        }
        for (order, (id, Dropped { reason, at_ms })) in waiting {
            records.put(out, scope, &id, &DropRecord { order, reason, at_ms });
            orders.put(out, scope, &order, &id);
        }
        Ok(Some(last))
    }

    /// Stored rows below a number, and expired rows; each with a flag: does the record belong to the row? The record
    /// of a transaction that was dropped twice belongs to its later row.
    fn to_remove(
        &self,
        reader: &dyn KvRead,
        scope: Scope,
        bound: u64,
        now_ms: u64,
    ) -> StorageResult<Vec<(u64, TxId, bool)>> {
        let mut found = Vec::new();
        let mut expired = 0usize;
        let mut failed = Ok(());
        self.tables.order.scan(reader, scope, &[], None, |key, value| {
            let row = self.tables.order.entry(key, value).and_then(|(order, id)| {
                let record = self.tables.records.get(reader, scope, &id)?;
                Ok((order, id, record.filter(|record| record.order == order)))
            });
            match row {
                Err(error) => {
                    failed = Err(error);
                    return ControlFlow::Break(());
                }
                Ok((order, id, record)) => {
                    let age_ms = record.as_ref().map(|record| now_ms.saturating_sub(record.at_ms));
                    if order >= bound {
                        expired = expired.saturating_add(1);
                        let is_kept = age_ms.is_some_and(|age_ms| age_ms <= MAX_AGE_MS);
                        if is_kept || expired > MAX_EXPIRED {
                            return ControlFlow::Break(());
                        }
                    }
                    found.push((order, id, record.is_some()));
                }
            }
            ControlFlow::Continue(())
        })?;
        failed.map(|()| found)
    }

    /// The store has all records up to that number.
    fn saved(&self, last: u64) {
        let mut unsaved = self.unsaved.lock();
        let later = match last.checked_add(1) {
            Some(next) => unsaved.queue.split_off(&next),
            None => BTreeMap::new(),
        };
        let saved = std::mem::replace(&mut unsaved.queue, later);
        for (order, (id, _)) in saved {
            if unsaved.by_id.get(&id) == Some(&order) {
                unsaved.by_id.remove(&id);
            }
        }
    }
}

impl UnsavedDrops {
    fn get(&self, id: &TxId) -> Option<Dropped> {
        self.by_id.get(id).and_then(|at| self.queue.get(at)).map(|(_, dropped)| dropped.clone())
    }

    fn take_number(&mut self) -> u64 {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        number
    }

    fn add(&mut self, id: TxId, mut reason: String, at_ms: u64) {
        let cut = (0..=MAX_REASON).rev().find(|at| reason.is_char_boundary(*at)).unwrap_or(0);
        reason.truncate(cut);
        let order = self.take_number();
        if let Some(before) = self.by_id.insert(id, order) {
            self.queue.remove(&before);
        }
        self.queue.insert(order, (id, Dropped { reason, at_ms }));
        if self.queue.len() > MAX_UNSAVED
            && let Some((oldest, (id, _))) = self.queue.pop_first()
            && self.by_id.get(&id) == Some(&oldest)
        {
            self.by_id.remove(&id);
        }
    }
}

impl Encode for DropRecord {
    fn encode(&self, w: &mut Writer) {
        w.u64(self.order);
        w.bytes(self.reason.as_bytes());
        w.u64(self.at_ms);
    }
}

impl Decode for DropRecord {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let order = r.u64()?;
        let reason = String::from_utf8_lossy(r.bytes()?).into_owned();
        // Earlier versions wrote the X-Chain's records without a time.
        let at_ms = if r.remaining() == 0 { 0 } else { r.u64()? };
        Ok(Self { order, reason, at_ms })
    }
}

crate::stored_as_codec!(DropRecord);

#[cfg(test)]
mod tests {
    use esker_primitives::Id;
    use esker_storage::ValueCodec;

    use super::*;

    const SCOPE: Scope = Scope(3);
    static TABLES: DropTables =
        DropTables { records: Table::new(0x80, "dropped"), order: Table::new(0x81, "drop order") };

    fn log() -> DropLog {
        DropLog::new(&TABLES, "test.drops")
    }

    fn id(number: u64) -> TxId {
        Id::sha256(&number.to_be_bytes())
    }

    fn reason(log: &DropLog, store: &Store, number: u64) -> Option<String> {
        let found = log.get(store.snapshot().unwrap().as_ref(), SCOPE, &id(number)).unwrap();
        found.map(|dropped| dropped.reason)
    }

    fn rows(store: &Store) -> usize {
        TABLES.order.collect(store.snapshot().unwrap().as_ref(), SCOPE, &[]).unwrap().len()
    }

    #[test]
    fn reasons_are_known_before_and_after_they_are_saved() {
        let store = Store::memory().unwrap();
        let first = log();
        first.add(id(1), "first".into(), 1);
        first.add_once(id(1), "again".into(), 2);
        assert_eq!(reason(&first, &store, 1).as_deref(), Some("first"));
        first.save(&store, SCOPE, 2).unwrap();
        assert!(!first.has_unsaved());
        assert_eq!(reason(&first, &store, 1).as_deref(), Some("first"));
        first.add(id(1), "second".into(), 3);
        first.save(&store, SCOPE, 3).unwrap();
        // After a restart numbers go on.
        let second = log();
        second.open(store.snapshot().unwrap().as_ref(), SCOPE).unwrap();
        second.add(id(2), "x".repeat(2000) + "é", 4);
        second.save(&store, SCOPE, 4).unwrap();
        let reader = store.snapshot().unwrap();
        let found = second.get(reader.as_ref(), SCOPE, &id(1)).unwrap();
        assert_eq!(found, Some(Dropped { reason: "second".into(), at_ms: 3 }));
        assert_eq!(reason(&second, &store, 2).unwrap().len(), MAX_REASON);
        assert_eq!(TABLES.order.last(reader.as_ref(), SCOPE, &[]).unwrap(), Some((2, id(2))));
    }

    #[test]
    fn a_block_that_is_not_committed_saves_nothing() {
        let store = Store::memory().unwrap();
        let log = log();
        log.add(id(1), "no".into(), 1);
        let reader = store.snapshot().unwrap();
        let mut failed = PendingWrites::new(reader.as_ref());
        log.extend_commit(SCOPE, 1, &mut failed).unwrap();
        log.add(id(2), "no".into(), 1);
        assert!(log.has_unsaved(), "still waits: the commit may fail");
        let mut commit = PendingWrites::new(reader.as_ref());
        log.extend_commit(SCOPE, 1, &mut commit).unwrap();
        store.writer.commit_blocking(commit.into_writes()).unwrap();
        log.add(id(3), "later".into(), 1);
        log.on_committed();
        log.on_committed();
        assert_eq!(rows(&store), 2);
        assert!(log.has_unsaved(), "the third came after the block");
        for number in 1..=3 {
            assert!(reason(&log, &store, number).is_some(), "{number}");
        }
    }

    #[test]
    fn the_oldest_make_room() {
        let store = Store::memory().unwrap();
        let log = log();
        let batch = u64::try_from(MAX_UNSAVED).unwrap();
        let all = MAX_RECORDS + 3 * batch;
        // The first one is dropped again later: that row stays.
        for number in 0..all {
            log.add(id(number), "old".into(), 1);
            if number % batch == batch - 1 {
                log.save(&store, SCOPE, 1).unwrap();
            }
            if number == all - 2 {
                log.add(id(0), "new".into(), 1);
            }
        }
        log.save(&store, SCOPE, 1).unwrap();
        assert!(u64::try_from(rows(&store)).unwrap() <= MAX_RECORDS, "{}", rows(&store));
        assert_eq!(reason(&log, &store, 1), None);
        assert_eq!(reason(&log, &store, 0).as_deref(), Some("new"));
        assert_eq!(reason(&log, &store, all - 1).as_deref(), Some("old"));
    }

    #[test]
    fn what_is_too_old_goes_with_the_next_commit() {
        let store = Store::memory().unwrap();
        let log = log();
        log.add(id(1), "old".into(), 10);
        log.add(id(2), "old".into(), 10);
        log.add(id(3), "newer".into(), 20);
        log.save(&store, SCOPE, 20).unwrap();
        log.add(id(2), "again".into(), 20);
        log.save(&store, SCOPE, 10 + MAX_AGE_MS).unwrap();
        assert_eq!((rows(&store), reason(&log, &store, 1).is_some()), (4, true));
        log.add(id(4), "last".into(), 11 + MAX_AGE_MS);
        log.save(&store, SCOPE, 11 + MAX_AGE_MS).unwrap();
        assert_eq!(rows(&store), 3);
        assert_eq!(reason(&log, &store, 1), None);
        assert_eq!(reason(&log, &store, 2).as_deref(), Some("again"));
        assert_eq!(reason(&log, &store, 3).as_deref(), Some("newer"));
    }

    #[test]
    fn a_rewind_keeps_what_was_dropped_before() {
        let store = Store::memory().unwrap();
        let log = log();
        // Dropped before the bundle, and saved by its commit; dropped again after it; by it; after it.
        log.add(id(1), "before".into(), 9);
        log.add(id(2), "before".into(), 9);
        log.save(&store, SCOPE, 9).unwrap();
        log.add(id(3), "before, unsaved".into(), 9);
        let before_bundle = store.snapshot().unwrap();
        log.add(id(4), "by it".into(), 10);
        let mut commit = PendingWrites::new(before_bundle.as_ref());
        log.extend_commit(SCOPE, 10, &mut commit).unwrap();
        let commit = commit.into_writes();
        let mut inverse = Vec::new();
        WriteSet::encode_inverse_of([&commit], before_bundle.as_ref(), &mut inverse).unwrap();
        let inverse = WriteSet::from_bytes(&inverse).unwrap();
        store.writer.commit_blocking(commit).unwrap();
        log.on_committed();
        log.add(id(2), "again".into(), 11);
        log.add(id(5), "after it".into(), 11);
        log.save(&store, SCOPE, 11).unwrap();
        log.add(id(6), "after it, unsaved".into(), 12);
        drop(before_bundle);

        let before = store.snapshot().unwrap();
        let mut after = PendingWrites::new(before.as_ref());
        for (key, value) in inverse.iter() {
            match value {
                Some(value) => after.put(key, value),
                None => after.delete(key),
            }
        }
        let mut rewind = Rewinding { before: before.as_ref(), after, since_ms: 10 };
        log.prepare_rewind(SCOPE, &mut rewind).unwrap();
        store.writer.commit_blocking(rewind.after.into_writes()).unwrap();
        log.rewound(10);
        drop(before);
        let found: Vec<_> = (1..=6).map(|number| reason(&log, &store, number)).collect();
        let found: Vec<_> = found.iter().map(Option::as_deref).collect();
        // The one that was dropped again has lost its first reason, as it would without a rewind.
        assert_eq!(found, [Some("before"), None, Some("before, unsaved"), None, None, None]);
        assert_eq!(rows(&store), 2, "no place in the order without a record");
        assert!(!log.has_unsaved());
    }

    /// A rewind restores a number that was given again after a restart.
    #[test]
    fn numbers_that_were_given_twice_are_told_apart() {
        let store = Store::memory().unwrap();
        let log = log();
        log.open(store.snapshot().unwrap().as_ref(), SCOPE).unwrap();
        log.add(id(1), "after the restart".into(), 5);
        log.save(&store, SCOPE, 5).unwrap();
        let before = store.snapshot().unwrap();
        let mut after = PendingWrites::new(before.as_ref());
        let restored = DropRecord { order: 0, reason: "before it".into(), at_ms: 3 };
        TABLES.records.delete(&mut after, SCOPE, &id(1));
        TABLES.records.put(&mut after, SCOPE, &id(2), &restored);
        TABLES.order.put(&mut after, SCOPE, &0, &id(2));
        let mut rewind = Rewinding { before: before.as_ref(), after, since_ms: 10 };
        log.prepare_rewind(SCOPE, &mut rewind).unwrap();
        store.writer.commit_blocking(rewind.after.into_writes()).unwrap();
        log.rewound(10);
        drop(before);
        let reader = store.snapshot().unwrap();
        for (number, text) in [(1, "after the restart"), (2, "before it")] {
            assert_eq!(reason(&log, &store, number).as_deref(), Some(text));
            let record = TABLES.records.get(reader.as_ref(), SCOPE, &id(number)).unwrap().unwrap();
            let place = TABLES.order.get(reader.as_ref(), SCOPE, &record.order).unwrap();
            assert_eq!(place, Some(id(number)), "its own place");
        }
    }

    #[test]
    fn memory_is_bounded_where_nothing_is_saved() {
        let log = log();
        let store = Store::memory().unwrap();
        let bound = u64::try_from(MAX_UNSAVED).unwrap();
        for number in 0..=bound {
            log.add(id(number), "no".into(), 1);
        }
        assert_eq!(reason(&log, &store, 0), None);
        assert!(reason(&log, &store, 1).is_some());
    }

    #[test]
    fn records_without_a_time_are_read() {
        let mut old = Writer::new();
        old.u64(7);
        old.bytes(b"no");
        let record = DropRecord { order: 7, reason: "no".into(), at_ms: 0 };
        assert_eq!(DropRecord::decode_value(old.as_slice()), Some(record.clone()));
        let mut bytes = Vec::new();
        record.encode_value(&mut bytes);
        assert_eq!(DropRecord::decode_value(&bytes), Some(record));
        bytes.pop();
        assert_eq!(DropRecord::decode_value(&bytes), None);
    }
}
