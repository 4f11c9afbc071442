//! One accepted transaction runs again after those before it: for `traceTransaction`, and for methods of other namespaces
//! under the limits of `debug`.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::B256;
use esker_evm_execution::executor::ExecutionEnd;
use esker_evm_execution::trace::{TraceOutput, Tracer};
use esker_evm_state::types::SealedBlock;
use esker_rpc::{CallContext, ResultWriter, RpcError};

use super::block::{Target, begin_scripts, check_running, locate, replay_block};
use super::config::{DEFAULT_REEXEC, DEFAULT_TIMEOUT, MAX_TIMEOUT, TraceConfig};
use super::output::{self, Refusal};
use crate::evm::TransactApi;
use crate::wire::Hash;

/// The tracer of the transaction with an index; `None`: it runs without one.
pub(crate) type TracerOf<'t> = dyn FnMut(usize) -> Option<Box<dyn Tracer>> + 't;

/// The same for [`replay`], with the time of the transaction.
type TimedTracerOf<'t> =
    dyn FnMut(usize) -> Result<Option<(Box<dyn Tracer>, Duration)>, Refusal> + 't;

pub(super) fn trace_transaction(
    transact: &TransactApi,
    (Hash(hash), config): (Hash, Option<TraceConfig>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let (block, index) = locate(transact, hash)?;
    let target = Target::accepted(transact, block)?;
    let config = config.unwrap_or_default();
    let scripts = begin_scripts(transact, &config, context)?;
    output::write(writer, context, |out| {
        let mut tracer_of = |at: usize| match at == index {
            true => target.tracer(&config, &*scripts).map(Some),
            false => Ok(None),
        };
        replay(transact, &target, (index, config.reexec()), context, out, &mut tracer_of).map(drop)
    })
}

/// Runs an accepted transaction again with a tracer, which writes the result.
pub(crate) fn trace_accepted(
    transact: &TransactApi,
    hash: B256,
    tracer: Box<dyn Tracer>,
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let (block, index) = locate(transact, hash)?;
    let mut tracer = Some(tracer);
    output::write(writer, context, |out| {
        let mut tracer_of = |at: usize| tracer.take_if(|_| at == index);
        replay_timed(transact, block, index, context, out, &mut tracer_of).map(drop)
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
    let block = Arc::clone(block);
    replay_timed(transact, block, last, context, out, tracer_of).map_err(output::refusal)
}

/// As [`replay_accepted`], for work on a reply. Each tracer has the default time.
pub(crate) fn replay_timed(
    transact: &TransactApi,
    block: Arc<SealedBlock>,
    last: usize,
    context: &CallContext,
    out: &mut dyn TraceOutput,
    tracer_of: &mut TracerOf<'_>,
) -> Result<Option<ExecutionEnd>, Refusal> {
    let target = Target::accepted(transact, block)?;
    let mut timed = |at: usize| Ok(tracer_of(at).map(|tracer| (tracer, DEFAULT_TIMEOUT)));
    replay(transact, &target, (last, DEFAULT_REEXEC), context, out, &mut timed)
}

fn replay(
    transact: &TransactApi,
    target: &Target,
    (last, reexec): (usize, u64),
    context: &CallContext,
    out: &mut dyn TraceOutput,
    tracer_of: &mut TimedTracerOf<'_>,
) -> Result<Option<ExecutionEnd>, Refusal> {
    let mut ended = None;
    replay_block(transact, target, reexec, context, out, |replay, deadline| {
        let (transactions, hash) = (&target.block.block.transactions, target.block.hash);
        for (at, tx) in transactions.iter().enumerate().take(last.saturating_add(1)) {
            check_running(context)?;
            let end = match tracer_of(at)? {
                Some((tracer, timeout)) => {
                    deadline.begin(timeout);
                    replay.trace(tx, target.sender(at), hash, at, tracer)?
                }
                None => {
                    deadline.begin(MAX_TIMEOUT);
                    replay.run(tx, target.sender(at))?
                }
            };
            ended = (at == last).then_some(end);
        }
        Ok(())
    })?;
    Ok(ended)
}
