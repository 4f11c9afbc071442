//! Unspent outputs and their names.

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::{AssetId, Id, TxId};

use crate::output::Output;

/// Names an output by the transaction that produced it. Ordered by transaction ID, then index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtxoId {
    /// The producing transaction.
    pub tx_id: TxId,
    /// Its position among all outputs of that transaction.
    pub output_index: u32,
}

impl UtxoId {
    /// `sha256(be64(output_index) || tx_id)`: the name of the output as an input, and the key of shared
    /// memory.
    pub fn input_id(&self) -> Id {
        self.tx_id.prefixed(u64::from(self.output_index))
    }
}

impl Encode for UtxoId {
    fn encode(&self, w: &mut Writer) {
        w.id(&self.tx_id);
        w.u32(self.output_index);
    }
}

impl Decode for UtxoId {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { tx_id: r.id()?, output_index: r.u32()? })
    }
}

/// An unspent output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Utxo {
    /// Its name.
    pub utxo_id: UtxoId,
    /// The asset that it is of.
    pub asset_id: AssetId,
    /// The output.
    pub output: Output,
}

impl Encode for Utxo {
    fn encode(&self, w: &mut Writer) {
        self.utxo_id.encode(w);
        w.id(&self.asset_id);
        self.output.encode(w);
    }
}

impl Decode for Utxo {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { utxo_id: UtxoId::decode(r)?, asset_id: r.id()?, output: Output::decode(r)? })
    }
}
