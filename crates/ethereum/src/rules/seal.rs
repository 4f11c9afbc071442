//! The header of a new block.

use alloy_consensus::Transaction as _;
use alloy_consensus::constants::EMPTY_OMMER_ROOT_HASH;
use alloy_consensus::proofs::calculate_withdrawals_root;
use alloy_primitives::B256;
use esker_evm_execution::rules::{BlockAttributes, BlockResults, ChildTerms, NewBlock, Revision};
use esker_evm_state::types::{Block, Header};

use crate::forks::ChainConfig;

/// A new block of a chain. Fields of forks that do not hold yet are absent.
pub(super) fn seal(
    config: &ChainConfig,
    (parent, parent_hash): (&Header, B256),
    terms: &ChildTerms,
    new: NewBlock,
    results: &BlockResults,
) -> Block {
    let from = |revision| terms.execution.revision >= revision;
    let NewBlock { time, state_root, transactions, ext_data, attributes } = new;
    let BlockAttributes { beacon_root, withdrawals, extra } = attributes;
    let withdrawals = from(Revision::Shanghai).then(|| withdrawals.unwrap_or_default());
    let blob_gas = || transactions.iter().filter_map(|tx| tx.blob_gas_used()).sum::<u64>();
    let number = parent.number.saturating_add(1);
    let header = Header {
        parent_hash,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        coinbase: terms.coinbase,
        state_root,
        receipts_root: results.receipts_root,
        bloom: results.bloom,
        difficulty: terms.difficulty,
        number,
        gas_limit: terms.gas_limit,
        gas_used: results.gas_used,
        time,
        extra: extra.unwrap_or_else(|| config.usual_extra(number)),
        mix_digest: terms.random,
        base_fee: from(Revision::London).then_some(terms.base_fee),
        blob_gas_used: from(Revision::Cancun).then(blob_gas),
        excess_blob_gas: terms.excess_blob_gas,
        parent_beacon_root: from(Revision::Cancun).then(|| beacon_root.unwrap_or_default()),
        withdrawals_root: withdrawals.as_deref().map(calculate_withdrawals_root),
        requests_hash: results.end.requests_hash,
        ..Header::default()
    };
    let mut block = Block { header, transactions, ext_data, withdrawals, ..Block::default() };
    block.header.transactions_root = block.transactions_root();
    block
}
