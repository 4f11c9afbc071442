//! Running unsigned calls (docs/protocol/c-chain-execution.md, "Calls").

use alloy_eips::eip2930::AccessListItem;
use esker_evm_execution::call::{self, CallOutcome};
use esker_evm_execution::executor::VmError;
use esker_rpc::handler::{quick_noted_or_restartable, quick_or_restartable, restartable};
use esker_rpc::{CallContext, MethodTable, RpcError, cost};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::defaults::{GasDefault, request};
use super::running::{LATEST, REVERTED, state_overrides};
use super::table::table;
use super::transact::TransactApi;
use crate::wire::call::{self as args, TransactionArgs};
use crate::wire::{AccessTuple, BlockNumberOrHash, Data, Uint64};

pub(super) fn methods() -> MethodTable<TransactApi> {
    table()
        .on_list("call", quick_noted_or_restartable(try_call, call))
        .params(&["transaction", "block", "stateOverrides", "blockOverrides"])
        .cost(cost::CALL)
        .on_list("callDetailed", restartable(call_detailed))
        .params(&["transaction", "block", "stateOverrides"])
        .cost(cost::CALL)
        .on_list("estimateGas", quick_or_restartable(try_estimate_gas, estimate_gas))
        .params(&["transaction", "block", "stateOverrides"])
        .cost(cost::SEARCH)
        .on_list("createAccessList", restartable(create_access_list))
        .params(&["transaction", "block"])
        .cost(cost::SEARCH)
}

/// The name of the method under which the screen shows what its code prints.
const CALL: &str = "evm_call";

type CallArgs = (
    TransactionArgs,
    Option<BlockNumberOrHash>,
    Option<args::StateOverrides>,
    Option<args::BlockOverrides>,
);

/// The result of the call, if it runs quickly.
fn try_call(
    transact: &TransactApi,
    call: &CallArgs,
    context: &CallContext,
) -> Option<Result<Data, RpcError>> {
    let (args, at, None, None) = call else { return None };
    let request = request(args, transact.reads.dialect()).ok()?;
    let at = at.unwrap_or(LATEST);
    let outcome = transact.try_call(CALL, &request, at, context.notes()).transpose()?;
    Some(outcome.and_then(|outcome| returned(transact, outcome)))
}

fn call(
    transact: &TransactApi,
    (args, at, state, block): CallArgs,
    context: &CallContext,
) -> Result<Data, RpcError> {
    let at = at.unwrap_or(LATEST);
    let request = request(&args, transact.reads.dialect())?;
    returned(transact, transact.call(CALL, &request, at, (state, block), context)?)
}

/// The output of a call, or the reason of its failure.
fn returned(transact: &TransactApi, outcome: CallOutcome) -> Result<Data, RpcError> {
    match &outcome.error {
        None => Ok(Data(outcome.output)),
        Some(_) => Err(transact.failed(&outcome)),
    }
}

/// The result of a call, whether it failed or not.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DetailedReply {
    gas: u64,
    err_code: i64,
    err: String,
    return_data: Data,
}

fn call_detailed(
    transact: &TransactApi,
    (args, at, state): (TransactionArgs, BlockNumberOrHash, Option<args::StateOverrides>),
    context: &CallContext,
) -> Result<DetailedReply, RpcError> {
    let request = request(&args, transact.reads.dialect())?;
    let outcome = transact.call("evm_callDetailed", &request, at, (state, None), context)?;
    Ok(DetailedReply {
        gas: outcome.gas_used,
        // Errors of the machine have no code of their own.
        err_code: transact.revert_data(&outcome).map_or(0, |_| REVERTED),
        err: transact.message(&outcome),
        return_data: Data(outcome.output),
    })
}

type EstimateArgs = (TransactionArgs, Option<BlockNumberOrHash>, Option<args::StateOverrides>);

/// The estimate of a plain transfer.
fn try_estimate_gas(
    transact: &TransactApi,
    estimate: &EstimateArgs,
) -> Option<Result<Uint64, RpcError>> {
    let (args, at, None) = estimate else { return None };
    let request = request(args, transact.reads.dialect()).ok()?;
    let estimated = transact.estimate_of_transfer(&request, *at);
    Some(estimated.transpose()?.map(Uint64))
}

fn estimate_gas(
    transact: &TransactApi,
    (args, at, state): EstimateArgs,
    context: &CallContext,
) -> Result<Uint64, RpcError> {
    let request = request(&args, transact.reads.dialect())?;
    let state = state_overrides(state);
    transact.estimate(Some("evm_estimateGas"), &request, at, &state, context).map(Uint64)
}

/// An access list, and the result of the transaction with it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AccessListReply {
    access_list: AccessListItems,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    gas_used: Uint64,
}

struct AccessListItems(Vec<AccessListItem>);

esker_rpc::schema_as!(AccessListItems, "AccessList", Vec<AccessTuple<'static>>);

impl Serialize for AccessListItems {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(AccessTuple))
    }
}

fn create_access_list(
    transact: &TransactApi,
    (mut args, at): (TransactionArgs, Option<BlockNumberOrHash>),
    context: &CallContext,
) -> Result<AccessListReply, RpcError> {
    let place = transact.place_of_estimate(at)?;
    // Without a sender there is nobody who pays. The reference lets the zero address pay.
    if !transact.reads.config.is_development || !args.is_free_call() {
        transact.set_defaults(&mut args, GasDefault::Cap, context)?;
    }
    let request = request(&args, transact.reads.dialect())?;
    let found = transact.at(&place, &request, context, |site, limits| {
        transact.printing("evm_createAccessList", limits, |limits| {
            call::create_access_list(site, &request, limits)
        })
    })?;
    // The reference shows a revert in the list's own error.
    if found.error == Some(VmError::Reverted) && transact.reads.config.is_development {
        let text = transact.failure_text(&VmError::Reverted, &found.output);
        return Err(RpcError::with_code(REVERTED, text).with_data(&Data(found.output)));
    }
    Ok(AccessListReply {
        access_list: AccessListItems(found.access_list.0),
        error: found.error.map(|error| error.to_string()),
        gas_used: Uint64(found.gas_used),
    })
}
