//! The C-Chain against the reference's known answers.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod accounts;
mod backfill;
mod blocks;
mod control;
mod exchanges;
mod ledger;
mod live;
mod oracle;
mod other_rules;
mod pool;
mod replay;
