//! Commands on a folder whose history begins at a snapshot.

use std::path::Path;

use esker_e2e::files::tests_path;
use esker_storage::meta::{self, OpenOptions};
use esker_storage::{KvStore as _, WriteSet};

use super::{Folders, esker};

/// Scopes are given in the order of the network's chains.
const X_SCOPE: u16 = 1;
const C_SCOPE: u16 = 2;

/// The rows of a table.
fn rows(folder: &Path, scope: u16, tag: u8) -> Vec<(Vec<u8>, Vec<u8>)> {
    let store = meta::open_dir(folder, &OpenOptions::TEST).unwrap();
    let prefix = [&scope.to_be_bytes()[..], &[tag]].concat();
    let mut rows = Vec::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        rows.push((key.to_vec(), value.to_vec()));
        std::ops::ControlFlow::Continue(())
    };
    store.snapshot().unwrap().scan(&prefix, None, &mut visit).unwrap();
    rows
}

fn write(folder: &Path, set: &WriteSet) {
    meta::open_dir(folder, &OpenOptions::TEST).unwrap().write(set).unwrap();
}

fn verify(folder: &Path) -> Result<String, String> {
    esker(&["db", "verify"], folder)
}

#[test]
fn a_verification_begins_with_the_history() {
    let folders = Folders::new();
    let folder = &folders.joined;
    let bundle = folders.start.bundle;
    let sound = format!(
        "supply and exchanges between chains: not verified, the history begins at bundle {bundle} (joined from a \
         snapshot)\nnothing is wrong\n"
    );
    let verified = verify(folder).unwrap();
    assert_eq!(verified, sound);

    // (scope, tag, whether it is a UTXO, how a finding begins)
    for (scope, tag, is_utxo, place) in [
        (X_SCOPE, 0x03, false, "X: block "),
        (X_SCOPE, 0x04, false, "X: height of block "),
        (X_SCOPE, 0x06, true, "X: UTXO of an address "),
        (X_SCOPE, 0x08, false, "X: UTXO of an address "),
        (C_SCOPE, 0x40, false, "C: "),
        (C_SCOPE, 0x50, false, "C: block "),
        (C_SCOPE, 0x51, false, "C: height of block "),
        (C_SCOPE, 0x52, false, "C: receipts of block "),
        (C_SCOPE, 0x53, false, "C: place of transaction "),
    ] {
        let all = rows(folder, scope, tag);
        // A UTXO has the longer key, after scope and tag.
        let all: Vec<_> =
            all.into_iter().filter(|(key, _)| !is_utxo || key.len() == 3 + 36).collect();
        let (key, value) = &all[all.len() / 2];
        let mut set = WriteSet::new();
        set.delete(key);
        write(folder, &set);
        let found = verify(folder).unwrap_err();
        assert!(found.lines().any(|line| line.starts_with(place)), "{scope} {tag:#x}: {found}");
        let mut set = WriteSet::new();
        set.put(key, value);
        write(folder, &set);
    }
    assert_eq!(verify(folder).unwrap(), sound);

    // A row of what came before.
    let last = rows(folder, C_SCOPE, 0x50).pop().unwrap();
    let early = [&last.0[..3], &5u64.to_be_bytes()].concat();
    let mut set = WriteSet::new();
    set.put(&early, &last.1);
    write(folder, &set);
    let found = verify(folder).unwrap_err();
    let line = "C: block 5: expected nothing, found a row before the start of the history\n";
    assert!(found.contains(line), "{found}");
}

#[test]
fn an_export_of_a_part_says_that_it_is_one() {
    let folders = Folders::new();
    let bundle = folders.start.bundle;
    let refused = esker(&["export", "-"], &folders.joined).unwrap_err();
    let text =
        format!("the history of this folder begins at bundle {bundle} (it joined from a snapshot)");
    assert!(refused.contains(&text) && refused.contains(&format!("--from {bundle}")), "{refused}");
    let too_low = (bundle - 1).to_string();
    assert!(esker(&["export", "-", "--from", &too_low], &folders.joined).is_err());

    let from = bundle.to_string();
    let part = esker(&["export", "-", "--from", &from], &folders.joined).unwrap();
    assert_eq!(part.lines().count(), 1);
    assert_eq!(esker(&["export", "-", "--from", &from], &folders.whole).unwrap(), part);
    let file = folders.joined.with_extension("jsonl");
    std::fs::write(&file, &part).unwrap();
    let file = file.to_str().unwrap();
    let empty = folders.joined.with_file_name("empty");
    let refused = esker(&["import", file], &empty).unwrap_err();
    assert!(refused.contains("is refused: the last accepted block is 0"), "{refused}");
    let there = esker(&["import", file], &folders.whole).unwrap();
    assert!(there.starts_with("0 blocks imported (1 more were there), "), "{there}");
}

#[test]
fn an_import_passes_over_blocks_before_the_history() {
    let folders = Folders::new();
    let blocks = tests_path("vectors/chain/local-1.jsonl");
    let imported = esker(&["import", blocks.to_str().unwrap()], &folders.joined).unwrap();
    let (x, c) = (folders.start.x_block, folders.start.first_c_block);
    let before = x - 1 + c - 1;
    let there = folders.start.c_block - c + 2;
    let line = format!(
        "0 blocks imported ({there} more were there) ({before} from before the history here were not compared), "
    );
    assert!(imported.starts_with(&line), "{imported}");

    let rewound =
        esker(&["db", "rewind", "--to-height", "1", "--yes"], &folders.joined).unwrap_err();
    assert!(rewound.contains("rewind-depth"), "{rewound}");
    let list = esker(&["db", "rewind"], &folders.joined).unwrap();
    assert!(list.starts_with("no bundle can be rewound"), "{list}");
}
