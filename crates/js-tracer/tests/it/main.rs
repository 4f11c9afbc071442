//! Scripts in this process; tests/e2e/tests/it/scripts.rs has those in processes of a node.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod lab;
mod script;
