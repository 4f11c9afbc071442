//! Files: the cache of a block, and packs.

mod check;
mod file;
mod pack;
mod record;
mod store;

pub use pack::{PackSummary, verify_pack};
pub(crate) use pack::{read_facts, write_facts};
pub(crate) use store::{Cache, OpenedCache};
pub use store::{CacheOptions, CacheStop};
