//! Files: the cache of a block, and packs.

mod check;
mod file;
mod pack;
mod record;
mod shared;
mod store;

pub use pack::{CacheFile, PackSummary, cache_files, pack_cache, verify_pack};
pub(crate) use pack::{read_facts, write_facts};
pub use shared::SharedOptions;
pub(crate) use shared::{Shared, flush_at_intervals};
pub(crate) use store::{Cache, OpenedCache};
pub use store::{CacheOptions, CacheStop};

/// Name of the folder, in a data folder, with what its fork has read.
pub const FOLDER: &str = "fork";
