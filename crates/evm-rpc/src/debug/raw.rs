//! Blocks and what is in them, as bytes. The service `internal-debug`.

use std::fmt;
use std::sync::Arc;

use alloy_eips::eip2718::Encodable2718 as _;
use alloy_primitives::B256;
use esker_evm_state::types::{SealedBlock, SealedHeader};
use esker_rpc::handler::{blocking, quick, sized};
use esker_rpc::{MethodTable, RpcError, Service};

use crate::error::read_error;
use crate::evm::{get_raw_transaction_by_hash, size_of_found};
use crate::reads::ReadApi;
use crate::wire::{BlockNumberOrHash, Data};

/// The methods of the service `internal-debug`.
pub(crate) fn service(reads: &Arc<ReadApi>) -> Service {
    MethodTable::new("debug")
        .on_list("getRawHeader", blocking(get_raw_header))
        .params(&["block"])
        .on_list("getRawBlock", blocking(get_raw_block))
        .params(&["block"])
        .on_list("getRawReceipts", blocking(get_raw_receipts))
        .params(&["block"])
        .on_list("getRawTransaction", sized(size_of_found, get_raw_transaction_by_hash))
        .params(&["hash"])
        .on_list("getRawTransactions", blocking(get_raw_transactions))
        .params(&["block"])
        .on_list("getRawBlockAccessList", quick(get_raw_block_access_list))
        .params(&["block"])
        .on_list("printBlock", blocking(print_block))
        .params(&["number"])
        .bind(Arc::clone(reads))
}

fn get_raw_header(reads: &ReadApi, (at,): (BlockNumberOrHash,)) -> Result<Data, RpcError> {
    let header = header(reads, at)?.map_err(|UnknownBlock(hash)| not_found("header", hash))?;
    Ok(Data(reads.chain.rules().encode_header(&header.header).into()))
}

/// The block with its five parts: header, transactions, uncles, version, ext data.
fn get_raw_block(reads: &ReadApi, (at,): (BlockNumberOrHash,)) -> Result<Data, RpcError> {
    let block = block(reads, at)?.map_err(|UnknownBlock(hash)| not_found("block", hash))?;
    Ok(Data(reads.chain.rules().published_block(&block.block).into()))
}

/// Receipts as the receipts root is made of them; none of a block that is not known.
fn get_raw_receipts(reads: &ReadApi, (at,): (BlockNumberOrHash,)) -> Result<Vec<Data>, RpcError> {
    let Ok(header) = header(reads, at)? else { return Ok(Vec::new()) };
    let receipts =
        reads.chain.receipts_of(header.header.number, header.hash).map_err(read_error)?;
    let raw = receipts.iter().map(|receipt| {
        let mut out = Vec::new();
        receipt.encode_consensus(&mut out);
        Data(out.into())
    });
    Ok(raw.collect())
}

/// The transactions of a block, without sidecars of blobs; none of a block that is not known, as reth and anvil reply.
fn get_raw_transactions(
    reads: &ReadApi,
    (at,): (BlockNumberOrHash,),
) -> Result<Vec<Data>, RpcError> {
    let Ok(block) = block(reads, at)? else { return Ok(Vec::new()) };
    let transactions = block.block.transactions.iter();
    Ok(transactions.map(|tx| Data(tx.encoded_2718().into())).collect())
}

/// The block access list of a block (EIP-7928), which no block has.
fn get_raw_block_access_list(
    reads: &ReadApi,
    (at,): (BlockNumberOrHash,),
) -> Result<Data, RpcError> {
    header(reads, at)?.map_err(|UnknownBlock(hash)| not_found("header", hash))?;
    Err(RpcError::new("the block has no block access list"))
}

/// The block in the words of this program: a text for people.
fn print_block(reads: &ReadApi, (number,): (u64,)) -> Result<String, RpcError> {
    let block = reads.chain.block_at(number).map_err(read_error)?;
    let block = block.ok_or_else(|| RpcError::new(format!("block #{number} not found")))?;
    Ok(format!("{block:#?}\n"))
}

/// No block has this hash.
struct UnknownBlock(B256);

type Found<T> = Result<Result<Arc<T>, UnknownBlock>, RpcError>;

fn header(reads: &ReadApi, at: BlockNumberOrHash) -> Found<SealedHeader> {
    match at {
        BlockNumberOrHash::Hash { hash, .. } => {
            Ok(reads.header_by_hash(hash)?.ok_or(UnknownBlock(hash)))
        }
        at => reads.header_of_state(at).map(Ok),
    }
}

fn block(reads: &ReadApi, at: BlockNumberOrHash) -> Found<SealedBlock> {
    if reads.is_pending(at) {
        return reads.block(at)?.map(Ok).ok_or_else(|| RpcError::new("header not found"));
    }
    let header = match header(reads, at)? {
        Ok(header) => header,
        Err(unknown) => return Ok(Err(unknown)),
    };
    // It may have been taken back in between.
    Ok(reads.block_by_hash(header.hash)?.ok_or(UnknownBlock(header.hash)))
}

fn not_found(what: &str, hash: B256) -> RpcError {
    RpcError::new(format!("{what} #{} not found", Decimal(hash)))
}

/// Go's form of a hash where a number is wanted.
struct Decimal(B256);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits: Vec<_> = self.0.iter().map(u8::to_string).collect();
        write!(f, "[{}]", digits.join(" "))
    }
}
