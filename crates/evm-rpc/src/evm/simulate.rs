//! `simulateV1`: calls in blocks that are not made (docs/decisions.md, "Further standard methods").

use alloy_eips::eip4895::Withdrawal;
use esker_evm_execution::call::CallRequest;
use esker_evm_execution::rules::Dialect;
use esker_evm_execution::simulate::{
    BlockRequest, HeaderOverrides, SimulateError, SimulatedState, SimulationEnv, SimulationOptions,
    simulate,
};
use esker_go_json::args::check_memory;
use esker_rpc::handler::restartable;
use esker_rpc::{CallContext, MethodTable, RpcError, cost};

use super::defaults::request;
use super::running::{LATEST, state_overrides};
use super::table::table;
use super::transact::TransactApi;
use crate::wire::call::{HeaderArgs, SimulateArgs, SimulatedBlockArgs};
use crate::wire::{Addr, Big, BlockNumberOrHash, Hash, SimulatedBlockReply, Uint64};

pub(super) fn methods() -> MethodTable<TransactApi> {
    table()
        .on_list("simulateV1", restartable(simulate_v1))
        .params(&["simulation", "block"])
        .cost(cost::HEAVY)
}

fn simulate_v1(
    transact: &TransactApi,
    (args, at): (SimulateArgs, Option<BlockNumberOrHash>),
    context: &CallContext,
) -> Result<Vec<SimulatedBlockReply>, RpcError> {
    let SimulateArgs { block_state_calls, trace_transfers, validation, return_full_transactions } =
        args;
    let options = SimulationOptions { trace_transfers, validation };
    let dialect = transact.reads.dialect();
    let blocks = block_state_calls.into_iter().map(|one| block(one, dialect));
    let blocks = blocks.collect::<Result<_, _>>()?;
    let place = transact.place(at.unwrap_or(LATEST))?;
    let simulated = transact.at(&place, &CallRequest::default(), context, |env, limits| {
        let (chain, view, hashes) = (env.chain, env.view, env.hashes);
        let env = SimulationEnv { chain, view, base: &place.header, hashes };
        transact.printing("evm_simulateV1", limits, |limits| {
            Ok(simulate(&env, blocks, options, limits))
        })
    })?;
    let shown = |block| {
        let reply = SimulatedBlockReply::new(dialect, block, return_full_transactions);
        match transact.reads.config.anvil_answers {
            true => reply.without_most_gas(),
            false => reply,
        }
    };
    let simulated = simulated.map_err(|error| refused(transact, error))?;
    Ok(simulated.into_iter().map(shown).collect())
}

fn refused(transact: &TransactApi, error: SimulateError) -> RpcError {
    if let Some(error) = transact.anvil_simulate_refusal(&error) {
        return error;
    }
    match (error.code(), error) {
        (None, SimulateError::Call(error)) => transact.refusal(error),
        (None, error) => RpcError::new(error.to_string()),
        (Some(code), error) => RpcError::with_code(code, error.to_string()),
    }
}

fn block(args: SimulatedBlockArgs, dialect: Dialect) -> Result<BlockRequest, RpcError> {
    let SimulatedBlockArgs { header, accounts, moves, calls } = args;
    // The run ends for this reason, whatever it returns.
    check_memory(calls.len() * size_of::<CallRequest>())
        .map_err(|e| RpcError::new(e.to_string()))?;
    let has_withdrawals = header.withdrawals.as_ref().is_some_and(|list| !list.is_empty());
    if has_withdrawals && !dialect.is_standard() {
        let text = "withdrawals are not supported";
        return Err(RpcError::with_code(RpcError::INVALID_PARAMS, text));
    }
    Ok(BlockRequest {
        header: overrides(header, dialect),
        state: SimulatedState { accounts: state_overrides(Some(accounts)), moves },
        calls: calls.iter().map(|call| request(call, dialect)).collect::<Result<_, _>>()?,
    })
}

fn overrides(given: HeaderArgs, dialect: Dialect) -> HeaderOverrides {
    let big = |value: Option<Big>| value.map(|Big(value)| value);
    let number = |value: Option<Uint64>| value.map(|Uint64(value)| value);
    let hash = |value: Option<Hash>| value.map(|Hash(value)| value);
    let withdrawals = given.withdrawals.filter(|_| dialect.is_standard());
    HeaderOverrides {
        number: big(given.number),
        time: number(given.time),
        difficulty: big(given.difficulty),
        gas_limit: number(given.gas_limit),
        fee_recipient: given.fee_recipient.map(|Addr(recipient)| recipient),
        prev_randao: hash(given.prev_randao),
        base_fee: big(given.base_fee_per_gas),
        blob_base_fee: big(given.blob_base_fee),
        beacon_root: hash(given.beacon_root),
        withdrawals: withdrawals.map(|list| list.into_iter().map(Withdrawal::from).collect()),
    }
}
