//! Accepted blocks in the store: bytes, receipts, and locations of transactions.

pub mod tables;
mod write;

pub use write::{History, write_block};
