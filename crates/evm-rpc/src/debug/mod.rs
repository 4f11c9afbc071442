//! `debug`: what lies behind blocks and states (docs/api/evm-debug.md, docs/api/evm-tracing.md). Off unless a service is
//! named.
//!
//! - `state`: dumps, ranges of accounts and storage, what changed between blocks. The service `debug`.
//! - `raw`: blocks, headers, receipts and transactions as bytes. The service `internal-debug`.
//! - `runtime`: the process. The service `debug-handler`.
//! - `trace`: code watched while it runs. The services `debug-tracer` and `debug-file-tracer`.

mod account;
mod dump;
pub(crate) mod raw;
mod runtime;
mod stack_filter;
pub(crate) mod state;
mod storage;
mod trace;
pub(crate) mod walk;
mod witness;

pub use runtime::{
    MAX_TIMED_PROFILE, MemoryFigures, RunningProfile, RuntimeControl, RuntimeError, runtime_methods,
};
pub use trace::{ChainTraces, TraceFiles, file_tracing_methods, tracing_methods};
pub(crate) use trace::{
    MAX_HELD, Refusal, find_transaction, locate, replay_accepted, replay_timed, trace_accepted,
    with_calls, write_reply,
};
pub use witness::witness_methods;
