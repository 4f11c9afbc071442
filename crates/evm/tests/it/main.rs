//! The C-Chain against the reference's known answers.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod accounts;
mod atomic;
mod backfill;
mod blocks;
mod control;
mod exchanges;
mod fees;
mod genesis;
mod ledger;
mod live;
mod machine;
mod oracle;
mod overlay;
mod pool;
mod replay;
mod simulation;
mod trace;
#[path = "../../../evm-state/tests/it/vectors.rs"]
mod vectors;
