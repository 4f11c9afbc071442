//! The final form of a block that this node makes.

use alloy_primitives::Bytes;
use esker_evm_execution::executor::{BlockBody, BlockContext, BlockExecutionOutput, BlockExecutor};
use esker_evm_execution::rules::{BlockStepError, ChildTerms, NewBlock};
use esker_evm_state::types::{Block, Transaction};
use esker_storage::WriteSet;

use super::{ParentContext, VerifyError};

/// Begins a block at `time` (Unix s) on a parent; the caller adds the transactions. `terms` must be for the same
/// time.
pub fn child_executor<'a>(
    ctx: &ParentContext<'a>,
    terms: &ChildTerms,
    time: u64,
) -> Result<BlockExecutor<'a>, BlockStepError> {
    let view = ctx.state();
    let block = BlockContext::child(ctx.parent, time, terms);
    let body = BlockBody {
        parent_hash: ctx.parent_hash,
        beacon_root: ctx.attributes.beacon_root,
        withdrawals: ctx.attributes.withdrawals.as_deref(),
        uncles: &[],
    };
    let available = terms.gas_available().min(terms.gas_limit);
    BlockExecutor::new(ctx.chain, view, ctx.hashes, ctx.parent, (block, body), available)
}

/// Makes a block of executed transactions: checks that the fees pay for its time, writes its state to `out`, and
/// creates the header. The caller writes the rows of ext data.
pub fn assemble(
    ctx: &ParentContext<'_>,
    terms: &ChildTerms,
    time: u64,
    transactions: Vec<Transaction>,
    ext_data: Bytes,
    processed: &BlockExecutionOutput,
    out: &mut WriteSet,
) -> Result<Block, VerifyError> {
    let (rules, results) = (&ctx.chain.rules, processed.results());
    rules.check_payment(terms, &results)?;
    let state_root = ctx.apply(ctx.parent.number + 1, processed, out)?;
    let attributes = ctx.attributes.clone();
    let new = NewBlock { time, state_root, transactions, ext_data, attributes };
    Ok(rules.seal_block((ctx.parent, ctx.parent_hash), terms, new, &results)?)
}
