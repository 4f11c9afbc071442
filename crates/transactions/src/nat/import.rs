//! Imports: UTXOs of another chain become balances of accounts.

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::ChainId;
use esker_utxo::TransferableInput;

use super::EvmOutput;
use super::type_id::translated;

/// Consumes UTXOs that another chain put into shared memory, and pays accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnsignedImport {
    /// The network.
    pub network_id: u32,
    /// This chain.
    pub blockchain_id: ChainId,
    /// The chain that exported.
    pub source_chain: ChainId,
    /// At least one; strictly ascending by UTXO.
    pub imported_inputs: Vec<TransferableInput>,
    /// Who is paid; strictly ascending by address and asset.
    pub outputs: Vec<EvmOutput>,
}

impl Encode for UnsignedImport {
    fn encode(&self, w: &mut Writer) {
        w.u32(self.network_id);
        w.id(&self.blockchain_id);
        w.id(&self.source_chain);
        w.values(&self.imported_inputs);
        w.values(&self.outputs);
    }
}

impl Decode for UnsignedImport {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            network_id: r.u32()?,
            blockchain_id: r.id()?,
            source_chain: r.id()?,
            imported_inputs: r.values().map_err(translated)?,
            outputs: r.values()?,
        })
    }
}
