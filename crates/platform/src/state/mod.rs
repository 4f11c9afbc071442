//! What the store keeps of the observed P-Chain.

pub(crate) mod tables;
