//! Headers and blocks in the types of all EVM chains, with Ethereum's bytes.

use alloy_consensus::{BlockBody, Header};
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{B256, Bytes, U256};
use esker_evm_state::types::{Block as StateBlock, Header as StateHeader};

use super::body::{Block, parse_block};

/// A header in the types of all EVM chains. What only other chains have is absent; what only Amsterdam has is lost.
pub fn to_state_header(header: Header) -> StateHeader {
    StateHeader {
        parent_hash: header.parent_hash,
        ommers_hash: header.ommers_hash,
        coinbase: header.beneficiary,
        state_root: header.state_root,
        transactions_root: header.transactions_root,
        receipts_root: header.receipts_root,
        bloom: header.logs_bloom,
        difficulty: header.difficulty,
        number: header.number,
        gas_limit: header.gas_limit,
        gas_used: header.gas_used,
        time: header.timestamp,
        extra: header.extra_data,
        mix_digest: header.mix_hash,
        nonce: header.nonce,
        ext_data_hash: B256::ZERO,
        base_fee: header.base_fee_per_gas.map(U256::from),
        ext_data_gas_used: None,
        block_gas_cost: None,
        blob_gas_used: header.blob_gas_used,
        excess_blob_gas: header.excess_blob_gas,
        parent_beacon_root: header.parent_beacon_block_root,
        withdrawals_root: header.withdrawals_root,
        requests_hash: header.requests_hash,
    }
}

/// A header out of the types of all EVM chains. A base fee of more than 64 bits becomes the highest one.
pub fn from_state_header(header: &StateHeader) -> Header {
    Header {
        parent_hash: header.parent_hash,
        ommers_hash: header.ommers_hash,
        beneficiary: header.coinbase,
        state_root: header.state_root,
        transactions_root: header.transactions_root,
        receipts_root: header.receipts_root,
        logs_bloom: header.bloom,
        difficulty: header.difficulty,
        number: header.number,
        gas_limit: header.gas_limit,
        gas_used: header.gas_used,
        timestamp: header.time,
        extra_data: header.extra.clone(),
        mix_hash: header.mix_digest,
        nonce: header.nonce,
        base_fee_per_gas: header.base_fee.map(|base_fee| base_fee.saturating_to()),
        withdrawals_root: header.withdrawals_root,
        blob_gas_used: header.blob_gas_used,
        excess_blob_gas: header.excess_blob_gas,
        parent_beacon_block_root: header.parent_beacon_root,
        requests_hash: header.requests_hash,
        block_access_list_hash: None,
        slot_number: None,
    }
}

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
