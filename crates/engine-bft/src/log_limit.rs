//! Log lines that a peer can cause at will, at most one a minute each.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use esker_primitives::sync::Mutex;

/// Between two lines.
const INTERVAL: Duration = Duration::from_mins(1);

/// Most subjects that are told apart; there are fewer validators.
const MAX_SUBJECTS: usize = 256;

/// Decides which lines are written. The time is not the chains': it only thins out the log.
#[derive(Debug)]
pub(crate) struct LogLimit<S>(Mutex<BTreeMap<S, Recent>>);

#[derive(Clone, Copy, Debug)]
struct Recent {
    written: Instant,
    /// Lines that were left out since.
    omitted: u64,
}

impl<S: Ord + Clone> LogLimit<S> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new_named("engine_bft.log_limit", BTreeMap::new()))
    }

    /// Whether a line about a subject is written now: the number of those left out since the last one.
    pub(crate) fn next(&self, subject: &S) -> Option<u64> {
        self.next_at(subject, Instant::now())
    }

    fn next_at(&self, subject: &S, now: Instant) -> Option<u64> {
        let mut subjects = self.0.lock();
        if let Some(recent) = subjects.get_mut(subject) {
            if now.saturating_duration_since(recent.written) < INTERVAL {
                recent.omitted = recent.omitted.saturating_add(1);
                return None;
            }
            let omitted = recent.omitted;
            *recent = Recent { written: now, omitted: 0 };
            return Some(omitted);
        }
        if subjects.len() >= MAX_SUBJECTS {
            return None;
        }
        subjects.insert(subject.clone(), Recent { written: now, omitted: 0 });
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_has_one_line_a_minute_and_the_next_counts_those_left_out() {
        let limit = LogLimit::new();
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(limit.next_at(&1, at(0)), Some(0));
        assert_eq!(limit.next_at(&1, at(1)), None);
        assert_eq!(limit.next_at(&2, at(1)), Some(0), "another subject");
        assert_eq!(limit.next_at(&1, at(59)), None);
        assert_eq!(limit.next_at(&1, at(60)), Some(2));
        assert_eq!(limit.next_at(&1, at(119)), None);
        for subject in 3..1_000 {
            limit.next_at(&subject, at(120));
        }
        assert_eq!(limit.0.lock().len(), MAX_SUBJECTS);
    }
}
