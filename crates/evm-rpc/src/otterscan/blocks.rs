//! Blocks, short: without what a page about a block does not show.

use std::sync::Arc;

use alloy_primitives::U256;
use esker_evm_state::types::{Receipt, SealedBlock};
use esker_rpc::RpcError;
use schemars::JsonSchema;
use serde::Serialize;

use super::page_size::page_size;
use crate::evm::{TransactApi, block_reply};
use crate::reads::ReadApi;
use crate::wire::{
    Big, BlockReply, Hash, HexOrDecimal, PlainBlock, ReceiptParts, ReceiptReply, Transactions,
    effective_price, receipts_of,
};

/// A block with what was paid for it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OtsBlockDetails")]
pub(super) struct BlockDetails {
    block: ShortBlock,
    issuance: Issuance,
    /// Fees of the transactions, the burnt part included.
    total_fees: Big,
}

/// New coins of a block.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OtsIssuance")]
struct Issuance {
    block_reward: Big,
    uncle_reward: Big,
    issuance: Big,
}

/// A page of a block's transactions.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OtsBlockTransactions")]
pub(super) struct BlockTransactions {
    fullblock: ShortBlock,
    receipts: Vec<ShortReceipt>,
}

/// A block without its bloom filter and with the number of its transactions.
#[derive(Debug, Serialize)]
struct ShortBlock(BlockReply);

/// A receipt without logs and their bloom filter.
#[derive(Debug, Serialize)]
struct ShortReceipt(ReceiptReply);

esker_rpc::schema!(ShortBlock, "OtsBlock", {
    "title": "block",
    "description": "A block as evm_getBlockByNumber shows it, with transactionCount, and null as logsBloom.",
    "type": "object",
    "required": ["hash", "logsBloom", "number", "transactionCount"],
    "properties": {
        "logsBloom": { "type": "null" },
        "transactionCount": { "type": "integer", "minimum": 0 },
    },
});
esker_rpc::schema!(ShortReceipt, "OtsShortReceipt", {
    "title": "receipt",
    "description": "A receipt as evm_getTransactionReceipt shows it, with null as logs and logsBloom.",
    "type": "object",
    "required": ["logs", "logsBloom", "transactionHash"],
    "properties": { "logs": { "type": "null" }, "logsBloom": { "type": "null" } },
});

pub(super) fn details(
    transact: &TransactApi,
    (PlainBlock(number),): (PlainBlock,),
) -> Result<Option<BlockDetails>, RpcError> {
    let reads = &*transact.reads;
    let is_pending = reads.is_pending(number);
    let block = reads.block_by_number(number)?;
    block.map(|block| details_of(reads, block, is_pending)).transpose()
}

pub(super) fn details_by_hash(
    transact: &TransactApi,
    (Hash(hash),): (Hash,),
) -> Result<BlockDetails, RpcError> {
    let reads = &*transact.reads;
    // As with Erigon, an unknown hash is an error, and not null.
    let block = reads.block_by_hash(hash)?;
    details_of(reads, block.ok_or_else(|| RpcError::new("block not found"))?, false)
}

fn details_of(
    reads: &ReadApi,
    block: Arc<SealedBlock>,
    is_pending: bool,
) -> Result<BlockDetails, RpcError> {
    let receipts = reads.receipts_of(&block)?;
    let rewards = reads.chain.rules().rewards(&block.block);
    let total_fees = Big(total_fees(&block, &receipts));
    Ok(BlockDetails {
        block: ShortBlock(block_reply(reads, block, Transactions::Counted, is_pending)),
        issuance: Issuance {
            block_reward: Big(rewards.block),
            uncle_reward: Big(rewards.uncles),
            issuance: Big(rewards.block.saturating_add(rewards.uncles)),
        },
        total_fees,
    })
}

/// Wei that the senders of a block paid for gas.
fn total_fees(block: &SealedBlock, receipts: &[Receipt]) -> U256 {
    let base_fee = block.block.header.base_fee;
    let paid = block.block.transactions.iter().zip(receipts);
    paid.map(|(tx, receipt)| {
        effective_price(tx, base_fee).saturating_mul(U256::from(receipt.gas_used))
    })
    .fold(U256::ZERO, U256::saturating_add)
}

/// Page 0 has the last transactions; each page is in the order of the block.
pub(super) fn transactions(
    transact: &TransactApi,
    (PlainBlock(number), HexOrDecimal(page), size): (PlainBlock, HexOrDecimal, HexOrDecimal),
) -> Result<Option<BlockTransactions>, RpcError> {
    let (reads, size) = (&*transact.reads, page_size(size)?);
    let is_pending = reads.is_pending(number);
    let Some(block) = reads.block_by_number(number)? else { return Ok(None) };
    let receipts = reads.receipts_of(&block)?;
    let before = usize::try_from(page).unwrap_or(usize::MAX).saturating_mul(size);
    let end = block.block.transactions.len().saturating_sub(before);
    let shown = end.saturating_sub(size)..end;
    let all = receipts_of(reads.chain.rules(), &block, &receipts, is_pending);
    let of_page = all.into_iter().skip(shown.start).take(shown.len());
    let short = |receipt: ReceiptReply| receipt.with_parts(ReceiptParts::WithoutLogs);
    let receipts_shown = of_page.map(short).map(ShortReceipt).collect();
    let page = Transactions::Page { receipts, shown };
    Ok(Some(BlockTransactions {
        fullblock: ShortBlock(block_reply(reads, block, page, is_pending)),
        receipts: receipts_shown,
    }))
}
