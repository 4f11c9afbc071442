//! Accepted transactions by their place.

use std::sync::Arc;

use alloy_primitives::Address;
use esker_evm::view::ViewError;
use esker_evm_state::types::SealedBlock;
use esker_rpc::RpcError;

use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::TransactionReply;

/// The transaction at a place of a block that has it.
pub(super) fn accepted(
    reads: &ReadApi,
    block: &Arc<SealedBlock>,
    index: usize,
) -> Result<TransactionReply, RpcError> {
    let sender = sender(reads, block, index)?;
    let reply = TransactionReply::accepted(reads.dialect(), block, index, sender);
    Ok(reply.in_form(reads.transaction_form()))
}

/// The transaction at a place of a pending block that has it.
pub(super) fn undecided(
    reads: &ReadApi,
    block: &Arc<SealedBlock>,
    index: usize,
) -> Result<TransactionReply, RpcError> {
    Ok(TransactionReply::undecided(reads.dialect(), block, index, sender(reads, block, index)?))
}

fn sender(reads: &ReadApi, block: &SealedBlock, index: usize) -> Result<Address, RpcError> {
    let height = block.block.header.number;
    let receipts = reads.receipts_of(block)?;
    let receipt =
        receipts.get(index).ok_or_else(|| read_error(no_receipt(reads, height, index)))?;
    Ok(receipt.from)
}

/// A block without the receipt of a place that it has.
pub(crate) fn no_receipt(reads: &ReadApi, height: u64, index: usize) -> ViewError {
    reads.chain.missing(format!("receipt {index} of block {height}"))
}
