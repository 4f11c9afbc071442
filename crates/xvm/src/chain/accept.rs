//! The consequences of a decision about a block: its index rows, pools, statuses and subscribers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use esker_chain::ExecutedBlock;
use esker_primitives::TxId;
use esker_storage::{PendingWrites, StorageResult};
use esker_transactions::xvm::Tx;

use super::events::BlockEvent;
use super::log;
use super::parts::Xvm;
use crate::execute::BlockPayload;
use crate::pool::{Pooled, RejectKind};
use crate::state::ChainState;
use crate::state::tables::ACCEPTED_AT;

/// Adds the rows beside the state to the commit of accepted blocks.
pub(super) fn extend_commit(
    vm: &Xvm,
    blocks: &[Arc<ExecutedBlock>],
    accepted_ms: u64,
    commit: &mut PendingWrites<'_>,
) {
    for block in blocks {
        ACCEPTED_AT.put(commit, vm.scope(), &block.height, &accepted_ms);
    }
    // A missing row does not affect validity. If the store fails, its own errors report that.
    if let Err(error) = add_index_rows(vm, blocks, accepted_ms, commit) {
        let height = blocks.last().map(|block| block.height);
        tracing::error!(%error, height, "blocks are committed without their index rows");
    }
}

/// Updates memory after the commit of a block.
pub(super) fn accepted(vm: &Xvm, block: &Arc<ExecutedBlock>, accepted_ms: u64) {
    vm.set_accepted(block.height, block.timestamp_ms / 1000);
    let Some(payload) = BlockPayload::from_executed(block) else { return };
    for tx in &payload.txs {
        log::accepted(tx, block.height, &vm.context);
    }
    let ids: Vec<TxId> = payload.txs.iter().map(Tx::id).collect();
    let count = ids.len() as u64;
    vm.accepted_txs.fetch_add(count, Ordering::Relaxed);
    vm.mempool.accepted(block.height, &ids, &payload.consumed);
    let impossible = conflicting_txs(vm, payload);
    for (id, reason) in impossible {
        // Those that came after the commit was extended are new here, and saved with the next commit.
        vm.counters.count_rejected(RejectKind::Conflict);
        vm.rejections.add_once(id, reason, accepted_ms);
        vm.mempool.remove([&id]);
        vm.wallet_decided(&id);
    }
    vm.rejections.on_committed();
    vm.undecided.remove(block);
    for id in &ids {
        vm.wallet_decided(id);
    }
    if let Some(waits) = &vm.context.block_waits {
        waits.settle(ids.len(), vm.mempool.size().0 > 0, |tx| {
            vm.mempool.contains(tx) || vm.wallet.contains(tx)
        });
    }
    vm.events.accepted(block.height, || Some(BlockEvent::executed(block, payload)));
    vm.maintenance.wake();
}

/// Takes back the transactions of an abandoned block.
pub(super) fn abandoned(vm: &Xvm, block: &Arc<ExecutedBlock>) {
    vm.undecided.remove(block);
    for tx in BlockPayload::from_executed(block).into_iter().flat_map(|payload| &payload.txs) {
        // Most never left the pool; those of other nodes' blocks are new to it. Where the store fails, the builder
        // finds out.
        if vm.mempool.contains(&tx.id()) || !is_possible(vm, tx).unwrap_or(true) {
            continue;
        }
        if let Err(error) = vm.pool(Pooled::new(tx.clone(), true))
            && !vm.undecided.has_tx(&tx.id())
        {
            let reason = format!("its block was abandoned: {error}");
            vm.reject(tx.id(), RejectKind::of_return(&error), reason);
        }
    }
    vm.context.work.notify_one();
}

/// Waiting transactions that a block makes impossible, with the reason.
fn conflicting_txs(vm: &Xvm, payload: &BlockPayload) -> Vec<(TxId, String)> {
    let conflicts = vm.mempool.conflicts(&payload.consumed);
    let reason = |winner| format!("conflicts with accepted transaction {winner}");
    let lost = |(loser, winner)| vm.with_descendants(loser, reason(winner));
    conflicts.into_iter().flat_map(lost).collect()
}

/// Whether a transaction of an abandoned block may still be accepted. One that can't is rejected.
fn is_possible(vm: &Xvm, tx: &Tx) -> StorageResult<bool> {
    let id = tx.id();
    let reader = vm.context.store.snapshot()?;
    if ChainState::new(reader.as_ref(), vm.scope()).has_tx(&id)? {
        return Ok(false);
    }
    let now_s = vm.context.clock.now_s();
    let pooled = Pooled::new(tx.clone(), true);
    let Some(reason) = vm.refusal_in_pool(&pooled, reader.as_ref(), now_s)? else {
        return Ok(true);
    };
    // Rejected already, for the transaction that was accepted in its place.
    if vm.rejections.get(reader.as_ref(), vm.scope(), &id)?.is_some() {
        return Ok(false);
    }
    if vm.undecided.may_provide_inputs(tx) {
        return Ok(true);
    }
    vm.reject(id, RejectKind::Invalid, reason);
    Ok(false)
}

fn add_index_rows(
    vm: &Xvm,
    blocks: &[Arc<ExecutedBlock>],
    accepted_ms: u64,
    commit: &mut PendingWrites<'_>,
) -> StorageResult<()> {
    for block in blocks {
        vm.index.extend_commit(vm.scope(), block, commit)?;
        for (id, reason) in
            BlockPayload::from_executed(block).iter().flat_map(|p| conflicting_txs(vm, p))
        {
            // Unseen until the commit is done: the pool still has the transaction.
            vm.rejections.add(id, reason, accepted_ms);
        }
    }
    vm.rejections.extend_commit(vm.scope(), accepted_ms, commit)
}
