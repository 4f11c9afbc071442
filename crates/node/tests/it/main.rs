//! The node's outside over real ports.

#![expect(clippy::unwrap_used, reason = "a panic is a test's message")]

mod api;
#[expect(dead_code, reason = "the server's own tests use all of it")]
#[path = "../../../http/tests/it/client.rs"]
mod client;
mod environment;
