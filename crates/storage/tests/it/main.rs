//! The stores from outside: one suite over all of them, and what only the one on disk can do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod damage;
mod folder;
mod kill;
mod layers;
mod lmdb;
mod suspended;
mod tables;
mod writer;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use esker_storage::meta::{OpenOptions, open_dir};
use esker_storage::{KvRead, KvStore, LmdbStore, WriteSet};

/// Everything that a reader shows.
type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

fn contents(reader: &dyn KvRead) -> Contents {
    let mut contents = Contents::new();
    reader
        .scan(&[], None, &mut |key, value| {
            contents.insert(key.to_vec(), value.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
    contents
}

fn contents_of(store: &dyn KvStore) -> Contents {
    contents(&*store.snapshot().unwrap())
}

fn set(changes: &[(&str, Option<&str>)]) -> WriteSet {
    let mut set = WriteSet::new();
    for (key, value) in changes {
        match value {
            Some(value) => set.put(key.as_bytes(), value.as_bytes()),
            None => set.delete(key.as_bytes()),
        }
    }
    set
}

fn open(path: &Path) -> LmdbStore {
    open_dir(path, &OpenOptions::TEST).unwrap()
}
