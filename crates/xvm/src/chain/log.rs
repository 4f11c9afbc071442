//! Log lines about accepted transactions.

use esker_chain::{ChainContext, Transfer, TransferKind};
use esker_transactions::xvm::{Tx, UnsignedTx};

/// Logs what an accepted import or export moved, on both chains.
pub(crate) fn accepted(tx: &Tx, height: u64, context: &ChainContext) {
    let transfer = match tx.unsigned() {
        UnsignedTx::Import(unsigned) => {
            let inputs = unsigned.imported_inputs.iter();
            let amounts = inputs.map(|input| (input.asset_id, input.input.amount));
            Transfer::new(tx.id(), TransferKind::Import, unsigned.source_chain, height, amounts)
        }
        UnsignedTx::Export(unsigned) => {
            let outputs = unsigned.exported_outputs.iter();
            let amounts = outputs.map(|out| (out.asset_id, out.output.amount));
            let peer = unsigned.destination_chain;
            Transfer::new(tx.id(), TransferKind::Export, peer, height, amounts)
        }
        UnsignedTx::Base(_) | UnsignedTx::CreateAsset(_) | UnsignedTx::Operation(_) => return,
    };
    context.log_transfer(&transfer);
}
