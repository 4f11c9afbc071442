//! Log lines about atomic transactions.

use esker_chain::{ChainContext, Transfer, TransferKind};
use esker_primitives::ids::AssetId;
use esker_transactions::nat::{AtomicTx, UnsignedAtomicTx};

/// Logs what an accepted transaction moved, on both chains.
pub(crate) fn accepted(tx: &AtomicTx, height: u64, context: &ChainContext) {
    let (kind, amounts): (_, Vec<(AssetId, u64)>) = match tx.unsigned() {
        UnsignedAtomicTx::Import(tx) => {
            let inputs = tx.imported_inputs.iter();
            let amounts = inputs.map(|input| (input.asset_id, input.input.amount));
            (TransferKind::Import, amounts.collect())
        }
        UnsignedAtomicTx::Export(tx) => {
            let outputs = tx.exported_outputs.iter();
            let amounts = outputs.map(|out| (out.asset_id, out.output.amount));
            (TransferKind::Export, amounts.collect())
        }
    };
    let peer = tx.unsigned().peer_chain();
    context.log_transfer(&Transfer::new(tx.id(), kind, peer, height, amounts));
}
