//! Blocks, headers, receipts of a block, and uncles, of which there are none.

use std::sync::Arc;

use alloy_primitives::B256;
use esker_evm::view::BadBlock;
use esker_evm_execution::executor::sender_of;
use esker_evm_execution::rules::Rules;
use esker_evm_state::types::{SealedBlock, SealedHeader};
use esker_rpc::{CallContext, RpcError};
use schemars::JsonSchema;
use serde::Serialize;

use super::chain::ChainConfigReply;
use crate::reads::ReadApi;
use crate::wire::{
    BlockNumber, BlockNumberOrHash, BlockReply, Data, Hash, HeaderReply, ReceiptReply,
    Transactions, Uint, receipts_of,
};

pub(super) fn get_header_by_number(
    reads: &ReadApi,
    (number,): (BlockNumber,),
) -> Result<Option<HeaderReply>, RpcError> {
    let is_pending = reads.is_pending(number);
    Ok(reads.header_by_number(number)?.map(|header| HeaderReply { header, is_pending }))
}

pub(super) fn get_header_by_hash(
    reads: &ReadApi,
    (Hash(hash),): (Hash,),
) -> Result<Option<HeaderReply>, RpcError> {
    Ok(reads.header_by_hash(hash)?.map(|header| HeaderReply { header, is_pending: false }))
}

/// A block with at most this gas is read and shown quickly, whatever it contains.
const SMALL_BLOCK_GAS: u64 = 500_000;

/// The block, if it is a small one.
pub(super) fn try_block_by_number(
    reads: &ReadApi,
    args: &(BlockNumber, bool),
) -> Option<Result<Option<BlockReply>, RpcError>> {
    let header = reads.header_by_number(args.0).ok()??;
    is_small(&header).then(|| get_block_by_number(reads, *args, &CallContext::new()))
}

/// The same by its hash.
pub(super) fn try_block_by_hash(
    reads: &ReadApi,
    args: &(Hash, bool),
) -> Option<Result<Option<BlockReply>, RpcError>> {
    let header = reads.header_by_hash(args.0.0).ok()??;
    is_small(&header).then(|| get_block_by_hash(reads, *args, &CallContext::new()))
}

fn is_small(header: &SealedHeader) -> bool {
    header.header.gas_used <= SMALL_BLOCK_GAS
}

pub(super) fn get_block_by_number(
    reads: &ReadApi,
    (number, full): (BlockNumber, bool),
    _: &CallContext,
) -> Result<Option<BlockReply>, RpcError> {
    let is_pending = reads.is_pending(number);
    reads.block_by_number(number)?.map(|block| reply(reads, block, full, is_pending)).transpose()
}

pub(super) fn get_block_by_hash(
    reads: &ReadApi,
    (Hash(hash), full): (Hash, bool),
    _: &CallContext,
) -> Result<Option<BlockReply>, RpcError> {
    reads.block_by_hash(hash)?.map(|block| reply(reads, block, full, false)).transpose()
}

fn reply(
    reads: &ReadApi,
    block: Arc<SealedBlock>,
    full: bool,
    is_pending: bool,
) -> Result<BlockReply, RpcError> {
    let transactions =
        if full { Transactions::Full(reads.receipts_of(&block)?) } else { Transactions::Hashes };
    let atomic_transactions = reads.atomic_transactions(&block);
    let uncles = uncles(reads.chain.rules(), &block);
    Ok(BlockReply { block, transactions, atomic_transactions, uncles, is_pending })
}

/// Hashes of the uncles of a block.
fn uncles(rules: &dyn Rules, block: &SealedBlock) -> Vec<B256> {
    block.block.uncles.iter().map(|uncle| rules.block_hash(uncle)).collect()
}

/// The receipts of a block; `null` where there is no block, whatever the reason.
pub(super) fn get_block_receipts(
    reads: &ReadApi,
    (at,): (BlockNumberOrHash,),
) -> Result<Option<Vec<ReceiptReply>>, RpcError> {
    let Some(block) = reads.block(at)? else { return Ok(None) };
    let receipts = reads.receipts_of(&block)?;
    Ok(Some(receipts_of(&block, &receipts, reads.is_pending(at))))
}

pub(super) fn get_uncle_by_number(
    _: &ReadApi,
    _: (BlockNumber, Uint),
) -> Result<Option<HeaderReply>, RpcError> {
    Ok(None)
}

pub(super) fn get_uncle_by_hash(
    _: &ReadApi,
    _: (Hash, Uint),
) -> Result<Option<HeaderReply>, RpcError> {
    Ok(None)
}

pub(super) fn get_uncle_count_by_number(
    reads: &ReadApi,
    (number,): (BlockNumber,),
) -> Result<Option<Uint>, RpcError> {
    Ok(reads.header_by_number(number)?.map(|_| Uint(0)))
}

pub(super) fn get_uncle_count_by_hash(
    reads: &ReadApi,
    (Hash(hash),): (Hash,),
) -> Result<Option<Uint>, RpcError> {
    Ok(reads.header_by_hash(hash)?.map(|_| Uint(0)))
}

/// A block that was refused.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BadBlockReply {
    hash: Hash,
    block: BlockReply,
    rlp: Data,
    reason: BadBlockReason,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct BadBlockReason {
    chain_config: ChainConfigReply,
    /// The receipts of the block are not kept.
    receipts: Option<()>,
    number: u64,
    hash: Hash,
    error: String,
}

pub(crate) fn get_bad_blocks(reads: &ReadApi, (): ()) -> Result<Vec<BadBlockReply>, RpcError> {
    let rules = reads.chain.rules();
    let reply = |BadBlock { block, reason }| BadBlockReply {
        hash: Hash(block.hash),
        rlp: Data(rules.encode_block(&block.block).into()),
        reason: BadBlockReason {
            chain_config: ChainConfigReply(rules.chain_config()),
            receipts: None,
            number: block.block.header.number,
            hash: Hash(block.hash),
            error: reason,
        },
        block: BlockReply {
            transactions: senders(rules, &block),
            atomic_transactions: reads.atomic_transactions(&block),
            uncles: uncles(rules, &block),
            is_pending: false,
            block,
        },
    };
    Ok(reads.chain.bad_blocks().into_iter().map(reply).collect())
}

/// Senders of the transactions of a block without receipts; the zero address for an unrecoverable signature.
fn senders(rules: &dyn Rules, block: &SealedBlock) -> Transactions {
    let sender = |tx| sender_of(tx, rules).unwrap_or_default();
    Transactions::Sent(block.block.transactions.iter().map(sender).collect())
}
