//! Tests of the crate, one binary.

#![expect(clippy::unwrap_used, clippy::panic, reason = "in tests a panic is the message")]

mod blocks;
mod conservation;
mod json;
mod pool;
mod recorded;
mod rules;
mod service;
mod txs;
mod vectors;
mod wallet;
mod world;
