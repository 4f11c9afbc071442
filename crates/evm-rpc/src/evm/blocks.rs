//! Blocks, headers, receipts of a block, and uncles.

use std::ops::Range;
use std::sync::Arc;

use alloy_primitives::B256;
use esker_evm::view::BadBlock;
use esker_evm_execution::executor::sender_of;
use esker_evm_execution::rules::Rules;
use esker_evm_state::types::{Block, SealedBlock, SealedHeader};
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
    Ok(reads.header_by_number(number)?.map(|header| HeaderReply {
        header,
        is_pending,
        dialect: reads.dialect(),
    }))
}

pub(super) fn get_header_by_hash(
    reads: &ReadApi,
    (Hash(hash),): (Hash,),
) -> Result<Option<HeaderReply>, RpcError> {
    Ok(reads.header_by_hash(hash)?.map(|header| HeaderReply {
        header,
        is_pending: false,
        dialect: reads.dialect(),
    }))
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

pub(crate) fn get_block_by_number(
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
    Ok(block_reply(reads, block, transactions, is_pending))
}

/// A block as replies show it.
pub(crate) fn block_reply(
    reads: &ReadApi,
    block: Arc<SealedBlock>,
    transactions: Transactions,
    is_pending: bool,
) -> BlockReply {
    BlockReply {
        transactions,
        atomic_transactions: reads.atomic_transactions(&block),
        uncles: uncles(reads, &block),
        block,
        is_pending,
        dialect: reads.dialect(),
    }
}

/// Most bytes of encoded blocks of one reply; as JSON they take about four times as much.
const MAX_FULL_BYTES: usize = 6_000_000;

/// The blocks of these heights with their transactions, as far as they exist.
///
/// # Errors
/// They are too large for one reply, or can't be read.
pub(crate) fn full_blocks(
    reads: &ReadApi,
    heights: Range<u64>,
) -> Result<Vec<BlockReply>, RpcError> {
    let mut blocks = Vec::new();
    let mut bytes = 0;
    for height in heights {
        let Some(block) = reads.block_by_number(BlockNumber::Number(height))? else { break };
        bytes += block.size;
        if bytes > MAX_FULL_BYTES {
            let text =
                format!("response too large: get the blocks from {height} on by their numbers");
            return Err(RpcError::with_code(RpcError::TOO_LARGE, text));
        }
        blocks.push(reply(reads, block, true, false)?);
    }
    Ok(blocks)
}

/// The receipts of a block; `null` where there is no block, whatever the reason.
pub(super) fn get_block_receipts(
    reads: &ReadApi,
    (at,): (BlockNumberOrHash,),
) -> Result<Option<Vec<ReceiptReply>>, RpcError> {
    let Some(block) = reads.block(at)? else { return Ok(None) };
    let receipts = reads.receipts_of(&block)?;
    let replies = receipts_of(reads.chain.rules(), &block, &receipts, reads.is_pending(at));
    let parts = reads.receipt_parts();
    Ok(Some(replies.into_iter().map(|reply| reply.with_parts(parts)).collect()))
}

pub(super) fn get_uncle_by_number(
    reads: &ReadApi,
    (number, index): (BlockNumber, Uint),
) -> Result<Option<BlockReply>, RpcError> {
    let header = reads.header_by_number(number)?;
    uncle(reads, header.filter(|header| header.header.has_uncles()), index)
}

pub(super) fn get_uncle_by_hash(
    reads: &ReadApi,
    (Hash(hash), index): (Hash, Uint),
) -> Result<Option<BlockReply>, RpcError> {
    let header = reads.header_by_hash(hash)?;
    uncle(reads, header.filter(|header| header.header.has_uncles()), index)
}

pub(super) fn get_uncle_count_by_number(
    reads: &ReadApi,
    (number,): (BlockNumber,),
) -> Result<Option<Uint>, RpcError> {
    uncle_count(reads, reads.header_by_number(number)?)
}

pub(super) fn get_uncle_count_by_hash(
    reads: &ReadApi,
    (Hash(hash),): (Hash,),
) -> Result<Option<Uint>, RpcError> {
    uncle_count(reads, reads.header_by_hash(hash)?)
}

fn uncle_count(
    reads: &ReadApi,
    header: Option<Arc<SealedHeader>>,
) -> Result<Option<Uint>, RpcError> {
    let Some(header) = header else { return Ok(None) };
    if !header.header.has_uncles() {
        return Ok(Some(Uint(0)));
    }
    let block = reads.block_by_hash(header.hash)?;
    Ok(block.map(|block| Uint::from_count(block.block.uncles.len())))
}

/// An uncle of a block, as a block without transactions.
fn uncle(
    reads: &ReadApi,
    header: Option<Arc<SealedHeader>>,
    Uint(index): Uint,
) -> Result<Option<BlockReply>, RpcError> {
    let Some(header) = header else { return Ok(None) };
    let block = reads.block_by_hash(header.hash)?;
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    let uncle = block.and_then(|block| block.block.uncles.get(index).cloned());
    let Some(header) = uncle else { return Ok(None) };
    let rules = reads.chain.rules();
    let hash = rules.block_hash(&header);
    let block = Block { header, ..Block::default() };
    let size = rules.encode_block(&block).len();
    Ok(Some(BlockReply {
        block: Arc::new(SealedBlock { block, hash, size }),
        transactions: Transactions::Omitted,
        atomic_transactions: None,
        uncles: Vec::new(),
        is_pending: false,
        dialect: reads.dialect(),
    }))
}

fn uncles(reads: &ReadApi, block: &SealedBlock) -> Vec<B256> {
    let rules = reads.chain.rules();
    block.block.uncles.iter().map(|uncle| rules.block_hash(uncle)).collect()
}

/// The block access list of a block (EIP-7928): no block has one.
pub(super) fn get_block_access_list(
    reads: &ReadApi,
    (at,): (BlockNumberOrHash,),
) -> Result<Option<NoAccessList>, RpcError> {
    // A block whose bytes can't be read is an error.
    reads.block(at).map(|_| None)
}

/// A block access list, which no block has.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "BlockAccessList")]
pub(super) enum NoAccessList {}

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
        rlp: Data(rules.published_block(&block.block).into()),
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
            uncles: uncles(reads, &block),
            is_pending: false,
            block,
            dialect: reads.dialect(),
        },
    };
    Ok(reads.chain.bad_blocks().into_iter().map(reply).collect())
}

/// Senders of the transactions of a block without receipts; the zero address for an unrecoverable signature.
fn senders(rules: &dyn Rules, block: &SealedBlock) -> Transactions {
    let sender = |tx| sender_of(tx, rules).unwrap_or_default();
    Transactions::Sent(block.block.transactions.iter().map(sender).collect())
}
