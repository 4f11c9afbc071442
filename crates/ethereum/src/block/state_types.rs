//! Headers and blocks in the types of all EVM chains, with Ethereum's bytes.

use alloy_consensus::{BlockBody, Header};
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{B256, Bytes};
use esker_evm_state::types::{
    Block as StateBlock, Header as StateHeader, from_state_header, to_state_header,
};

use super::body::{Block, parse_block};

/// A block in the types of all EVM chains.
pub fn to_state_block(block: Block) -> StateBlock {
    let BlockBody { transactions, ommers, withdrawals } = block.body;
    StateBlock {
        header: to_state_header(block.header),
        transactions,
        uncles: ommers.into_iter().map(to_state_header).collect(),
        version: 0,
        ext_data: Bytes::new(),
        withdrawals: withdrawals.map(Withdrawals::into_inner),
    }
}

/// A block out of the types of all EVM chains.
pub fn from_state_block(block: &StateBlock) -> Block {
    let body = BlockBody {
        transactions: block.transactions.clone(),
        ommers: block.uncles.iter().map(from_state_header).collect(),
        withdrawals: block.withdrawals.clone().map(Withdrawals::new),
    };
    Block { header: from_state_header(&block.header), body }
}

/// Reads a block as [`parse_block`] does. One with the fields of Amsterdam is refused: the types have no place for
/// them.
///
/// # Errors
/// The bytes are no block, or more than one.
pub fn decode_block(bytes: &[u8]) -> alloy_rlp::Result<StateBlock> {
    let block = parse_block(bytes)?;
    let is_later = |h: &Header| h.block_access_list_hash.is_some() || h.slot_number.is_some();
    if is_later(&block.header) || block.body.ommers.iter().any(is_later) {
        return Err(alloy_rlp::Error::Custom("header has fields of the Amsterdam fork"));
    }
    Ok(to_state_block(block))
}

/// A block's bytes.
pub fn encode_block(block: &StateBlock) -> Vec<u8> {
    alloy_rlp::encode(from_state_block(block))
}

/// A block's hash.
pub fn block_hash(header: &StateHeader) -> B256 {
    from_state_header(header).hash_slow()
}
