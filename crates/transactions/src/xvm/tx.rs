//! The signed transaction.

use esker_primitives::ids::TxId;
use esker_utxo::{CredentialSlot, Output, ProducesUtxos, SignedTx, Unsigned, Utxo, UtxoId};

use super::UnsignedTx;

/// A signed transaction. Its credentials are those of the inputs, then of the operations or imported inputs.
pub type Tx = SignedTx<UnsignedTx>;

impl Unsigned for UnsignedTx {
    type Slot = CredentialSlot;

    fn shared(slot: &CredentialSlot) -> Option<&CredentialSlot> {
        Some(slot)
    }
}

impl ProducesUtxos for UnsignedTx {
    fn produced_utxos(&self, id: TxId) -> impl Iterator<Item = Utxo> {
        (0..).zip(self.produced()).map(move |(output_index, (asset_id, output))| Utxo {
            utxo_id: UtxoId { tx_id: id, output_index },
            // The outputs of a new asset's initial states are of that asset, which the transaction names.
            asset_id: asset_id.unwrap_or(id),
            output,
        })
    }

    /// Their indices continue those of the outputs.
    fn exported_utxos(&self, id: TxId) -> impl Iterator<Item = Utxo> {
        let here = self.base().outputs.iter().map(|_| None);
        let exported = self.exported_outputs().iter().map(Some);
        (0..).zip(here.chain(exported)).filter_map(move |(output_index, out)| {
            let out = out?;
            Some(Utxo {
                utxo_id: UtxoId { tx_id: id, output_index },
                asset_id: out.asset_id,
                output: Output::SecpTransfer(out.output.clone()),
            })
        })
    }
}
