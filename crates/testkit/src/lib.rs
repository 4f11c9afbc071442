//! Code that the tests of several crates share. Only dev-dependencies name this crate, each with the features that it
//! needs.

#![allow(missing_docs, missing_debug_implementations, reason = "names say it, as in other tests")]
#![allow(clippy::unwrap_used, reason = "a panic in a test is its message")]

#[cfg(feature = "arbitrary")]
pub mod arbitrary;
#[cfg(feature = "chains")]
pub mod chains;
#[cfg(feature = "context")]
pub mod context;
#[cfg(feature = "first-block")]
pub mod first_block;
#[cfg(feature = "http-client")]
pub mod http_client;
#[cfg(feature = "profile")]
pub mod profile;
#[cfg(feature = "recorded-atomic")]
pub mod recorded_atomic;
#[cfg(feature = "toy")]
pub mod toy;
#[cfg(feature = "vectors")]
pub mod vectors;
