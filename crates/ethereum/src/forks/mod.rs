//! The forks, and the configuration of a chain: when each fork begins.

mod blob_schedule;
mod config;
mod fork;
mod fork_id;
mod json;
mod on_block;
mod order;
mod presets;
mod published;

pub use blob_schedule::{BlobParams, BlobSchedule};
pub use config::{BlockRule, ChainConfig, DAO_EXTRA};
pub use fork::{Fork, ForkNameError};
pub use fork_id::fork_hash;
pub use order::{Begin, ConfigError};
pub use published::PublishedForks;
