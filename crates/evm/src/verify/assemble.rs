//! The final form of a block that this node makes.

use alloy_primitives::{B64, B256, Bytes, U256};
use esker_evm_execution::executor::{BlockContext, BlockExecutionOutput, BlockExecutor, TxError};
use esker_evm_execution::rules::{ChildTerms, Revision};
use esker_evm_state::state::{StateVersion, StateView};
use esker_evm_state::types::{Block, EMPTY_OMMERS_HASH, Header, Transaction, ext_data_hash};
use esker_storage::WriteSet;

use super::{ParentContext, VerifyError, check_block_fee};

/// Begins a block at `time` (Unix s) on a parent; the caller adds the transactions. `terms` must be for the same
/// time.
pub fn child_executor<'a>(
    ctx: &ParentContext<'a>,
    terms: &ChildTerms,
    time: u64,
) -> Result<BlockExecutor<'a>, TxError> {
    let view = StateView::new(ctx.reader, ctx.scope, StateVersion::Latest);
    let block = BlockContext::child(ctx.parent, time, terms);
    let available = terms.gas_available.min(terms.gas_limit);
    BlockExecutor::new(ctx.chain, view, ctx.hashes, ctx.parent, block, available)
}

/// Makes a block of executed transactions: checks that the tips pay for its time, writes its state to `out`, and
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
    check_block_fee(terms, processed)?;
    let number = ctx.parent.number + 1;
    let (gas_used, ext_gas_used) = (processed.gas_used, processed.extension.gas_used);
    let extra = ctx.chain.rules.child_extra(terms, gas_used, ext_gas_used)?;
    let is_etna = terms.phase.execution.revision >= Revision::Cancun;
    let header = Header {
        parent_hash: ctx.parent_hash,
        ommers_hash: EMPTY_OMMERS_HASH,
        coinbase: terms.coinbase,
        state_root: ctx.apply(number, processed, out)?,
        transactions_root: B256::ZERO,
        receipts_root: processed.receipts_root,
        bloom: processed.bloom,
        difficulty: U256::from(1),
        number,
        gas_limit: terms.gas_limit,
        gas_used,
        time,
        extra,
        mix_digest: terms.random,
        nonce: B64::ZERO,
        ext_data_hash: ext_data_hash(&ext_data),
        base_fee: Some(terms.base_fee),
        ext_data_gas_used: Some(U256::from(ext_gas_used)),
        block_gas_cost: Some(U256::from(terms.block_gas_cost)),
        blob_gas_used: is_etna.then_some(0),
        excess_blob_gas: is_etna.then_some(0),
        parent_beacon_root: is_etna.then_some(B256::ZERO),
        withdrawals_root: None,
        requests_hash: None,
    };
    let mut block = Block { header, transactions, ext_data, ..Block::default() };
    block.header.transactions_root = block.transactions_root();
    Ok(block)
}
