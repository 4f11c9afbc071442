//! What the store keeps of atomic transactions.

pub mod tables;
