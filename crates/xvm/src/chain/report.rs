//! The chain in figures: for health checks, metrics and logs.

use std::sync::atomic::Ordering;

use esker_chain::{BlockFigures, BlockReport, ChainError, ChainStats, ExecutedBlock, TxReport};
use esker_storage::StorageError;

use super::parts::Xvm;
use crate::execute::BlockPayload;
use crate::state::IndexProgress;
use crate::state::tables::TIP;

/// The result of the chain's health check.
pub(super) fn health(vm: &Xvm) -> Result<String, ChainError> {
    let reader = vm.context.store.snapshot()?;
    let tip = TIP.get(reader.as_ref(), vm.scope(), &())?;
    let tip = tip.ok_or_else(|| StorageError::Corrupted("no last block".into()))?;
    let height = match vm.index.progress(tip.height) {
        IndexProgress::Building { indexed, height } => {
            format!("height {height}, address transactions indexed up to {indexed}")
        }
        IndexProgress::Off | IndexProgress::Complete | IndexProgress::Unfillable { .. } => {
            format!("height {}", tip.height)
        }
    };
    Ok(match vm.first_block() {
        0 => height,
        first => format!("{height}, history from block {first}"),
    })
}

/// A block in numbers.
pub(super) fn block_figures(block: &ExecutedBlock) -> BlockFigures {
    let txs = BlockPayload::from_executed(block).map_or(0, |payload| payload.txs.len() as u64);
    BlockFigures { hash: block.id.to_string(), is_empty: txs == 0, txs, ..BlockFigures::default() }
}

/// A block with its transactions.
pub(super) fn block_report(block: &ExecutedBlock) -> BlockReport {
    let txs = BlockPayload::from_executed(block).map_or(&[][..], |payload| &payload.txs);
    let txs = txs.iter().map(|tx| TxReport {
        id: tx.id().to_string(),
        kind: Some(tx.unsigned().kind()),
        ..TxReport::default()
    });
    BlockReport { hash: block.id.to_string(), txs: txs.collect() }
}

/// The chain in numbers.
pub(super) fn stats(vm: &Xvm) -> ChainStats {
    let (txs, bytes) = vm.mempool.size();
    ChainStats {
        height: vm.accepted_height(),
        first_block: vm.first_block(),
        last_block_s: vm.accepted_time.load(Ordering::Relaxed),
        mempool_txs: txs as u64,
        mempool_bytes: bytes as u64,
        accepted_txs: vm.accepted_txs.load(Ordering::Relaxed),
        gas: None,
    }
}
