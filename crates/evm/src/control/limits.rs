//! Limits of requests.

/// Most blocks of one request.
pub const MAX_BLOCKS: u64 = 100_000;

/// Latest time that the clock can be set to, Unix s: a year before the last time of a bundle.
pub const MAX_TIME_S: u64 = 253_370_764_800;

/// Longest interval of blocks, s: a year.
pub const MAX_INTERVAL_S: u64 = 366 * 24 * 3600;

/// Most requests that wait.
pub(super) const MAX_REQUESTS: usize = 1024;

/// Most accounts that are impersonated one by one.
pub(super) const MAX_IMPERSONATED: usize = 10_000;
