//! Read transactions: reuse of idle ones, and the age of the oldest.

use std::time::Instant;

use esker_primitives::sync::Mutex;

/// Most idle read transactions.
const MAX_IDLE: usize = 64;

/// Read transactions (`T`) of one environment.
///
/// Beginning a transaction costs a lock that all threads share and a search for a free slot. A transaction that began
/// after the last commit shows the current state, so it is reused. A commit drops the idle ones: otherwise they would
/// keep old pages from being reused.
#[derive(Debug)]
pub(crate) struct Readers<T> {
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    /// Commits so far.
    generation: u64,
    /// During a commit no transaction is kept idle: a later snapshot never shows an older state than an earlier one.
    committing: bool,
    idle: Vec<T>,
    /// Start of each open snapshot, by slot.
    started: Vec<Option<Instant>>,
    free: Vec<usize>,
}

/// The slot of an open snapshot, and the commits before it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    slot: usize,
    generation: u64,
}

impl<T> Readers<T> {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new_named(
                "store readers",
                State {
                    generation: 0,
                    committing: false,
                    idle: Vec::new(),
                    started: Vec::new(),
                    free: Vec::new(),
                },
            ),
        }
    }

    /// Registers a snapshot. Without an idle transaction it begins a new one.
    pub(crate) fn enter(&self) -> (Ticket, Option<T>) {
        let now = Instant::now();
        let mut state = self.state.lock();
        let slot = match state.free.pop() {
            Some(slot) => {
                state.started[slot] = Some(now);
                slot
            }
            None => {
                state.started.push(Some(now));
                state.started.len() - 1
            }
        };
        let idle = if state.committing { None } else { state.idle.pop() };
        (Ticket { slot, generation: state.generation }, idle)
    }

    /// Ends a snapshot; its transaction is kept if it may be reused.
    pub(crate) fn leave(&self, ticket: Ticket, txn: Option<T>) {
        let mut state = self.state.lock();
        state.started[ticket.slot] = None;
        state.free.push(ticket.slot);
        let current = ticket.generation == state.generation && !state.committing;
        if current && state.idle.len() < MAX_IDLE {
            state.idle.extend(txn);
        } else {
            // Ending a transaction needs no lock.
            drop(state);
            drop(txn);
        }
    }

    /// Runs the commit itself (not the writes before it).
    pub(crate) fn commit<R>(&self, commit: impl FnOnce() -> R) -> R {
        let stale = {
            let mut state = self.state.lock();
            state.committing = true;
            std::mem::take(&mut state.idle)
        };
        drop(stale);
        let result = commit();
        let mut state = self.state.lock();
        state.committing = false;
        state.generation += 1;
        result
    }

    /// Ends the idle transactions.
    pub(crate) fn drop_idle(&self) {
        let idle = std::mem::take(&mut self.state.lock().idle);
        drop(idle);
    }

    /// Age of the oldest open snapshot in milliseconds.
    pub(crate) fn oldest_ms(&self) -> Option<u64> {
        let oldest = self.state.lock().started.iter().flatten().min().copied()?;
        Some(u64::try_from(oldest.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_used_again_until_a_commit() {
        let readers = Readers::new();
        let (ticket, txn) = readers.enter();
        assert_eq!(txn, None);
        assert!(readers.oldest_ms().is_some());
        readers.leave(ticket, Some("a"));
        assert_eq!(readers.oldest_ms(), None);
        let (ticket, txn) = readers.enter();
        assert_eq!(txn, Some("a"));
        readers.commit(|| {});
        // The transaction began before the commit.
        readers.leave(ticket, txn);
        assert_eq!(readers.enter().1, None);
    }

    #[test]
    fn nothing_is_pooled_during_a_commit() {
        let readers = Readers::new();
        let (before, _) = readers.enter();
        readers.leave(before, Some("before"));
        readers.commit(|| {
            let (during, txn) = readers.enter();
            assert_eq!(txn, None);
            readers.leave(during, Some("during"));
        });
        assert_eq!(readers.enter().1, None);
    }

    #[test]
    fn the_oldest_snapshot_counts() {
        let readers = Readers::<()>::new();
        let (first, _) = readers.enter();
        let (second, _) = readers.enter();
        readers.leave(first, None);
        assert!(readers.oldest_ms().is_some());
        readers.leave(second, None);
        assert_eq!(readers.oldest_ms(), None);
        // Slots are reused.
        let (third, _) = readers.enter();
        assert!(third.slot < 2);
    }
}
