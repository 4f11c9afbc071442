//! Accepted blocks in the store: their bytes, their receipts, and where transactions are.

pub mod tables;
mod write;

pub use write::{History, write_block};
