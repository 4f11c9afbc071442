//! `callMany`: calls one after the other, in bundles, as Erigon, reth and anvil have it.

use esker_evm_execution::call::{
    Bundle, CallEnv, CallError, CallLimits, CallOutcome, CallRequest, StateOverrides, call_many,
    overlay,
};
use esker_evm_execution::executor::StateOverlay;
use esker_evm_execution::rules::Dialect;
use esker_go_json::args::check_memory;
use esker_rpc::handler::restartable;
use esker_rpc::{CallContext, MethodTable, RpcError, cost};
use schemars::JsonSchema;
use serde::Serialize;

use super::defaults::request;
use super::replayed::{block_of, out_of_range, parent_of, state_before};
use super::running::{CallBlock, LATEST, block_overrides, state_overrides};
use super::table::table;
use super::transact::TransactApi;
use crate::wire::call::{self as args, BundleArgs, StateContextArgs};
use crate::wire::{BlockNumberOrHash, Data};

pub(super) fn methods() -> MethodTable<TransactApi> {
    table()
        .on_list("callMany", restartable(call_many_method))
        .params(&["bundles", "stateContext", "stateOverrides"])
        .cost(cost::HEAVY)
}

/// The result of a call: what it returned, or why it failed.
#[derive(Debug, Serialize, JsonSchema)]
struct CallReply {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Data>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

type CallManyArgs = (Vec<BundleArgs>, Option<StateContextArgs>, Option<args::StateOverrides>);

fn call_many_method(
    transact: &TransactApi,
    (bundles, from, state): CallManyArgs,
    context: &CallContext,
) -> Result<Vec<Vec<CallReply>>, RpcError> {
    let dialect = transact.reads.dialect();
    let bundles = bundles.into_iter().map(|one| bundle(one, dialect));
    let bundles = bundles.collect::<Result<Vec<_>, _>>()?;
    let work = Work { bundles: &bundles, overrides: &state_overrides(state) };
    let StateContextArgs { block, index } = from.unwrap_or_default();
    let at = block.unwrap_or(LATEST);
    let outcomes = match index.filter(|index| *index != ALL) {
        None => work.run_after(transact, &transact.place(at)?, context)?,
        Some(index) => work.run_within(transact, at, index, context)?,
    };
    let replies = outcomes.into_iter().map(|bundle| bundle.into_iter().map(reply).collect());
    Ok(replies.collect())
}

/// The index that stands for the end of the block.
const ALL: i64 = -1;

/// What is to be called.
struct Work<'w> {
    bundles: &'w [Bundle],
    overrides: &'w StateOverrides,
}

type Outcomes = Vec<Vec<CallOutcome>>;

impl Work<'_> {
    /// Runs on the state after a block.
    fn run_after(
        &self,
        transact: &TransactApi,
        place: &CallBlock,
        context: &CallContext,
    ) -> Result<Outcomes, RpcError> {
        transact.at(place, &CallRequest::default(), context, |env, limits| {
            let state = overlay(env, self.overrides, limits)?;
            self.run(transact, env, state, limits)
        })
    }

    fn run(
        &self,
        transact: &TransactApi,
        env: &CallEnv<'_>,
        state: StateOverlay<'_>,
        limits: &CallLimits<'_>,
    ) -> Result<Outcomes, CallError> {
        transact
            .printing("evm_callMany", limits, |limits| call_many(env, state, self.bundles, limits))
    }

    /// Runs on the state before the transaction of an index.
    fn run_within(
        &self,
        transact: &TransactApi,
        at: BlockNumberOrHash,
        index: i64,
        context: &CallContext,
    ) -> Result<Outcomes, RpcError> {
        let block = block_of(&transact.reads, at)?;
        let transactions = block.block.transactions.len();
        let count = usize::try_from(index).ok().filter(|count| *count <= transactions);
        let count = count.ok_or_else(|| out_of_range(&block, index))?;
        let parent = parent_of(&transact.reads, &block)?;
        let place = transact.place(at)?;
        let ran = transact.at(&place, &CallRequest::default(), context, |env, limits| {
            let run = |mut state: StateOverlay<'_>| {
                let ran = self.override_state(transact, &mut state, limits);
                let ran = ran.and_then(|()| self.run(transact, env, state, limits));
                ran.map_err(|error| transact.refusal(error))
            };
            Ok(state_before(transact, &block, &parent, count, context, run))
        });
        ran?
    }

    fn override_state(
        &self,
        transact: &TransactApi,
        state: &mut StateOverlay<'_>,
        limits: &CallLimits<'_>,
    ) -> Result<(), CallError> {
        self.overrides.apply(transact.chain.rules.storage_keys(), state, limits)
    }
}

fn bundle(args: BundleArgs, dialect: Dialect) -> Result<Bundle, RpcError> {
    let BundleArgs { transactions, block } = args;
    // The run ends for this reason, whatever it returns.
    check_memory(transactions.len() * size_of::<CallRequest>())
        .map_err(|error| RpcError::new(error.to_string()))?;
    Ok(Bundle {
        calls: transactions.iter().map(|call| request(call, dialect)).collect::<Result<_, _>>()?,
        block: block_overrides(Some(block)),
    })
}

fn reply(outcome: CallOutcome) -> CallReply {
    match &outcome.error {
        None => CallReply { value: Some(Data(outcome.output)), error: None },
        Some(_) => CallReply { value: None, error: Some(outcome.message()) },
    }
}
