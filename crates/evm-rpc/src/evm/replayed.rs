//! The state between two transactions of a block: those before it run again.

use std::fmt::Display;
use std::sync::Arc;

use alloy_primitives::B256;
use esker_evm::view::ViewError;
use esker_evm_execution::executor::{BlockBody, BlockContext, BlockExecutor, StateOverlay};
use esker_evm_state::state::StateError;
use esker_evm_state::types::{SealedBlock, SealedHeader};
use esker_rpc::{CallContext, RpcError};

use super::transact::TransactApi;
use crate::debug::walk::check_cancelled;
use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::BlockNumberOrHash;

/// The block of a parameter, which has a state.
pub(crate) fn block_of(
    reads: &ReadApi,
    at: BlockNumberOrHash,
) -> Result<Arc<SealedBlock>, RpcError> {
    if reads.is_pending(at) {
        return reads.block(at)?.ok_or_else(|| RpcError::new("header not found"));
    }
    let header = reads.header_of_state(at)?;
    let height = header.header.number;
    if height == reads.chain.genesis_number() {
        return Err(RpcError::new("no transaction in genesis"));
    }
    let block = reads.chain.block_at(height).map_err(read_error)?;
    let block = block.filter(|block| block.hash == header.hash);
    block.ok_or_else(|| read_error(ViewError::TakenBack(format!("block {:x}", header.hash))))
}

pub(crate) fn parent_of(
    reads: &ReadApi,
    block: &SealedBlock,
) -> Result<Arc<SealedHeader>, RpcError> {
    let hash = block.block.header.parent_hash;
    let parent = reads.header_by_hash(hash)?;
    parent.ok_or_else(|| RpcError::new(format!("parent {hash:#x} not found")))
}

pub(crate) fn state_error(error: ViewError) -> RpcError {
    match error {
        ViewError::StateGone(_) => {
            RpcError::new("required historical state unavailable (reexec=0)")
        }
        error => read_error(error),
    }
}

/// Number of transactions before the one of an index.
pub(crate) fn preceding(block: &SealedBlock, index: i64) -> Result<usize, RpcError> {
    let count = block.block.transactions.len();
    let found = usize::try_from(index).ok().filter(|index| *index < count.max(1));
    found.ok_or_else(|| out_of_range(block, index))
}

/// The error of a transaction that a block doesn't have.
pub(crate) fn out_of_range(block: &SealedBlock, index: impl Display) -> RpcError {
    let hash = block.hash;
    RpcError::new(format!("transaction index {index} out of range for block {hash:#x}"))
}

/// Reads the state after the first transactions of a block.
pub(crate) fn state_before<T>(
    transact: &TransactApi,
    block: &SealedBlock,
    parent: &SealedHeader,
    count: usize,
    context: &CallContext,
    read: impl FnOnce(StateOverlay<'_>) -> Result<T, RpcError>,
) -> Result<T, RpcError> {
    let reads = &*transact.reads;
    let header = &block.block.header;
    let receipts = reads.chain.receipts_of(header.number, block.hash).map_err(read_error)?;
    let hashes = |number: u64| -> Result<Option<B256>, StateError> {
        match reads.chain.hash_at(number) {
            Ok(found) => Ok(found),
            Err(ViewError::Storage(error)) => Err(error.into()),
            // A header needs no state, and a damaged one has no hash.
            Err(_) => Ok(None),
        }
    };
    let failed = |error: &dyn Display| RpcError::new(error.to_string());
    let state = reads.chain.state_after(parent).map_err(state_error)?;
    let seen = BlockContext::for_header(&transact.chain, header).map_err(|error| failed(&error))?;
    let mut executor = BlockExecutor::new(
        &transact.chain,
        state.view(),
        &hashes,
        &parent.header,
        (seen, BlockBody::of(&block.block)),
        header.gas_limit,
    )
    .map_err(|error| failed(&error))?;
    for (index, tx) in block.block.transactions.iter().take(count).enumerate() {
        check_cancelled(context)?;
        let sender = receipts.get(index).map(|receipt| receipt.from);
        executor.execute(tx, sender).map_err(|error| {
            RpcError::new(format!("transaction {:#x} failed: {error}", tx.tx_hash()))
        })?;
    }
    read(executor.into_state())
}
