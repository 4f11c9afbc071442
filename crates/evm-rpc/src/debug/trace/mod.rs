//! Transactions run again while a tracer watches: the service `debug-tracer`.
//!
//! A handler finds the block, takes the state after its parent for as long as it runs, and lets
//! [`esker_evm_execution::trace`] write the JSON straight into the reply.

mod block;
mod call;
mod chain;
mod config;
mod duration;
mod files;
mod names;
mod output;
mod replayed;
mod roots;
mod run;
mod schema;
mod subscription;

use std::sync::Arc;

use esker_rpc::handler::{restartable, written};
use esker_rpc::{MethodTable, Service, cost};

pub(crate) use self::block::{find_transaction, locate};
pub(crate) use self::call::with_calls;
pub use self::files::{TraceFiles, file_tracing_methods};
pub(crate) use self::output::{MAX_HELD, Refusal, write as write_reply};
pub(crate) use self::replayed::{replay_accepted, replay_timed, trace_accepted};
use self::schema::{Trace, TxTrace};
pub use self::subscription::ChainTraces;
use crate::evm::TransactApi;

/// The methods of the service `debug-tracer`. [`ChainTraces`] has its subscription.
pub fn tracing_methods(transact: &Arc<TransactApi>) -> Service {
    MethodTable::new("debug")
        .on_list("traceTransaction", written(replayed::trace_transaction))
        .params(&["hash", "config"])
        .returns::<Trace>()
        .cost(cost::HEAVY)
        .on_list("traceCall", written(call::trace_call))
        .params(&["transaction", "block", "config"])
        .returns::<Trace>()
        .cost(cost::HEAVY)
        .on_list("traceBlock", written(block::trace_block))
        .params(&["data", "config"])
        .returns::<Vec<TxTrace>>()
        .cost(cost::HEAVY)
        .on_list("traceBlockByNumber", written(block::trace_block_by_number))
        .params(&["block", "config"])
        .returns::<Vec<TxTrace>>()
        .cost(cost::HEAVY)
        .on_list("traceBlockByHash", written(block::trace_block_by_hash))
        .params(&["hash", "config"])
        .returns::<Vec<TxTrace>>()
        .cost(cost::HEAVY)
        .on_list("traceBadBlock", written(block::trace_bad_block))
        .params(&["hash", "config"])
        .returns::<Vec<TxTrace>>()
        .cost(cost::HEAVY)
        .on_list("intermediateRoots", restartable(roots::intermediate_roots))
        .params(&["hash", "config"])
        .cost(cost::HEAVY)
        .bind(Arc::clone(transact))
}
