//! The memory that one call takes while it runs, as its thread's counter shows.

use std::sync::atomic::{AtomicUsize, Ordering};

use esker_primitives::sync::Mutex;
use esker_primitives::thread_memory;

use super::Client;
use super::call_memory::{CallReservation, FREE_FOR_RUN};
use super::error::CallMemoryError;

/// A run takes more in steps of this size, in bytes.
const STEP: usize = 1024 * 1024;

/// After a run that may take so many bytes, its thread gives back what it freed.
const LARGE: usize = 4 * 1024 * 1024;

/// The memory of a call, for all its runs one after the other.
#[derive(Debug)]
pub(crate) struct RunMemory {
    client: Client,
    reservation: Mutex<CallReservation>,
    /// The bytes that the run was refused; 0: none.
    refused: AtomicUsize,
}

impl RunMemory {
    /// A call of this client that has reserved memory, or nothing yet.
    pub(crate) fn new(client: &Client, reservation: Option<CallReservation>) -> Self {
        let reservation = reservation.unwrap_or_else(|| CallReservation::empty(client));
        Self {
            client: client.clone(),
            reservation: Mutex::new_named("rpc.run", reservation),
            refused: AtomicUsize::new(0),
        }
    }

    /// Runs work on this thread. Also returns whether it found too little memory.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> (T, bool) {
        self.refused.store(0, Ordering::Relaxed);
        let limit = self.reservation.lock().bytes().saturating_add(FREE_FOR_RUN);
        let done = thread_memory::limited(limit, work);
        if self.reservation.lock().bytes() >= LARGE {
            // The next call may run on another thread.
            thread_memory::release();
        }
        done
    }

    /// Whether the run must end, because it takes more than there is for it.
    pub(crate) fn must_end(&self) -> bool {
        if self.refused.load(Ordering::Relaxed) > 0 {
            return true;
        }
        // Another thread that asks has no limit.
        thread_memory::is_exceeded() && !self.grow()
    }

    /// Takes more for the run: a quarter of what it has, in whole steps, so that it seldom asks.
    #[cold]
    fn grow(&self) -> bool {
        let mut reservation = self.reservation.lock();
        let before = reservation.bytes();
        let wanted = STEP.max(before / 4 / STEP * STEP);
        // At the end of what its client may have, it gets the rest.
        if reservation.try_grow(wanted) || reservation.try_grow(STEP) {
            thread_memory::raise_limit(reservation.bytes() - before);
            return !thread_memory::is_exceeded() || {
                drop(reservation);
                self.grow()
            };
        }
        self.refused.store(before + STEP, Ordering::Relaxed);
        false
    }

    /// The bytes that the call requests before it runs again.
    ///
    /// # Errors
    /// Its client may not have more.
    pub(crate) fn next_bytes(&self) -> Result<usize, CallMemoryError> {
        self.client.call_memory_beyond(self.reservation.lock().bytes())
    }

    /// The reason why work that can't run again got too little.
    pub(crate) fn refusal(&self) -> CallMemoryError {
        self.client.work().call_memory().refusal(&self.client, self.reservation.lock().bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{Work, WorkConfig};

    const MIB: usize = 1024 * 1024;

    fn work() -> Work {
        let (call_memory, client_call_memory) = (12 * MIB, 8 * MIB);
        Work::new(WorkConfig { call_memory, client_call_memory, ..WorkConfig::default() })
    }

    /// Takes memory until the run must end; the mebibytes that it got.
    fn take_all(memory: &RunMemory) -> (usize, bool) {
        memory.run(|| {
            let mut taken = 0;
            while !memory.must_end() {
                thread_memory::add(MIB);
                taken += 1;
            }
            thread_memory::subtract(taken * MIB);
            taken
        })
    }

    #[test]
    fn a_run_gets_what_its_client_may_have() {
        let work = work();
        let client = work.client(None);
        let memory = RunMemory::new(&client, None);
        assert_eq!(
            take_all(&memory),
            (11, true),
            "2 are free, 8 are its client's, one is too much"
        );
        assert_eq!(work.stats().call_bytes, 8 * MIB);
        assert_eq!(memory.next_bytes(), Err(CallMemoryError::TooLarge(8 * MIB)));
        drop(memory);
        assert_eq!(work.stats().call_bytes, 0);
    }

    #[test]
    fn a_run_that_others_leave_too_little_asks_for_more() {
        let work = work();
        let other = RunMemory::new(&work.client(None), None);
        assert_eq!(take_all(&other), (11, true));
        let memory = RunMemory::new(&work.client(None), None);
        assert_eq!(take_all(&memory), (7, true));
        assert_eq!(memory.next_bytes(), Ok(8 * MIB));
        // Small calls take nothing of it.
        let small = RunMemory::new(&work.client(None), None);
        let (held, exceeded) = small.run(|| {
            thread_memory::add(2 * MIB);
            let must_end = small.must_end();
            thread_memory::subtract(2 * MIB);
            must_end
        });
        assert!(!held && !exceeded);
    }
}
