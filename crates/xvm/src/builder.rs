//! Building and verifying blocks (docs/protocol/x-chain-blocks.md, "X-Chain blocks").

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_chain::{BlockError, BuildContext, Built, ChainError, ExecutedBlock};
use esker_primitives::TxId;
use esker_storage::KvRead;

use crate::block::Block;
use crate::execute::{ApplyError, BlockExecution, BlockPayload};
use crate::mempool::Pooled;
use crate::state::ChainState;
use crate::txs::Tx;
use crate::verify::syntactic;
use crate::vm::Xvm;

/// Bytes of transactions at which a block is full.
pub const TARGET_BLOCK_BYTES: usize = 128 << 10;
/// How far a block may be ahead of the clock, in seconds.
pub const MAX_FUTURE_S: u64 = 10;

/// Transactions of a block from which on the next one keeps its distance ([`crate::XvmConfig::block_spacing_ms`]).
const BUSY_BLOCK_TXS: u64 = 8;

/// Keeps blocks apart while there is much to do, since each costs a commit: a full block costs a third per
/// transaction of what small ones do. A transaction that comes alone never waits.
#[derive(Debug)]
pub(crate) struct Spacing {
    spacing_ms: u64,
    /// Unix ms before which no block is built, unless it is full.
    not_before_ms: AtomicU64,
    /// Until when the builder said it would wait, Unix ms; 0 if it did not.
    waiting_until_ms: AtomicU64,
}

impl Spacing {
    pub(crate) const fn new(spacing_ms: u64) -> Self {
        Self { spacing_ms, not_before_ms: AtomicU64::new(0), waiting_until_ms: AtomicU64::new(0) }
    }

    /// A block of so many transactions was accepted.
    pub(crate) fn accepted(&self, txs: u64, accepted_ms: u64) {
        let wait_ms = if txs < BUSY_BLOCK_TXS { 0 } else { self.spacing_ms };
        self.not_before_ms.store(accepted_ms.saturating_add(wait_ms), Ordering::SeqCst);
    }

    /// When the next block may come, if that is later than now. The builder keeps to it, and asks before it looks
    /// at the pool, whose `bytes` are given by a call: what is added after that look must be told to the machine.
    fn wait(&self, now_ms: u64, bytes: impl FnOnce() -> usize) -> Option<u64> {
        self.waiting_until_ms.store(0, Ordering::SeqCst);
        let until_ms = self.not_before_ms.load(Ordering::SeqCst);
        // A clock that was set back must not stop the chain.
        let far = until_ms > now_ms.saturating_add(self.spacing_ms);
        let bytes = bytes();
        if now_ms >= until_ms || far || bytes == 0 || bytes >= TARGET_BLOCK_BYTES {
            return None;
        }
        self.waiting_until_ms.store(until_ms, Ordering::SeqCst);
        Some(until_ms)
    }

    /// Whether the builder wakes by itself for what waits: `bytes` are the pool's, the newcomer included.
    pub(crate) fn is_waiting(&self, now_ms: u64, bytes: usize) -> bool {
        now_ms < self.waiting_until_ms.load(Ordering::SeqCst) && bytes < TARGET_BLOCK_BYTES
    }
}

/// Builds a block from the pool on the state that `parent` shows. Transactions that can't follow there are
/// rejected, unless another outcome of the undecided blocks may still make them valid.
pub(crate) fn build(vm: &Xvm, parent: &dyn KvRead, at: &BuildContext) -> Result<Built, ChainError> {
    if let Some(until_ms) = vm.spacing.wait(at.now_ms, || vm.mempool.size().1) {
        return Ok(Built::Later(until_ms));
    }
    let tip = ChainState::new(parent, vm.scope()).tip()?;
    let time_s = (at.now_ms / 1000).max(tip.time_s);
    let taken: HashSet<TxId> = at
        .ancestors
        .iter()
        .filter_map(|block| BlockPayload::of(block))
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

/// Adds a transaction to the block; false if it can't follow there.
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
    let now_s = at.now_ms / 1000;
    let Some(reason) = vm.refusal_after_pool(pooled, accepted.as_ref(), now_s)? else {
        return Ok(());
    };
    if at.has_undecided && vm.undecided.may_bring(&pooled.tx) {
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
    // A transaction that waits in the pool has been looked at before, signatures included.
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
