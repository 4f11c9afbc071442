//! Fees and limits of a block.

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, U256, keccak256};
use esker_evm_execution::rules::ChildTerms;

use crate::blobs::child_excess_blob_gas;
use crate::check::{child_base_fee, unchanged_gas_limit};
use crate::difficulty::child_difficulty;
use crate::execution::execution_rules;
use crate::forks::ChainConfig;

/// The terms of a child that follow from its parent. The gas limit stays.
pub(super) fn child_terms(
    config: &ChainConfig,
    parent: &Header,
    time: u64,
    is_merged: bool,
) -> ChildTerms {
    let fork = config.fork_at(parent.number.saturating_add(1), time, is_merged);
    let params = config.blobs.at(fork);
    let excess = params.map(|params| child_excess_blob_gas(fork, &params, parent));
    let blob_base_fee = params.zip(excess).map(|(params, excess)| params.base_fee(excess));
    ChildTerms {
        execution: execution_rules(config, fork),
        gas_limit: unchanged_gas_limit(config, parent),
        capacity: None,
        base_fee: U256::from(child_base_fee(config, parent).unwrap_or(0)),
        min_base_fee: U256::ZERO,
        block_gas_cost: 0,
        ext_gas_limit: None,
        coinbase: Address::ZERO,
        random: if is_merged { random(parent) } else { B256::ZERO },
        difficulty: if is_merged { U256::ZERO } else { child_difficulty(config, time, parent) },
        blob_base_fee: U256::from(blob_base_fee.unwrap_or(0)),
        excess_blob_gas: excess,
    }
}

/// The mix digest of a block that this node makes. It differs from block to block and follows from the parent.
fn random(parent: &Header) -> B256 {
    // Not of the whole header: each admission to the pool asks for the terms of the next block.
    keccak256([parent.mix_hash, parent.state_root].concat())
}
