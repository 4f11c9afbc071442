//! Random changes in stores, overlays and drafts, compared with a plain map.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use esker_storage::meta::{OpenOptions, open_temp};
use esker_storage::{KvRead, KvStore, MAX_KEY_LEN, MemoryStore, Overlay, PendingWrites, WriteSet};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{Contents, contents, contents_of};

/// Few bytes and short keys, so that changes meet; the ends of the range of bytes and of lengths.
fn some_key() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0), Just(1), Just(0x7f), Just(0xfe), Just(0xff)];
    prop_oneof![
        20 => vec(byte, 1..4),
        1 => (0..3_usize).prop_map(|less| vec![0xff; MAX_KEY_LEN - less]),
    ]
}

fn some_set() -> impl Strategy<Value = WriteSet> {
    let value = prop_oneof![vec(any::<u8>(), 0..4), Just(vec![7; 5000])];
    let changes = vec((some_key(), prop_oneof![3 => value.prop_map(Some), 2 => Just(None)]), 0..12);
    changes.prop_map(|changes| {
        let mut set = WriteSet::new();
        for (key, value) in changes {
            match value {
                Some(value) => set.put(&key, &value),
                None => set.delete(&key),
            }
        }
        set
    })
}

#[derive(Clone, Debug)]
struct Case {
    committed: Vec<WriteSet>,
    layers: Vec<WriteSet>,
    pending: WriteSet,
    probes: Vec<Vec<u8>>,
    /// Entries after which a visitor breaks.
    limit: usize,
}

fn some_case() -> impl Strategy<Value = Case> {
    let probe =
        prop_oneof![5 => some_key(), 1 => Just(vec![]), 1 => Just(vec![0xff; MAX_KEY_LEN + 1])];
    (vec(some_set(), 0..4), vec(some_set(), 0..4), some_set(), vec(probe, 1..8), 1..6_usize)
        .prop_map(|(committed, layers, pending, probes, limit)| Case {
            committed,
            layers,
            pending,
            probes,
            limit,
        })
}

fn apply(model: &mut Contents, set: &WriteSet) {
    for (key, value) in set.iter() {
        match value {
            Some(value) => model.insert(key.to_vec(), value.to_vec()),
            None => model.remove(key),
        };
    }
}

/// Every kind of read at every probe.
fn check_reads(reader: &dyn KvRead, model: &Contents, case: &Case) {
    assert_eq!(&contents(reader), model);
    let owned = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
    for key in &case.probes {
        assert_eq!(reader.get(key).unwrap().as_ref(), model.get(key));
        assert_eq!(reader.contains(key).unwrap(), model.contains_key(key));
        let above = model.range::<[u8], _>((Bound::Included(&key[..]), Bound::Unbounded)).next();
        assert_eq!(reader.seek(key).unwrap(), above.map(owned), "seek {key:?}");
        let below =
            model.range::<[u8], _>((Bound::Unbounded, Bound::Included(&key[..]))).next_back();
        assert_eq!(reader.seek_back(key).unwrap(), below.map(owned), "seek back {key:?}");
        for from in case.probes.iter().map(Some).chain([None]) {
            let expected: Vec<_> = model
                .iter()
                .filter(|(found, _)| {
                    found.starts_with(key) && from.is_none_or(|from| *found >= from)
                })
                .take(case.limit)
                .map(owned)
                .collect();
            let mut found = Vec::new();
            reader
                .scan(key, from.map(Vec::as_slice), &mut |key, value| {
                    found.push((key.to_vec(), value.to_vec()));
                    // A visitor may read from the reader that calls it.
                    assert_eq!(reader.get(key).unwrap().as_deref(), Some(value));
                    match found.len() < case.limit {
                        true => ControlFlow::Continue(()),
                        false => ControlFlow::Break(()),
                    }
                })
                .unwrap();
            assert_eq!(found, expected, "scan {key:?} from {from:?}");
        }
    }
}

/// The store, an overlay and pending writes, each over the one before; then all of it merged and committed.
fn check(store: &dyn KvStore, case: &Case) {
    let mut clear = WriteSet::new();
    contents_of(store).keys().for_each(|key| clear.delete(key));
    store.write(&clear).unwrap();

    let mut model = Contents::new();
    for set in &case.committed {
        let before = store.snapshot().unwrap();
        store.write(set).unwrap();
        assert_eq!(contents(&*before), model, "a snapshot does not change");
        apply(&mut model, set);
    }
    check_reads(&*store.snapshot().unwrap(), &model, case);

    let mut overlay = Overlay::new(store.snapshot().unwrap(), vec![]);
    for set in &case.layers {
        overlay.push(Arc::new(set.clone()));
        apply(&mut model, set);
    }
    check_reads(&overlay, &model, case);

    let mut pending = PendingWrites::new(&overlay);
    for (key, value) in case.pending.iter() {
        match value {
            Some(value) => pending.put(key, value),
            None => pending.delete(key),
        }
    }
    apply(&mut model, &case.pending);
    check_reads(&pending, &model, case);
    let inner = PendingWrites::new(&pending);
    check_reads(&inner, &model, case);

    let writes = pending.into_writes();
    assert_eq!(writes, case.pending);
    let mut merged = WriteSet::new();
    case.layers.iter().chain([&writes]).for_each(|set| merged.merge(set));
    let bytes: usize =
        merged.iter().map(|(key, value)| key.len() + value.map_or(0, <[u8]>::len)).sum();
    assert_eq!(merged.size_bytes(), bytes);
    store.write(&merged).unwrap();
    check_reads(&*store.snapshot().unwrap(), &model, case);
}

#[test]
fn memory_reads_what_a_map_would() {
    let store = MemoryStore::new();
    proptest!(|(case in some_case())| check(&store, &case));
}

#[test]
fn lmdb_reads_what_a_map_would() {
    let store = open_temp(&OpenOptions::TEST).unwrap();
    proptest!(|(case in some_case())| check(&store, &case));
}
