//! Traces of calls that are not made.

use std::sync::Arc;

use esker_evm_execution::call::{CallEnv, CallLimits, CallRequest, Estimates};
use esker_evm_execution::executor::Bounds;
use esker_evm_execution::rules::BlockPoint;
use esker_evm_execution::trace::{self, CallReplay};
use esker_evm_state::types::SealedHeader;
use esker_rpc::{CallContext, ResultWriter, RpcError};

use super::config::{ChainTerms, DEFAULT_REEXEC, DEFAULT_TIMEOUT, TraceCallConfig};
use super::output::{self, Refusal};
use super::run::{Deadline, above_head, state_after};
use crate::evm::TransactApi;
use crate::evm::defaults::request;
use crate::evm::running::{Hashes, block_overrides, state_overrides};
use crate::wire::call::{self as args, TransactionArgs};
use crate::wire::{BlockNumber, BlockNumberOrHash, BlockOrAbsent};

/// What is different in the state and in the block of a call.
type Overrides = (Option<args::StateOverrides>, Option<args::BlockOverrides>);

pub(super) fn trace_call(
    transact: &TransactApi,
    (args, at, config): (TransactionArgs, BlockOrAbsent, Option<TraceCallConfig>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let header = header_of(transact, transact.reads.block_or_latest(at, 1)?)?;
    let TraceCallConfig { trace: config, state, block } = config.unwrap_or_default();
    let (state_changes, block_changes) = (state_overrides(state), block_overrides(block));
    let request = request(&args, transact.reads.dialect())?;
    let deadline = Deadline::new(transact, context);
    let scripts = config.begin_scripts(&*transact.scripts, &deadline).map_err(output::refusal)?;
    with_state(transact, (&header, &request, config.reexec()), &deadline, |env, limits| {
        output::write(writer, context, |out| {
            let tracer = config.tracer(&*scripts, &ChainTerms::of(transact))?;
            deadline.begin(config.timeout()?);
            let (state, block) = (&state_changes, &block_changes);
            trace::trace_call(env, &request, state, block, limits, tracer, out)?;
            Ok(())
        })
    })
}

/// Calls with tracers, which together have the default time.
pub(crate) type TimedCalls<'c> = dyn FnMut(&mut CallReplay<'_, '_>) -> Result<(), Refusal> + 'c;

/// Lets `work` make calls with tracers on the state after a block. `priced` is the call whose price the block accepts.
pub(crate) fn with_calls(
    transact: &TransactApi,
    (at, priced): (BlockNumberOrHash, &CallRequest),
    (state, block): Overrides,
    context: &CallContext,
    writer: &mut ResultWriter,
    work: &mut TimedCalls<'_>,
) -> Result<(), RpcError> {
    let header = header_of(transact, at)?;
    let (state, block) = (state_overrides(state), block_overrides(block));
    let deadline = Deadline::new(transact, context);
    with_state(transact, (&header, priced, DEFAULT_REEXEC), &deadline, |env, limits| {
        output::write(writer, context, |out| {
            deadline.begin(DEFAULT_TIMEOUT);
            work(&mut CallReplay::new(env, (&state, &block), limits, out)?)
        })
    })
}

/// The block of a parameter on which calls are traced.
fn header_of(transact: &TransactApi, at: BlockNumberOrHash) -> Result<Arc<SealedHeader>, RpcError> {
    let at = transact.reads.block_id(at);
    match at {
        BlockNumberOrHash::Number(BlockNumber::Pending) if !transact.reads.is_pending(at) => {
            Err(RpcError::new("tracing on top of pending is not supported"))
        }
        BlockNumberOrHash::Number(number) => {
            transact.reads.header_by_number(number)?.ok_or_else(|| above_head(transact, number))
        }
        BlockNumberOrHash::Hash { hash, .. } => transact
            .reads
            .header_by_hash(hash)?
            .ok_or_else(|| RpcError::new(format!("block {hash:#x} not found"))),
        BlockNumberOrHash::Neither | BlockNumberOrHash::Null => {
            Err(RpcError::new("invalid arguments; neither block nor hash specified"))
        }
    }
}

/// Lets `work` run on the state after a block, until the deadline.
fn with_state<R>(
    transact: &TransactApi,
    (header, request, reexec): (&SealedHeader, &CallRequest, u64),
    deadline: &Deadline<'_>,
    work: impl FnOnce(&CallEnv<'_>, &CallLimits<'_>) -> Result<R, RpcError>,
) -> Result<R, RpcError> {
    let state = state_after(transact, header, reexec)?;
    let hashes = Hashes { transact, newest: header.header.number };
    let stop = || deadline.stop();
    let env = CallEnv {
        chain: &transact.chain,
        view: state.view(),
        state_point: BlockPoint::of(&header.header),
        block: transact.block_of(header, request),
        hashes: &hashes,
    };
    let memory = Some(transact.config.max_memory);
    let limits = CallLimits {
        gas_cap: transact.config.gas_cap,
        bounds: Bounds { memory, stop: Some(&stop), ..Bounds::default() },
        timeout: transact.config.max_duration,
        console: None,
        estimates: Estimates::Usual,
    };
    work(&env, &limits)
}
