//! The limits of the work that one peer may cause.

use std::time::SystemTime;

/// How much of something a peer may use.
#[derive(Clone, Copy, Debug)]
struct Rate {
    per_second: u64,
    /// At once, after a time of little use.
    most: u64,
}

/// Names in announcements that are looked at at once.
pub(super) const MAX_NAMES_AT_ONCE: usize = 32 << 10;

/// Names in announcements, each of which is looked up.
const NAMES: Rate = Rate { per_second: 16 << 10, most: MAX_NAMES_AT_ONCE as u64 };

/// Delivered transactions that are refused, each of which was checked.
const REFUSALS: Rate = Rate { per_second: 256, most: 2 << 10 };

/// Bytes of transactions that are sent to it.
const SENT_BYTES: Rate = Rate { per_second: 8 << 20, most: 16 << 20 };

/// The rest of a rate.
#[derive(Clone, Copy, Debug)]
struct Budget {
    rate: Rate,
    left: u64,
    since: SystemTime,
}

impl Budget {
    fn new(rate: Rate, now: SystemTime) -> Self {
        Self { rate, left: rate.most, since: now }
    }

    fn left(&mut self, now: SystemTime) -> u64 {
        // The clock may have been set back: then nothing is added for now.
        let ms = now.duration_since(self.since).unwrap_or_default().as_millis();
        let ms = u64::try_from(ms).unwrap_or(u64::MAX);
        let added = ms.saturating_mul(self.rate.per_second) / 1_000;
        if added > 0 {
            self.left = self.left.saturating_add(added).min(self.rate.most);
            self.since = now;
        }
        self.left
    }

    fn take(&mut self, now: SystemTime, amount: u64) -> bool {
        let has_enough = self.left(now) >= amount;
        if has_enough {
            self.left -= amount;
        }
        has_enough
    }
}

/// The budgets of a peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budgets {
    names: Budget,
    refusals: Budget,
    sent_bytes: Budget,
}

impl Budgets {
    pub(super) fn new(now: SystemTime) -> Self {
        Self {
            names: Budget::new(NAMES, now),
            refusals: Budget::new(REFUSALS, now),
            sent_bytes: Budget::new(SENT_BYTES, now),
        }
    }

    /// Whether the peer's announcement of so many transactions is looked at.
    pub(super) fn may_announce(&mut self, now: SystemTime, names: usize) -> bool {
        self.refusals.left(now) > 0 && self.names.take(now, names as u64)
    }

    /// A transaction of the peer was refused.
    pub(super) fn count_refusal(&mut self, now: SystemTime) {
        let _spent = self.refusals.take(now, 1);
    }

    /// Whether so many bytes of transactions are sent to the peer.
    pub(super) fn may_send(&mut self, now: SystemTime, bytes: usize) -> bool {
        self.sent_bytes.take(now, bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_budget_is_spent_and_filled_again_up_to_its_most() {
        let begun = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let at = |ms| begun + Duration::from_millis(ms);
        let mut budget = Budget::new(Rate { per_second: 10, most: 20 }, begun);
        assert!(budget.take(at(0), 20) && !budget.take(at(0), 1));
        assert!(!budget.take(at(99), 1) && budget.take(at(100), 1) && !budget.take(at(100), 1));
        // Many looks in between lose nothing.
        for ms in 101..1_100 {
            budget.left(at(ms));
        }
        assert_eq!(budget.left(at(1_100)), 10);
        assert_eq!(budget.left(at(60_000)), 20);
        assert!(budget.take(begun - Duration::from_secs(60), 20), "the clock was set back");
        assert_eq!(budget.left(at(60_000)), 0);
        assert_eq!(budget.left(at(60_200)), 2);
    }
}
