//! The base transaction: moves amounts of assets. Every other type contains one.

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::ChainId;
use esker_utxo::{TransferableInput, TransferableOutput};

/// Greatest length of a memo, in bytes.
pub const MAX_MEMO_LEN: usize = 256;

/// The base transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseTx {
    /// The network that it is for.
    pub network_id: u32,
    /// The chain that it is for.
    pub blockchain_id: ChainId,
    /// Amounts produced; sorted by asset and encoded output.
    pub outputs: Vec<TransferableOutput>,
    /// Amounts consumed; strictly ascending by UTXO.
    pub inputs: Vec<TransferableInput>,
    /// Anything, at most [`MAX_MEMO_LEN`] bytes.
    pub memo: Vec<u8>,
}

impl Encode for BaseTx {
    fn encode(&self, w: &mut Writer) {
        w.u32(self.network_id);
        w.id(&self.blockchain_id);
        w.values(&self.outputs);
        w.values(&self.inputs);
        w.bytes(&self.memo);
    }
}

impl Decode for BaseTx {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            network_id: r.u32()?,
            blockchain_id: r.id()?,
            outputs: r.values()?,
            inputs: r.values()?,
            memo: r.bytes()?.to_vec(),
        })
    }
}
