//! Exports: balances of accounts become UTXOs for another chain.

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::{ChainId, TxId};
use esker_utxo::{Output, TransferableOutput, Utxo, UtxoId};

use super::EvmInput;
use super::type_id::translated;

/// Takes amounts from accounts, and puts UTXOs for another chain into shared memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnsignedExport {
    /// The network.
    pub network_id: u32,
    /// This chain.
    pub blockchain_id: ChainId,
    /// The chain that may import.
    pub destination_chain: ChainId,
    /// Strictly ascending by address and asset.
    pub inputs: Vec<EvmInput>,
    /// At least one; ascending by asset and encoded output.
    pub exported_outputs: Vec<TransferableOutput>,
}

impl UnsignedExport {
    /// UTXOs that join shared memory once the transaction, named `id`, is accepted, in the order of their
    /// indices.
    pub fn exported_utxos(&self, id: TxId) -> impl Iterator<Item = Utxo> {
        (0..).zip(&self.exported_outputs).map(move |(output_index, out)| Utxo {
            utxo_id: UtxoId { tx_id: id, output_index },
            asset_id: out.asset_id,
            output: Output::SecpTransfer(out.output.clone()),
        })
    }
}

impl Encode for UnsignedExport {
    fn encode(&self, w: &mut Writer) {
        w.u32(self.network_id);
        w.id(&self.blockchain_id);
        w.id(&self.destination_chain);
        w.values(&self.inputs);
        w.values(&self.exported_outputs);
    }
}

impl Decode for UnsignedExport {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            network_id: r.u32()?,
            blockchain_id: r.id()?,
            destination_chain: r.id()?,
            inputs: r.values()?,
            exported_outputs: r.values().map_err(translated)?,
        })
    }
}
