//! Data folders: who may open which.

use std::fs;
use std::path::Path;

use esker_primitives::ids::Id;
use esker_storage::meta::{
    Identity, OpenOptions, SCHEMA_VERSION, bind, check_dir, open_dir, open_temp, scope, scopes,
};
use esker_storage::{KvStore, MemoryStore, Scope, StorageError, WriteSet};

use crate::{contents_of, open};

fn refusal(path: &Path) -> StorageError {
    open_dir(path, &OpenOptions::TEST).unwrap_err()
}

/// Puts a stored schema version in place of the right one.
fn write_schema(path: &Path, version: &[u8]) {
    let mut set = WriteSet::new();
    set.put(b"\0\0\0schema", version);
    open(path).write(&set).unwrap();
}

#[test]
fn a_second_opener_is_refused_with_the_process_number() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path());
    let text = refusal(place.path()).to_string();
    let pid = std::process::id();
    assert_eq!(
        text,
        format!(
            "data folder {} is in use by another process (pid {pid}): stop that process or choose another folder",
            place.path().display()
        )
    );
    // The folder is taken as long as anybody reads from it.
    let snapshot = store.snapshot().unwrap();
    drop(store);
    assert!(matches!(refusal(place.path()), StorageError::Locked { .. }));
    drop(snapshot);
    open(place.path());
}

#[test]
fn other_files_in_the_folder_stay() {
    let place = tempfile::tempdir().unwrap();
    for name in ["data.mdb", "lock.mdb", "db"] {
        fs::write(place.path().join(name), "of another program").unwrap();
    }
    drop(open(place.path()));
    open(place.path());
    for name in ["data.mdb", "lock.mdb", "db"] {
        assert_eq!(fs::read(place.path().join(name)).unwrap(), b"of another program");
    }
}

#[cfg(unix)]
#[test]
fn files_are_private() {
    use std::os::unix::fs::MetadataExt;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("new");
    let copy = place.path().join("copy");
    let store = open(&path);
    store.backup(&copy, &mut |_| Ok(())).unwrap();
    for folder in [&path, &copy] {
        assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
        for file in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600, "{file:?}");
        }
    }
}

#[test]
fn a_path_that_cannot_be_a_folder_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "x").unwrap();
    for path in [&file, &file.join("below")] {
        let error = refusal(path);
        assert!(matches!(error, StorageError::Io { .. }), "{error}");
        assert!(error.to_string().contains("file"), "{error}");
    }
}

#[test]
fn a_temporary_store_leaves_nothing() {
    let store = open_temp(&OpenOptions::TEST).unwrap();
    let path = store.folder().to_owned();
    assert!(path.join("esker.mdb").exists());
    drop(store);
    assert!(!path.exists());
}

#[test]
fn a_later_schema_is_refused_and_left_alone() {
    let place = tempfile::tempdir().unwrap();
    write_schema(place.path(), &(SCHEMA_VERSION + 1).to_be_bytes());
    assert_eq!(
        refusal(place.path()).to_string(),
        format!(
            "data folder {} was written by a later release (schema 3, this one knows 2): \
             use that release or a newer one, or choose another folder",
            place.path().display()
        )
    );
    assert!(matches!(refusal(place.path()), StorageError::NewerSchema { found: 3, known: 2, .. }));
}

#[test]
fn a_store_without_a_schema_or_with_a_broken_one_is_damaged() {
    let place = tempfile::tempdir().unwrap();
    write_schema(place.path(), b"?");
    assert!(refusal(place.path()).is_corruption());

    let other = tempfile::tempdir().unwrap();
    let mut set = WriteSet::new();
    set.delete(b"\0\0\0schema");
    set.put(b"something", b"else");
    open(other.path()).write(&set).unwrap();
    assert!(refusal(other.path()).is_corruption());
}

#[test]
fn a_store_belongs_to_one_network_and_genesis() {
    let store = MemoryStore::new();
    let local = Identity { network_id: 12345, genesis: Id::new([1; 32]) };
    assert!(bind(&store, &local).unwrap());
    let before = contents_of(&store);
    assert!(!bind(&store, &local).unwrap());
    let other_genesis = Identity { genesis: Id::new([2; 32]), ..local };
    for other in [other_genesis, Identity { network_id: 1, ..local }] {
        let error = bind(&store, &other).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "data folder belongs to {local}, but the node was started for {other}: \
                 start it with the network that the folder was made for, or choose another folder"
            )
        );
    }
    assert!(local.to_string().starts_with("network 12345 with genesis "));
    assert_eq!(contents_of(&store), before);

    let mut half = WriteSet::new();
    half.delete(b"\0\0\0genesis");
    store.write(&half).unwrap();
    assert!(bind(&store, &local).unwrap_err().is_corruption());
}

#[test]
fn chains_keep_their_scopes() {
    let place = tempfile::tempdir().unwrap();
    let (x, c, y) = (Id::new([9; 32]), Id::new([5; 32]), Id::new([7; 32]));
    let store = open(place.path());
    assert_eq!(scope(&store, &x).unwrap(), Scope(1));
    assert_eq!(scope(&store, &c).unwrap(), Scope(2));
    assert_eq!(scope(&store, &x).unwrap(), Scope(1));
    drop(store);
    let store = open(place.path());
    assert_eq!(scope(&store, &y).unwrap(), Scope(3));
    assert_eq!(scope(&store, &c).unwrap(), Scope(2));
    assert_eq!(scopes(&store).unwrap(), [(c, Scope(2)), (y, Scope(3)), (x, Scope(1))]);
}

#[test]
fn a_whole_store_passes_the_full_check() {
    let place = tempfile::tempdir().unwrap();
    drop(open(place.path()));
    check_dir(place.path()).unwrap();
    let store = open(place.path());
    assert!(matches!(check_dir(place.path()), Err(StorageError::Locked { .. })));
    drop(store);
}
