//! Transactions that run again, under the limits of `debug`.

use esker_evm_execution::executor::VmError;
use esker_evm_execution::trace::BufferOutput;
use esker_rpc::{CallContext, ResultWriter, RpcError};

use super::entry_tracer::EntryTracer;
use super::operation_tracer::OperationTracer;
use crate::debug::{MAX_HELD, locate, replay_accepted, trace_accepted};
use crate::evm::TransactApi;
use crate::wire::{Data, Hash};

/// What code sends, creates and destroys in a transaction.
pub(super) fn internal_operations(
    transact: &TransactApi,
    (Hash(hash),): (Hash,),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    trace_accepted(transact, hash, Box::<OperationTracer>::default(), context, writer)
}

/// All calls of a transaction, as a list.
pub(super) fn trace_transaction(
    transact: &TransactApi,
    (Hash(hash),): (Hash,),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    trace_accepted(transact, hash, Box::<EntryTracer>::default(), context, writer)
}

/// The data with which a transaction reverted; empty if it did not.
pub(super) fn transaction_error(
    transact: &TransactApi,
    (Hash(hash),): (Hash,),
    context: &CallContext,
) -> Result<Data, RpcError> {
    let (block, index) = locate(transact, hash)?;
    let receipts = transact.reads.receipts_of(&block)?;
    if receipts.get(index).is_some_and(|receipt| receipt.success) {
        return Ok(Data::default());
    }
    let mut out = BufferOutput::new(MAX_HELD);
    let end = replay_accepted(transact, &block, index, context, &mut out, &mut |_| None)?;
    let reverted = end.filter(|end| end.error == Some(VmError::Reverted));
    Ok(reverted.map(|end| Data(end.output)).unwrap_or_default())
}
