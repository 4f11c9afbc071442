//! Exports amounts to another chain.

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::ChainId;
use esker_utxo::TransferableOutput;

use super::base::BaseTx;

/// Puts outputs into shared memory for another chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportTx {
    /// Inputs, and what stays here.
    pub base: BaseTx,
    /// The chain that may import.
    pub destination_chain: ChainId,
    /// At least one; sorted by asset and encoded output.
    pub exported_outputs: Vec<TransferableOutput>,
}

impl Encode for ExportTx {
    fn encode(&self, w: &mut Writer) {
        self.base.encode(w);
        w.id(&self.destination_chain);
        w.values(&self.exported_outputs);
    }
}

impl Decode for ExportTx {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            base: BaseTx::decode(r)?,
            destination_chain: r.id()?,
            exported_outputs: r.values()?,
        })
    }
}
