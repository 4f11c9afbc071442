//! The syntactic rules of blocks (docs/protocol/c-chain-blocks.md, "Syntactic block rules"), in the reference's
//! order.

use alloy_primitives::{B64, U256, keccak256};
use esker_evm_state::types::{Header, ext_data_hash};

use super::addresses::BLACKHOLE;
use super::extra::{extra_prefix_length, no_predicate_results};
use super::phase::{Phase, PhaseRules};
use super::syntactic_error::SyntacticError;
use crate::rules::execution::Revision;
use crate::rules::header_terms::HeaderTerms;
use crate::rules::new_block::{BlockCheck, ExtSummary};

/// How far ahead of the clock a block may be, s.
pub const MAX_FUTURE_S: u64 = 10;

type CheckResult = Result<(), SyntacticError>;

/// Checks a block of a phase. It is not called for genesis, which is exempt.
pub(super) fn check(phase: &PhaseRules, check: &BlockCheck<'_>) -> CheckResult {
    let BlockCheck { block, ext, set, now_s, .. } = *check;
    let header = &block.header;
    let want = ext_data_hash(&block.ext_data);
    if header.ext_data_hash != want {
        return Err(SyntacticError::ExtDataHash { have: header.ext_data_hash, want });
    }
    check_constants(phase, set, header)?;
    check_body(check)?;
    if let Some(now_s) = now_s {
        let allowed = now_s.saturating_add(MAX_FUTURE_S);
        if header.time > allowed {
            return Err(SyntacticError::TooFarInFuture { time: header.time, allowed });
        }
    }
    check_fee_fields(phase, header, &ext)?;
    check_etna_fields(phase, set, header)
}

fn check_constants(phase: &PhaseRules, set: &HeaderTerms, header: &Header) -> CheckResult {
    if header.difficulty != U256::from(1) {
        return Err(SyntacticError::Difficulty(header.difficulty));
    }
    if header.nonce != B64::ZERO {
        return Err(SyntacticError::Nonce(header.nonce));
    }
    if header.mix_digest != set.random.unwrap_or_default() {
        return Err(SyntacticError::MixDigest(header.mix_digest));
    }
    // From Fortuna on the gas limit follows from the parent.
    let gas_limit = set.gas_limit.unwrap_or(phase.gas_limit);
    if !phase.at_least(Phase::Fortuna) && header.gas_limit != gas_limit {
        let since = if phase.at_least(Phase::Cortina) { "cortina" } else { "apricot phase 1" };
        let (want, got) = (gas_limit, header.gas_limit);
        return Err(SyntacticError::GasLimit { want, since, got });
    }
    let (got, length) = (header.extra.len(), extra_prefix_length(phase));
    let open = no_predicate_results(phase).is_some();
    if got < length || (got > length && !open) {
        let want = if open { format!(">= {length}") } else { length.to_string() };
        return Err(SyntacticError::ExtraLength { want, got });
    }
    Ok(())
}

fn check_body(check: &BlockCheck<'_>) -> CheckResult {
    let (block, header) = (check.block, &check.block.header);
    if block.version != 0 {
        return Err(SyntacticError::Version(block.version));
    }
    let want = check.transactions_root;
    if header.transactions_root != want {
        return Err(SyntacticError::TransactionsRoot { have: header.transactions_root, want });
    }
    let want = keccak256(alloy_rlp::encode(&block.uncles));
    if header.ommers_hash != want {
        return Err(SyntacticError::UnclesHash { have: header.ommers_hash, want });
    }
    let want = check.set.coinbase.unwrap_or(BLACKHOLE);
    if header.coinbase != want {
        return Err(SyntacticError::Coinbase { have: header.coinbase, want });
    }
    if !block.uncles.is_empty() {
        return Err(SyntacticError::Uncles);
    }
    if block.transactions.is_empty() && check.ext.transactions == 0 {
        return Err(SyntacticError::Empty);
    }
    Ok(())
}

fn check_fee_fields(phase: &PhaseRules, header: &Header, ext: &ExtSummary) -> CheckResult {
    if header.base_fee.is_none() {
        return Err(SyntacticError::Missing("nil base fee is invalid after apricotPhase3"));
    }
    let Some(have) = header.ext_data_gas_used else {
        return Err(SyntacticError::Missing("nil extDataGasUsed is invalid after apricotPhase4"));
    };
    // From Fortuna on the atomic gas is compared with the capacity, as a part of the block's gas.
    if phase.atomic_gas_limit.is_some_and(|limit| have > U256::from(limit)) {
        return Err(SyntacticError::ExtDataGasTooLarge(have));
    }
    if have != ext.gas_used {
        return Err(SyntacticError::ExtDataGasUsed { have, want: ext.gas_used });
    }
    match header.block_gas_cost {
        None => Err(SyntacticError::Missing("nil blockGasCost is invalid after apricotPhase4")),
        Some(cost) if cost > U256::from(u64::MAX) => {
            Err(SyntacticError::BlockGasCostTooLarge(cost))
        }
        Some(_) => Ok(()),
    }
}

fn check_etna_fields(phase: &PhaseRules, set: &HeaderTerms, header: &Header) -> CheckResult {
    let early = |name, have| Err(SyntacticError::BeforeEtna { name, have });
    let missing = |text| Err(SyntacticError::Missing(text));
    if phase.execution.revision < Revision::Cancun {
        return match (header.excess_blob_gas, header.blob_gas_used, header.parent_beacon_root) {
            (Some(gas), _, _) => early("excessBlobGas", gas.to_string()),
            (_, Some(gas), _) => early("blobGasUsed", gas.to_string()),
            (_, _, Some(root)) => early("parentBeaconRoot", format!("{root:x}")),
            (None, None, None) => Ok(()),
        };
    }
    let Some(excess) = header.excess_blob_gas else {
        return missing("header is missing excessBlobGas");
    };
    let Some(used) = header.blob_gas_used else {
        return missing("header is missing blobGasUsed");
    };
    match header.parent_beacon_root {
        None => return missing("header is missing parentBeaconRoot"),
        Some(root) if root != set.beacon_root.unwrap_or_default() => {
            return Err(SyntacticError::ParentBeaconRoot(root));
        }
        Some(_) => {}
    }
    if used > 0 {
        return Err(SyntacticError::BlobGasUsed(used));
    }
    // No blob gas was ever used, so the excess must be 0.
    if excess > 0 {
        return Err(SyntacticError::ExcessBlobGas(excess));
    }
    Ok(())
}
