//! Terms, headers and checks of blocks.

use alloy_consensus::constants::EMPTY_WITHDRAWALS;
use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy_primitives::{B256, U256};
use esker_evm_execution::rules::{
    AncestorBlocks, BlockCheck, BlockPoint, BlockResults, BlockStepError, ChildTerms, ExtSummary,
    GenesisTerms, HeaderRules, NewBlock, NextHeader, RuleError, Rules, check_common_results,
};
use esker_evm_state::types::{Block, Header};

use super::error::StepError;
use super::ethereum::EthereumRules;
use super::{seal, terms};
use crate::block::{from_state_block, from_state_header};
use crate::check::{
    check_body, check_header, check_requests, check_set_header, check_transition, moved_gas_limit,
};
use crate::forks::{BlockRule, Fork};
use crate::ommers::{Ancestor, GENERATIONS, check_ommers};

/// The gas limit to which blocks on request move, as geth's do.
const GAS_LIMIT_TARGET: u64 = 60_000_000;

impl HeaderRules for EthereumRules {
    fn child_terms(&self, parent: &Header, time: u64) -> Result<ChildTerms, RuleError> {
        // Where the sum of difficulties decides, it has not reached the terminal one.
        self.child_terms_after(parent, U256::ZERO, time)
    }

    fn needs_total_difficulty(&self) -> bool {
        self.config.counts_difficulty()
    }

    fn child_terms_after(
        &self,
        parent: &Header,
        total_difficulty: U256,
        time: u64,
    ) -> Result<ChildTerms, RuleError> {
        // A child of a block without difficulty has none.
        let number = parent.number.saturating_add(1);
        let is_merged =
            parent.difficulty.is_zero() || self.config.is_merged(number, time, total_difficulty);
        Ok(terms::child_terms(&self.config, &from_state_header(parent), time, is_merged))
    }

    fn block_terms(&self, parent: &Header, header: &Header) -> Result<ChildTerms, RuleError> {
        let is_merged = header.difficulty.is_zero();
        let parent = from_state_header(parent);
        let terms = terms::child_terms(&self.config, &parent, header.time, is_merged);
        // With proof of work the mix digest is a part of the seal.
        let random = if is_merged { header.mix_digest } else { B256::ZERO };
        Ok(ChildTerms { gas_limit: header.gas_limit, coinbase: header.coinbase, random, ..terms })
    }

    fn requested_gas_limit(&self, usual: u64) -> u64 {
        moved_gas_limit(usual, GAS_LIMIT_TARGET)
    }

    fn next_header(&self) -> Option<&NextHeader> {
        self.next_header.as_deref()
    }

    fn difficulty_word(&self, header: &Header) -> U256 {
        if header.difficulty.is_zero() { header.mix_digest.into() } else { header.difficulty }
    }

    fn blob_base_fee(&self, header: &Header) -> U256 {
        let params = self.config.blobs.at(self.fork(&BlockPoint::of(header)));
        let fee = params.zip(header.excess_blob_gas).map(|(params, gas)| params.base_fee(gas));
        U256::from(fee.unwrap_or(0))
    }

    fn genesis_block(&self, header: Header, given: &GenesisTerms) -> Block {
        let is_london = self.config.is_active(BlockRule::London, header.number);
        // Here fields of forks depend on the time only, not on the difficulty.
        let timed = self.config.fork_at(header.number, header.time, true);
        let from = |fork| timed >= fork;
        let header = Header {
            base_fee: is_london.then(|| given.base_fee.unwrap_or_else(|| self.initial_base_fee())),
            withdrawals_root: from(Fork::Shanghai).then_some(EMPTY_WITHDRAWALS),
            blob_gas_used: from(Fork::Cancun).then(|| given.blob_gas_used.unwrap_or(0)),
            excess_blob_gas: from(Fork::Cancun).then(|| given.excess_blob_gas.unwrap_or(0)),
            parent_beacon_root: from(Fork::Cancun)
                .then(|| given.parent_beacon_root.unwrap_or_default()),
            requests_hash: from(Fork::Prague).then_some(EMPTY_REQUESTS_HASH),
            ..header
        };
        let withdrawals = from(Fork::Shanghai).then(Vec::new);
        Block { header, withdrawals, ..Block::default() }
    }

    fn seal_block(
        &self,
        parent: (&Header, B256),
        terms: &ChildTerms,
        new: NewBlock,
        results: &BlockResults,
    ) -> Result<Block, RuleError> {
        Ok(seal::seal(&self.config, parent, terms, new, results))
    }

    fn max_base_fee(&self) -> U256 {
        U256::from(u64::MAX)
    }

    fn child_time(&self, parent: &Header, now_s: u64) -> u64 {
        now_s.max(parent.time.saturating_add(1))
    }

    fn check_block(&self, check: &BlockCheck<'_>) -> Result<(), RuleError> {
        self.check_body(check.block)?;
        let time = check.block.header.time;
        match check.now_s.map(|now_s| now_s.saturating_add(self.max_future_s())) {
            Some(allowed) if time > allowed => {
                Err(RuleError::ahead_of_clock(StepError::Future, time, allowed))
            }
            _ => Ok(()),
        }
    }

    fn check_transactions(&self, _: &Block) -> Result<(), RuleError> {
        // The executor knows the types of transactions of the block's rules.
        Ok(())
    }

    fn check_header(
        &self,
        parent: &Header,
        terms: &ChildTerms,
        block: &Block,
        _: &ExtSummary,
    ) -> Result<(), RuleError> {
        let (header, parent) = (from_state_header(&block.header), from_state_header(parent));
        let checked = if self.is_development {
            check_set_header(&self.config, &header, &parent, terms.base_fee.saturating_to())
        } else {
            check_header(&self.config, &header, &parent)
        };
        checked.map_err(RuleError::new)
    }

    fn check_total_difficulty(&self, header: &Header, parent_total: U256) -> Result<(), RuleError> {
        let header = from_state_header(header);
        check_transition(&self.config, &header, parent_total).map_err(RuleError::new)
    }

    fn check_uncles(
        &self,
        block: &Block,
        ancestors: &dyn AncestorBlocks,
    ) -> Result<(), BlockStepError> {
        let mut known = Vec::with_capacity(GENERATIONS);
        for back in 1..=GENERATIONS as u64 {
            let Some(number) = block.header.number.checked_sub(back) else { break };
            let Some(ancestor) = ancestors.ancestor(number)? else { break };
            let header = from_state_header(&ancestor.header);
            let ommers = ancestor.uncles.iter().map(|u| from_state_header(u).hash_slow()).collect();
            known.push(Ancestor { hash: header.hash_slow(), header, ommers });
        }
        let checked = check_ommers(&self.config, &from_state_block(block), &known);
        checked.map_err(|error| RuleError::new(error).into())
    }

    fn check_results(
        &self,
        header: &Header,
        _: &ChildTerms,
        results: &BlockResults,
    ) -> Result<(), RuleError> {
        check_common_results(header, results)?;
        check_requests(header.requests_hash, results.end.requests_hash).map_err(RuleError::new)
    }

    fn check_body(&self, block: &Block) -> Result<(), RuleError> {
        check_body(&self.config, &from_state_block(block)).map_err(RuleError::new)
    }
}
