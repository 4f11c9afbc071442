//! Creates an asset: its description and first outputs. The transaction's ID is the asset's.

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_utxo::Output;

use super::base::BaseTx;

/// Creates an asset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateAssetTx {
    /// Pays the fee.
    pub base: BaseTx,
    /// Bytes, for the codec checks no UTF-8: only genesis assets may be other than ASCII.
    pub name: Vec<u8>,
    /// Bytes, as the name.
    pub symbol: Vec<u8>,
    /// Decimal places of the displayed unit.
    pub denomination: u8,
    /// First outputs, strictly ascending by extension.
    pub states: Vec<InitialState>,
}

/// First outputs of an asset under one feature extension; that it is listed lets the asset use it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitialState {
    /// Index of the extension. The kinds of the outputs are not compared with it.
    pub fx_index: u32,
    /// Sorted by encoded output.
    pub outputs: Vec<Output>,
}

impl CreateAssetTx {
    /// Whether outputs and operations of the extension `fx_index` may be of this asset.
    pub fn supports_fx(&self, fx_index: u32) -> bool {
        self.states.iter().any(|state| state.fx_index == fx_index)
    }
}

impl Encode for InitialState {
    fn encode(&self, w: &mut Writer) {
        w.u32(self.fx_index);
        w.values(&self.outputs);
    }
}

impl Decode for InitialState {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { fx_index: r.u32()?, outputs: r.values()? })
    }
}

impl Encode for CreateAssetTx {
    fn encode(&self, w: &mut Writer) {
        self.base.encode(w);
        w.string_bytes(&self.name);
        w.string_bytes(&self.symbol);
        w.u8(self.denomination);
        w.values(&self.states);
    }
}

impl Decode for CreateAssetTx {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            base: BaseTx::decode(r)?,
            name: r.string_bytes()?.to_vec(),
            symbol: r.string_bytes()?.to_vec(),
            denomination: r.u8()?,
            states: r.values()?,
        })
    }
}
