//! The service `internal-transaction`, as far as it reads.

use std::sync::Arc;

use alloy_eips::eip2718::Encodable2718;
use esker_evm::view::TxLocation;
use esker_evm_state::types::{SealedBlock, Transaction};
use esker_rpc::handler::{quick, sized};
use esker_rpc::{RpcError, Service};

use super::accepted::{accepted, no_receipt, undecided};
use super::running::LATEST;
use super::sender_nonce::by_sender_and_nonce;
use super::table::table;
use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::{
    Addr, BlockNumber, BlockNumberOrHash, BlockOrAbsent, Data, Hash, ReceiptReply,
    TransactionReply, Uint, Uint64,
};

/// The reading methods of the service.
pub(super) fn service(reads: &Arc<ReadApi>) -> Service {
    table::<ReadApi>()
        .on_list("getBlockTransactionCountByNumber", quick(count_by_number))
        .params(&["block"])
        .on_list("getBlockTransactionCountByHash", quick(count_by_hash))
        .params(&["hash"])
        .on_list("getTransactionByBlockNumberAndIndex", sized(size_of, by_number_and_index))
        .params(&["block", "index"])
        .on_list("getTransactionByBlockHashAndIndex", sized(size_of, by_hash_and_index))
        .params(&["hash", "index"])
        .on_list(
            "getRawTransactionByBlockNumberAndIndex",
            sized(size_of_data, raw_by_number_and_index),
        )
        .params(&["block", "index"])
        .on_list("getRawTransactionByBlockHashAndIndex", sized(size_of_data, raw_by_hash_and_index))
        .params(&["hash", "index"])
        .on_list("getTransactionCount", quick(get_transaction_count))
        .params(&["address", "block"])
        .on_list("getTransactionByHash", sized(size_of, get_transaction_by_hash))
        .params(&["hash"])
        .on_list("getTransactionBySenderAndNonce", sized(size_of, by_sender_and_nonce))
        .params(&["address", "nonce"])
        .on_list("getRawTransactionByHash", sized(size_of_found, get_raw_transaction_by_hash))
        .params(&["hash"])
        .on_list("getTransactionReceipt", sized(size_of_receipt, get_transaction_receipt))
        .params(&["hash"])
        .bind(Arc::clone(reads))
}

fn size_of_data(reply: &Data) -> usize {
    2 * reply.0.len()
}

pub(crate) fn size_of_found(reply: &Option<Data>) -> usize {
    reply.as_ref().map_or(0, size_of_data)
}

fn size_of(reply: &Option<TransactionReply>) -> usize {
    reply.as_ref().map_or(0, TransactionReply::size)
}

fn size_of_receipt(reply: &Option<ReceiptReply>) -> usize {
    reply.as_ref().map_or(0, ReceiptReply::size)
}

fn count_by_number(reads: &ReadApi, (number,): (BlockNumber,)) -> Result<Option<Uint>, RpcError> {
    Ok(reads.block_by_number(number)?.map(|block| Uint::from_count(block.block.transactions.len())))
}

fn count_by_hash(reads: &ReadApi, (Hash(hash),): (Hash,)) -> Result<Option<Uint>, RpcError> {
    Ok(reads.block_by_hash(hash)?.map(|block| Uint::from_count(block.block.transactions.len())))
}

fn by_number_and_index(
    reads: &ReadApi,
    (number, index): (BlockNumber, Uint),
) -> Result<Option<TransactionReply>, RpcError> {
    in_block(reads, reads.block_by_number(number)?, index, reads.is_pending(number))
}

fn by_hash_and_index(
    reads: &ReadApi,
    (Hash(hash), index): (Hash, Uint),
) -> Result<Option<TransactionReply>, RpcError> {
    in_block(reads, reads.block_by_hash(hash)?, index, false)
}

fn raw_by_number_and_index(
    reads: &ReadApi,
    (number, index): (BlockNumber, Uint),
) -> Result<Data, RpcError> {
    Ok(raw_in_block(reads.block_by_number(number)?, index))
}

fn raw_by_hash_and_index(
    reads: &ReadApi,
    (Hash(hash), index): (Hash, Uint),
) -> Result<Data, RpcError> {
    Ok(raw_in_block(reads.block_by_hash(hash)?, index))
}

fn in_block(
    reads: &ReadApi,
    block: Option<Arc<SealedBlock>>,
    Uint(index): Uint,
    is_pending: bool,
) -> Result<Option<TransactionReply>, RpcError> {
    let (Some(block), Ok(index)) = (block, usize::try_from(index)) else { return Ok(None) };
    if index >= block.block.transactions.len() {
        return Ok(None);
    }
    let at = if is_pending { undecided } else { accepted };
    at(reads, &block, index).map(Some)
}

fn raw_in_block(block: Option<Arc<SealedBlock>>, Uint(index): Uint) -> Data {
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    let tx = block.as_ref().and_then(|block| block.block.transactions.get(index));
    tx.map(raw).unwrap_or_default()
}

fn raw(tx: &Transaction) -> Data {
    Data(tx.encoded_2718().into())
}

/// The next nonce of an account; that after its waiting transactions at `pending`.
fn get_transaction_count(
    reads: &ReadApi,
    (Addr(address), at): (Addr, BlockOrAbsent),
) -> Result<Uint64, RpcError> {
    let at = reads.block_or_latest(at, 1)?;
    if at == BlockNumberOrHash::Number(BlockNumber::Pending)
        && let Some(nonce) = reads.pool.next_nonce(address)
    {
        return Ok(Uint64(nonce));
    }
    // Nothing waits, so nothing is pending.
    let at = if reads.is_pending(at) && reads.pool.counts().0 == 0 { LATEST } else { at };
    let (state, _) = reads.state(at)?;
    let account = state.view().account(&address).map_err(read_error)?;
    Ok(Uint64(account.unwrap_or_default().nonce))
}

/// The block of an accepted transaction, and its place there.
fn find(reads: &ReadApi, Hash(hash): Hash) -> Result<Option<(Arc<SealedBlock>, usize)>, RpcError> {
    let found = reads.chain.location(hash).map_err(read_error)?;
    let Some(TxLocation { height, index }) = found else {
        return Ok(reads.loaded.by_tx(reads.chain.as_ref(), hash));
    };
    let block = reads.chain.block_at(height).map_err(read_error)?;
    // An indexed transaction exists.
    let is_there = |block: &Arc<SealedBlock>| {
        block.block.transactions.get(index).is_some_and(|tx| *tx.tx_hash() == hash)
    };
    let block = block.filter(is_there);
    let missing = || {
        let what = format!("transaction {index} of block {height}");
        read_error(reads.chain.missing(what))
    };
    Ok(Some((block.ok_or_else(missing)?, index)))
}

fn get_transaction_by_hash(
    reads: &ReadApi,
    (hash,): (Hash,),
) -> Result<Option<TransactionReply>, RpcError> {
    if let Some((block, index)) = find(reads, hash)? {
        return accepted(reads, &block, index).map(Some);
    }
    if let Some(waiting) = reads.pool.transaction(hash.0) {
        return Ok(Some(reads.waiting(waiting)));
    }
    // It may have left the pool for a block in between.
    let found = find(reads, hash)?;
    found.map(|(block, index)| accepted(reads, &block, index)).transpose()
}

/// The bytes of a transaction. One that is unknown has none, as in the reference; it is null as anvil's, and on a fork, whose
/// source may know it.
pub(crate) fn get_raw_transaction_by_hash(
    reads: &ReadApi,
    (hash,): (Hash,),
) -> Result<Option<Data>, RpcError> {
    let in_chain = || -> Result<Option<Data>, RpcError> {
        let found = find(reads, hash)?;
        Ok(found.map(|(block, index)| raw_in_block(Some(block), Uint::from_count(index))))
    };
    if let Some(raw) = in_chain()? {
        return Ok(Some(raw));
    }
    if let Some(waiting) = reads.pool.transaction(hash.0) {
        return Ok(Some(raw(waiting.tx())));
    }
    // It may have left the pool for a block in between.
    let found = in_chain()?;
    let is_null_absent = reads.config.anvil_answers || reads.is_development_fork();
    Ok(found.or_else(|| (!is_null_absent).then(Data::default)))
}

pub(super) fn get_transaction_receipt(
    reads: &ReadApi,
    (hash,): (Hash,),
) -> Result<Option<ReceiptReply>, RpcError> {
    let Some((block, index)) = find(reads, hash)? else { return Ok(None) };
    let height = block.block.header.number;
    let receipts = reads.receipts_of(&block)?;
    let reply = ReceiptReply::at(reads.chain.rules(), block, receipts, index);
    let reply = reply.map(|reply| Some(reply.with_parts(reads.receipt_parts())));
    reply.ok_or_else(|| read_error(no_receipt(reads, height, index)))
}
