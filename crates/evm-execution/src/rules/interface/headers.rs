//! What a chain decides about headers: their fields, and whether a block is valid.

use alloy_primitives::{B256, U256};
use esker_evm_state::state::StateError;
use esker_evm_state::types::{Block, Header};

use crate::rules::child_terms::ChildTerms;
use crate::rules::error::{BlockStepError, RuleError};
use crate::rules::header_terms::NextHeader;
use crate::rules::new_block::{BlockCheck, BlockResults, ExtSummary, GenesisTerms, NewBlock};

/// The ancestors of a block.
pub trait AncestorBlocks {
    /// The ancestor at a height; `None` if it is not stored.
    fn ancestor(&self, number: u64) -> Result<Option<Block>, StateError>;
}

/// Terms, headers and checks of blocks.
///
/// A block is checked in this order: [`check_block`](Self::check_block),
/// [`check_transactions`](Self::check_transactions), [`check_total_difficulty`](Self::check_total_difficulty),
/// [`check_header`](Self::check_header), [`check_uncles`](Self::check_uncles), its execution, [`check_results`](Self::check_results), the state root.
pub trait HeaderRules {
    /// Fees and limits of a child of `parent` that is made at `time`, Unix s.
    fn child_terms(&self, parent: &Header, time: u64) -> Result<ChildTerms, RuleError>;

    /// Whether the child of a block with a difficulty depends on the sum of the difficulties up to that block. Such
    /// sums are stored.
    fn needs_total_difficulty(&self) -> bool {
        false
    }

    /// As [`Self::child_terms`], with the sum of the difficulties up to the parent, for rules that
    /// [need it](Self::needs_total_difficulty).
    fn child_terms_after(
        &self,
        parent: &Header,
        total_difficulty: U256,
        time: u64,
    ) -> Result<ChildTerms, RuleError> {
        let _ = total_difficulty;
        self.child_terms(parent, time)
    }

    /// As [`Self::child_terms`], for a block that exists. Where a block may choose, the terms have its choice.
    fn block_terms(&self, parent: &Header, header: &Header) -> Result<ChildTerms, RuleError> {
        self.child_terms(parent, header.time)
    }

    /// The gas limit of a block on request whose usual one is this.
    fn requested_gas_limit(&self, usual: u64) -> u64 {
        usual
    }

    /// The highest base fee that a header can hold, wei.
    fn max_base_fee(&self) -> U256 {
        U256::MAX
    }

    /// Header fields of the next block on a development node.
    fn next_header(&self) -> Option<&NextHeader> {
        None
    }

    /// The time of a child that is built at `now_s`: this time, or the earliest one after the parent's that is valid.
    /// Unix s.
    fn child_time(&self, parent: &Header, now_s: u64) -> u64 {
        now_s.max(parent.time)
    }

    /// As [`Self::child_terms`], for the block that would be built now, with the header fields that a development
    /// node will set.
    fn next_terms(&self, parent: &Header, time: u64) -> Result<ChildTerms, RuleError> {
        let terms = self.child_terms(parent, time)?;
        Ok(match self.next_header() {
            Some(next) => terms.with(&next.get()),
            None => terms,
        })
    }

    /// Whether a development node will set the base fee of the next block.
    fn sets_next_base_fee(&self) -> bool {
        self.next_header().is_some_and(|next| next.get().base_fee.is_some())
    }

    /// The result of DIFFICULTY (PREVRANDAO) in a block with this header.
    fn difficulty_word(&self, header: &Header) -> U256;

    /// Price of blob gas in a block with this header, wei.
    fn blob_base_fee(&self, header: &Header) -> U256;

    /// The first block. `header` has the fields that all chains have in common.
    fn genesis_block(&self, header: Header, given: &GenesisTerms) -> Block;

    /// A new block with its header. `results` are those of its execution.
    fn seal_block(
        &self,
        parent: (&Header, B256),
        terms: &ChildTerms,
        new: NewBlock,
        results: &BlockResults,
    ) -> Result<Block, RuleError>;

    /// Checks a block without its parent. It is not called for the first block, which is exempt.
    fn check_block(&self, check: &BlockCheck<'_>) -> Result<(), RuleError>;

    /// Checks the transactions of a block without its parent.
    fn check_transactions(&self, block: &Block) -> Result<(), RuleError>;

    /// Checks a block against its parent. `terms` are those of [`Self::block_terms`].
    fn check_header(
        &self,
        parent: &Header,
        terms: &ChildTerms,
        block: &Block,
        ext: &ExtSummary,
    ) -> Result<(), RuleError>;

    /// Checks whether a block may have a difficulty, or none. `parent_total` is the sum of the difficulties up to its
    /// parent. It is called for rules that [need it](Self::needs_total_difficulty).
    fn check_total_difficulty(&self, header: &Header, parent_total: U256) -> Result<(), RuleError> {
        let (_, _) = (header, parent_total);
        Ok(())
    }

    /// Checks the uncles of a block that has any.
    fn check_uncles(
        &self,
        block: &Block,
        ancestors: &dyn AncestorBlocks,
    ) -> Result<(), BlockStepError> {
        let (_, _) = (block, ancestors);
        Ok(())
    }

    /// Checks that the fees of a block pay for its time.
    ///
    /// # Errors
    /// [`RuleError::is_unpaid`]
    fn check_payment(&self, terms: &ChildTerms, results: &BlockResults) -> Result<(), RuleError> {
        let (_, _) = (terms, results);
        Ok(())
    }

    /// The first second after `time` (Unix s) at which these fees pay for the block.
    fn paid_at(&self, parent: &Header, terms: &ChildTerms, time: u64, fee: U256) -> u64 {
        let (_, _, _) = (parent, terms, fee);
        time + 1
    }

    /// Checks a header against the results of the block's execution, except for the state root.
    fn check_results(
        &self,
        header: &Header,
        terms: &ChildTerms,
        results: &BlockResults,
    ) -> Result<(), RuleError>;

    /// Hash of ext data in a header.
    fn ext_data_hash(&self, ext_data: &[u8]) -> B256 {
        let _ = ext_data;
        B256::ZERO
    }

    /// Checks that a block has the body of its header. Blocks of a snapshot have only this check, and their receipts'.
    fn check_body(&self, block: &Block) -> Result<(), RuleError>;
}
