//! The cache, and packs.

use std::fs;
use std::path::{Path, PathBuf};

use alloy_primitives::{B256, U256};
use esker_fork::cache::{CacheOptions, CacheStop, verify_pack};
use esker_fork::pin::BlockChoice;
use esker_fork::{FileError, Fork, ForkError, ForkOptions, Misses, OpenedFork, ProofMode, Want};

use crate::server::{Server, quick, within};
use crate::world::{World, address, sample};

async fn server(world: &World) -> Server {
    let world = world.clone();
    Server::start(move |request, _| world.act(request)).await
}

fn cache(folder: &Path) -> CacheOptions {
    CacheOptions { folder: folder.to_owned(), max_bytes: 1 << 20 }
}

async fn open(
    server: &Server,
    options: ForkOptions,
    cache: &CacheOptions,
) -> Result<OpenedFork, ForkError> {
    let source = server.source(quick());
    within("opening a fork", Fork::open(source, BlockChoice::Latest, options, Some(cache))).await
}

fn wants() -> Misses {
    let misses = Misses::default();
    for n in 0..=12 {
        misses.add(Want::Account(address(n)));
        misses.add(Want::Slot(address(n), U256::from(2)));
    }
    misses
}

fn check(fork: &Fork, world: &World) {
    world.assert_known(fork, 0..=12);
}

fn cache_file(folder: &Path, world: &World) -> PathBuf {
    folder.join("1337").join(format!("{}.fork", world.hash()))
}

/// The first byte of each record after the block's.
fn offsets(file: &[u8]) -> Vec<usize> {
    let mut offsets = Vec::new();
    let mut at = 8;
    while at < file.len() {
        offsets.push(at);
        at += 8 + u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    }
    assert_eq!(at, file.len());
    offsets.remove(0);
    offsets
}

#[tokio::test]
async fn a_warm_fork_asks_for_nothing() {
    for proofs in [ProofMode::IfAvailable, ProofMode::Never] {
        let (folder, world) = (tempfile::tempdir().unwrap(), World::new(sample()));
        let (server, cache) = (server(&world).await, cache(folder.path()));
        let options = ForkOptions { proofs, ..ForkOptions::default() };
        let cold = open(&server, options.clone(), &cache).await.unwrap();
        assert!(cold.damaged.is_empty());
        within("a fetch", cold.fork.fetch(&wants())).await.unwrap();
        let second = open(&server, options.clone(), &cache).await.unwrap_err();
        assert!(matches!(second, ForkError::File(FileError::Locked(_))), "{second}");
        drop(cold);
        let warm = open(&server, options, &cache).await.unwrap();
        assert!(warm.damaged.is_empty(), "{:?}", warm.damaged);
        let asked = server.requests().len();
        within("a fetch", warm.fork.fetch(&wants())).await.unwrap();
        check(&warm.fork, &world);
        assert_eq!(server.requests().len(), asked);
    }
}

#[tokio::test]
async fn claims_are_not_taken_for_proofs() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new(sample()));
    let (server, cache) = (server(&world).await, cache(folder.path()));
    let never = ForkOptions { proofs: ProofMode::Never, ..ForkOptions::default() };
    let claimed = open(&server, never, &cache).await.unwrap();
    within("a fetch", claimed.fork.fetch(&wants())).await.unwrap();
    drop(claimed);
    let proven = open(&server, ForkOptions::default(), &cache).await.unwrap().fork;
    let misses = Misses::default();
    assert!(proven.view(&misses).account(&address(6)).known().is_none());
    within("a fetch", proven.fetch(&wants())).await.unwrap();
    let account = proven.view(&misses).account(&address(6)).known().unwrap().unwrap();
    assert!(account.storage_root.is_some());
}

#[tokio::test]
async fn damage_is_named_and_fetched_again() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new(sample()));
    let (server, cache) = (server(&world).await, cache(folder.path()));
    let path = cache_file(folder.path(), &world);
    let fork = open(&server, ForkOptions::default(), &cache).await.unwrap().fork;
    within("a fetch", fork.fetch(&wants())).await.unwrap();
    drop(fork);
    let good = fs::read(&path).unwrap();
    let records = offsets(&good);
    let changed = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x40;
        bytes
    };
    let mut cases: Vec<Vec<u8>> = records.iter().step_by(7).map(|at| changed(at + 12)).collect();
    cases.push(changed(records[3] + 3));
    cases.push(changed(0));
    cases.push(good[..good.len() - 5].to_vec());
    cases.push(good[..4].to_vec());
    cases.push(Vec::new());
    for bytes in cases {
        fs::write(&path, &bytes).unwrap();
        let opened = open(&server, ForkOptions::default(), &cache).await.unwrap();
        assert!(!opened.damaged.is_empty());
        let named = opened.damaged[0].to_string();
        assert!(named.contains(&path.display().to_string()), "{named}");
        within("a fetch", opened.fork.fetch(&wants())).await.unwrap();
        // An account that was not damaged is not fetched again, and its code then not with it.
        let misses = Misses::default();
        for n in 1..=12 {
            let account = opened.fork.view(&misses).account(&address(n)).known().unwrap().unwrap();
            let _code = opened.fork.view(&misses).code(account.parts.code_hash);
        }
        within("a fetch", opened.fork.fetch(&misses)).await.unwrap();
        check(&opened.fork, &world);
        drop(opened);
        let again = open(&server, ForkOptions::default(), &cache).await.unwrap();
        assert!(again.damaged.is_empty(), "{:?}", again.damaged);
        check(&again.fork, &world);
    }
}

#[tokio::test]
async fn a_full_cache_stops_and_the_fork_goes_on() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new(sample()));
    let server = server(&world).await;
    let cache = CacheOptions { max_bytes: 4000, ..cache(folder.path()) };
    let fork = open(&server, ForkOptions::default(), &cache).await.unwrap().fork;
    within("a fetch", fork.fetch(&wants())).await.unwrap();
    check(&fork, &world);
    let counts = fork.counts();
    assert_eq!(counts.cache_stopped, Some(CacheStop::Full));
    assert!(counts.cache_bytes <= 4000);
}

/// A pack of a fork, and the fork's world.
async fn pack(folder: &Path, proofs: ProofMode) -> (PathBuf, World) {
    let world = World::new(sample());
    let server = server(&world).await;
    let fork = server.fork(ForkOptions { proofs, ..ForkOptions::default() }).await;
    within("a fetch", fork.fetch(&wants())).await.unwrap();
    let path = folder.join("test.pack");
    let summary = fork.write_pack(&path).unwrap();
    assert_eq!(summary.bytes, fs::metadata(&path).unwrap().len());
    assert_eq!(summary.is_verified(), proofs != ProofMode::Never);
    assert_eq!(verify_pack(&path, Some(world.hash()), 1 << 20).unwrap(), summary);
    (path, world)
}

#[tokio::test]
async fn a_pack_runs_without_a_source() {
    for proofs in [ProofMode::Required, ProofMode::Never] {
        let folder = tempfile::tempdir().unwrap();
        let (path, world) = pack(folder.path(), proofs).await;
        let fork = Fork::open_pack(&path, ForkOptions::default(), None).unwrap();
        check(&fork, &world);
        assert_eq!((fork.pin().hash, fork.url()), (world.hash(), None));
        within("a fetch", fork.fetch(&wants())).await.unwrap();
        let misses = Misses::default();
        misses.add(Want::Account(address(20)));
        misses.add(Want::Account(address(6)));
        let error = within("a fetch", fork.fetch(&misses)).await.unwrap_err();
        assert!(
            matches!(&error, ForkError::Offline(lacking) if lacking.count == 1 && lacking.first.contains(&address(20).to_string())),
            "{error}"
        );
        let other = verify_pack(&path, Some(B256::ZERO), 1 << 20).unwrap_err();
        assert!(matches!(other, FileError::OtherBlock { .. }), "{other}");
        assert!(matches!(verify_pack(&path, Some(world.hash()), 100), Err(FileError::Io { .. })));
    }
}

#[tokio::test]
async fn each_changed_byte_of_a_pack_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, world) = pack(folder.path(), ProofMode::Required).await;
    let good = fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(53) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert!(verify_pack(&path, Some(world.hash()), 1 << 20).is_err(), "byte {at}");
    }
    fs::write(&path, &good[..good.len() - 1]).unwrap();
    assert!(verify_pack(&path, Some(world.hash()), 1 << 20).is_err());
}

/// Records that are changed together with their checksums. Nodes and codes have hashes. An altered account or slot is
/// not proved, or names another one, whose value is true.
#[tokio::test]
async fn altered_records_are_refused_or_true() {
    let folder = tempfile::tempdir().unwrap();
    let (path, world) = pack(folder.path(), ProofMode::Required).await;
    let good = fs::read(&path).unwrap();
    let mut refused = std::collections::BTreeSet::new();
    for at in offsets(&good) {
        let length = u32::from_le_bytes(good[at..at + 4].try_into().unwrap()) as usize;
        let mut bytes = good.clone();
        bytes[at + 8 + length - 1] ^= 1;
        let sum = crc32fast::hash(&bytes[at + 8..at + 8 + length]);
        bytes[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        let kind = good[at + 8];
        match verify_pack(&path, Some(world.hash()), 1 << 20) {
            Err(FileError::Record { .. }) => {
                refused.insert(kind);
            }
            Err(other) => panic!("{other}"),
            Ok(_) => {
                assert!(kind == 3 || kind == 4, "kind {kind}");
                let fork = Fork::open_pack(&path, ForkOptions::default(), None).unwrap();
                check_known(&fork, &world);
            }
        }
    }
    // Nodes, accounts, slots, codes.
    assert_eq!(refused.into_iter().collect::<Vec<_>>(), [2, 3, 4, 5]);
}

/// Checks the values that are known.
fn check_known(fork: &Fork, world: &World) {
    let misses = Misses::default();
    let view = fork.view(&misses);
    for n in 0..=12 {
        if let Some(account) = view.account(&address(n)).known() {
            assert_eq!(account, world.account(&address(n)).map(Into::into));
        }
        for slot in (0..4).map(U256::from) {
            if let Some(value) = view.slot(&address(n), slot).known() {
                assert_eq!(value, world.slot(&address(n), slot));
            }
        }
    }
}

/// A header that is changed together with its checksum has another hash.
#[tokio::test]
async fn an_altered_header_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, world) = pack(folder.path(), ProofMode::Required).await;
    let mut bytes = fs::read(&path).unwrap();
    let text = b"\"gasLimit\":\"0x";
    let at = bytes.windows(text.len()).position(|part| part == text).unwrap() + text.len();
    bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
    let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    let sum = crc32fast::hash(&bytes[16..16 + length]);
    bytes[12..16].copy_from_slice(&sum.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    for error in [
        verify_pack(&path, Some(world.hash()), 1 << 20).unwrap_err().to_string(),
        Fork::open_pack(&path, ForkOptions::default(), None).unwrap_err().to_string(),
    ] {
        assert!(error.contains("its fields don't give the hash"), "{error}");
    }
}
