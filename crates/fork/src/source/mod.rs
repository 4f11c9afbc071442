//! Sources: JSON-RPC over HTTP, with limits, retries and fail-over.

mod address;
mod client;
mod counters;
mod endpoint;
mod fault;
mod limits;
mod reply;
mod room;

pub use address::{AddressError, SourceAddress};
pub use client::{Answer, Call, Source};
pub(crate) use counters::Counters;
pub use counters::{LastFault, SourceCounts};
pub use fault::{FAULT_KINDS, Fault, FaultCounts, SourceError};
pub use limits::SourceLimits;
pub use room::ReplyRoom;
