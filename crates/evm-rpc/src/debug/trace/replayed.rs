//! Accepted transactions that run again for methods of other namespaces, under the limits of `debug`.

use std::sync::Arc;

use alloy_primitives::B256;
use esker_evm_execution::executor::ExecutionEnd;
use esker_evm_execution::trace::{TraceOutput, Tracer};
use esker_evm_state::types::SealedBlock;
use esker_rpc::{CallContext, ResultWriter, RpcError};

use super::block::{Target, locate, replay_block};
use super::config::{DEFAULT_REEXEC, DEFAULT_TIMEOUT, MAX_TIMEOUT};
use super::output::{self, Refusal};
use crate::evm::TransactApi;

/// The tracer of the transaction with an index; `None`: it runs without one.
pub(crate) type TracerOf<'t> = dyn FnMut(usize) -> Option<Box<dyn Tracer>> + 't;

/// Runs an accepted transaction again with a tracer, which writes the result.
pub(crate) fn trace_accepted(
    transact: &TransactApi,
    hash: B256,
    tracer: Box<dyn Tracer>,
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let (block, index) = locate(transact, hash)?;
    let target = Target::accepted(transact, block)?;
    let mut tracer = Some(tracer);
    output::write(writer, context, |out| {
        let mut tracer_of = |at: usize| tracer.take_if(|_| at == index);
        replay(transact, &target, index, context, out, &mut tracer_of).map(drop)
    })
}

/// Runs the transactions of an accepted block again, up to the one with the index `last`. Returns how that one ended;
/// `None`: the block has no such transaction.
pub(crate) fn replay_accepted(
    transact: &TransactApi,
    block: &Arc<SealedBlock>,
    last: usize,
    context: &CallContext,
    out: &mut dyn TraceOutput,
    tracer_of: &mut TracerOf<'_>,
) -> Result<Option<ExecutionEnd>, RpcError> {
    let target = Target::accepted(transact, Arc::clone(block))?;
    replay(transact, &target, last, context, out, tracer_of).map_err(output::refusal)
}

fn replay(
    transact: &TransactApi,
    target: &Target,
    last: usize,
    context: &CallContext,
    out: &mut dyn TraceOutput,
    tracer_of: &mut TracerOf<'_>,
) -> Result<Option<ExecutionEnd>, Refusal> {
    let mut ended = None;
    replay_block(transact, target, DEFAULT_REEXEC, context, out, |replay, deadline| {
        let (transactions, hash) = (&target.block.block.transactions, target.block.hash);
        for (at, tx) in transactions.iter().enumerate().take(last.saturating_add(1)) {
            if context.is_cancelled() {
                return Err(Refusal::Rpc(RpcError::new("execution aborted")));
            }
            let tracer = tracer_of(at);
            deadline.begin(if tracer.is_some() { DEFAULT_TIMEOUT } else { MAX_TIMEOUT });
            let end = match tracer {
                Some(tracer) => replay.trace(tx, target.sender(at), hash, at, tracer)?,
                None => replay.run(tx, target.sender(at))?,
            };
            ended = (at == last).then_some(end);
        }
        Ok(())
    })?;
    Ok(ended)
}
