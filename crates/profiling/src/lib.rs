//! Profiles of the running process, in the form that `go tool pprof` reads.
//!
//! - [`cpu`]: which functions run, by the crate `pprof`: a signal some hundred times a second of processor time.
//! - [`heap`]: which functions hold memory. [`heap::SamplingAllocator`] wraps the allocator of the binary and records one
//!   allocation per about two MiB, with its stack.
//! - [`locks`]: where threads wait for the locks of `esker_primitives::sync`.
//! - [`threads`]: the present stack of each thread, as text.
//! - [`memory`]: figures of the allocator and of the system.
//! - [`mod@format`]: the messages that a file consists of.
//! - [`Folder`]: the folder of profiles; it prevents writes elsewhere.
//!
//! The state of this crate is global, because a profile covers the process: only one CPU profile can run. The crate knows
//! no RPC, chain or configuration. Profiles never leave the machine: callers get files.

pub mod cpu;
mod encode;
mod error;
mod folder;
pub mod format;
pub mod heap;
pub mod locks;
pub mod memory;
mod stack;
pub mod threads;

pub use error::ProfileError;
pub use folder::Folder;
