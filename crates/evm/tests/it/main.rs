//! The C-Chain against the reference's known answers.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod accounts;
mod fees;
mod forms;
mod oracle;
mod pool;
mod state;
mod trie;
mod vectors;
