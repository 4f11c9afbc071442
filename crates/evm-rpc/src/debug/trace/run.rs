//! Code that the methods share: the state before a block, and the time limit of a trace.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use esker_evm::view::{StateSnapshot, ViewError};
use esker_evm_execution::executor::Stop;
use esker_evm_execution::trace::ScriptClient;
use esker_evm_state::types::{SealedBlock, SealedHeader};
use esker_rpc::{CallContext, RpcError};

use crate::error::read_error;
use crate::evm::TransactApi;
use crate::wire::BlockNumber;

/// The deadline of the running transaction.
pub(super) struct Deadline<'c> {
    transact: &'c TransactApi,
    context: &'c CallContext,
    at_ms: Cell<u64>,
}

impl<'c> Deadline<'c> {
    pub(super) fn new(transact: &'c TransactApi, context: &'c CallContext) -> Self {
        Self { transact, context, at_ms: Cell::new(u64::MAX) }
    }

    /// Starts the time of a transaction.
    pub(super) fn begin(&self, timeout: Duration) {
        let ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self.at_ms.set(self.transact.limit_clock.now_ms().saturating_add(ms));
    }

    /// The client, as far as scripts go.
    pub(super) fn script_client(&self) -> ScriptClient {
        let context = self.context.clone();
        let restart = Rc::new(move || context.restart_later());
        ScriptClient { address: self.context.address(), restart }
    }

    /// Whether it must stop.
    pub(super) fn stop(&self) -> Option<Stop> {
        if self.context.is_cancelled() {
            return Some(Stop::Cancelled);
        }
        (self.transact.limit_clock.now_ms() >= self.at_ms.get()).then_some(Stop::TimedOut)
    }
}

/// The block of a number, or the error text.
pub(super) fn block_of_number(
    transact: &TransactApi,
    number: BlockNumber,
) -> Result<Arc<SealedBlock>, RpcError> {
    let found = transact.reads.block_by_number(number)?;
    found.ok_or_else(|| above_head(transact, number))
}

pub(super) fn above_head(transact: &TransactApi, number: BlockNumber) -> RpcError {
    match (transact.reads.config.allow_unfinalized_queries, number) {
        (true, BlockNumber::Number(height)) => RpcError::new(format!("block #{height} not found")),
        _ => RpcError::new("cannot query unfinalized data"),
    }
}

/// The header of a block's parent, or the error text.
pub(super) fn parent_of(
    transact: &TransactApi,
    block: &SealedBlock,
) -> Result<Arc<SealedHeader>, RpcError> {
    let header = &block.block.header;
    if header.number == transact.reads.chain.genesis_number() {
        return Err(RpcError::new("genesis is not traceable"));
    }
    let number = BlockNumber::Number(header.number - 1);
    let found = transact.reads.header_by_number(number)?;
    let found = found.ok_or_else(|| above_head(transact, number))?;
    if found.hash == header.parent_hash {
        return Ok(found);
    }
    let found = transact.reads.header_by_hash(header.parent_hash)?;
    found.ok_or_else(|| RpcError::new(format!("block {:#x} not found", header.parent_hash)))
}

/// The state after a block. The reference runs up to `reexec` blocks again for a missing state.
pub(super) fn state_after(
    transact: &TransactApi,
    header: &SealedHeader,
    reexec: u64,
) -> Result<StateSnapshot, RpcError> {
    transact.reads.chain.state_after(header).map_err(|error| match error {
        ViewError::StateGone(_) => {
            RpcError::new(format!("required historical state unavailable (reexec={reexec})"))
        }
        error => read_error(error),
    })
}
