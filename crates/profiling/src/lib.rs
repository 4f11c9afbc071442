//! Profiles of the running process, in the form that `go tool pprof` reads.
//!
//! - [`cpu`]: which functions run, by the crate `pprof`: a signal some hundred times a second of processor time.
//! - [`heap`]: which functions hold memory. [`heap::SamplingAllocator`] wraps the allocator of the binary and notes one
//!   allocation in about two MiB, with its stack.
//! - [`locks`]: where threads wait for the locks of `esker_primitives::sync`.
//! - [`threads`]: what each thread does just now, as text.
//! - [`memory`]: figures of the allocator and of the system.
//! - [`Folder`]: where profiles are written, and that nothing else is written through it.
//!
//! What is profiled is the process, so the state here is the process's: one CPU profile at a time, whoever asks. Nothing
//! here knows RPC, a chain or a configuration. Not a word of a profile leaves the machine: who asks gets files.

pub mod cpu;
mod encode;
mod error;
mod folder;
pub mod heap;
pub mod locks;
pub mod memory;
mod stack;
pub mod threads;

pub use error::ProfileError;
pub use folder::Folder;
