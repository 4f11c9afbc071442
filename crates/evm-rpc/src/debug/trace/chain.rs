//! The traces of one block of a `traceChain`.

use std::cell::Cell;
use std::sync::Arc;

use alloy_primitives::B256;
use bytes::Bytes;
use esker_evm_execution::trace::json;
use esker_evm_state::types::SealedBlock;
use esker_rpc::{CallContext, ResultWriter, RpcError};

use super::block::{Target, begin_scripts, end_member, replay_block, trace_tx, write_member};
use super::config::TraceConfig;
use super::output;
use crate::error::read_error;
use crate::evm::TransactApi;

/// Blocks that are read in one job while none of them has transactions.
const BLOCKS_A_JOB: u64 = 1024;

/// The blocks of a subscription.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// The next block.
    pub(super) next: u64,
    pub(super) last: u64,
    /// Rewinds of the chain when the subscription was made.
    pub(super) rewinds: u64,
    pub(super) config: Arc<TraceConfig>,
}

/// The result of one job.
#[derive(Debug)]
pub(super) struct TraceStep {
    /// The block after the traced ones.
    pub(super) next: u64,
    /// The notification, unless the blocks have no transactions.
    pub(super) result: Option<Bytes>,
}

impl Blocks {
    /// Traces the next block that has transactions. The last block is reported without any, too.
    ///
    /// # Errors
    /// No further block can be traced; the error is the last notification.
    pub(super) fn trace_next(
        &self,
        transact: &TransactApi,
        context: &CallContext,
    ) -> Result<TraceStep, Bytes> {
        let end = self.last.min(self.next.saturating_add(BLOCKS_A_JOB - 1));
        for height in self.next..=end {
            let ended = |error: &RpcError| ended(height, &error.message);
            let block = self.block(transact, height).map_err(|error| ended(&error))?;
            if context.is_cancelled() {
                break;
            }
            if !block.block.transactions.is_empty() || height == self.last {
                let result = trace(transact, &block, &self.config, context);
                // The traced blocks may have been rewound meanwhile.
                self.check(transact).map_err(|error| ended(&error))?;
                return Ok(TraceStep { next: height + 1, result: Some(result) });
            }
        }
        Ok(TraceStep { next: end + 1, result: None })
    }

    fn block(&self, transact: &TransactApi, height: u64) -> Result<Arc<SealedBlock>, RpcError> {
        self.check(transact)?;
        let found = transact.reads.chain.block_at(height).map_err(read_error)?;
        found.ok_or_else(|| RpcError::new(format!("block #{height} not found")))
    }

    fn check(&self, transact: &TransactApi) -> Result<(), RpcError> {
        match transact.reads.chain.position().rewinds == self.rewinds {
            true => Ok(()),
            false => Err(RpcError::new("blocks were taken back")),
        }
    }
}

/// The last notification of a subscription that ends early.
pub(super) fn ended(height: u64, text: &str) -> Bytes {
    let mut out = b"{\"block\":".to_vec();
    json::quantity(&mut out, height);
    out.extend_from_slice(b",\"error\":");
    json::string(&mut out, text);
    out.push(b'}');
    out.into()
}

/// Traces a block. As in the reference, the first transaction that can't be traced has an error, and those after it
/// are null.
fn trace(
    transact: &TransactApi,
    block: &Arc<SealedBlock>,
    config: &TraceConfig,
    context: &CallContext,
) -> Bytes {
    let mut writer = ResultWriter::in_memory(context);
    write_head(block, writer.buffer());
    let head_len = writer.buffer().len();
    let (at, begun) = (Cell::new(0), Cell::new(head_len));
    let traced = if block.block.transactions.is_empty() {
        Ok(())
    } else {
        Target::accepted(transact, Arc::clone(block)).and_then(|target| {
            let scripts = begin_scripts(transact, config, context)?;
            output::write(&mut writer, context, |out| {
                replay_block(
                    transact,
                    &target,
                    config.reexec(),
                    context,
                    out,
                    |replay, deadline| {
                        for (index, tx) in target.block.block.transactions.iter().enumerate() {
                            at.set(index);
                            begun.set(replay.out().buffer().len());
                            write_member(index, tx.tx_hash(), replay.out());
                            trace_tx(replay, deadline, &target, index, (config, &*scripts))?;
                            end_member(replay.out())?;
                        }
                        Ok(())
                    },
                )
            })
        })
    };
    if let Err(error) = traced {
        writer.buffer().truncate(begun.get());
        write_failed(block, at.get(), &error, writer.buffer());
    }
    writer.buffer().extend_from_slice(b"]}");
    match writer.into_reply() {
        Ok(reply) => Bytes::from_owner(reply),
        Err(error) => {
            let mut out = Vec::new();
            write_head(block, &mut out);
            write_failed(block, 0, &error, &mut out);
            out.extend_from_slice(b"]}");
            out.into()
        }
    }
}

fn write_head(block: &SealedBlock, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"block\":");
    json::quantity(out, block.block.header.number);
    out.extend_from_slice(b",\"hash\":");
    json::hash(out, &block.hash);
    out.extend_from_slice(b",\"traces\":[");
}

/// The transaction at `at` failed; those after it are not traced.
fn write_failed(block: &SealedBlock, at: usize, error: &RpcError, out: &mut Vec<u8>) {
    for (index, tx) in block.block.transactions.iter().enumerate().skip(at) {
        if index > 0 {
            out.push(b',');
        }
        if index > at {
            out.extend_from_slice(b"null");
            continue;
        }
        let hash: &B256 = tx.tx_hash();
        out.extend_from_slice(b"{\"txHash\":");
        json::hash(out, hash);
        out.extend_from_slice(b",\"error\":");
        json::string(out, &error.message);
        out.push(b'}');
    }
}
