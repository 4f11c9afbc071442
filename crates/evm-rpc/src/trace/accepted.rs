//! Transactions and blocks that run again.

use std::sync::Arc;

use esker_evm_execution::trace::{CallList, ReplayTracer, Selection, TraceOutput, Tracer};
use esker_evm_state::types::SealedBlock;
use esker_rpc::{CallContext, ResultWriter, RpcError};

use super::args::{TraceType, types_of};
use crate::debug::{Refusal, find_transaction, replay_timed, write_reply};
use crate::evm::TransactApi;
use crate::wire::{BlockNumberOrHash, Hash, HexOrDecimal, PlainBlockOrHash};

/// The calls of a transaction; null if no block has it.
pub(super) fn transaction(
    transact: &TransactApi,
    (Hash(hash),): (Hash,),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let Some((block, index)) = find_transaction(transact, hash)? else { return null(writer) };
    let list = CallList::new(Selection::All);
    write_reply(writer, context, |out| {
        out.buffer().push(b'[');
        list_calls(transact, &block, &[index], &list, context, out)?;
        out.buffer().push(b']');
        Ok(())
    })
}

/// The call of a transaction with a `traceAddress`; null if there is none.
pub(super) fn get(
    transact: &TransactApi,
    (Hash(hash), indices): (Hash, Vec<HexOrDecimal>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let Some((block, index)) = find_transaction(transact, hash)? else { return null(writer) };
    let place = indices.into_iter().map(|HexOrDecimal(index)| index).collect();
    let list = CallList::new(Selection::At(place));
    write_reply(writer, context, |out| {
        list_calls(transact, &block, &[index], &list, context, out)?;
        if list.is_empty() {
            out.buffer().extend_from_slice(b"null");
        }
        Ok(())
    })
}

/// The calls of the transactions of a block; null if there is no such block.
pub(super) fn block(
    transact: &TransactApi,
    (at,): (PlainBlockOrHash,),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let Some(block) = find_block(transact, at)? else { return null(writer) };
    let list = CallList::new(Selection::All);
    let all: Vec<_> = (0..block.block.transactions.len()).collect();
    write_reply(writer, context, |out| {
        out.buffer().push(b'[');
        list_calls(transact, &block, &all, &list, context, out)?;
        out.buffer().push(b']');
        Ok(())
    })
}

/// What was asked for of a transaction; null if no block has it.
pub(super) fn replay_transaction(
    transact: &TransactApi,
    (Hash(hash), types): (Hash, Vec<TraceType>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let Some((block, index)) = find_transaction(transact, hash)? else { return null(writer) };
    let types = types_of(&types);
    write_reply(writer, context, |out| {
        let mut tracer_of = |at: usize| -> Option<Box<dyn Tracer>> {
            (at == index).then(|| Box::new(ReplayTracer::new(types)) as _)
        };
        replay_timed(transact, block, index, context, out, &mut tracer_of)?;
        Ok(())
    })
}

/// What was asked for of each transaction of a block; null if there is no such block.
pub(super) fn replay_block_transactions(
    transact: &TransactApi,
    (at, types): (PlainBlockOrHash, Vec<TraceType>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let Some(block) = find_block(transact, at)? else { return null(writer) };
    let types = types_of(&types);
    write_reply(writer, context, |out| {
        out.buffer().push(b'[');
        if let Some(last) = block.block.transactions.len().checked_sub(1) {
            let mut tracer_of = |at: usize| -> Option<Box<dyn Tracer>> {
                let tracer = ReplayTracer::new(types).with_hash();
                Some(Box::new(if at > 0 { tracer.after_another() } else { tracer }))
            };
            replay_timed(transact, block, last, context, out, &mut tracer_of)?;
        }
        out.buffer().push(b']');
        Ok(())
    })
}

/// Adds the calls of transactions of a block, ascending by their indices, to a list.
pub(super) fn list_calls(
    transact: &TransactApi,
    block: &Arc<SealedBlock>,
    indices: &[usize],
    list: &CallList,
    context: &CallContext,
    out: &mut dyn TraceOutput,
) -> Result<(), Refusal> {
    let Some(last) = indices.last() else { return Ok(()) };
    let mut tracer_of = |at: usize| -> Option<Box<dyn Tracer>> {
        let is_listed = !list.is_full() && indices.binary_search(&at).is_ok();
        is_listed.then(|| Box::new(list.tracer()) as _)
    };
    replay_timed(transact, Arc::clone(block), *last, context, out, &mut tracer_of)?;
    Ok(())
}

fn find_block(
    transact: &TransactApi,
    PlainBlockOrHash(at): PlainBlockOrHash,
) -> Result<Option<Arc<SealedBlock>>, RpcError> {
    match transact.reads.block_id(at) {
        BlockNumberOrHash::Neither | BlockNumberOrHash::Null => {
            Err(RpcError::new("invalid arguments; neither block nor hash specified"))
        }
        at => transact.reads.block(at),
    }
}

fn null(writer: &mut ResultWriter) -> Result<(), RpcError> {
    writer.buffer().extend_from_slice(b"null");
    Ok(())
}
