//! Tracers in JavaScript with the reference's interface, which run in a separate process.
//!
//! - [`JsTracer`] runs a script behind the hooks of [`esker_evm_execution::trace::Tracer`]. It knows no process.
//! - [`scripts`] has the named scripts.
//! - [`ScriptHost`] implements the port [`esker_evm_execution::trace::Scripts`]: it starts processes, serves the state to
//!   them, and ends them. [`worker`] is the program of such a process, and `wire` the protocol between the two.
//!
//! A script never runs in the node's process. If it damages the engine or its memory, the damage ends with its process,
//! which has limited memory and time, and neither files nor sockets of its own (docs/security.md, "Scripts of
//! tracers"). The engine is QuickJS; docs/performance.md, "JavaScript tracers", explains why.

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
