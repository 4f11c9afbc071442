//! The node's outside over real ports.

#![expect(clippy::unwrap_used, reason = "a panic is a test's message")]

mod api;
mod environment;
