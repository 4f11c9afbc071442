//! Terms, headers and checks of blocks.

use alloy_primitives::{B256, U256};
use esker_evm_state::types::{Block, Header, ext_data_hash};

use super::block_gas_cost::block_gas_cost;
use super::checks;
use super::error::{BlockRuleError, BodyError};
use super::phase::Phase;
use super::rules::CChainRules;
use super::{seal, syntactic};
use crate::rules::child_terms::ChildTerms;
use crate::rules::error::RuleError;
use crate::rules::header_terms::NextHeader;
use crate::rules::interface::{HeaderRules, Rules};
use crate::rules::new_block::{BlockCheck, BlockResults, ExtSummary, GenesisTerms, NewBlock};
use crate::rules::results::check_common_results;

/// Seconds to look ahead for a time at which the tips pay for the block.
const MAX_WAIT_S: u64 = 30;

impl HeaderRules for CChainRules {
    fn child_terms(&self, parent: &Header, time: u64) -> Result<ChildTerms, RuleError> {
        Ok(self.terms(parent, time)?)
    }

    fn next_header(&self) -> Option<&NextHeader> {
        self.next_header.as_deref()
    }

    fn difficulty_word(&self, header: &Header) -> U256 {
        // Genesis has a mix digest of its own. That of a later block comes from a control record.
        match header.number > 0 && !header.mix_digest.is_zero() {
            true => header.mix_digest.into(),
            false => header.difficulty,
        }
    }

    fn blob_base_fee(&self, _: &Header) -> U256 {
        U256::from(1)
    }

    fn genesis_block(&self, header: Header, given: &GenesisTerms) -> Block {
        let [_, _, apricot_3, _] = self.schedule.history;
        let has_base_fee = apricot_3 <= header.time;
        let is_etna = self.schedule.begins(Phase::Etna) <= header.time;
        let header = Header {
            base_fee: has_base_fee
                .then(|| given.base_fee.unwrap_or_else(|| self.initial_base_fee())),
            blob_gas_used: is_etna.then_some(given.blob_gas_used.unwrap_or(0)),
            excess_blob_gas: is_etna.then_some(given.excess_blob_gas.unwrap_or(0)),
            parent_beacon_root: is_etna.then_some(B256::ZERO),
            ..header
        };
        Block { header, ..Block::default() }
    }

    fn seal_block(
        &self,
        (parent, parent_hash): (&Header, B256),
        terms: &ChildTerms,
        new: NewBlock,
        results: &BlockResults,
    ) -> Result<Block, RuleError> {
        // A simulated block may use more gas than the capacity.
        let gas_used = results.gas_used.min(terms.gas_available());
        let extra = self.child_extra(parent, new.time, gas_used, results.ext_gas_used)?;
        let header = Header { parent_hash, number: parent.number + 1, extra, ..Header::default() };
        Ok(seal::complete(header, terms, new, results))
    }

    fn check_block(&self, check: &BlockCheck<'_>) -> Result<(), RuleError> {
        let phase = self.phase_at(check.block.header.time)?;
        Ok(syntactic::check(&phase, check).map_err(BlockRuleError::from)?)
    }

    fn check_transactions(&self, block: &Block) -> Result<(), RuleError> {
        Ok(checks::check_predicates(&self.phase_at(block.header.time)?, block)?)
    }

    fn check_header(
        &self,
        parent: &Header,
        terms: &ChildTerms,
        block: &Block,
        ext: &ExtSummary,
    ) -> Result<(), RuleError> {
        let header = &block.header;
        let phase = self.phase_at(header.time)?.phase;
        checks::check_gas(terms, header, phase)?;
        self.check_extra(parent, header, ext.gas_used)?;
        checks::check_fees(terms, header)?;
        Ok(checks::check_blobs(block)?)
    }

    fn check_payment(&self, terms: &ChildTerms, results: &BlockResults) -> Result<(), RuleError> {
        Ok(checks::check_block_fee(terms, results)?)
    }

    fn paid_at(&self, parent: &Header, terms: &ChildTerms, time: u64, fee: U256) -> u64 {
        // The base fee only falls while the chain waits, so fees that suffice remain sufficient.
        let step = self.phase_at(time).map_or(0, |phase| phase.block_gas_cost_step);
        let paid = fee.checked_div(terms.base_fee).unwrap_or(U256::MAX);
        let cost_at = |at| block_gas_cost(parent.block_gas_cost, step, parent.time, at);
        let mut later = (time + 1..time + MAX_WAIT_S).filter(|at| paid >= U256::from(cost_at(*at)));
        later.next().unwrap_or(time + MAX_WAIT_S)
    }

    fn check_results(
        &self,
        header: &Header,
        terms: &ChildTerms,
        results: &BlockResults,
    ) -> Result<(), RuleError> {
        let finalize = |error| BlockRuleError::Finalize(Box::new(error));
        checks::check_ext_gas(header, results).map_err(finalize)?;
        checks::check_block_fee(terms, results).map_err(finalize)?;
        check_common_results(header, results)
    }

    fn ext_data_hash(&self, ext_data: &[u8]) -> B256 {
        ext_data_hash(ext_data)
    }

    fn check_body(&self, block: &Block) -> Result<(), RuleError> {
        let header = &block.header;
        let has_ommers = !block.uncles.is_empty() || header.has_uncles();
        let error = match () {
            () if has_ommers => BodyError::Uncles,
            () if block.version != 0 => BodyError::Version,
            () if block.transactions_root() != header.transactions_root => BodyError::Transactions,
            () if ext_data_hash(&block.ext_data) != header.ext_data_hash => BodyError::ExtData,
            () => return Ok(()),
        };
        Err(RuleError::new(error))
    }
}
