//! Headers and blocks with their hashes.

use alloy_primitives::B256;

use super::{Block, Header};

/// A header and its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedHeader {
    /// The header.
    pub header: Header,
    /// Hash of the block.
    pub hash: B256,
}

/// A block with its hash and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedBlock {
    /// The block.
    pub block: Block,
    /// Its hash.
    pub hash: B256,
    /// Length of its encoding, bytes.
    pub size: usize,
}
