//! Verifies blocks from any source, and assembles the node's own blocks.
//!
//! A block is verified fully: alone, its header against the parent's, its transactions by executing them, its ext data,
//! the results, and last the state root. The chain's rules make the checks; their texts are the chain's.

mod assemble;
mod error;
mod prepared;

use alloy_primitives::{Address, B256, Bytes, U256};
use esker_evm_execution::executor::{
    BlockBody, BlockContext, BlockExecutionOutput, BlockExecutor, BlockHashes, ChainParams,
};
use esker_evm_execution::rules::{
    AncestorBlocks, BlockAttributes, BlockCheck, BlockPoint, BlockStepError, ChildTerms,
};
use esker_evm_state::state::{
    ApplyOptions, BlockState, StateBase, StateError, StateVersion, StateView,
};
use esker_evm_state::types::Header;
use esker_storage::{KvRead, PendingWrites, Scope, WriteSet};

use crate::extension::{BlockExtension, ExtBlock};
use crate::total_difficulty::total_difficulty;

pub use assemble::{assemble, child_executor};
pub use error::VerifyError;
pub use prepared::PreparedBlock;

/// The parent of a block that is verified or built, with the chain and its store.
#[derive(Clone, Copy)]
pub struct ParentContext<'a> {
    /// The chain.
    pub chain: &'a ChainParams,
    /// The state after the parent, that of other chains included.
    pub reader: &'a dyn KvRead,
    /// The chain's scope.
    pub scope: Scope,
    /// The state on which the chain began, if that is not its genesis.
    pub base: Option<&'a dyn StateBase>,
    /// Options of the rows besides the state.
    pub options: ApplyOptions,
    /// The parent.
    pub parent: &'a Header,
    /// Hash of the parent.
    pub parent_hash: B256,
    /// Hashes of the parent and its ancestors.
    pub hashes: &'a dyn BlockHashes,
    /// The ancestors themselves.
    pub ancestors: &'a dyn AncestorBlocks,
    /// The extension that verifies and applies ext data.
    pub extension: &'a dyn BlockExtension,
    /// What a block that is built is asked for.
    pub attributes: &'a BlockAttributes,
    /// Ext data of the chain's undecided blocks down to the final one, newest first.
    pub undecided: &'a [Bytes],
    /// Whether a block of this or another chain is undecided.
    pub has_undecided: bool,
}

impl std::fmt::Debug for ParentContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParentContext").field("parent", &self.parent_hash).finish_non_exhaustive()
    }
}

impl<'a> ParentContext<'a> {
    /// Fees and limits of a child that is made at `time`, Unix s.
    pub fn child_terms(&self, time: u64) -> Result<ChildTerms, BlockStepError> {
        let rules = &self.chain.rules;
        Ok(match self.total_difficulty()? {
            Some(total) => rules.child_terms_after(self.parent, total, time)?,
            None => rules.child_terms(self.parent, time)?,
        })
    }

    /// The sum of the difficulties up to the parent; `None` if a child does not depend on it.
    fn total_difficulty(&self) -> Result<Option<U256>, StateError> {
        let rules = self.chain.rules.as_ref();
        Ok(total_difficulty(rules, self.reader, self.scope, self.parent)?)
    }

    /// The state after the parent.
    fn state(&self) -> StateView<'a> {
        StateView::new(self.reader, self.scope, StateVersion::Latest).with_base(self.base)
    }

    /// Writes a block's changes of the state. Returns the root.
    fn apply(
        &self,
        height: u64,
        processed: &BlockExecutionOutput,
        out: &mut WriteSet,
    ) -> Result<B256, VerifyError> {
        let state = BlockState {
            codec: &*self.chain.rules,
            below: self.reader,
            scope: self.scope,
            root: self.parent.state_root,
            height,
            options: self.options,
            base: self.base,
        };
        Ok(state.apply(&processed.changes, out)?)
    }
}

/// Verifies a block and executes it; its rows go to `out`.
///
/// `now_s` (Unix s) is for the only rule that depends on the clock: a block must not be far ahead of it. The rule is
/// not part of validity (docs/decisions.md, "Time in a block") and can be left out. `known_sender` returns a sender
/// that was already recovered, by the transaction's hash.
pub fn verify_block(
    ctx: &ParentContext<'_>,
    prepared: &PreparedBlock,
    now_s: Option<u64>,
    known_sender: &dyn Fn(&B256) -> Option<Address>,
    out: &mut WriteSet,
) -> Result<BlockExecutionOutput, VerifyError> {
    let header = &prepared.block().header;
    let ext = ExtBlock {
        number: header.number,
        time: header.time,
        base_fee: header.base_fee.unwrap_or_default(),
        hash: ctx.chain.rules.block_hash(header),
        ext_data: &prepared.block().ext_data,
        undecided: ctx.undecided,
        has_undecided: ctx.has_undecided,
    };
    let terms = check_before_execution(ctx, prepared, &ext, now_s)?;
    let executor = execute(ctx, prepared, &terms, known_sender)?;
    let processed = finish(ctx, executor, &ext, out)?;
    ctx.chain.rules.check_results(header, &terms, &processed.results())?;
    let root = ctx.apply(header.number, &processed, out)?;
    if root != header.state_root {
        return Err(VerifyError::StateRoot { remote: header.state_root, local: root });
    }
    Ok(processed)
}

/// Checks a block alone, then against its parent. Returns its terms.
fn check_before_execution(
    ctx: &ParentContext<'_>,
    prepared: &PreparedBlock,
    ext: &ExtBlock<'_>,
    now_s: Option<u64>,
) -> Result<ChildTerms, VerifyError> {
    let (rules, block) = (&ctx.chain.rules, prepared.block());
    let header = &block.header;
    // A block of a history that is not executed is refused before all else.
    rules.execution_rules(&BlockPoint::of(header))?;
    let summary = ctx.extension.parse(ext)?;
    let set = ctx.extension.header_terms(&block.ext_data)?;
    let transactions_root = prepared.transactions_root();
    rules.check_block(&BlockCheck { block, transactions_root, ext: summary, set: &set, now_s })?;
    ctx.extension.check_inputs(ext, ctx.reader)?;
    rules.check_transactions(block)?;
    if header.parent_hash != ctx.parent_hash
        || ctx.parent.number.checked_add(1) != Some(header.number)
    {
        return Err(VerifyError::UnknownAncestor);
    }
    if let Some(total) = ctx.total_difficulty()? {
        rules.check_total_difficulty(header, total)?;
    }
    let terms = rules.block_terms(ctx.parent, header)?.with(&set);
    rules.check_header(ctx.parent, &terms, block, &summary)?;
    if !block.uncles.is_empty() {
        rules.check_uncles(block, ctx.ancestors)?;
    }
    Ok(terms)
}

/// Executes the transactions of a block.
fn execute<'a>(
    ctx: &ParentContext<'a>,
    prepared: &'a PreparedBlock,
    terms: &ChildTerms,
    known_sender: &dyn Fn(&B256) -> Option<Address>,
) -> Result<BlockExecutor<'a>, VerifyError> {
    let block = prepared.block();
    let context = BlockContext::for_header(ctx.chain, &block.header)?;
    let view = ctx.state();
    let mut executor = BlockExecutor::new(
        ctx.chain,
        view,
        ctx.hashes,
        ctx.parent,
        (context, BlockBody::of(block)),
        terms.gas_available().min(block.header.gas_limit),
    )?;
    for (index, tx) in block.transactions.iter().enumerate() {
        let sender = prepared.sender(index, known_sender);
        executor.execute(tx, sender).map_err(|error| VerifyError::Apply {
            index,
            hash: *tx.hash(),
            error: Box::new(error),
        })?;
    }
    Ok(executor)
}

/// Applies the ext data, and ends the block.
fn finish(
    ctx: &ParentContext<'_>,
    mut executor: BlockExecutor<'_>,
    ext: &ExtBlock<'_>,
    out: &mut WriteSet,
) -> Result<BlockExecutionOutput, VerifyError> {
    let mut rows = PendingWrites::new(ctx.reader);
    let applied = ctx.extension.apply(ext, executor.state(), &mut rows);
    let outcome = applied.map_err(VerifyError::ApplyExtension)?;
    let processed = executor.finish(outcome)?;
    out.merge(&rows.into_writes());
    Ok(processed)
}
