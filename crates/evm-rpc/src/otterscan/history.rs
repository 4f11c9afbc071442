//! The transactions that touched an address: pages of the index of addresses.

use alloy_primitives::Address;
use esker_evm::view::AddressStart;
use esker_evm_state::addresses::{AddressPage, AddressQuery, BlockPlaces};
use esker_rpc::{CallContext, RpcError};
use schemars::JsonSchema;
use serde::Serialize;

use super::page_size::page_size;
use crate::debug::walk::check_cancelled;
use crate::error::{PRUNED_HISTORY, read_error};
use crate::evm::{TransactApi, no_receipt};
use crate::reads::ReadApi;
use crate::wire::{Addr, HexOrDecimal, ReceiptParts, ReceiptReply, TransactionReply};

/// Most bytes of a page. The last block of a page is not cut, whatever it has.
const MAX_REPLY_BYTES: usize = 25_000_000;
/// How often a page is read again because blocks were taken back meanwhile.
const MAX_READS: usize = 3;

/// A page of transactions, newest first.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OtsTransactions")]
pub(super) struct Transactions {
    txs: Vec<TransactionReply>,
    receipts: Vec<TimedReceipt>,
    /// Nothing newer is there.
    first_page: bool,
    /// Nothing older is there.
    last_page: bool,
}

/// A receipt with the time of its block.
#[derive(Debug, Serialize)]
struct TimedReceipt(ReceiptReply);

esker_rpc::schema!(TimedReceipt, "OtsReceipt", |generator| {
    "title": "receipt",
    "description": "A receipt, with the time of its block in Unix seconds.",
    "allOf": [
        generator.subschema_for::<ReceiptReply>(),
        {
            "type": "object",
            "required": ["timestamp"],
            "properties": { "timestamp": { "type": "integer", "minimum": 0 } },
        },
    ],
});

type Args = (Addr, HexOrDecimal, HexOrDecimal);

/// The transactions before a block, which is not included; 0: the newest ones.
pub(super) fn before(
    transact: &TransactApi,
    (Addr(address), HexOrDecimal(block), size): Args,
    context: &CallContext,
) -> Result<Transactions, RpcError> {
    let (reads, count) = (&*transact.reads, page_size(size)?);
    settled(reads, || {
        let (start, has_older) = start(reads)?;
        let to = block.checked_sub(1).unwrap_or(u64::MAX);
        let query = AddressQuery { address, from: start, to, is_backward: true, count };
        let page = reads.chain.address_page(&query).map_err(read_error)?;
        if page.blocks.is_empty() && has_older {
            return Err(incomplete(address, start));
        }
        let last_page = !page.has_more && !has_older;
        let page = replies(reads, page.blocks, context)?;
        Ok(Transactions { first_page: block == 0, last_page, ..page })
    })
}

/// The transactions after a block, which is not included; 0: the oldest ones.
pub(super) fn after(
    transact: &TransactApi,
    (Addr(address), HexOrDecimal(block), size): Args,
    context: &CallContext,
) -> Result<Transactions, RpcError> {
    let (reads, count) = (&*transact.reads, page_size(size)?);
    settled(reads, || {
        let (start, has_older) = start(reads)?;
        let from = if block == 0 { 0 } else { block.saturating_add(1) };
        if has_older && from < start {
            return Err(incomplete(address, start));
        }
        let from = from.max(start);
        let query = AddressQuery { address, from, to: u64::MAX, is_backward: false, count };
        let AddressPage { mut blocks, has_more } =
            reads.chain.address_page(&query).map_err(read_error)?;
        blocks.reverse();
        let page = replies(reads, blocks, context)?;
        Ok(Transactions { first_page: !has_more, last_page: block == 0, ..page })
    })
}

/// The first block of the index, and whether older blocks may have transactions.
fn start(reads: &ReadApi) -> Result<(u64, bool), RpcError> {
    match reads.chain.address_start().map_err(read_error)? {
        AddressStart::On { start, has_older } => Ok((start, has_older)),
        AddressStart::Off => Err(RpcError::new(
            "this node keeps no index of addresses: set index-addresses = true for the chain \
             (docs/configuration.md)",
        )),
    }
}

/// The error of a page that would need blocks before the index.
fn incomplete(address: Address, start: u64) -> RpcError {
    let address = address.to_checksum(None);
    let text = format!(
        "the transactions of {address} before block {start} are not known here: the index of addresses begins there"
    );
    RpcError::with_code(PRUNED_HISTORY, text)
}

/// Reads again if blocks are taken back meanwhile: rows and blocks are read one after the other.
fn settled<T>(reads: &ReadApi, read: impl Fn() -> Result<T, RpcError>) -> Result<T, RpcError> {
    for _ in 1..MAX_READS {
        let before = reads.chain.settled_position().rewinds;
        let found = read();
        if reads.chain.settled_position().rewinds == before {
            return found;
        }
    }
    read()
}

/// The transactions of blocks that descend, newest first.
fn replies(
    reads: &ReadApi,
    blocks: Vec<BlockPlaces>,
    context: &CallContext,
) -> Result<Transactions, RpcError> {
    let mut page = Transactions::default();
    let mut bytes = 0;
    for BlockPlaces { height, places } in blocks {
        check_cancelled(context)?;
        let missing = || read_error(reads.chain.missing(format!("block {height}")));
        let block = reads.chain.block_at(height).map_err(read_error)?.ok_or_else(missing)?;
        let receipts = reads.receipts_of(&block)?;
        for place in places.into_iter().rev() {
            let index = usize::try_from(place).unwrap_or(usize::MAX);
            let unknown = || read_error(no_receipt(reads, height, index));
            let from = receipts.get(index).ok_or_else(unknown)?.from;
            let (rules, list) = (reads.chain.rules(), receipts.clone());
            let receipt = ReceiptReply::at(rules, block.clone(), list, index);
            let receipt = receipt.ok_or_else(unknown)?.with_parts(ReceiptParts::WithTime);
            let tx = TransactionReply::accepted(reads.dialect(), &block, index, from);
            bytes += tx.size() + receipt.size();
            if bytes > MAX_REPLY_BYTES {
                let text = "response too large: ask for a smaller page";
                return Err(RpcError::with_code(RpcError::TOO_LARGE, text));
            }
            page.txs.push(tx);
            page.receipts.push(TimedReceipt(receipt));
        }
    }
    Ok(page)
}
