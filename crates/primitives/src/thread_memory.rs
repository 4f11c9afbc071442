//! Counts the bytes that a thread holds by the process' allocator, with a limit that long work checks.
//!
//! The allocator calls [`add`] and [`subtract`]. Without such an allocator, all counts are 0. Memory that moves
//! between threads counts as allocated in one thread and as freed in the other.

use std::cell::Cell;
use std::sync::OnceLock;

static RELEASE: OnceLock<fn()> = OnceLock::new();

thread_local! {
    static THREAD: Thread = const {
        Thread {
            held: Cell::new(0),
            limit: Cell::new(isize::MAX),
            is_exceeded: Cell::new(false),
        }
    };
}

/// The counts of a thread. They need no drop, so they exist until the thread's end.
struct Thread {
    /// Bytes allocated minus bytes freed.
    held: Cell<isize>,
    /// The value of `held` above which the limit is exceeded.
    limit: Cell<isize>,
    /// Whether a check found the limit exceeded.
    is_exceeded: Cell<bool>,
}

/// Counts bytes that this thread has allocated.
#[inline]
pub fn add(bytes: usize) {
    THREAD.with(|thread| thread.held.set(thread.held.get().wrapping_add_unsigned(bytes)));
}

/// Counts bytes that this thread has freed.
#[inline]
pub fn subtract(bytes: usize) {
    THREAD.with(|thread| thread.held.set(thread.held.get().wrapping_sub_unsigned(bytes)));
}

/// Bytes that this thread has allocated minus those that it has freed. Only differences between two calls are
/// meaningful.
#[must_use]
pub fn held_bytes() -> isize {
    THREAD.with(|thread| thread.held.get())
}

/// Runs work that may hold this many more bytes. Also returns whether [`is_exceeded`] was ever true for it. The work
/// itself must check the limit.
pub fn limited<T>(bytes: usize, work: impl FnOnce() -> T) -> (T, bool) {
    let limit = held_bytes().saturating_add_unsigned(bytes);
    let _restored = THREAD.with(|thread| OuterLimit {
        limit: thread.limit.replace(limit),
        is_exceeded: thread.is_exceeded.replace(false),
    });
    let done = work();
    (done, THREAD.with(|thread| thread.is_exceeded.get()))
}

/// Whether the work holds more than [`limited`] allows.
#[must_use]
pub fn is_exceeded() -> bool {
    is_exceeded_by(0)
}

/// Whether the work would hold more than [`limited`] allows with this many additional bytes.
#[must_use]
pub fn is_exceeded_by(bytes: usize) -> bool {
    THREAD.with(|thread| {
        let is_exceeded = thread.held.get().saturating_add_unsigned(bytes) > thread.limit.get();
        if is_exceeded {
            thread.is_exceeded.set(true);
        }
        is_exceeded
    })
}

/// Raises the limit of the running work by this many bytes. The limit then counts as not exceeded.
pub fn raise_limit(bytes: usize) {
    THREAD.with(|thread| {
        thread.limit.set(thread.limit.get().saturating_add_unsigned(bytes));
        thread.is_exceeded.set(false);
    });
}

/// Sets the function that returns freed memory of this thread to the system. Only the first call has an effect.
/// Returns whether it was the first.
pub fn set_release(release: fn()) -> bool {
    RELEASE.set(release).is_ok()
}

/// Returns freed memory of this thread to the system, if the process can. Call it after work that took much memory,
/// on a thread that may be idle for a while.
pub fn release() {
    if let Some(release) = RELEASE.get() {
        release();
    }
}

/// The limit of the outer work, which is restored on drop.
struct OuterLimit {
    limit: isize,
    is_exceeded: bool,
}

impl Drop for OuterLimit {
    fn drop(&mut self) {
        THREAD.with(|thread| {
            thread.limit.set(self.limit);
            thread.is_exceeded.set(self.is_exceeded);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_sees_its_limit_exceeded() {
        let before = held_bytes();
        let ((), exceeded) = limited(100, || {
            add(100);
            assert!(!is_exceeded_by(0));
        });
        assert!(!exceeded);
        subtract(100);
        let ((), exceeded) = limited(100, || assert!(is_exceeded_by(101)));
        assert!(exceeded);
        let (seen, exceeded) = limited(100, || {
            add(100);
            let at_limit = is_exceeded();
            add(1);
            let above = is_exceeded();
            subtract(1);
            (at_limit, above, is_exceeded())
        });
        assert_eq!(seen, (false, true, false));
        assert!(exceeded, "once is enough");
        assert_eq!(held_bytes() - before, 100);
        assert!(!is_exceeded(), "there is no limit outside");
        subtract(100);
        assert_eq!(held_bytes(), before);
    }

    #[test]
    fn limits_nest_and_are_raised() {
        let ((), outer) = limited(10, || {
            let ((), inner) = limited(1000, || {
                add(500);
                assert!(!is_exceeded());
            });
            assert!(!inner);
            assert!(is_exceeded());
            raise_limit(490);
            assert!(!is_exceeded());
        });
        assert!(!outer, "it was raised");
        subtract(500);
        let panicked = std::panic::catch_unwind(|| limited(0, || panic!("ouch")));
        assert!(panicked.is_err());
        add(1);
        assert!(!is_exceeded(), "the limit ends with the work");
        subtract(1);
    }
}
