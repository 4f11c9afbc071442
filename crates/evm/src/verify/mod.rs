//! Verifies blocks from any source, and assembles the node's own blocks.
//!
//! A block is verified fully and in the reference's order: syntactic rules, its header against the parent's, its
//! transactions by executing them, its ext data, the block gas cost, and last the results: gas, bloom filter,
//! receipts, state. Texts are the reference's, with its wrappers.

mod assemble;
mod error;
mod prepared;
mod syntactic;

use alloy_primitives::{Address, B256, Bytes};
use esker_evm_execution::executor::{
    BlockContext, BlockExecutionOutput, BlockExecutor, BlockHashes, ChainParams, has_warp_predicate,
};
use esker_evm_execution::rules::{ChildTerms, FeeRuleError};
use esker_evm_state::state::{ApplyOptions, BlockState, StateVersion, StateView};
use esker_evm_state::types::{Block, Header};
use esker_storage::{KvRead, PendingWrites, Scope, WriteSet};

use crate::extension::{BlockExtension, ExtBlock, ExtSummary};

pub use assemble::{assemble, child_executor};
pub use error::{SyntacticError, VerifyError};
pub use prepared::PreparedBlock;
pub use syntactic::MAX_FUTURE_S;

/// The parent of a block that is verified or built, with the chain and its store.
#[derive(Clone, Copy)]
pub struct ParentContext<'a> {
    /// The chain.
    pub chain: &'a ChainParams,
    /// The state after the parent, that of other chains included.
    pub reader: &'a dyn KvRead,
    /// The chain's scope.
    pub scope: Scope,
    /// Options of the rows besides the state.
    pub options: ApplyOptions,
    /// The parent.
    pub parent: &'a Header,
    /// Hash of the parent.
    pub parent_hash: B256,
    /// Hashes of the parent and its ancestors.
    pub hashes: &'a dyn BlockHashes,
    /// The extension that verifies and applies ext data.
    pub extension: &'a dyn BlockExtension,
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

impl ParentContext<'_> {
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
    let block = prepared.block();
    let header = &block.header;
    let phase = ctx.chain.rules.phase_at(header.time)?;
    let ext = ExtBlock {
        number: header.number,
        time: header.time,
        base_fee: header.base_fee.unwrap_or_default(),
        phase: &phase,
        hash: ctx.chain.rules.block_hash(header),
        ext_data: &block.ext_data,
        undecided: ctx.undecided,
        has_undecided: ctx.has_undecided,
    };
    let summary = ctx.extension.parse(&ext)?;
    let set = ctx.extension.header_terms(&block.ext_data)?;
    syntactic::check(&*ctx.chain.rules, (&phase, &set), prepared, &summary, now_s)?;
    ctx.extension.check_inputs(&ext, ctx.reader)?;
    check_predicates(ctx, block)?;
    if header.parent_hash != ctx.parent_hash
        || ctx.parent.number.checked_add(1) != Some(header.number)
    {
        return Err(VerifyError::UnknownAncestor);
    }
    let terms = ctx.chain.rules.child_terms(ctx.parent, header.time)?.with(&set);
    check_header(ctx, &terms, header, &summary)?;
    check_body(block)?;
    let context = BlockContext::for_header(ctx.chain, header)?;
    let view = StateView::new(ctx.reader, ctx.scope, StateVersion::Latest);
    let mut executor = BlockExecutor::new(
        ctx.chain,
        view,
        ctx.hashes,
        ctx.parent,
        context,
        terms.gas_available.min(header.gas_limit),
    )?;
    for (index, tx) in block.transactions.iter().enumerate() {
        let sender = prepared.sender(index, known_sender);
        executor.execute(tx, sender).map_err(|error| VerifyError::Apply {
            index,
            hash: *tx.hash(),
            error: Box::new(error),
        })?;
    }
    let mut rows = PendingWrites::new(ctx.reader);
    let outcome = ctx
        .extension
        .apply(&ext, executor.state(), &mut rows)
        .map_err(|error| VerifyError::Finalize(Box::new(error.into())))?;
    let processed = executor.finish(outcome);
    if header.ext_data_gas_used.is_none_or(|gas| gas != outcome.gas_used) {
        let have = header.ext_data_gas_used.unwrap_or_default();
        let error = SyntacticError::ExtDataGasUsed { have, want: outcome.gas_used };
        return Err(VerifyError::Finalize(Box::new(error.into())));
    }
    check_block_fee(&terms, &processed).map_err(|error| VerifyError::Finalize(Box::new(error)))?;
    check_results(header, &processed)?;
    out.merge(&rows.into_writes());
    let root = ctx.apply(header.number, &processed, out)?;
    if root != header.state_root {
        return Err(VerifyError::StateRoot { remote: header.state_root, local: root });
    }
    Ok(processed)
}

/// Checks that no transaction requires a predicate, and that the header has no results.
fn check_predicates(ctx: &ParentContext<'_>, block: &Block) -> Result<(), VerifyError> {
    let (rules, header) = (&ctx.chain.rules, &block.header);
    let phase = rules.phase_at(header.time)?;
    let Some(want) = rules.no_predicate_results(&phase) else { return Ok(()) };
    for tx in &block.transactions {
        use alloy_consensus::Transaction as _;
        if tx.access_list().is_some_and(|list| has_warp_predicate(&phase.execution, list)) {
            return Err(VerifyError::WarpPredicate);
        }
    }
    let got = &header.extra[rules.extra_prefix_length(&phase)..];
    if got.is_empty() {
        return Err(VerifyError::NoPredicateResults(header.extra.clone()));
    }
    if got != want {
        let (remote, local) = (got.to_vec().into(), want.into());
        return Err(VerifyError::PredicateResults { remote, local });
    }
    Ok(())
}

/// Checks the header against the terms that follow from the parent.
fn check_header(
    ctx: &ParentContext<'_>,
    terms: &ChildTerms,
    header: &Header,
    ext: &ExtSummary,
) -> Result<(), VerifyError> {
    if header.gas_used > header.gas_limit {
        let (have, limit) = (header.gas_used, header.gas_limit);
        return Err(VerifyError::GasAboveLimit { have, limit });
    }
    if header.gas_limit != terms.gas_limit {
        let (want, got, phase) = (terms.gas_limit, header.gas_limit, terms.phase.phase);
        return Err(FeeRuleError::GasLimit { want, got, phase }.into());
    }
    ctx.chain.rules.check_extra(terms, &header.extra, header.gas_used, ext.gas_used)?;
    let got = header.base_fee.ok_or(FeeRuleError::NoBaseFee)?;
    if got != terms.base_fee {
        return Err(FeeRuleError::BaseFee { want: terms.base_fee, got }.into());
    }
    let (have, want) = (header.block_gas_cost.unwrap_or_default(), terms.block_gas_cost);
    if have != want {
        return Err(VerifyError::BlockGasCost { have, want });
    }
    Ok(())
}

/// Checks that the block has no blob transactions.
fn check_body(block: &Block) -> Result<(), VerifyError> {
    use alloy_consensus::Transaction as _;
    let blobs: usize = block
        .transactions
        .iter()
        .map(|tx| tx.blob_versioned_hashes().map_or(0, <[B256]>::len))
        .sum();
    if blobs == 0 {
        return Ok(());
    }
    match block.header.blob_gas_used {
        Some(header) => Err(VerifyError::BlobGas { header, calculated: blobs as u64 * 131_072 }),
        None => Err(VerifyError::Blobs),
    }
}

/// Checks that the tips pay the block gas cost.
pub fn check_block_fee(
    terms: &ChildTerms,
    processed: &BlockExecutionOutput,
) -> Result<(), VerifyError> {
    let (base_fee, total) = (terms.base_fee, processed.block_fee);
    // If the base fee is 0, which only parameters of a network allow, gas costs nothing.
    let Some(gas) = total.checked_div(base_fee) else { return Ok(()) };
    if gas < alloy_primitives::U256::from(terms.block_gas_cost) {
        let cost = terms.block_gas_cost;
        return Err(VerifyError::BlockFee { gas, cost, base_fee, total });
    }
    Ok(())
}

/// Checks the header against the results of the block, except for the state root.
fn check_results(header: &Header, processed: &BlockExecutionOutput) -> Result<(), VerifyError> {
    if header.gas_used != processed.gas_used {
        let (remote, local) = (header.gas_used, processed.gas_used);
        return Err(VerifyError::GasUsed { remote, local });
    }
    if header.bloom != processed.bloom {
        let (remote, local) = (Box::new(header.bloom), Box::new(processed.bloom));
        return Err(VerifyError::Bloom { remote, local });
    }
    if header.receipts_root != processed.receipts_root {
        let (remote, local) = (header.receipts_root, processed.receipts_root);
        return Err(VerifyError::ReceiptsRoot { remote, local });
    }
    Ok(())
}
