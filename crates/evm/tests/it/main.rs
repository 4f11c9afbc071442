//! The C-Chain against the reference's known answers.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod accounts;
mod atomic;
mod backfill;
mod blocks;
mod control;
mod exchanges;
#[path = "../../../evm-execution/tests/it/first_block.rs"]
mod first_block;
mod ledger;
mod live;
mod oracle;
mod pool;
mod replay;
#[path = "../../../evm-state/tests/it/vectors.rs"]
mod vectors;
