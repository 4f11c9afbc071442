//! Traces of the transactions of blocks.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256};
use esker_evm_execution::executor::Bounds;
use esker_evm_execution::trace::{
    BlockReplay, ReplayEnv, ScriptSession, TraceOutput, Tracer, json,
};
use esker_evm_state::types::{SealedBlock, SealedHeader};
use esker_rpc::{CallContext, ResultWriter, RpcError};
use thiserror::Error;

use super::config::{ChainTerms, TraceConfig};
use super::output::{self, Refusal};
use super::run::{Deadline, block_of_number, parent_of, state_after};
use crate::error::read_error;
use crate::evm::TransactApi;
use crate::evm::running::Hashes;
use crate::evm::send::rlp::{self, RlpError};
use crate::wire::{BlockNumber, Data, Hash};

/// A block to run again, and its senders if they are known.
pub(super) struct Target {
    pub(super) block: Arc<SealedBlock>,
    senders: Vec<Address>,
    terms: ChainTerms,
}

impl Target {
    /// An accepted block: its receipts name the senders.
    pub(super) fn accepted(
        transact: &TransactApi,
        block: Arc<SealedBlock>,
    ) -> Result<Self, RpcError> {
        let height = block.block.header.number;
        let receipts = transact.reads.chain.receipts_of(height, block.hash).map_err(read_error)?;
        let is_whole = receipts.len() == block.block.transactions.len();
        let senders = receipts.iter().map(|receipt| receipt.from);
        let senders = if is_whole { senders.collect() } else { Vec::new() };
        Ok(Self { senders, block, terms: ChainTerms::of(transact) })
    }

    /// A block that need not be accepted.
    pub(super) fn all_of(transact: &TransactApi, block: Arc<SealedBlock>) -> Self {
        Self { block, senders: Vec::new(), terms: ChainTerms::of(transact) }
    }

    pub(super) fn sender(&self, at: usize) -> Option<Address> {
        self.senders.get(at).copied()
    }

    /// What traces one of its transactions, and the time that it has.
    pub(super) fn tracer(
        &self,
        config: &TraceConfig,
        scripts: &dyn ScriptSession,
    ) -> Result<(Box<dyn Tracer>, Duration), Refusal> {
        Ok((config.tracer(scripts, &self.terms)?, config.timeout()?))
    }
}

/// The block of an accepted transaction, and its index there.
pub(crate) fn locate(
    transact: &TransactApi,
    hash: B256,
) -> Result<(Arc<SealedBlock>, usize), RpcError> {
    find_transaction(transact, hash)?.ok_or_else(|| RpcError::new("transaction not found"))
}

/// The block of a transaction, and its index there; `None` if no accepted block has it.
pub(crate) fn find_transaction(
    transact: &TransactApi,
    hash: B256,
) -> Result<Option<(Arc<SealedBlock>, usize)>, RpcError> {
    let chain = &transact.reads.chain;
    let Some(at) = chain.location(hash).map_err(read_error)? else { return Ok(None) };
    let block = chain.block_at(at.height).map_err(read_error)?;
    // A rewind may have replaced it.
    let has_it = |block: &Arc<SealedBlock>| {
        block.block.transactions.get(at.index).is_some_and(|tx| *tx.tx_hash() == hash)
    };
    Ok(block.filter(has_it).map(|block| (block, at.index)))
}

pub(super) fn trace_block_by_number(
    transact: &TransactApi,
    (number, config): (BlockNumber, Option<TraceConfig>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let target = Target::accepted(transact, block_of_number(transact, number)?)?;
    trace_all(transact, &target, &config.unwrap_or_default(), context, writer)
}

pub(super) fn trace_block_by_hash(
    transact: &TransactApi,
    (Hash(hash), config): (Hash, Option<TraceConfig>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let found = transact.reads.block_by_hash(hash)?;
    let block = found.ok_or_else(|| RpcError::new(format!("block {hash:#x} not found")))?;
    let target = Target::accepted(transact, block)?;
    trace_all(transact, &target, &config.unwrap_or_default(), context, writer)
}

/// A block that may be unknown, but its parent must be known.
pub(super) fn trace_block(
    transact: &TransactApi,
    (Data(bytes), config): (Data, Option<TraceConfig>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let block = decode_block(transact, &bytes)
        .map_err(|error| RpcError::new(format!("could not decode block: {error}")))?;
    let target = Target::all_of(transact, Arc::new(block));
    trace_all(transact, &target, &config.unwrap_or_default(), context, writer)
}

pub(super) fn trace_bad_block(
    transact: &TransactApi,
    (Hash(hash), config): (Hash, Option<TraceConfig>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let bad = transact.reads.chain.bad_blocks().into_iter().find(|bad| bad.block.hash == hash);
    let bad = bad.ok_or_else(|| RpcError::new(format!("bad block {hash:#x} not found")))?;
    let target = Target::all_of(transact, bad.block);
    trace_all(transact, &target, &config.unwrap_or_default(), context, writer)
}

/// The reason why bytes are no block.
#[derive(Debug, Error)]
enum DecodeBlockError {
    #[error(transparent)]
    Rlp(#[from] RlpError),
    #[error("rlp: {0}")]
    Block(#[source] alloy_rlp::Error),
}

fn decode_block(transact: &TransactApi, bytes: &[u8]) -> Result<SealedBlock, DecodeBlockError> {
    rlp::check_list(bytes, "types.extblock")?;
    let rules = &transact.chain.rules;
    // Go's decoder reports an error of the block before trailing bytes.
    let block = rules.decode_block(rlp::front(bytes)).map_err(DecodeBlockError::Block)?;
    rlp::alone(bytes)?;
    let hash = rules.block_hash(&block.header);
    Ok(SealedBlock { block, hash, size: bytes.len() })
}

/// Traces all transactions of a block, as a list.
fn trace_all(
    transact: &TransactApi,
    target: &Target,
    config: &TraceConfig,
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let scripts = begin_scripts(transact, config, context)?;
    output::write(writer, context, |out| {
        replay_block(transact, target, config.reexec(), context, out, |replay, deadline| {
            replay.out().buffer().push(b'[');
            for (at, tx) in target.block.block.transactions.iter().enumerate() {
                check_running(context)?;
                write_member(at, tx.tx_hash(), replay.out());
                trace_tx(replay, deadline, target, at, (config, &*scripts))?;
                end_member(replay.out())?;
            }
            replay.out().buffer().push(b']');
            Ok(())
        })
    })
}

/// Refuses to go on for a client that is gone.
pub(super) fn check_running(context: &CallContext) -> Result<(), RpcError> {
    match context.is_cancelled() {
        true => Err(RpcError::new("execution aborted")),
        false => Ok(()),
    }
}

/// Waits for a place for the scripts of a request, before any state is held.
pub(super) fn begin_scripts(
    transact: &TransactApi,
    config: &TraceConfig,
    context: &CallContext,
) -> Result<Rc<dyn ScriptSession>, RpcError> {
    let deadline = Deadline::new(transact, context);
    config.begin_scripts(&*transact.scripts, &deadline).map_err(output::refusal)
}

/// Lets `work` run the transactions of a block again, on the state after its parent.
pub(super) fn replay_block(
    transact: &TransactApi,
    target: &Target,
    reexec: u64,
    context: &CallContext,
    out: &mut dyn TraceOutput,
    work: impl FnOnce(&mut BlockReplay<'_, '_>, &Deadline<'_>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let header = &target.block.block.header;
    after_parent(transact, &target.block, reexec, context, |env, parent, deadline| {
        let mut replay = BlockReplay::new(env, &parent.header, header, out)?;
        work(&mut replay, deadline)
    })
}

/// Lets `work` run on the state after a block's parent.
pub(super) fn after_parent<R>(
    transact: &TransactApi,
    block: &SealedBlock,
    reexec: u64,
    context: &CallContext,
    work: impl FnOnce(&ReplayEnv<'_>, &SealedHeader, &Deadline<'_>) -> Result<R, Refusal>,
) -> Result<R, Refusal> {
    let parent = parent_of(transact, block)?;
    let state = state_after(transact, &parent, reexec)?;
    let hashes = Hashes { transact, newest: parent.header.number };
    let deadline = Deadline::new(transact, context);
    let stop = || deadline.stop();
    let memory = Some(transact.config.max_memory);
    let env = ReplayEnv {
        chain: &transact.chain,
        view: state.view(),
        hashes: &hashes,
        bounds: Bounds { memory, stop: Some(&stop), ..Bounds::default() },
    };
    work(&env, &parent, &deadline)
}

/// Traces the next transaction.
pub(super) fn trace_tx(
    replay: &mut BlockReplay<'_, '_>,
    deadline: &Deadline<'_>,
    target: &Target,
    at: usize,
    (config, scripts): (&TraceConfig, &dyn ScriptSession),
) -> Result<(), Refusal> {
    let Some(tx) = target.block.block.transactions.get(at) else { return Ok(()) };
    let (tracer, timeout) = target.tracer(config, scripts)?;
    deadline.begin(timeout);
    replay.trace(tx, target.sender(at), target.block.hash, at, tracer)?;
    Ok(())
}

/// Ends a member of the list.
pub(super) fn end_member(out: &mut dyn TraceOutput) -> Result<(), Refusal> {
    out.buffer().push(b'}');
    out.release();
    out.checkpoint().map_err(esker_evm_execution::trace::TraceError::from)?;
    Ok(())
}

/// Begins a member of the list.
pub(super) fn write_member(at: usize, hash: &B256, out: &mut dyn TraceOutput) {
    let out = out.buffer();
    if at > 0 {
        out.push(b',');
    }
    out.extend_from_slice(b"{\"txHash\":");
    json::hash(out, hash);
    out.extend_from_slice(b",\"result\":");
}
