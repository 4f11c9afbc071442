//! Transactions run again while a tracer watches: the service `debug-tracer`.
//!
//! A handler finds the block, takes the state after its parent for as long as it runs, and lets
//! [`esker_evm::trace`] write the JSON straight into the reply.

mod block;
mod call;
mod chain;
mod config;
mod duration;
mod files;
mod output;
mod roots;
mod run;
mod subscription;

use std::sync::Arc;

use esker_rpc::{MethodTable, Service, cost};

pub use self::files::{TraceFiles, file_tracing_methods};
pub use self::subscription::ChainTraces;
use crate::evm::TransactApi;

/// The methods of the service `debug-tracer`. [`ChainTraces`] has its subscription.
pub fn tracing_methods(transact: &Arc<TransactApi>) -> Service {
    MethodTable::new("debug")
        .on_list_written("traceTransaction", block::trace_transaction)
        .cost(cost::HEAVY)
        .on_list_written("traceCall", call::trace_call)
        .cost(cost::HEAVY)
        .on_list_written("traceBlock", block::trace_block)
        .cost(cost::HEAVY)
        .on_list_written("traceBlockByNumber", block::trace_block_by_number)
        .cost(cost::HEAVY)
        .on_list_written("traceBlockByHash", block::trace_block_by_hash)
        .cost(cost::HEAVY)
        .on_list_written("traceBadBlock", block::trace_bad_block)
        .cost(cost::HEAVY)
        .on_list_blocking_with("intermediateRoots", roots::intermediate_roots)
        .cost(cost::HEAVY)
        .bind(Arc::clone(transact))
}
