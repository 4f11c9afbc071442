//! The bytes of a chain's blocks.

use alloy_primitives::{B256, keccak256};
use esker_evm_state::types::{AccountCodec, Block, Header};

/// The encoding of headers and blocks, and that of accounts in the state trie ([`AccountCodec`]).
pub trait BlockCodec: AccountCodec {
    /// Decodes a block. Any bytes give a block or an error, and only one encoding of a block is accepted.
    fn decode_block(&self, bytes: &[u8]) -> alloy_rlp::Result<Block>;

    /// Decodes only the header of a stored block.
    fn decode_header_of(&self, block: &[u8]) -> alloy_rlp::Result<Header>;

    /// A block's bytes.
    fn encode_block(&self, block: &Block) -> Vec<u8>;

    /// A block's bytes without what only this node's networks have in them.
    fn published_block(&self, block: &Block) -> Vec<u8> {
        self.encode_block(block)
    }

    /// A header's bytes.
    fn encode_header(&self, header: &Header) -> Vec<u8>;

    /// A block's hash: that of its header's bytes.
    fn block_hash(&self, header: &Header) -> B256 {
        keccak256(self.encode_header(header))
    }
}
