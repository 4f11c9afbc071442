//! The C-Chain against the reference's known answers.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod accounts;
mod atomic;
mod fees;
mod forms;
mod ledger;
mod live;
mod oracle;
mod pool;
mod replay;
mod state;
mod trie;
mod vectors;
