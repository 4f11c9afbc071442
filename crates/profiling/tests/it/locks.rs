//! Profiles of waits for locks.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use esker_primitives::sync::Mutex;
use esker_profiling::locks;
use esker_testkit::profile;

#[inline(never)]
fn wait_for_it(lock: &Mutex<u64>) {
    *lock.lock() += 1;
}

#[test]
fn a_contended_lock_shows_with_its_stack() {
    assert!(locks::watch());
    let lock = Arc::new(Mutex::new_named("a contended one", 0));
    let free = Mutex::new_named("a free one", 0);
    let waited = 30_000_000;
    let held = lock.lock();
    let (begins, begun) = mpsc::channel();
    let waits = {
        let lock = Arc::clone(&lock);
        thread::spawn(move || {
            begins.send(()).unwrap();
            wait_for_it(&lock);
        })
    };
    begun.recv().unwrap();
    thread::sleep(Duration::from_millis(60));
    drop(held);
    waits.join().unwrap();
    wait_for_it(&free);

    let bytes = locks::profile();
    let samples = profile::samples(&bytes);
    let (names, values) = samples
        .iter()
        .find(|(names, _)| names[0] == "lock: a contended one")
        .expect("the lock shows");
    assert!(names.iter().any(|name| name.contains("wait_for_it")), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("esker_profiling")), "{names:?}");
    assert_eq!(values["contentions"], 1);
    assert!(values["delay"] >= waited, "{values:?}");
    assert!(samples.iter().all(|(names, _)| names[0] != "lock: a free one"));

    let before = locks::set_fraction(0);
    assert_eq!(before, locks::DEFAULT_FRACTION);
    assert_eq!(locks::set_fraction(before), 0);
}
