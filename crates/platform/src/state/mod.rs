//! The rows that the store keeps of the observed P-Chain.

pub(crate) mod tables;
