//! The asset VM's tests.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod genesis;
mod goldens;
mod json;
mod recorded;
mod syntactic;
mod txs;
mod vectors;
mod vm;
mod wallet;
