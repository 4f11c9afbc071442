//! The logs of blocks that rewinds removed, for subscribers and filters.

use std::collections::VecDeque;
use std::sync::Arc;

use esker_primitives::sync::Mutex;

use crate::view::{BlocksRemoved, PlacedLog};

/// Most bytes of the logs of one rewind, and of all kept rewinds.
pub(super) const MAX_BYTES: usize = 16 << 20;

/// Rewinds that are kept.
const MAX_REWINDS: usize = 1024;

/// Bytes of a log besides its topics and data.
const LOG_BYTES: usize = 200;

/// The logs of the last rewinds, oldest first.
#[derive(Debug)]
pub(super) struct RemovedBlocks(Mutex<VecDeque<Arc<BlocksRemoved>>>);

impl RemovedBlocks {
    pub(super) fn new() -> Self {
        Self(Mutex::new_named("evm.removed", VecDeque::new()))
    }

    pub(super) fn add(&self, removed: Arc<BlocksRemoved>) {
        let mut kept = self.0.lock();
        kept.push_back(removed);
        let mut bytes: usize = kept.iter().map(|removed| bytes_of(removed)).sum();
        while kept.len() > MAX_REWINDS || bytes > MAX_BYTES {
            let Some(oldest) = kept.pop_front() else { return };
            bytes -= bytes_of(&oldest);
        }
    }

    /// The removed blocks of the rewinds with the numbers `count` + 1 to `until`; `None` if they are no longer kept.
    pub(super) fn since(&self, count: u64, until: u64) -> Option<Vec<Arc<BlocksRemoved>>> {
        let kept = self.0.lock();
        let wanted = kept.iter().filter(|removed| (count + 1..=until).contains(&removed.rewinds));
        let wanted: Vec<_> = wanted.cloned().collect();
        (wanted.len() as u64 == until.saturating_sub(count)).then_some(wanted)
    }
}

fn bytes_of(removed: &BlocksRemoved) -> usize {
    removed.logs.iter().flatten().map(log_bytes).sum()
}

pub(super) fn log_bytes(placed: &PlacedLog) -> usize {
    LOG_BYTES + 32 * placed.log.topics().len() + placed.log.data.data.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(rewinds: u64, bytes: usize) -> Arc<BlocksRemoved> {
        let log = alloy_primitives::Log::new_unchecked(
            alloy_primitives::Address::ZERO,
            Vec::new(),
            vec![0; bytes].into(),
        );
        let placed = PlacedLog {
            log,
            block_number: 1,
            block_hash: alloy_primitives::B256::ZERO,
            block_time: 0,
            transaction_hash: alloy_primitives::B256::ZERO,
            transaction_index: 0,
            log_index: 0,
        };
        Arc::new(BlocksRemoved { rewinds, height: 0, logs: Some(vec![placed]) })
    }

    fn numbers(kept: &RemovedBlocks, count: u64, until: u64) -> Option<Vec<u64>> {
        let found = kept.since(count, until)?;
        Some(found.iter().map(|removed| removed.rewinds).collect())
    }

    #[test]
    fn what_the_last_rewinds_removed_is_known() {
        let kept = RemovedBlocks::new();
        assert_eq!(numbers(&kept, 0, 0), Some(vec![]));
        assert_eq!(numbers(&kept, 0, 1), None);
        for rewinds in 1..=4 {
            kept.add(removed(rewinds, 10));
        }
        assert_eq!(numbers(&kept, 0, 4), Some(vec![1, 2, 3, 4]));
        assert_eq!(numbers(&kept, 2, 3), Some(vec![3]));
        assert_eq!(numbers(&kept, 4, 4), Some(vec![]));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let kept = RemovedBlocks::new();
        for rewinds in 1..=2_000 {
            kept.add(removed(rewinds, 10));
        }
        assert_eq!(numbers(&kept, 976, 2_000).map(|found| found.len()), Some(1024));
        assert_eq!(numbers(&kept, 975, 2_000), None);
        kept.add(removed(2_001, MAX_BYTES - 500));
        assert_eq!(numbers(&kept, 2_000, 2_001), Some(vec![2_001]));
        assert_eq!(numbers(&kept, 1_990, 2_001), None);
    }
}
