//! The cost of reads, commits and copies on this machine: `cargo run --release -p esker-storage --example cost
//! [FOLDER]`.
//!
//! Without a folder a new one in `target` is used, since the system's place for temporary files may be memory, which
//! would make durable commits look free. Each figure is the best of five rounds.

#![expect(clippy::print_stdout, reason = "its output is its purpose")]
#![expect(clippy::unwrap_used, reason = "an example that cannot go on ends")]

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use esker_storage::meta::{OpenOptions, open_dir};
use esker_storage::{KvRead, KvStore, LmdbStore, Overlay, PendingWrites, Store, WriteSet};

/// Entries that are in the store: keys of 35 bytes, values of 100.
const ENTRIES: u64 = 1_000_000;
const LOAD_BATCH: u64 = 50_000;
const READS: u64 = 200_000;
const ROUNDS: usize = 5;
const CALLERS: u64 = 64;
/// Pause after each mebibyte of a slow copy.
const COPY_STEP: Duration = Duration::from_millis(25);

/// Spread keys, the same in each run.
fn key(number: u64) -> [u8; 35] {
    let mut key = [0; 35];
    key[1] = 1;
    key[2] = 7;
    let mut word = number;
    for part in key[3..].chunks_exact_mut(8) {
        word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        part.copy_from_slice(&(mixed ^ (mixed >> 31)).to_be_bytes());
    }
    key
}

/// `count` changed entries from `first` on.
fn batch(first: u64, count: u64, filling: u8) -> WriteSet {
    let mut set = WriteSet::new();
    for number in first..first + count {
        set.put(&key(number % ENTRIES), &[filling; 100]);
    }
    set
}

fn load(store: &LmdbStore) {
    for first in (0..ENTRIES).step_by(LOAD_BATCH as usize) {
        store.write(&batch(first, LOAD_BATCH, 1)).unwrap();
    }
    store.flush().unwrap();
}

/// Prints the best round's time of one of `count` steps.
fn report(what: &str, count: u64, mut round: impl FnMut()) {
    let best = (0..ROUNDS).map(|_| timed(&mut round)).min().unwrap();
    let nanos = best.as_nanos() as f64 / count as f64;
    match nanos {
        ..10_000.0 => println!("{what:<58} {nanos:>8.0} ns"),
        _ => println!("{what:<58} {:>8.1} us", nanos / 1000.0),
    }
}

fn timed(work: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn scan_all(reader: &dyn KvRead) -> u64 {
    let mut found = 0;
    reader
        .scan(&[0, 1, 7], None, &mut |key, value| {
            black_box((key, value));
            found += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

fn reads(store: &LmdbStore) {
    let spread = |step: u64| key(step.wrapping_mul(7919) % ENTRIES);
    let get = |reader: &dyn KvRead, step: u64| {
        assert!(reader.get_with(&spread(step), &mut |value| _ = black_box(value)).unwrap());
    };
    report("snapshot and drop", READS, || {
        (0..READS).for_each(|_| drop(black_box(store.snapshot().unwrap())));
    });
    report("snapshot, get of one hot key, drop", READS, || {
        (0..READS).for_each(|_| get(&*store.snapshot().unwrap(), 1));
    });
    report("snapshot, get of a random key, drop", READS, || {
        (0..READS).for_each(|step| get(&*store.snapshot().unwrap(), step));
    });
    let snapshot = store.snapshot().unwrap();
    report("get of a random key", READS, || (0..READS).for_each(|step| get(&*snapshot, step)));
    report("seek of a random key", READS, || {
        for step in 0..READS {
            black_box(snapshot.seek(&spread(step)).unwrap());
        }
    });
    report("scan, per entry", ENTRIES, || assert_eq!(scan_all(&*snapshot), ENTRIES));
    let layers = (0..2).map(|layer| Arc::new(batch(layer * 500, 500, 3))).collect();
    let overlay = Overlay::new(store.snapshot().unwrap(), layers);
    let pending = PendingWrites::new(&overlay);
    report("get through a pending and two layers", READS, || {
        (0..READS).for_each(|step| get(&pending, step));
    });
    report("scan through a pending and two layers, per entry", ENTRIES, || {
        assert_eq!(scan_all(&pending), ENTRIES);
    });
}

fn commits(store: &Store) {
    let mut next = 0;
    let mut commit = |count: u64| {
        next += count * 31;
        store.writer.commit_blocking(batch(next, count, next as u8)).unwrap();
    };
    report("commit of 10 entries, one caller", 50, || (0..50).for_each(|_| commit(10)));
    report("commit of 100 entries, one caller", 20, || (0..20).for_each(|_| commit(100)));
    report("commit of 2000 entries, one caller", 5, || (0..5).for_each(|_| commit(2000)));
    report("commit of 10 entries, 64 callers", CALLERS * 5, || {
        thread::scope(|scope| {
            for caller in 0..CALLERS {
                scope.spawn(move || {
                    for round in 0..5 {
                        let set = batch(caller * 10_000 + round * 10, 10, round as u8);
                        store.writer.commit_blocking(set).unwrap();
                    }
                });
            }
        });
    });
}

/// How fast the store is copied at rest; and by how much a file without free space grows under commits of 100 entries
/// during a copy that takes some seconds.
fn copies(store: &LmdbStore, folder: &Path, options: &OpenOptions) {
    let (compact, second) = (folder.with_extension("copy"), folder.with_extension("second"));
    let (start, mut bytes) = (Instant::now(), 0);
    let mut watch = |copied| {
        bytes = copied;
        Ok(())
    };
    store.backup(&compact, &mut watch).unwrap();
    println!("{:<58} {:>8} MiB in {} ms", "copy", bytes >> 20, start.elapsed().as_millis());
    let store = Store::new(Arc::new(open_dir(&compact, options).unwrap())).unwrap();
    let (before, copied) = (store.kv.size_on_disk().unwrap(), AtomicBool::new(false));
    let (start, commits) = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut count = 0;
            while !copied.load(Ordering::Relaxed) {
                count += 1;
                store.writer.commit_blocking(batch(count * 7919, 100, count as u8)).unwrap();
            }
            count
        });
        let start = Instant::now();
        let mut slowly = |_| {
            thread::sleep(COPY_STEP);
            Ok(())
        };
        store.kv.backup(&second, &mut slowly).unwrap();
        copied.store(true, Ordering::Relaxed);
        (start, writer.join().unwrap())
    });
    let (ms, grown) = (start.elapsed().as_millis(), store.kv.size_on_disk().unwrap() - before);
    let what = format!("growth in {ms} ms, {commits} commits of 100 entries");
    println!("{what:<58} {:>8} MiB", grown >> 20);
    store.writer.close_blocking().unwrap();
    for folder in [compact, second] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

fn run(folder: &Path, durable: bool) {
    println!("{}:", if durable { "durable" } else { "not durable" });
    let store = open_dir(folder, &OpenOptions { durable, ..OpenOptions::PRODUCTION }).unwrap();
    load(&store);
    if durable {
        reads(&store);
    }
    copies(&store, folder, &OpenOptions { durable, ..OpenOptions::PRODUCTION });
    let store = Store::new(Arc::new(store)).unwrap();
    commits(&store);
    store.writer.close_blocking().unwrap();
    println!("{:<58} {:>8} MiB", "size", store.kv.size_on_disk().unwrap() >> 20);
}

fn main() {
    let place = match std::env::args_os().nth(1) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from("target").join(format!("cost-{}", std::process::id())),
    };
    for durable in [true, false] {
        let folder = place.join(if durable { "durable" } else { "fast" });
        run(&folder, durable);
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::remove_dir(&place).unwrap();
}
