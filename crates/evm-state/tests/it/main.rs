//! Forms, tries, state and the index of logs.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod forms;
mod logs;
mod receipts;
mod state;
mod trie;
