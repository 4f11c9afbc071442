//! The header of a new block.

use alloy_primitives::{B64, B256, U256};
use esker_evm_state::types::{Block, EMPTY_OMMERS_HASH, Header, ext_data_hash};

use crate::rules::child_terms::ChildTerms;
use crate::rules::execution::Revision;
use crate::rules::new_block::{BlockResults, NewBlock};

/// A block whose header has its number, its parent and its extra data.
pub(super) fn complete(
    header: Header,
    terms: &ChildTerms,
    new: NewBlock,
    results: &BlockResults,
) -> Block {
    let is_etna = terms.execution.revision >= Revision::Cancun;
    let NewBlock { time, state_root, transactions, ext_data, attributes } = new;
    let header = Header {
        ommers_hash: EMPTY_OMMERS_HASH,
        coinbase: terms.coinbase,
        state_root,
        receipts_root: results.receipts_root,
        bloom: results.bloom,
        difficulty: terms.difficulty,
        gas_limit: terms.gas_limit,
        gas_used: results.gas_used,
        time,
        mix_digest: terms.random,
        nonce: B64::ZERO,
        ext_data_hash: ext_data_hash(&ext_data),
        base_fee: Some(terms.base_fee),
        ext_data_gas_used: Some(U256::from(results.ext_gas_used)),
        block_gas_cost: Some(U256::from(terms.block_gas_cost)),
        blob_gas_used: is_etna.then_some(0),
        excess_blob_gas: is_etna.then_some(0),
        parent_beacon_root: is_etna.then(|| attributes.beacon_root.unwrap_or(B256::ZERO)),
        ..header
    };
    let mut block = Block { header, transactions, ext_data, ..Block::default() };
    block.header.transactions_root = block.transactions_root();
    block
}
