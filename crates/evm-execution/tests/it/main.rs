//! Execution against the reference's known answers.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod console;
mod fees;
mod genesis;
mod ledger;
mod machine;
mod overlay;
mod simulation;
mod trace;
