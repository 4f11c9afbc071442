//! Fetches parts of the base state: grouped, shared between callers, and checked.

mod ahead;
mod ancestors;
mod claimed;
mod context;
mod flights;
mod fork;
mod job;
mod kept;
mod options;
mod other_source;
mod plan;
mod preimage;
mod proven;
mod queue;
mod reader;
mod reading;
mod shelf;
mod warm_up;
mod workers;

pub use fork::{Fork, ForkCounts, OpenedFork, WeakFork};
pub use kept::KeptBlock;
pub use options::{ForkOptions, ProofMode, Trust};
pub use other_source::OtherSource;
