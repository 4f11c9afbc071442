//! The chain: what it consists of, and its side of the machine's contract.

mod audit;
mod parts;
mod snapshot;
mod vm;

pub use parts::Platform;
