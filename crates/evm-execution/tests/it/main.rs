//! Execution against the reference's known answers.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod fees;
mod first_block;
mod genesis;
mod ledger;
mod machine;
mod overlay;
mod simulation;
mod trace;
#[path = "../../../evm-state/tests/it/vectors.rs"]
mod vectors;
