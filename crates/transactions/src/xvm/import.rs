//! Imports what another chain exported.

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::ChainId;
use esker_utxo::TransferableInput;

use super::base::BaseTx;

/// Consumes UTXOs that another chain put into shared memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportTx {
    /// Outputs, and local inputs if any.
    pub base: BaseTx,
    /// The chain that exported.
    pub source_chain: ChainId,
    /// At least one; strictly ascending by UTXO.
    pub imported_inputs: Vec<TransferableInput>,
}

impl Encode for ImportTx {
    fn encode(&self, w: &mut Writer) {
        self.base.encode(w);
        w.id(&self.source_chain);
        w.values(&self.imported_inputs);
    }
}

impl Decode for ImportTx {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { base: BaseTx::decode(r)?, source_chain: r.id()?, imported_inputs: r.values()? })
    }
}
