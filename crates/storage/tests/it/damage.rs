//! Damaged database files: an error that says so, not a panic and no signal.

use std::fs;
use std::path::Path;

use esker_storage::meta::{OpenOptions, check_dir, open_dir};
use esker_storage::{KvStore, StorageError, WriteSet};
use proptest::prelude::*;

use crate::{Contents, contents_of, open};

const FILE: &str = "esker.mdb";

/// A store of several levels, with values in pages of their own and with free pages.
fn make_store(path: &Path) -> Contents {
    let store = open(path);
    for round in 0..3_u32 {
        let mut set = WriteSet::new();
        for number in 0..3000_u32 {
            let key = format!("key {number:08}");
            if (number + round) % 7 == 0 {
                set.delete(key.as_bytes());
            } else {
                set.put(key.as_bytes(), &[&round.to_be_bytes()[..], &[1; 90]].concat());
            }
        }
        for number in 0..5_u8 {
            set.put(&[b'o', number], &vec![number; 10_000 + 3000 * usize::from(number)]);
        }
        store.write(&set).unwrap();
    }
    contents_of(&store)
}

fn damaged(error: &StorageError) -> bool {
    assert!(!error.to_string().is_empty());
    error.is_corruption()
}

#[test]
fn a_whole_file_passes_every_check() {
    let place = tempfile::tempdir().unwrap();
    let whole = make_store(place.path());
    check_dir(place.path()).unwrap();
    assert_eq!(contents_of(&open(place.path())), whole);
}

#[test]
fn a_file_that_ends_too_early_is_refused_or_whole() {
    let place = tempfile::tempdir().unwrap();
    let whole = make_store(place.path());
    let file = place.path().join(FILE);
    let bytes = fs::read(&file).unwrap();
    let page = 4096;
    let pages = bytes.len() / page;
    let lengths = [1, 15, 100, page - 1, page, page + 1, 2 * page]
        .into_iter()
        .chain((1..pages).step_by(9).map(|number| number * page))
        .chain([bytes.len() - page, bytes.len() - 1]);
    let mut refused = 0;
    for len in lengths {
        fs::write(&file, &bytes[..len]).unwrap();
        match open_dir(place.path(), &OpenOptions::TEST) {
            Ok(store) => assert_eq!(contents_of(&store), whole),
            Err(error) => {
                assert!(damaged(&error), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 10);
    // The refused file is as it was.
    fs::write(&file, &bytes).unwrap();
    assert_eq!(contents_of(&open(place.path())), whole);
}

#[test]
fn a_page_with_a_wrong_number_is_named_with_the_remedy() {
    let place = tempfile::tempdir().unwrap();
    make_store(place.path());
    let file = place.path().join(FILE);
    let bytes = fs::read(&file).unwrap();
    let page = 4096;
    let mut named = 0;
    for number in (2..bytes.len() / page).step_by(7) {
        let mut altered = bytes.clone();
        altered[number * page] ^= 1;
        fs::write(&file, &altered).unwrap();
        // A page that is free, or the middle of a long value, has no number to check.
        let Err(error) = check_dir(place.path()) else { continue };
        let expected = format!("page {number} is corrupt (wrong page number); restore a backup");
        assert!(error.to_string().ends_with(&expected), "{error}");
        named += 1;
    }
    assert!(named > 10, "{named}");
}

#[test]
fn a_file_of_something_else_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join(FILE);
    for bytes in [b"x".repeat(10), b"text ".repeat(5000), vec![0; 20_000], vec![0xff; 20_000]] {
        fs::write(&file, &bytes).unwrap();
        let error = open_dir(place.path(), &OpenOptions::TEST).unwrap_err();
        assert!(damaged(&error), "{error}");
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
}

#[test]
fn damaged_roots_and_meta_pages_are_found_at_open() {
    let place = tempfile::tempdir().unwrap();
    make_store(place.path());
    let file = place.path().join(FILE);
    let bytes = fs::read(&file).unwrap();
    // Magic, version, page size, depth and root of the entries' tree: in both meta pages.
    for at in [16, 20, 40, 94, 128] {
        let mut changed = bytes.clone();
        for meta in [0, 4096] {
            changed[meta + at..meta + at + 2].copy_from_slice(&[0xff, 0xff]);
        }
        fs::write(&file, &changed).unwrap();
        match open_dir(place.path(), &OpenOptions::TEST) {
            Err(error) => assert!(damaged(&error), "at {at}: {error}"),
            Ok(_) => panic!("change at {at} was not seen"),
        }
    }
}

#[test]
fn the_full_check_takes_any_bytes() {
    let place = tempfile::tempdir().unwrap();
    make_store(place.path());
    let file = place.path().join(FILE);
    let bytes = fs::read(&file).unwrap();
    let len = bytes.len();
    let change = (0..len, any::<u64>(), 0..4_u8);
    let changes = proptest::collection::vec(change, 1..6);
    proptest!(ProptestConfig::with_cases(64), |(changes in changes)| {
        let mut changed = bytes.clone();
        for (at, value, place) in changes {
            // Headers of pages are where it matters.
            let at = match place {
                0 => at % (2 * 4096),
                1 => at / 4096 * 4096 + at % 16,
                2 => at / 4096 * 4096 + at % 64,
                _ => at,
            };
            let end = (at + 8).min(len);
            changed[at..end].copy_from_slice(&value.to_ne_bytes()[..end - at]);
        }
        fs::write(&file, &changed).unwrap();
        if let Err(error) = check_dir(place.path()) {
            prop_assert!(damaged(&error), "{}", error);
        }
    });
}
