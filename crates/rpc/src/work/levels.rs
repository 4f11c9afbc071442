//! The levels that threads work at.

use std::time::Duration;

/// The level of short work.
pub(super) const SHORT: usize = 0;

/// The first level of everything else.
pub(super) const FIRST: usize = 1;

/// The lowest level at which a job begins, for clients whose last job took long.
pub(super) const LOWEST_START: usize = 3;

/// The number of levels.
pub(super) const LEVELS: usize = 5;

/// Time that a job may run at each level while others wait there. [`SHORT`] and the last one have no bound.
pub(super) const BUDGETS: [Option<Duration>; LEVELS] = [
    None,
    Some(Duration::from_millis(5)),
    Some(Duration::from_millis(50)),
    Some(Duration::from_secs(1)),
    None,
];

/// Time that a job runs, at least, before it gives its place at a level to another address: as long as it may at the
/// levels before.
pub(super) fn quantum(level: usize) -> Option<Duration> {
    level.checked_sub(1).and_then(|before| BUDGETS[before])
}

/// The nice value of each level's threads, over that of the process: what is served at once goes before all long
/// work, and short calls go before long ones.
pub(super) const NICE: [i32; LEVELS] = [0, 1, 2, 4, 8];
