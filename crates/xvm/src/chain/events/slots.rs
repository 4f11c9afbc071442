//! The number of subscriptions, and its limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Subscriptions of all connections to a chain.
const MAX_SUBSCRIPTIONS: usize = 65_536;
/// Addresses and assets of all subscriptions to a chain, bytes.
const MAX_CRITERIA_BYTES: usize = 32 * 1024 * 1024;

/// The kinds of subscriptions, by the names that clients use.
pub(crate) const KINDS: [&str; 3] = ["blocks", "transactions", "utxos"];

/// Counts the subscriptions to a chain.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    all: AtomicUsize,
    by_kind: [AtomicUsize; KINDS.len()],
    criteria_bytes: AtomicUsize,
}

/// A slot among all subscriptions; given back when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    kind: usize,
    pub(crate) bytes: usize,
}

impl Slots {
    /// Takes a slot for a subscription of a kind, by its place in [`KINDS`], with criteria of these bytes. `None`: there
    /// is no room.
    pub(crate) fn take(self: &Arc<Self>, kind: usize, bytes: usize) -> Option<Slot> {
        let slot = Slot { slots: Arc::clone(self), kind, bytes };
        if let Some(count) = self.by_kind.get(kind) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let before = self.all.fetch_add(1, Ordering::Relaxed);
        let all_bytes = self.criteria_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = all_bytes.saturating_add(bytes) <= MAX_CRITERIA_BYTES;
        (before < MAX_SUBSCRIPTIONS && has_room).then_some(slot)
    }

    /// Open subscriptions by kind.
    pub(crate) fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = self.by_kind.iter().map(|count| count.load(Ordering::Relaxed) as u64);
        KINDS.into_iter().zip(counts).collect()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.all.fetch_sub(1, Ordering::Relaxed);
        self.slots.criteria_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        if let Some(count) = self.slots.by_kind.get(self.kind) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_given_back_and_criteria_are_bounded() {
        let slots = Arc::<Slots>::default();
        let slot = slots.take(1, MAX_CRITERIA_BYTES);
        assert_eq!(slots.counts(), [("blocks", 0), ("transactions", 1), ("utxos", 0)]);
        assert!(slots.take(2, 1).is_none(), "no room for criteria");
        assert!(slots.take(0, 0).is_some());
        drop(slot);
        assert!(slots.take(2, 1).is_some());
        let all: Vec<_> = (0..MAX_SUBSCRIPTIONS).map(|_| slots.take(0, 0)).collect();
        assert!(all.iter().all(Option::is_some));
        assert!(slots.take(0, 0).is_none(), "too many");
        drop(all);
        assert_eq!(slots.counts(), [("blocks", 0), ("transactions", 0), ("utxos", 0)]);
    }
}
