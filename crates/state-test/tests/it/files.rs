//! The files in `tests/vectors/state-tests`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use esker_state_test::run_file;

fn files() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/state-tests");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|name| name == "json")).collect()
}

#[test]
fn all_cases_pass() {
    let (files, next, passed) = (files(), AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            for case in run_file(file).unwrap() {
                assert!(case.outcome.is_ok(), "{}: {case}", file.display());
                passed.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    assert_eq!((files.len(), passed.into_inner()), (22, 297));
}
