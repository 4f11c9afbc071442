//! Tests of the crate, one binary.

#![expect(clippy::unwrap_used, clippy::panic, reason = "in tests a panic is the message")]

mod blocks;
mod commitment;
mod conservation;
mod failing_reads;
mod follow;
mod json;
mod pool;
mod recorded;
mod restart;
mod rules;
mod service;
mod tree;
mod txs;
mod user_transfers;
mod vectors;
mod wallet;
