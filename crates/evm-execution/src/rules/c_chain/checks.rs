//! Checks of a block against its parent, and against its results.

use alloy_consensus::Transaction as _;
use alloy_primitives::{B256, U256};
use esker_evm_state::types::{Block, Header};

use super::error::BlockRuleError;
use super::extra::{extra_prefix_length, no_predicate_results};
use super::fee_error::FeeRuleError;
use super::phase::{Phase, PhaseRules};
use super::syntactic_error::SyntacticError;
use crate::executor::has_warp_predicate;
use crate::rules::child_terms::ChildTerms;
use crate::rules::new_block::BlockResults;

type CheckResult = Result<(), BlockRuleError>;

/// Checks that no transaction requires a predicate, and that the header has no results.
pub(super) fn check_predicates(phase: &PhaseRules, block: &Block) -> CheckResult {
    let header = &block.header;
    let Some(want) = no_predicate_results(phase) else { return Ok(()) };
    for tx in &block.transactions {
        if tx.access_list().is_some_and(|list| has_warp_predicate(&phase.execution, list)) {
            return Err(BlockRuleError::WarpPredicate);
        }
    }
    let got = &header.extra[extra_prefix_length(phase)..];
    if got.is_empty() {
        return Err(BlockRuleError::NoPredicateResults(header.extra.clone()));
    }
    if got != want {
        let (remote, local) = (got.to_vec().into(), want.into());
        return Err(BlockRuleError::PredicateResults { remote, local });
    }
    Ok(())
}

/// Checks gas and gas limit of a header.
pub(super) fn check_gas(terms: &ChildTerms, header: &Header, phase: Phase) -> CheckResult {
    if header.gas_used > header.gas_limit {
        let (have, limit) = (header.gas_used, header.gas_limit);
        return Err(BlockRuleError::GasAboveLimit { have, limit });
    }
    if header.gas_limit != terms.gas_limit {
        let (want, got) = (terms.gas_limit, header.gas_limit);
        return Err(FeeRuleError::GasLimit { want, got, phase }.into());
    }
    Ok(())
}

/// Checks base fee and block gas cost of a header.
pub(super) fn check_fees(terms: &ChildTerms, header: &Header) -> CheckResult {
    let got = header.base_fee.ok_or(FeeRuleError::NoBaseFee)?;
    if got != terms.base_fee {
        return Err(FeeRuleError::BaseFee { want: terms.base_fee, got }.into());
    }
    let (have, want) = (header.block_gas_cost.unwrap_or_default(), terms.block_gas_cost);
    if have != want {
        return Err(BlockRuleError::BlockGasCost { have, want });
    }
    Ok(())
}

/// Checks that the block has no blob transactions.
pub(super) fn check_blobs(block: &Block) -> CheckResult {
    let blobs: usize = block
        .transactions
        .iter()
        .map(|tx| tx.blob_versioned_hashes().map_or(0, <[B256]>::len))
        .sum();
    if blobs == 0 {
        return Ok(());
    }
    match block.header.blob_gas_used {
        Some(header) => Err(BlockRuleError::BlobGas { header, calculated: blobs as u64 * 131_072 }),
        None => Err(BlockRuleError::Blobs),
    }
}

/// Checks the gas of the ext data.
pub(super) fn check_ext_gas(header: &Header, results: &BlockResults) -> CheckResult {
    let want = results.ext_gas_used;
    if header.ext_data_gas_used.is_none_or(|gas| gas != want) {
        let have = header.ext_data_gas_used.unwrap_or_default();
        return Err(SyntacticError::ExtDataGasUsed { have, want }.into());
    }
    Ok(())
}

/// Checks that the tips pay the block gas cost.
pub(super) fn check_block_fee(terms: &ChildTerms, results: &BlockResults) -> CheckResult {
    let (base_fee, total) = (terms.base_fee, results.block_fee);
    // If the base fee is 0, which only parameters of a network allow, gas costs nothing.
    let Some(gas) = total.checked_div(base_fee) else { return Ok(()) };
    if gas < U256::from(terms.block_gas_cost) {
        let cost = terms.block_gas_cost;
        return Err(BlockRuleError::BlockFee { gas, cost, base_fee, total });
    }
    Ok(())
}
