//! A process that is killed in the middle of writing: what it reported is whole.
//!
//! The test binary runs itself as the process that is killed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use esker_storage::meta::{OpenOptions, open_dir};
use esker_storage::{KvStore, Store, WriteSet};

/// Names the folder for the process that is killed.
const FOLDER_VAR: &str = "ESKER_STORAGE_KILL_FOLDER";
const WRITERS: u32 = 3;
/// Keys of one batch.
const KEYS: u32 = 20;
/// No round lasts longer, if the parent should die.
const MAX_BATCHES: u32 = 100_000;

fn durable() -> OpenOptions {
    OpenOptions { durable: true, ..OpenOptions::TEST }
}

/// Batch `number` of `writer`: keys of its own, of which some have pages of their own, and the writer's last number.
fn batch(writer: u32, number: u32) -> WriteSet {
    let mut set = WriteSet::new();
    for index in 0..KEYS {
        let len = if index == 7 { 9000 } else { 40 };
        set.put(
            format!("batch {writer} {number:08} {index:02}").as_bytes(),
            &vec![number as u8; len],
        );
    }
    set.put(format!("last {writer}").as_bytes(), &number.to_be_bytes());
    // Space that is used again.
    if let Some(old) = number.checked_sub(30) {
        for index in 0..KEYS {
            set.delete(format!("batch {writer} {old:08} {index:02}").as_bytes());
        }
    }
    set
}

fn last(store: &dyn KvStore, writer: u32) -> Option<u32> {
    let value = store.snapshot().unwrap().get(format!("last {writer}").as_bytes()).unwrap()?;
    Some(u32::from_be_bytes(value.try_into().unwrap()))
}

/// The process that is killed; does nothing in an ordinary test run.
#[test]
fn child() {
    let Ok(folder) = std::env::var(FOLDER_VAR) else { return };
    let store = Arc::new(open_dir(Path::new(&folder), &durable()).unwrap());
    let store = Store::new(store).unwrap();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = store.clone();
            scope.spawn(move || {
                let first = last(&*store.kv, writer).map_or(0, |last| last + 1);
                for number in first..first + MAX_BATCHES {
                    store.writer.commit_blocking(batch(writer, number)).unwrap();
                    writeln!(std::io::stdout(), "\nwritten {writer} {number}").unwrap();
                }
            });
        }
    });
}

/// Runs the child until it has reported `enough` batches, kills it, and returns the last report of each writer.
fn run_and_kill(folder: &Path, enough: usize) -> BTreeMap<u32, u32> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["kill::child", "--exact", "--nocapture"])
        .env(FOLDER_VAR, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reported = BTreeMap::new();
    let mut count = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let Some(report) = line.strip_prefix("written ") else { continue };
        // The last line can be cut off.
        let Some((writer, number)) = report.split_once(' ') else { continue };
        let (Ok(writer), Ok(number)) = (writer.parse(), number.parse()) else { continue };
        reported.insert(writer, number);
        count += 1;
        if count == enough {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(count >= enough, "child ended by itself after {count}");
    reported
}

#[test]
fn slow_reported_batches_are_whole_after_a_kill() {
    let place = tempfile::tempdir().unwrap();
    for enough in [1, 2, 3, 7, 20, 50, 101, 33, 4, 64] {
        let reported = run_and_kill(place.path(), enough);
        let store = open_dir(place.path(), &durable()).unwrap();
        let mut batches = BTreeMap::<(u32, u32), u32>::new();
        store
            .snapshot()
            .unwrap()
            .scan(b"batch ", None, &mut |key, value| {
                let key = std::str::from_utf8(key).unwrap();
                let mut parts = key.split(' ').skip(1).map(|part| part.parse().unwrap());
                let (writer, number) = (parts.next().unwrap(), parts.next().unwrap());
                assert!(value.iter().all(|byte| *byte == number as u8));
                *batches.entry((writer, number)).or_default() += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        for writer in 0..WRITERS {
            let Some(last) = last(&store, writer) else {
                assert!(!reported.contains_key(&writer));
                continue;
            };
            // A commit that was not reported any more may be there too, but only one.
            if let Some(reported) = reported.get(&writer) {
                assert!((*reported..=reported + 1).contains(&last), "{reported}, {last}");
            }
            let first = last.saturating_sub(29);
            let expected: Vec<_> = (first..=last).map(|number| ((writer, number), KEYS)).collect();
            let found: Vec<_> =
                batches.range((writer, 0)..(writer + 1, 0)).map(|(k, v)| (*k, *v)).collect();
            assert_eq!(found, expected);
        }
        drop(store);
        esker_storage::meta::check_dir(place.path()).unwrap();
    }
}
