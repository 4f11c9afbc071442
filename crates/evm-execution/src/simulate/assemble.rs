//! Assembles simulated blocks.

use alloy_primitives::{B256, Bytes};
use esker_evm_state::types::{Block, Header, Receipt, Transaction, block_bloom, receipts_root};

use super::{HeaderOverrides, SimulateError};
use crate::executor::BlockContext;
use crate::rules::{BlockAttributes, BlockEnd, BlockResults, ChildTerms, NewBlock, Rules};

/// The results of a block's calls.
pub(super) struct Parts<'a> {
    /// Unix s.
    pub(super) time: u64,
    pub(super) state_root: B256,
    pub(super) gas_used: u64,
    pub(super) transactions: Vec<Transaction>,
    pub(super) receipts: &'a [Receipt],
    pub(super) end: BlockEnd,
}

/// The block with a header on its parent, and the extra data that the block would have. Its own extra data is empty,
/// as in the standard: tools refuse more than 32 bytes.
pub(super) fn assemble(
    rules: &dyn Rules,
    parent: &(Header, B256),
    terms: &ChildTerms,
    context: &BlockContext,
    given: &HeaderOverrides,
    parts: Parts<'_>,
) -> Result<(Block, Bytes), SimulateError> {
    let terms = ChildTerms {
        coinbase: context.coinbase,
        difficulty: given.difficulty.unwrap_or(terms.difficulty),
        gas_limit: context.gas_limit,
        random: given.prev_randao.unwrap_or_default(),
        base_fee: context.base_fee,
        ..terms.clone()
    };
    let new = NewBlock {
        time: parts.time,
        state_root: parts.state_root,
        transactions: parts.transactions,
        attributes: BlockAttributes {
            beacon_root: given.beacon_root,
            withdrawals: given.withdrawals.clone(),
            ..BlockAttributes::default()
        },
        ..NewBlock::default()
    };
    let results = BlockResults {
        receipts_root: receipts_root(parts.receipts),
        bloom: block_bloom(parts.receipts),
        gas_used: parts.gas_used,
        end: parts.end,
        ..BlockResults::default()
    };
    let mut block = rules.seal_block((&parent.0, parent.1), &terms, new, &results)?;
    let extra = std::mem::take(&mut block.header.extra);
    Ok((block, extra))
}
