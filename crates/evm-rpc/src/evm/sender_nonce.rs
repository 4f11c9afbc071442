//! `getTransactionBySenderAndNonce`: what was sent with a nonce, without knowing its hash.

use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_primitives::Address;
use esker_evm::view::NonceUse;
use esker_evm_state::types::SealedBlock;
use esker_rpc::RpcError;

use super::accepted::accepted;
use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::{Addr, HexOrDecimal, TransactionReply};

pub(super) fn by_sender_and_nonce(
    reads: &ReadApi,
    (Addr(sender), HexOrDecimal(nonce)): (Addr, HexOrDecimal),
) -> Result<Option<TransactionReply>, RpcError> {
    if let Some(found) = find(reads, sender, nonce)? {
        return Ok(Some(found));
    }
    if let Some(waiting) = reads.pool.transaction_of(sender, nonce) {
        return Ok(Some(reads.waiting(waiting)));
    }
    // It may have left the pool for a block in between.
    find(reads, sender, nonce)
}

/// The accepted transaction.
fn find(
    reads: &ReadApi,
    sender: Address,
    nonce: u64,
) -> Result<Option<TransactionReply>, RpcError> {
    let height = match reads.chain.nonce_use(sender, nonce).map_err(read_error)? {
        NonceUse::Unused => return Ok(None),
        NonceUse::At(height) => height,
        NonceUse::Pruned { oldest } => return Err(pruned(sender, nonce, oldest)),
    };
    let found = find_sent(reads, height, sender, nonce)?;
    found.map(|(block, index)| accepted(reads, &block, index)).transpose()
}

/// The transaction of a sender with this nonce in the block at a height, as its block and its place there.
pub(crate) fn find_sent(
    reads: &ReadApi,
    height: u64,
    sender: Address,
    nonce: u64,
) -> Result<Option<(Arc<SealedBlock>, usize)>, RpcError> {
    let Some(block) = reads.chain.block_at(height).map_err(read_error)? else { return Ok(None) };
    let receipts = reads.chain.receipts_of(height, block.hash).map_err(read_error)?;
    let mut sent = block.block.transactions.iter().zip(receipts.iter());
    // An atomic export takes a nonce too, and is no transaction of this kind.
    let place = sent.position(|(tx, receipt)| receipt.from == sender && tx.nonce() == nonce);
    Ok(place.map(|index| (block, index)))
}

fn pruned(sender: Address, nonce: u64, oldest: u64) -> RpcError {
    let sender = sender.to_checksum(None);
    RpcError::new(format!(
        "nonce {nonce} of {sender} was used before the states that this node keeps, which begin with block \
         {oldest}: an archive node knows the transaction"
    ))
}
