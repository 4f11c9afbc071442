//! The cache that forks share.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloy_primitives::U256;
use esker_fork::cache::SharedOptions;
use esker_fork::pin::BlockChoice;
use esker_fork::{Fork, ForkOptions, Misses, ProofMode, Want};

use crate::server::{Server, quick, within};
use crate::world::{World, address, sample};

fn options(folder: &Path) -> ForkOptions {
    let (folder, max_bytes) = (folder.to_owned(), 1 << 20);
    let shared = Some(SharedOptions { folder, max_bytes, max_file_bytes: 1 << 19 });
    ForkOptions { shared, ..ForkOptions::default() }
}

async fn server(world: &World) -> Server {
    let world = world.clone();
    Server::start(move |request, _| world.act(request)).await
}

async fn open(server: &Server, options: ForkOptions) -> Fork {
    let source = server.source(quick());
    let opening = Fork::open(source, BlockChoice::Latest, options, None);
    within("opening a fork", opening).await.unwrap().fork
}

/// Reads some accounts, with a slot of each, and checks them.
async fn read(fork: &Fork, world: &World, numbers: std::ops::RangeInclusive<u64>) {
    let misses = Misses::default();
    for n in numbers.clone() {
        misses.add(Want::Account(address(n)));
        misses.add(Want::Slot(address(n), U256::from(2)));
    }
    within("a fetch", fork.fetch(&misses)).await.unwrap();
    world.assert_known(fork, numbers);
}

/// The shared files.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(chain) = fs::read_dir(folder.join("1337")) else { return Vec::new() };
    let mut files: Vec<_> = chain.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Ends a fork, whose file can then be used.
async fn end(fork: Fork) {
    tokio::task::spawn_blocking(move || fork.write_shared()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_fork_begins_warm() {
    for proofs in [ProofMode::Required, ProofMode::Never] {
        let (folder, world) = (tempfile::tempdir().unwrap(), World::new(sample()));
        let server = server(&world).await;
        let options = || ForkOptions { proofs, ..options(folder.path()) };
        let first = open(&server, options()).await;
        read(&first, &world, 0..=12).await;
        end(first).await;
        assert_eq!(files(folder.path()).len(), 1, "{:?}", files(folder.path()));
        let second = open(&server, options()).await;
        let asked = server.requests().len();
        read(&second, &world, 0..=12).await;
        assert_eq!(server.requests().len(), asked);
        // What a fork takes over is what it reads, and no more.
        let pack = folder.path().join("a.pack");
        let all = second.write_pack(&pack).unwrap();
        let third = open(&server, options()).await;
        read(&third, &world, 3..=3).await;
        let few = third.write_pack(&pack).unwrap();
        assert!(few.accounts + few.claimed < all.accounts + all.claimed, "{few:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_stay_with_their_source_and_out_of_proofs() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new(sample()));
    let (one, other) = (server(&world).await, server(&world).await);
    let never = || ForkOptions { proofs: ProofMode::Never, ..options(folder.path()) };
    let fork = open(&one, never()).await;
    read(&fork, &world, 1..=4).await;
    end(fork).await;
    for options in [never(), options(folder.path())] {
        let fork = open(&other, options).await;
        let asked = other.requests().len();
        read(&fork, &world, 1..=4).await;
        assert!(other.requests().len() > asked);
        end(fork).await;
    }
    assert_eq!(files(folder.path()).len(), 3, "{:?}", files(folder.path()));
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_at_once_keep_what_each_has_read() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new(sample()));
    let (server, world) = (Arc::new(server(&world).await), Arc::new(world));
    let ranges = [0..=3, 2..=6, 5..=9, 9..=12];
    let forks = ranges.map(|range| {
        let (server, world, options) = (server.clone(), world.clone(), options(folder.path()));
        tokio::spawn(async move {
            let fork = open(&server, options).await;
            read(&fork, &world, range).await;
            end(fork).await;
        })
    });
    for fork in forks {
        within("a fork", fork).await.unwrap();
    }
    let fork = open(&server, options(folder.path())).await;
    let asked = server.requests().len();
    read(&fork, &world, 0..=12).await;
    assert_eq!(server.requests().len(), asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_is_not_used() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new(sample()));
    let server = server(&world).await;
    let fork = open(&server, options(folder.path())).await;
    read(&fork, &world, 0..=12).await;
    end(fork).await;
    let path = files(folder.path()).remove(0);
    let good = fs::read(&path).unwrap();
    let mut cases = vec![Vec::new(), good[..good.len() - 3].to_vec(), b"ESKFORK1".to_vec()];
    for at in (0..good.len()).step_by(211) {
        let mut bytes = good.clone();
        bytes[at] ^= 4;
        cases.push(bytes);
    }
    for bytes in cases {
        fs::write(&path, &bytes).unwrap();
        // What a killed process has left.
        let left = path.with_extension("fork.new");
        fs::write(&left, &bytes[..bytes.len() / 2]).unwrap();
        let fork = open(&server, options(folder.path())).await;
        assert!(!path.exists());
        read(&fork, &world, 0..=12).await;
        end(fork).await;
        assert_eq!(files(folder.path()), std::slice::from_ref(&path));
        let again = open(&server, options(folder.path())).await;
        let asked = server.requests().len();
        read(&again, &world, 0..=12).await;
        assert_eq!(server.requests().len(), asked);
        end(again).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_files_are_removed() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new(sample()));
    let server = server(&world).await;
    let old = folder.path().join("1");
    fs::create_dir(&old).unwrap();
    for (age, name) in [(3, "a"), (1, "b"), (2, "c")] {
        let path = old.join(format!("{name}.fork"));
        fs::write(&path, vec![0; 600_000]).unwrap();
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let time = time - std::time::Duration::from_secs(1_000 * age);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    let fork = open(&server, options(folder.path())).await;
    read(&fork, &world, 0..=12).await;
    end(fork).await;
    assert_eq!(files(folder.path()).len(), 1);
    let left: Vec<_> =
        fs::read_dir(&old).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["b.fork"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_can_not_be_used_stops_nothing() {
    let (folder, world) = (tempfile::tempdir().unwrap(), World::new(sample()));
    let server = server(&world).await;
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let fork = open(&server, options(&file)).await;
    read(&fork, &world, 0..=12).await;
    end(fork).await;
    assert!(fs::read(&file).unwrap().is_empty());
}
