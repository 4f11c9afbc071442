//! The manual clock, and the hook of contended locks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};

use esker_primitives::clock::{Clock, ManualClock, Sleep};
use esker_primitives::sync::{Condvar, Mutex, RwLock, set_contention_hook};

#[derive(Default)]
struct WakeCounter(AtomicUsize);

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct Sleeper {
    sleep: Sleep,
    wakes: Arc<WakeCounter>,
}

impl Sleeper {
    fn until(clock: &ManualClock, ms: u64) -> Self {
        Self { sleep: clock.sleep_until(ms), wakes: Arc::default() }
    }

    fn is_done(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.wakes));
        self.sleep.as_mut().poll(&mut Context::from_waker(&waker)) == Poll::Ready(())
    }

    fn wakes(&self) -> usize {
        self.wakes.0.load(Ordering::SeqCst)
    }
}

#[test]
fn sleepers_wake_when_their_time_comes() {
    let clock = ManualClock::new(10_500);
    assert_eq!((clock.now_ms(), clock.now_s()), (10_500, 10));
    let mut past = Sleeper::until(&clock, 10_500);
    assert!(past.is_done());
    let mut soon = Sleeper::until(&clock, 11_000);
    let mut also = Sleeper::until(&clock, 11_000);
    let mut later = Sleeper::until(&clock, 12_000);
    let mut gone = Sleeper::until(&clock, 11_000);
    assert!(![&mut soon, &mut also, &mut later, &mut gone].into_iter().any(Sleeper::is_done));
    assert_eq!(clock.sleepers(), 4);
    drop(gone.sleep);
    assert_eq!(clock.sleepers(), 3);
    clock.advance(499);
    assert_eq!((soon.wakes(), clock.sleepers()), (0, 3));
    clock.clone().advance(1);
    assert_eq!(
        (soon.wakes(), also.wakes(), later.wakes(), gone.wakes.0.load(Ordering::SeqCst)),
        (1, 1, 0, 0)
    );
    assert!(soon.is_done() && also.is_done() && !later.is_done());
    clock.set(0);
    assert_eq!((clock.now_ms(), later.wakes()), (0, 0));
    clock.set(u64::MAX);
    clock.advance(1);
    assert!(clock.now_ms() == u64::MAX && later.is_done() && later.wakes() == 1);
    assert_eq!(clock.sleepers(), 0);
}

/// Number of waits for the lock of each name.
static TESTED: AtomicUsize = AtomicUsize::new(0);
static TABLE: AtomicUsize = AtomicUsize::new(0);

#[test]
fn contended_waits_reach_the_hook() {
    assert!(set_contention_hook(|name, _| {
        match name {
            "tested" => TESTED.fetch_add(1, Ordering::SeqCst),
            "table" => TABLE.fetch_add(1, Ordering::SeqCst),
            _ => 0,
        };
    }));
    assert!(!set_contention_hook(|_, _| ()));
    let lock = Arc::new(Mutex::new_named("tested", 0));
    let table = Arc::new(RwLock::new_named("table", 0));
    *lock.lock() += 1;
    assert_eq!((*lock.lock(), *table.read()), (1, 0));
    assert_eq!((TESTED.load(Ordering::SeqCst), TABLE.load(Ordering::SeqCst)), (0, 0));
    // A waiting thread can't be observed directly, so the test repeats rounds until one reports a wait.
    let mut rounds = 0;
    while TESTED.load(Ordering::SeqCst) == 0 || TABLE.load(Ordering::SeqCst) == 0 {
        round(&lock, &table);
        rounds += 1;
    }
    assert_eq!((*lock.lock(), *table.read()), (rounds + 1, rounds));
}

fn round(lock: &Arc<Mutex<i32>>, table: &Arc<RwLock<i32>>) {
    let (guard, read) = (lock.lock(), table.read());
    assert!(lock.try_lock().is_none() && table.try_write().is_none());
    assert!(table.try_read().is_some());
    let ready = Arc::new(Barrier::new(3));
    let spawn = |add: Box<dyn FnOnce() + Send>| {
        let ready = Arc::clone(&ready);
        std::thread::spawn(move || {
            ready.wait();
            add();
        })
    };
    let threads = [
        spawn(Box::new({
            let lock = Arc::clone(lock);
            move || *lock.lock() += 1
        })),
        spawn(Box::new({
            let table = Arc::clone(table);
            move || *table.write() += 1
        })),
    ];
    ready.wait();
    std::thread::yield_now();
    drop((guard, read));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn waits_for_a_condition() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let thread = {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || {
            *shared.0.lock() = true;
            shared.1.notify_one();
        })
    };
    let mut done = shared.0.lock();
    while !*done {
        shared.1.wait(&mut done);
    }
    drop(done);
    thread.join().unwrap();
}
