//! The machine over toy chains: what is final, what is dropped, what a crash leaves.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod addresses;
mod bundles;
mod calls;
mod commitment;
mod crash;
mod forward;
mod history;
mod machine;
mod rewind;
mod snapshot;
