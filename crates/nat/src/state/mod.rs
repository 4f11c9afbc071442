//! The rows that the store keeps of atomic transactions.

pub mod tables;
