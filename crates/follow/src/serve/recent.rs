//! Records of the last bundles, for all followers at the tip.

use std::collections::VecDeque;

use bytes::Bytes;
use esker_primitives::sync::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Most records that are kept.
const MAX_RECORDS: usize = 256;
/// Most bytes of records that are kept, except for a single larger one.
const MAX_BYTES: usize = 16 << 20;

/// Records of consecutive heights.
#[derive(Debug, Default)]
struct Window {
    /// Height of the first record.
    first: u64,
    records: VecDeque<Bytes>,
    bytes: usize,
}

/// The last records that a follower at the tip read.
#[derive(Debug)]
pub(super) struct Recent {
    window: Mutex<Window>,
    /// Lets one reader at a time use the store.
    turn: Semaphore,
}

impl Default for Recent {
    fn default() -> Self {
        let window = Mutex::new_named("follow.recent", Window::default());
        Self { window, turn: Semaphore::new(1) }
    }
}

impl Recent {
    /// The records from this height on; `None` if the first one is not kept.
    pub(super) fn get(&self, from: u64) -> Option<Vec<Bytes>> {
        let window = self.window.lock();
        let skip = usize::try_from(from.checked_sub(window.first)?).ok()?;
        let records: Vec<_> = window.records.iter().skip(skip).cloned().collect();
        (!records.is_empty()).then_some(records)
    }

    /// Permission to read the store for all followers. The semaphore is never closed.
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turn.acquire().await.ok()
    }

    /// Adds records from this height on. Records that do not continue those before replace them.
    pub(super) fn add(&self, from: u64, records: &[Bytes]) {
        let mut window = self.window.lock();
        let next = window.first.saturating_add(window.records.len() as u64);
        if from != next {
            if from < next && from >= window.first {
                return;
            }
            *window = Window { first: from, ..Window::default() };
        }
        for record in records {
            window.bytes = window.bytes.saturating_add(record.len());
            window.records.push_back(record.clone());
        }
        while window.records.len() > MAX_RECORDS
            || window.bytes > MAX_BYTES && window.records.len() > 1
        {
            let Some(oldest) = window.records.pop_front() else { break };
            window.bytes -= oldest.len();
            window.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heights(recent: &Recent, from: u64) -> Option<Vec<u8>> {
        recent.get(from).map(|records| records.iter().map(|record| record[0]).collect())
    }

    fn records(heights: std::ops::RangeInclusive<u8>) -> Vec<Bytes> {
        heights.map(|height| Bytes::from(vec![height])).collect()
    }

    #[test]
    fn consecutive_records_are_kept() {
        let recent = Recent::default();
        assert_eq!(heights(&recent, 0), None);
        recent.add(5, &records(5..=6));
        recent.add(7, &records(7..=7));
        assert_eq!(heights(&recent, 6), Some(vec![6, 7]));
        assert_eq!(heights(&recent, 4), None);
        assert_eq!(heights(&recent, 8), None);
        // A second reader of the same heights adds nothing.
        recent.add(6, &records(6..=7));
        assert_eq!(heights(&recent, 5), Some(vec![5, 6, 7]));
        recent.add(20, &records(20..=20));
        assert_eq!(heights(&recent, 7), None);
        assert_eq!(heights(&recent, 20), Some(vec![20]));
    }

    #[test]
    fn the_oldest_go_first() {
        let recent = Recent::default();
        for height in 0..MAX_RECORDS as u64 + 3 {
            recent.add(height, &[Bytes::from_static(&[1])]);
        }
        assert_eq!(recent.get(2), None);
        assert_eq!(recent.get(3).map(|records| records.len()), Some(MAX_RECORDS));
        let large = Bytes::from(vec![0; MAX_BYTES + 1]);
        recent.add(MAX_RECORDS as u64 + 3, &[large]);
        assert_eq!(recent.get(MAX_RECORDS as u64 + 3).map(|records| records.len()), Some(1));
        assert_eq!(recent.get(MAX_RECORDS as u64 + 2), None);
    }
}
