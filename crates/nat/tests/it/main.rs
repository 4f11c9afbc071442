//! Tests of the crate, one binary.

#![expect(clippy::unwrap_used, clippy::panic, reason = "in tests a panic is the message")]

mod blocks;
mod conservation;
mod json;
mod pool;
mod recorded;
mod restart;
mod rules;
mod service;
mod txs;
mod user_transfers;
mod vectors;
mod wallet;
mod world;
