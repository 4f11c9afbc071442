//! Sources: JSON-RPC over HTTP, with limits, retries and fail-over.

mod address;
mod client;
mod counters;
mod endpoint;
mod fault;
mod limits;
mod reply;

pub use address::{AddressError, SourceAddress};
pub use client::{Answer, Call, Source};
pub use counters::SourceCounts;
pub use fault::{Fault, SourceError};
pub use limits::SourceLimits;
