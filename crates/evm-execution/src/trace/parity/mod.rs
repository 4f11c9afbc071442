//! The forms of Parity's `trace` methods, as reth and anvil write them (docs/api/evm-trace.md).
//!
//! - [`ListTracer`] writes calls with the place of their transaction, one after the other into a list that several
//!   transactions share.
//! - [`ReplayTracer`] writes what a transaction returned, its calls, what it changed, and its instructions.

mod call;
mod list;
mod replay;
mod state_diff;
mod vm_trace;

pub use list::{CallFilter, CallList, ListTracer, Selection};
pub use replay::{ReplayTracer, TraceTypes};
