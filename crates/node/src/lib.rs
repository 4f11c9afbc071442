//! The node: from a configuration to a running process.
//!
//! This crate has the list of chains, the data folder, the node's own APIs, and [`wiring`], which connects them in stages.
//! Configuration and networks are in `esker-settings`. It never executes a transaction and never orders a block:
//! chains (`esker-xvm`, ...) and engines (`esker-engine`) do, behind the traits of `esker-chain`.
//!
//! Where to start: [`Node::start`] in `wiring.rs` reads like the data-flow diagram of ARCHITECTURE.md. The binary
//! (`esker-commands`) is arguments -> `Config` -> [`Node::start`] -> exit code.

mod activity;
pub mod aliases;
pub mod api;
mod artifacts;
pub mod backup;
mod block_log;
pub mod chains;
pub mod clock;
mod diagnostics;
mod discovery;
mod environment;
mod forked_block;
pub mod identity;
pub mod journal;
pub mod logging;
pub mod metrics;
mod own_addresses;
pub mod progress;
mod query;
mod shared_memory_part;
mod taken_over;
mod throttle;
mod validator_changes;
pub mod wiring;

pub use activity::{Activity, CallLogSources, Terminal};
pub use environment::Environment;
pub use esker_chain::Shutdown;
pub use forked_block::ForkedBlock;
pub use taken_over::TakenOver;
pub use validator_changes::StoreChangeLog;
pub use wiring::{Node, Replacement, Replacements, RunningNode, StartError};
