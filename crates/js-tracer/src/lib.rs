//! Tracers in JavaScript: the reference's interface of scripts, in a process of their own.
//!
//! - [`JsTracer`] runs a script behind the hooks of [`esker_evm_execution::trace::Tracer`]. It knows no process.
//! - [`scripts`] has the scripts that have a name.
//! - [`ScriptHost`] fills the port [`esker_evm_execution::trace::Scripts`]: it starts processes, serves them the state, and ends
//!   them. [`worker`] is what such a process runs; `wire` is what both say to each other.
//!
//! A script never runs in the node's process: what it does to its engine's memory, or to the engine, ends with its
//! process, which has a bound on memory and on time, no file and no socket of its own (docs/security.md,
//! "Scripts of tracers"). The engine is QuickJS; docs/performance.md, "JavaScript tracers", has why.

mod current;
mod engine;
mod host;
mod natives;
mod result;
pub mod scripts;
mod slots;
mod tracer;
mod wire;
pub mod worker;

pub use host::{ScriptConfig, ScriptHost};
pub use slots::ScriptSlots;
pub use tracer::JsTracer;
