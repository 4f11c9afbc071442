//! Blocks as a node stores them: Ethereum's bytes, or a list of those and the ext data.
//!
//! Control records of a development network are ext data (docs/protocol/c-chain-blocks.md, "Control records"), and
//! Ethereum's blocks have no place for them. The block's hash does not cover them; the state root covers their effects.

use alloy_primitives::Bytes;
use alloy_rlp::{Decodable, Encodable, Header as RlpHeader};
use esker_evm_state::types::Block as StateBlock;

use super::state_types::{decode_block, encode_block};

/// A block's stored bytes.
pub fn encode_stored(block: &StateBlock) -> Vec<u8> {
    let bytes = encode_block(block);
    if block.ext_data.is_empty() {
        return bytes;
    }
    let payload_length = bytes.len() + block.ext_data.length();
    let mut out = Vec::with_capacity(payload_length + 9);
    RlpHeader { list: true, payload_length }.encode(&mut out);
    out.extend_from_slice(&bytes);
    block.ext_data.encode(&mut out);
    out
}

/// Reads a stored block. Any bytes give a block or an error; only one encoding of a block is accepted.
///
/// # Errors
/// The bytes are no block.
pub fn decode_stored(bytes: &[u8]) -> alloy_rlp::Result<StateBlock> {
    let standard = standard_form(bytes)?;
    let mut block = decode_block(standard)?;
    if standard.len() < bytes.len() {
        block.ext_data = ext_data(bytes, standard.len())?;
        if encode_stored(&block) != bytes {
            return Err(alloy_rlp::Error::Custom("block is not in its canonical form"));
        }
    }
    Ok(block)
}

/// Ethereum's bytes of a stored block.
///
/// # Errors
/// The bytes are no list.
pub fn standard_form(bytes: &[u8]) -> alloy_rlp::Result<&[u8]> {
    let list = RlpHeader::decode_bytes(&mut { bytes }, true)?;
    let mut after = list;
    let first = RlpHeader::decode_bytes(&mut after, true)?;
    // A header begins with a hash, a block with a header.
    let is_block = first.first().is_some_and(|byte| *byte >= alloy_rlp::EMPTY_LIST_CODE);
    Ok(if is_block { &list[..list.len() - after.len()] } else { bytes })
}

/// The ext data behind a block of this length.
fn ext_data(bytes: &[u8], block: usize) -> alloy_rlp::Result<Bytes> {
    let list = RlpHeader::decode_bytes(&mut { bytes }, true)?;
    Bytes::decode(&mut &list[block..])
}
