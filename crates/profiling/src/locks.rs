//! The places where threads wait for locks.
//!
//! The locks of `esker_primitives::sync` report contended waits to a hook. A free lock has no extra cost. One short wait
//! in [`fraction`] is recorded and represents as many waits. All long waits are recorded.

#![expect(clippy::disallowed_types, reason = "a lock that does not report its own waits here")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use esker_primitives::sync::set_contention_hook;

use crate::encode::Builder;
use crate::stack::{Function, FunctionNames, Stack};

/// The default of [`fraction`]: one short wait in so many is recorded.
pub const DEFAULT_FRACTION: u32 = 10;

/// A wait of this length is always recorded.
const LONG: Duration = Duration::from_millis(10);

/// Most distinct sites of waits; waits at further sites are counted without a stack.
const MAX_PLACES: usize = 4096;

static FRACTION: AtomicU32 = AtomicU32::new(DEFAULT_FRACTION);
static SHORT_WAITS: AtomicU64 = AtomicU64::new(0);
static WAITS: Mutex<BTreeMap<WaitSite, Waits>> = Mutex::new(BTreeMap::new());

/// A lock, and the stack of the thread that waited for it.
type WaitSite = (&'static str, Box<[usize]>);

#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    count: u64,
    ns: u64,
}

/// Starts recording waits in this process. Returns false if another hook is set already.
pub fn watch() -> bool {
    set_contention_hook(note)
}

/// One short wait in so many is recorded. With 0 no wait is recorded, not even a long one.
pub fn fraction() -> u32 {
    FRACTION.load(Ordering::Relaxed)
}

/// Sets [`fraction`] and returns what it was.
pub fn set_fraction(fraction: u32) -> u32 {
    FRACTION.swap(fraction, Ordering::Relaxed)
}

fn waits() -> MutexGuard<'static, BTreeMap<WaitSite, Waits>> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The hook. The thread holds the lock for which it waited.
fn note(name: &'static str, waited: Duration) {
    let weight = match fraction() {
        0 => return,
        _ if waited >= LONG => 1,
        fraction => u64::from(fraction),
    };
    if weight > 1 && !SHORT_WAITS.fetch_add(1, Ordering::Relaxed).is_multiple_of(weight) {
        return;
    }
    let stack = Stack::capture();
    let ns = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
    let mut waits = waits();
    let is_full = waits.len() >= MAX_PLACES;
    let place = (name, Box::from(stack.frames()));
    let place = match is_full && !waits.contains_key(&place) {
        true => (name, Box::from([])),
        false => place,
    };
    let noted = waits.entry(place).or_default();
    noted.count = noted.count.saturating_add(weight);
    noted.ns = noted.ns.saturating_add(ns.saturating_mul(weight));
}

/// The profile of waits, as the bytes of its file. Resolving the names of functions takes most of the time.
///
/// The innermost frame of a stack is the lock, by its name.
pub fn profile() -> Vec<u8> {
    let kinds = [("contentions", "count"), ("delay", "nanoseconds")];
    let period = (("contentions", "count"), i64::from(fraction().max(1)));
    let mut builder = Builder::new(&kinds, period);
    let mut names = FunctionNames::default();
    let waits: Vec<_> = waits().iter().map(|(place, waits)| (place.clone(), *waits)).collect();
    for ((lock, stack), Waits { count, ns }) in waits {
        let lock = if lock.is_empty() { "without a name" } else { lock };
        let shown = Function { name: format!("lock: {lock}"), file: String::new(), line: 0 };
        let mut functions = vec![shown];
        functions.extend(names.of_waiter(&stack));
        let value = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        builder.add(&functions, vec![value(count), value(ns)], Some(("lock", lock)));
    }
    builder.finish()
}
