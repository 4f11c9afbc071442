//! Calls and transactions that are not sent.

use esker_evm_execution::call::CallRequest;
use esker_evm_execution::trace::{ReplayTracer, TraceError};
use esker_rpc::{CallContext, ResultWriter, RpcError};

use super::args::{TraceType, TracedCallArgs, types_of};
use crate::debug::with_calls;
use crate::evm::defaults::request;
use crate::evm::running::LATEST;
use crate::evm::{TransactApi, signed_transaction};
use crate::wire::call::{BlockOverrides, StateOverrides, TransactionArgs};
use crate::wire::{BlockNumberOrHash, Data};

type CallArgs = (
    TransactionArgs,
    Vec<TraceType>,
    Option<BlockNumberOrHash>,
    Option<StateOverrides>,
    Option<BlockOverrides>,
);

/// What was asked for of a call.
pub(super) fn call(
    transact: &TransactApi,
    (args, types, at, state, block): CallArgs,
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let request = request(&args, transact.reads.dialect())?;
    let (place, types) = ((at.unwrap_or(LATEST), &request), types_of(&types));
    with_calls(transact, place, (state, block), context, writer, &mut |calls| {
        calls.call(&request, Box::new(ReplayTracer::new(types)))?;
        Ok(())
    })
}

/// What was asked for of calls, each of which runs on the state that those before it left.
pub(super) fn call_many(
    transact: &TransactApi,
    (list, at): (Vec<TracedCallArgs>, Option<BlockNumberOrHash>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let dialect = transact.reads.dialect();
    let requests = list
        .iter()
        .map(|TracedCallArgs { call, types }| Ok((request(call, dialect)?, types_of(types))));
    let requests = requests.collect::<Result<Vec<_>, RpcError>>()?;
    // The block takes the price of the first call.
    let none = CallRequest::default();
    let priced = requests.first().map_or(&none, |(request, _)| request);
    let place = (at.unwrap_or(LATEST), priced);
    with_calls(transact, place, (None, None), context, writer, &mut |calls| {
        calls.out().buffer().push(b'[');
        for (at, (request, types)) in requests.iter().enumerate() {
            let tracer = ReplayTracer::new(*types);
            let tracer = if at > 0 { tracer.after_another() } else { tracer };
            calls.call(request, Box::new(tracer))?;
            calls.out().checkpoint().map_err(TraceError::from)?;
        }
        calls.out().buffer().push(b']');
        Ok(())
    })
}

/// What was asked for of a signed transaction.
pub(super) fn raw_transaction(
    transact: &TransactApi,
    (Data(bytes), types, at): (Data, Vec<TraceType>, Option<BlockNumberOrHash>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let tx = signed_transaction(transact, &bytes)?;
    let (none, types) = (CallRequest::default(), types_of(&types));
    let place = (at.unwrap_or(LATEST), &none);
    with_calls(transact, place, (None, None), context, writer, &mut |calls| {
        calls.transaction(&tx, Box::new(ReplayTracer::new(types)))?;
        Ok(())
    })
}
