//! `ots`, and the one method of `erigon` that Otterscan calls: blocks, traces and the history of addresses in the forms
//! of Erigon (docs/api/evm-otterscan.md). The service `ots`.
//!
//! - [`blocks`]: details and transactions of a block.
//! - [`history`]: the transactions of an address, out of the index of addresses.
//! - [`lookup`]: code, senders' nonces, creators of contracts.
//! - [`traces`]: transactions that run again, under the limits of `debug`.

mod blocks;
mod creation_tracer;
mod entry_tracer;
mod history;
mod lookup;
mod operation_tracer;
mod page_size;
mod traces;

use std::sync::Arc;

use esker_rpc::handler::{blocking, quick, restartable, written};
use esker_rpc::{CallContext, MethodTable, RpcError, Service, cost};

use self::entry_tracer::TraceEntry;
use self::operation_tracer::InternalOperation;
use crate::evm::{TransactApi, get_block_by_number};
use crate::wire::{BlockReply, PlainBlock};

/// The version of the methods, which Otterscan checks.
const API_LEVEL: u64 = 8;

/// The methods of the service `ots`.
pub fn otterscan_methods(transact: &Arc<TransactApi>) -> Service {
    ots(transact).merge(&erigon(transact))
}

fn ots(transact: &Arc<TransactApi>) -> Service {
    MethodTable::new("ots")
        .on_list("getApiLevel", quick(|_: &TransactApi, ()| Ok(API_LEVEL)))
        .on_list("getInternalOperations", written(traces::internal_operations))
        .params(&["hash"])
        .returns::<Vec<InternalOperation>>()
        .cost(cost::HEAVY)
        .on_list("hasCode", quick(lookup::has_code))
        .params(&["address", "block"])
        .on_list("getTransactionError", restartable(traces::transaction_error))
        .params(&["hash"])
        .cost(cost::HEAVY)
        .on_list("traceTransaction", written(traces::trace_transaction))
        .params(&["hash"])
        .returns::<Vec<TraceEntry>>()
        .cost(cost::HEAVY)
        .on_list("searchTransactionsBefore", restartable(history::before))
        .params(&["address", "block", "pageSize"])
        .cost(cost::SEARCH)
        .on_list("searchTransactionsAfter", restartable(history::after))
        .params(&["address", "block", "pageSize"])
        .cost(cost::SEARCH)
        .on_list("getBlockDetails", blocking(blocks::details))
        .params(&["block"])
        .cost(cost::CALL)
        .on_list("getBlockDetailsByHash", blocking(blocks::details_by_hash))
        .params(&["hash"])
        .cost(cost::CALL)
        .on_list("getBlockTransactions", blocking(blocks::transactions))
        .params(&["block", "page", "pageSize"])
        .cost(cost::CALL)
        .on_list("getTransactionBySenderAndNonce", quick(lookup::by_sender_and_nonce))
        .params(&["address", "nonce"])
        .on_list("getContractCreator", restartable(lookup::contract_creator))
        .params(&["address"])
        .cost(cost::HEAVY)
        .bind(Arc::clone(transact))
}

/// What Otterscan asks first: whether the node has a namespace of Erigon.
fn erigon(transact: &Arc<TransactApi>) -> Service {
    MethodTable::new("erigon")
        .on_list("getHeaderByNumber", blocking(header_by_number))
        .params(&["block"])
        .cost(cost::LARGE_READ)
        .bind(Arc::clone(transact))
}

/// A block with the hashes of its transactions, as anvil replies.
fn header_by_number(
    transact: &TransactApi,
    (PlainBlock(number),): (PlainBlock,),
) -> Result<Option<BlockReply>, RpcError> {
    get_block_by_number(&transact.reads, (number, false), &CallContext::new())
}
