//! Forms, tries, state, and the indexes of logs and addresses.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod addresses;
mod forms;
mod logs;
mod receipts;
mod state;
mod trie;
