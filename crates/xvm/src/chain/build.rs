//! Building and verifying blocks (docs/protocol/x-chain-blocks.md, "X-Chain blocks").

use std::collections::HashSet;

use esker_chain::{BlockError, BuildContext, Built, ChainError, ExecutedBlock};
use esker_primitives::TxId;
use esker_storage::KvRead;
use esker_transactions::xvm::{Block, Tx};

use super::parts::Xvm;
use crate::execute::{ApplyError, BlockExecution, BlockPayload};
use crate::pool::Pooled;
use crate::state::ChainState;
use crate::verify::syntactic;

/// Bytes of transactions at which a block is full.
pub const TARGET_BLOCK_BYTES: usize = 128 << 10;
/// How far a block may be ahead of the clock, in seconds.
pub const MAX_FUTURE_S: u64 = 10;

/// Builds a block from the pool on the state of `parent`. Transactions that are invalid there are rejected, unless
/// another outcome of the undecided blocks may still make them valid.
pub(crate) fn build(vm: &Xvm, parent: &dyn KvRead, at: &BuildContext) -> Result<Built, ChainError> {
    let tip = ChainState::new(parent, vm.scope()).tip()?;
    let time_s = (at.now_ms / 1000).max(tip.time_s);
    let taken: HashSet<TxId> = at
        .ancestors
        .iter()
        .filter_map(|block| BlockPayload::from_executed(block))
        .flat_map(|payload| payload.txs.iter().map(Tx::id))
        .collect();
    let mut execution = BlockExecution::new(vm.rules(), parent, tip, time_s, at);
    let mut room = TARGET_BLOCK_BYTES;
    let mut place = 0;
    'filling: loop {
        let (candidates, next) = vm.mempool.candidates(place, room, &taken);
        if candidates.is_empty() {
            break;
        }
        place = next;
        for pooled in candidates {
            let Some(left) = room.checked_sub(pooled.tx.bytes().len()) else { break 'filling };
            if apply(vm, &mut execution, &pooled)? {
                room = left;
            } else {
                refuse(vm, at, &pooled)?;
            }
        }
    }
    if execution.is_empty() {
        return Ok(Built::Nothing);
    }
    Ok(Built::Block(Box::new(execution.build()?)))
}

/// Adds a transaction to the block; false if it is invalid there.
fn apply(
    vm: &Xvm,
    execution: &mut BlockExecution<'_>,
    pooled: &Pooled,
) -> Result<bool, ChainError> {
    if !pooled.well_formed && syntactic::verify(&pooled.tx, vm.params()).is_err() {
        return Ok(false);
    }
    match execution.apply(&pooled.tx) {
        Ok(()) => Ok(true),
        Err(ApplyError::Rule(_) | ApplyError::ImportedTwice | ApplyError::ImportedByAncestor) => {
            Ok(false)
        }
        Err(ApplyError::Storage(error)) => Err(error.into()),
    }
}

/// Rejects a transaction that can't follow, if it is invalid on the accepted state of now with what waits, and nothing
/// undecided may bring what it misses. Otherwise undecided blocks are in its way, or the block under construction,
/// and may be abandoned.
fn refuse(vm: &Xvm, at: &BuildContext, pooled: &Pooled) -> Result<(), ChainError> {
    let accepted = vm.context().store.snapshot()?;
    // The clock may have moved on since the block was begun, and the transaction may have come after that.
    let now_s = at.now_ms.max(vm.context().clock.now_ms()) / 1000;
    let Some(reason) = vm.refusal_in_pool(pooled, accepted.as_ref(), now_s)? else {
        return Ok(());
    };
    if at.has_undecided && vm.undecided.may_provide_inputs(&pooled.tx) {
        return Ok(());
    }
    let height = ChainState::new(accepted.as_ref(), vm.scope()).tip()?.height;
    drop(accepted);
    vm.reject_pooled(&pooled.tx, reason, height)
}

/// Verifies a block and executes it on the state that `parent` shows. Order and texts are the reference's.
pub(crate) fn verify(
    vm: &Xvm,
    parent: &dyn KvRead,
    bytes: &[u8],
    at: &BuildContext,
) -> Result<ExecutedBlock, BlockError> {
    let block = Block::parse(bytes).map_err(invalid)?;
    if !block.merkle_root().is_zero() {
        return Err(invalid(format!("unexpected merkle root: {}", block.merkle_root())));
    }
    not_too_early(&block, at.now_ms)?;
    if block.txs().is_empty() {
        return Err(invalid("block contains no transactions"));
    }
    // A transaction in the pool has been checked before, signatures included.
    let known: Vec<_> = block.txs().iter().map(|tx| vm.mempool.get(&tx.id())).collect();
    for (tx, known) in block.txs().iter().zip(&known) {
        if !known.as_ref().is_some_and(|pooled| pooled.well_formed) {
            syntactic::verify(tx, vm.params()).map_err(invalid)?;
        }
    }
    let tip = ChainState::new(parent, vm.scope()).tip()?;
    if block.parent_id() != tip.id {
        return Err(invalid(format!("parent block {} is not {}", block.parent_id(), tip.id)));
    }
    let expected = tip.height.saturating_add(1);
    if block.height() != expected {
        let got = block.height();
        return Err(invalid(format!(
            "block has incorrect height: expected height {expected}, got height {got}"
        )));
    }
    if block.time_s() < tip.time_s {
        return Err(invalid(format!(
            "proposed timestamp before current chain time: proposed timestamp ({}), chain time ({})",
            block.time_s(),
            tip.time_s
        )));
    }
    let mut execution = BlockExecution::new(vm.rules(), parent, tip, block.time_s(), at);
    for (tx, known) in block.txs().iter().zip(&known) {
        let tx = known.as_ref().map_or(tx, |pooled| &pooled.tx);
        execution.apply(tx).map_err(|error| match error {
            ApplyError::Storage(error) => error.into(),
            ApplyError::Rule(_) | ApplyError::ImportedTwice | ApplyError::ImportedByAncestor => {
                invalid(error)
            }
        })?;
    }
    Ok(execution.finish(&block)?)
}

/// A block that is ahead of the clock is waited for (docs/decisions.md, "Time in a block").
fn not_too_early(block: &Block, now_ms: u64) -> Result<(), BlockError> {
    let earliest_s = block.time_s().saturating_sub(MAX_FUTURE_S);
    if earliest_s <= now_ms / 1000 {
        return Ok(());
    }
    Err(BlockError::NotYet {
        until_ms: earliest_s.saturating_mul(1000),
        reason: format!(
            "proposed timestamp is too far in the future relative to local time, proposed time ({}), local time ({})",
            block.time_s(),
            now_ms / 1000
        ),
    })
}

fn invalid(reason: impl ToString) -> BlockError {
    BlockError::Invalid(reason.to_string())
}
