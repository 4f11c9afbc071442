//! Operations and faults that only the store on disk has.

use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use esker_storage::meta::{OpenOptions, open_dir, open_temp};
use esker_storage::{KvStore, MAX_KEY_LEN, MemoryStore, StorageError, WriteSet};

use crate::{contents_of, open, set};

#[test]
fn what_is_written_is_there_after_reopening() {
    let place = tempfile::tempdir().unwrap();
    for durable in [true, false] {
        let path = place.path().join(durable.to_string());
        let options = OpenOptions { durable, ..OpenOptions::TEST };
        let store = open_dir(&path, &options).unwrap();
        store.write(&set(&[("a", Some("1")), ("b", Some("2"))])).unwrap();
        store.write(&set(&[("a", None), ("c", Some(""))])).unwrap();
        let before = contents_of(&store);
        store.flush().unwrap();
        assert!(store.size_on_disk().unwrap() > 0);
        drop(store);
        assert_eq!(contents_of(&open_dir(&path, &options).unwrap()), before);
    }
}

#[test]
fn production_maps_a_tebibyte() {
    let place = tempfile::tempdir().unwrap();
    let store = open_dir(place.path(), &OpenOptions::PRODUCTION).unwrap();
    store.write(&set(&[("a", Some("1"))])).unwrap();
    assert!(store.size_on_disk().unwrap() < 1 << 20);
}

#[test]
fn keys_of_a_wrong_length_are_refused_with_the_whole_set() {
    let lmdb = open_temp(&OpenOptions::TEST).unwrap();
    let memory = MemoryStore::new();
    for store in [&lmdb as &dyn KvStore, &memory] {
        let before = contents_of(store);
        for len in [0, MAX_KEY_LEN + 1] {
            let mut set = set(&[("a", Some("1"))]);
            set.put(&vec![0xff; len], b"x");
            let error = store.write(&set).unwrap_err();
            assert_eq!(error.to_string(), format!("key of {len} bytes: keys have 1 to 511 bytes"));
        }
        assert_eq!(contents_of(store), before);
    }
}

#[test]
fn a_full_store_refuses_and_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let options = OpenOptions { map_size: 1 << 20, ..OpenOptions::TEST };
    let store = open_dir(place.path(), &options).unwrap();
    let space = store.space();
    assert_eq!(space.size_limit, Some(1 << 20));
    assert_eq!(space.disk_reserve, Some(0));
    assert!(space.disk_free.is_some_and(|free| free > 0), "{space:?}");
    store.write(&set(&[("a", Some("1"))])).unwrap();
    let before = contents_of(&store);
    let mut big = set(&[("a", Some("2"))]);
    big.put(b"big", &vec![7; 2 << 20]);
    match store.write(&big).unwrap_err() {
        StorageError::Full { size } => assert_eq!(size, 1 << 20),
        other => panic!("{other}"),
    }
    assert_eq!(contents_of(&store), before);
    store.write(&set(&[("b", Some("1"))])).unwrap();
}

#[test]
fn too_large_a_map_is_refused_with_the_setting() {
    let place = tempfile::tempdir().unwrap();
    let options = OpenOptions { map_size: 1 << 60, ..OpenOptions::TEST };
    let error = open_dir(place.path(), &options).unwrap_err().to_string();
    let expected =
        format!("cannot map {} bytes of address space (a lower store-map-size", 1u64 << 60);
    assert!(error.starts_with(&expected), "{error}");
    open_dir(place.path(), &OpenOptions::TEST).unwrap();
}

#[test]
fn snapshots_move_between_threads_and_outlive_the_store() {
    let store = open_temp(&OpenOptions::TEST).unwrap();
    let path = store.folder().to_owned();
    store.write(&set(&[("a", Some("1"))])).unwrap();
    let snapshot = store.snapshot().unwrap();
    let shared = Arc::new(store.snapshot().unwrap());
    store.write(&set(&[("a", Some("2"))])).unwrap();
    drop(store);
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || assert_eq!(shared.get(b"a").unwrap().unwrap(), b"1"))
        })
        .collect();
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    drop(shared);
    thread::spawn(move || assert_eq!(snapshot.get(b"a").unwrap().unwrap(), b"1")).join().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_snapshot_never_shows_less_than_an_earlier_one() {
    const COMMITS: u64 = 300;
    let store = open_temp(&OpenOptions::TEST).unwrap();
    let count = |store: &dyn KvStore| {
        let value = store.snapshot().unwrap().get(b"count").unwrap();
        value.map_or(0, |value| u64::from_be_bytes(value.try_into().unwrap()))
    };
    let written = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut last = 0;
                while !written.load(Ordering::Acquire) {
                    let now = count(&store);
                    assert!(now >= last, "{now} after {last}");
                    last = now;
                }
                assert_eq!(count(&store), COMMITS);
            });
        }
        for number in 1..=COMMITS {
            let mut set = WriteSet::new();
            set.put(b"count", &number.to_be_bytes());
            store.write(&set).unwrap();
            // A commit that returned is seen.
            assert_eq!(count(&store), number);
        }
        written.store(true, Ordering::Release);
    });
}

#[test]
fn more_snapshots_than_slots_are_an_error_and_no_harm() {
    let store = open_temp(&OpenOptions::TEST).unwrap();
    let mut open = Vec::new();
    let error = loop {
        match store.snapshot() {
            Ok(snapshot) => open.push(snapshot),
            Err(error) => break error,
        }
    };
    let StorageError::TooManySnapshots { max } = error else { panic!("{error}") };
    assert!(max >= 2048, "{max}");
    assert_eq!(open.len(), max as usize);
    store.write(&set(&[("a", Some("1"))])).unwrap();
    open.clear();
    assert_eq!(store.oldest_reader_ms(), None);
    assert!(store.snapshot().unwrap().contains(b"a").unwrap());
}

#[test]
fn the_oldest_snapshot_is_reported() {
    let store = open_temp(&OpenOptions::TEST).unwrap();
    assert_eq!(store.oldest_reader_ms(), None);
    let snapshot = store.snapshot().unwrap();
    assert!(store.oldest_reader_ms().is_some());
    drop(snapshot);
    assert_eq!(store.oldest_reader_ms(), None);
}

#[test]
fn a_backup_is_a_data_folder_with_one_state() {
    let store = open_temp(&OpenOptions::TEST).unwrap();
    let place = tempfile::tempdir().unwrap();
    let numbered = |number: u32| {
        let mut set = WriteSet::new();
        for key in 0..50_u32 {
            set.put(
                format!("k{key:04}").as_bytes(),
                &[&number.to_be_bytes()[..], &[0; 500]].concat(),
            );
        }
        set
    };
    // Something to leave out.
    let mut bulk = WriteSet::new();
    bulk.put(b"bulk", &vec![1; 4 << 20]);
    store.write(&bulk).unwrap();
    store.write(&set(&[("bulk", None)])).unwrap();
    store.write(&numbered(0)).unwrap();

    let copied = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 1;
            while !copied.load(Ordering::Acquire) {
                store.write(&numbered(number)).unwrap();
                number += 1;
            }
        });
        for copy in 0..5 {
            store.backup(&place.path().join(copy.to_string()), &mut |_| Ok(())).unwrap();
        }
        copied.store(true, Ordering::Release);
    });
    for copy in 0..5 {
        let path = place.path().join(copy.to_string());
        assert!(fs::metadata(path.join("esker.mdb")).unwrap().len() < 1 << 20);
        let copy = open(&path);
        let snapshot = copy.snapshot().unwrap();
        let first = snapshot.get(b"k0000").unwrap().unwrap();
        let mut found = 0;
        snapshot
            .scan(b"k", None, &mut |_, value| {
                assert_eq!(value, first);
                found += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(found, 50);
    }

    // Never over a store that is there.
    let taken = place.path().join("0");
    let before = contents_of(&open(&taken));
    let error = store.backup(&taken, &mut |_| Ok(())).unwrap_err();
    assert!(matches!(error, StorageError::Io { .. }), "{error}");
    assert_eq!(contents_of(&open(&taken)), before);
    let error = MemoryStore::new().backup(&taken, &mut |_| Ok(())).unwrap_err();
    assert!(matches!(error, StorageError::Backend(_)), "{error}");
}

#[test]
fn a_copy_can_be_watched_and_ended() {
    let place = tempfile::tempdir().unwrap();
    let store = open(&place.path().join("store"));
    let mut bulk = WriteSet::new();
    (0..16_u8).for_each(|number| bulk.put(&[b'k', number], &vec![number; 1 << 20]));
    store.write(&bulk).unwrap();

    let mut seen = vec![0];
    let whole = place.path().join("whole");
    store
        .backup(&whole, &mut |bytes| {
            seen.push(bytes);
            // The store goes on meanwhile.
            store.write(&set(&[("n", Some("0"))]))
        })
        .unwrap();
    assert!(seen.is_sorted_by(|a, b| a < b) && seen.len() >= 16, "{seen:?}");
    assert_eq!(*seen.last().unwrap(), fs::metadata(whole.join("esker.mdb")).unwrap().len());

    let ended = place.path().join("ended");
    let stop = || StorageError::Cancelled("enough".to_owned());
    let error = store.backup(&ended, &mut |_| Err(stop())).unwrap_err();
    assert_eq!(error.to_string(), "enough");
    assert_eq!(fs::read_dir(&ended).unwrap().count(), 0, "nothing half-written is left");
    assert_eq!(store.oldest_reader_ms(), None, "the snapshot of the copy has ended");
    store.write(&set(&[("n", Some("1"))])).unwrap();
    store.backup(&ended, &mut |_| Ok(())).unwrap();
    assert_eq!(contents_of(&open(&ended)), contents_of(&store));
}
