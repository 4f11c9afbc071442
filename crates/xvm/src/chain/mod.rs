//! The chain: what it consists of, and its side of the machine's contract.
//!
//! `parts` is below: the chain's identity and what it holds in memory. Above it `issue` and `issue_built` take
//! transactions in, `build` makes and verifies blocks of them, `accept` follows a decision, `rewind` takes blocks
//! back. On top, `vm` fills the port [`ChainVm`](esker_chain::ChainVm) with them.

mod accept;
mod audit;
mod build;
mod config;
pub(crate) mod events;
mod forward;
mod issue;
mod issue_built;
mod journal;
mod log;
mod maintenance;
mod open;
mod parts;
mod report;
mod rewind;
mod snapshot;
mod undecided;
mod vm;
mod waiting;

pub use build::{MAX_FUTURE_S, TARGET_BLOCK_BYTES};
pub use config::XvmConfig;
pub use forward::Issued;
pub use issue::IssueError;
pub(crate) use issue_built::BuiltError;
pub use parts::Xvm;
