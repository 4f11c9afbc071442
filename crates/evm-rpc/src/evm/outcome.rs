//! How an accepted transaction ended, beyond its receipt: it runs again, after those before it in its block.

use std::time::Duration;

use alloy_primitives::B256;
use esker_evm_execution::executor::{Bounds, ExecutionEnd, Stop};
use esker_evm_execution::trace::{BlockReplay, BufferOutput, ReplayEnv, TraceError};
use esker_rpc::{CallContext, RpcError};

use super::running::Hashes;
use super::transact::TransactApi;
use crate::error::read_error;

/// Longest time that the transactions run again. Making their block took less.
const MAX_REPLAY: Duration = Duration::from_secs(10);

/// The end of a transaction that failed in its block; `None`: no accepted block has it, or it did not fail.
///
/// # Errors
/// The store can't be read, or the transaction can't be run again in time or with the memory of a call.
pub(super) fn failed_end(
    transact: &TransactApi,
    hash: B256,
    context: &CallContext,
) -> Result<Option<ExecutionEnd>, RpcError> {
    let chain = &transact.reads.chain;
    let Some(at) = chain.location(hash).map_err(read_error)? else { return Ok(None) };
    let Some(block) = chain.block_at(at.height).map_err(read_error)? else { return Ok(None) };
    let receipts = chain.receipts_of(at.height, block.hash).map_err(read_error)?;
    let txs = block.block.transactions.get(..=at.index).unwrap_or_default();
    // Another block may have replaced it meanwhile.
    let is_it = txs.last().is_some_and(|tx| *tx.tx_hash() == hash);
    if !is_it || receipts.get(at.index).is_none_or(|receipt| receipt.success) {
        return Ok(None);
    }
    let header = &block.block.header;
    let Some(parent) = transact.reads.header_by_hash(header.parent_hash)? else { return Ok(None) };
    let state = chain.state_after(&parent).map_err(read_error)?;
    let clock = &transact.limit_clock;
    let end_ms = clock.now_ms() + u64::try_from(MAX_REPLAY.as_millis()).unwrap_or(u64::MAX);
    let stop = || match context.is_cancelled() {
        true => Some(Stop::Cancelled),
        false => (clock.now_ms() >= end_ms).then_some(Stop::TimedOut),
    };
    let env = ReplayEnv {
        chain: &transact.chain,
        view: state.view(),
        hashes: &Hashes { transact, newest: parent.header.number },
        bounds: Bounds {
            memory: Some(transact.config.max_memory),
            stop: Some(&stop),
            ..Bounds::default()
        },
    };
    let failed = |error: TraceError| RpcError::new(error.to_string());
    let mut out = BufferOutput::new(0);
    let mut replay = BlockReplay::new(&env, &parent.header, header, &mut out).map_err(failed)?;
    let mut ended = None;
    for (tx, receipt) in txs.iter().zip(receipts.iter()) {
        ended = Some(replay.run(tx, Some(receipt.from)).map_err(failed)?);
    }
    Ok(ended)
}
