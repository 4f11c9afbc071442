//! The number and the heights of the rewinds since the process started.

use std::collections::VecDeque;

use esker_primitives::sync::{Mutex, RwLock, RwLockWriteGuard};

/// Most rewinds in the history. Older ones share the lowest height of them all, so a reader of an old position may go
/// back too far.
const MAX_HEIGHTS: usize = 1024;

/// The history of rewinds.
#[derive(Debug)]
pub(super) struct Rewinds {
    history: Mutex<History>,
    /// Locked while the store and then the memory are rewound.
    under_way: RwLock<()>,
}

#[derive(Debug, Default)]
struct History {
    count: u64,
    /// Number and height of each rewind that no later one went below. Both ascend.
    heights: VecDeque<(u64, u64)>,
}

impl Rewinds {
    pub(super) fn new() -> Self {
        Self {
            history: Mutex::new_named("evm.rewinds", History::default()),
            under_way: RwLock::new_named("evm.rewind", ()),
        }
    }

    /// Locks readers out until the guard is dropped, while the store and then the memory are rewound.
    pub(super) fn begin(&self) -> RwLockWriteGuard<'_, ()> {
        self.under_way.write()
    }

    /// Waits for the end of a running rewind. Only a reader that found an impossible state calls it, for example a
    /// missing block below the head.
    pub(super) fn wait(&self) {
        drop(self.under_way.read());
    }

    /// Records a rewind to a height. Returns the number of rewinds so far.
    pub(super) fn add(&self, height: u64) -> u64 {
        let mut history = self.history.lock();
        history.count = history.count.saturating_add(1);
        let count = history.count;
        while history.heights.pop_back_if(|(_, higher)| *higher >= height).is_some() {}
        history.heights.push_back((count, height));
        if history.heights.len() > MAX_HEIGHTS
            && let Some((_, lowest)) = history.heights.pop_front()
            && let Some((_, height)) = history.heights.front_mut()
        {
            *height = lowest;
        }
        count
    }

    /// The lowest height of the rewinds with the numbers `count` + 1 to `until`.
    pub(super) fn lowest(&self, count: u64, until: u64) -> Option<u64> {
        let history = self.history.lock();
        let later = history.heights.partition_point(|(number, _)| *number <= count);
        // A later rewind to a lower height has replaced the earlier ones. Going back too far is harmless.
        (count < until).then(|| history.heights.get(later).map(|(_, height)| *height)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_height_since_a_rewind_is_known() {
        let rewinds = Rewinds::new();
        assert_eq!(rewinds.lowest(0, 0), None);
        assert_eq!(rewinds.add(5), 1);
        assert_eq!(rewinds.add(9), 2);
        assert_eq!(rewinds.add(7), 3);
        let lowest: Vec<_> = (0..=3).map(|count| rewinds.lowest(count, 3)).collect();
        assert_eq!(lowest, [Some(5), Some(7), Some(7), None]);
        rewinds.add(2);
        let lowest: Vec<_> = (0..=4).map(|count| rewinds.lowest(count, 4)).collect();
        assert_eq!(lowest, [Some(2), Some(2), Some(2), Some(2), None]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let rewinds = Rewinds::new();
        for height in 1..=5_000 {
            rewinds.add(height);
        }
        assert_eq!(rewinds.history.lock().heights.len(), MAX_HEIGHTS);
        assert_eq!(rewinds.lowest(0, 5_000), Some(1), "of those that are forgotten the lowest");
        assert_eq!(rewinds.lowest(4_998, 5_000), Some(4_999));
        assert_eq!(rewinds.lowest(5_000, 5_000), None);
    }
}
