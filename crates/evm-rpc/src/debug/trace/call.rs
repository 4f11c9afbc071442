//! Traces of calls that are not made.

use esker_evm_execution::call::{CallEnv, CallLimits};
use esker_evm_execution::executor::Bounds;
use esker_evm_execution::rules::BlockPoint;
use esker_evm_execution::trace;
use esker_rpc::{CallContext, ResultWriter, RpcError};

use super::config::{ChainTerms, TraceCallConfig};
use super::output;
use super::run::{Deadline, above_head, state_after};
use crate::evm::TransactApi;
use crate::evm::defaults::request;
use crate::evm::running::{Hashes, block_overrides, state_overrides};
use crate::wire::call::TransactionArgs;
use crate::wire::{BlockNumber, BlockNumberOrHash, BlockOrAbsent};

pub(super) fn trace_call(
    transact: &TransactApi,
    (args, at, config): (TransactionArgs, BlockOrAbsent, Option<TraceCallConfig>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let at = transact.reads.block_id(transact.reads.block_or_latest(at, 1)?);
    let header = match at {
        BlockNumberOrHash::Number(BlockNumber::Pending) if !transact.reads.is_pending(at) => {
            return Err(RpcError::new("tracing on top of pending is not supported"));
        }
        BlockNumberOrHash::Number(number) => {
            transact.reads.header_by_number(number)?.ok_or_else(|| above_head(transact, number))?
        }
        BlockNumberOrHash::Hash { hash, .. } => transact
            .reads
            .header_by_hash(hash)?
            .ok_or_else(|| RpcError::new(format!("block {hash:#x} not found")))?,
        BlockNumberOrHash::Neither | BlockNumberOrHash::Null => {
            return Err(RpcError::new("invalid arguments; neither block nor hash specified"));
        }
    };
    let TraceCallConfig { trace: config, state, block } = config.unwrap_or_default();
    let (state_changes, block_changes) = (state_overrides(state), block_overrides(block));
    let request = request(&args, transact.reads.dialect())?;
    let deadline = Deadline::new(transact, context);
    let scripts = config.begin_scripts(&*transact.scripts, &deadline).map_err(output::refusal)?;
    let state = state_after(transact, &header, config.reexec())?;
    let hashes = Hashes { transact, newest: header.header.number };
    let stop = || deadline.stop();
    let env = CallEnv {
        chain: &transact.chain,
        view: state.view(),
        state_point: BlockPoint::of(&header.header),
        block: transact.block_of(&header, &request),
        hashes: &hashes,
    };
    let memory = Some(transact.config.max_memory);
    let limits = CallLimits {
        gas_cap: transact.config.gas_cap,
        bounds: Bounds { memory, stop: Some(&stop), ..Bounds::default() },
        timeout: transact.config.max_duration,
        console: None,
    };
    output::write(writer, context, |out| {
        let tracer = config.tracer(&*scripts, &ChainTerms::of(transact))?;
        deadline.begin(config.timeout()?);
        let (state, block) = (&state_changes, &block_changes);
        trace::trace_call(&env, &request, state, block, &limits, tracer, out)?;
        Ok(())
    })
}
