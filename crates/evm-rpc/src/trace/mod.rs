//! `trace`: calls, changes and instructions in Parity's forms, as reth and anvil write them (docs/api/evm-trace.md). They
//! belong to the service `debug-tracer`, and run under the limits of `debug`.
//!
//! - [`accepted`]: transactions and blocks that run again.
//! - [`filter`]: the calls of many blocks, by their addresses.
//! - [`calls`]: calls and transactions that are not sent.

mod accepted;
mod args;
mod calls;
mod filter;
mod schema;

use std::sync::Arc;

use esker_rpc::handler::written;
use esker_rpc::{MethodTable, Service, cost};

use self::schema::{LocatedTrace, Replay};
use crate::evm::TransactApi;

/// The methods of `trace`.
pub fn trace_methods(transact: &Arc<TransactApi>) -> Service {
    MethodTable::new("trace")
        .on_list("transaction", written(accepted::transaction))
        .params(&["hash"])
        .returns::<Option<Vec<LocatedTrace>>>()
        .cost(cost::HEAVY)
        .on_list("get", written(accepted::get))
        .params(&["hash", "indices"])
        .returns::<Option<LocatedTrace>>()
        .cost(cost::HEAVY)
        .on_list("block", written(accepted::block))
        .params(&["block"])
        .returns::<Option<Vec<LocatedTrace>>>()
        .cost(cost::HEAVY)
        .on_list("filter", written(filter::filter))
        .params(&["filter"])
        .returns::<Vec<LocatedTrace>>()
        .cost(cost::HEAVY)
        .on_list("replayTransaction", written(accepted::replay_transaction))
        .params(&["hash", "types"])
        .returns::<Option<Replay>>()
        .cost(cost::HEAVY)
        .on_list("replayBlockTransactions", written(accepted::replay_block_transactions))
        .params(&["block", "types"])
        .returns::<Option<Vec<Replay>>>()
        .cost(cost::HEAVY)
        .on_list("call", written(calls::call))
        .params(&["transaction", "types", "block", "stateOverrides", "blockOverrides"])
        .returns::<Replay>()
        .cost(cost::HEAVY)
        .on_list("callMany", written(calls::call_many))
        .params(&["calls", "block"])
        .returns::<Vec<Replay>>()
        .cost(cost::HEAVY)
        .on_list("rawTransaction", written(calls::raw_transaction))
        .params(&["data", "types", "block"])
        .returns::<Replay>()
        .cost(cost::HEAVY)
        .bind(Arc::clone(transact))
}
