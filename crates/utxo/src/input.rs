//! Inputs: the outputs that a transaction consumes, and the owners that sign for them.

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::AssetId;

use crate::fx::FxError;
use crate::type_id::{self, interface};
use crate::utxo::UtxoId;

/// The amount and the signers of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TransferInput {
    /// Must equal the consumed output's amount.
    pub amount: u64,
    /// Positions, among the output's addresses, of those who sign; strictly ascending.
    pub sig_indices: Vec<u32>,
}

impl TransferInput {
    /// Rules that an input must meet by itself.
    pub fn verify(&self) -> Result<(), FxError> {
        if self.amount == 0 {
            Err(FxError::InputHasNoValue)
        } else {
            verify_indices(&self.sig_indices)
        }
    }
}

/// The rule of signature indices: strictly ascending.
pub(crate) fn verify_indices(sig_indices: &[u32]) -> Result<(), FxError> {
    if sig_indices.is_sorted_by(|a, b| a < b) {
        Ok(())
    } else {
        Err(FxError::IndicesNotSortedUnique)
    }
}

pub(crate) fn encode_indices(sig_indices: &[u32], w: &mut Writer) {
    w.len(sig_indices.len());
    for index in sig_indices {
        w.u32(*index);
    }
}

pub(crate) fn decode_indices(r: &mut Reader<'_>) -> Result<Vec<u32>, CodecError> {
    r.slice(Reader::u32)
}

impl Encode for TransferInput {
    fn encode(&self, w: &mut Writer) {
        w.u64(self.amount);
        encode_indices(&self.sig_indices, w);
    }
}

impl Decode for TransferInput {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { amount: r.u64()?, sig_indices: decode_indices(r)? })
    }
}

/// An input of a transaction: the UTXO that it consumes. Only the secp256k1 extension has such inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TransferableInput {
    /// The consumed UTXO.
    pub utxo_id: UtxoId,
    /// Must equal the consumed UTXO's asset.
    pub asset_id: AssetId,
    /// Amount and signers.
    pub input: TransferInput,
}

impl TransferableInput {
    /// Whether a list has the order that the reference requires: strictly ascending by UTXO.
    pub fn is_sorted_and_unique(inputs: &[Self]) -> bool {
        inputs.is_sorted_by(|a, b| a.utxo_id < b.utxo_id)
    }
}

impl Encode for TransferableInput {
    fn encode(&self, w: &mut Writer) {
        self.utxo_id.encode(w);
        w.id(&self.asset_id);
        w.type_id(type_id::SECP_TRANSFER_INPUT);
        self.input.encode(w);
    }
}

impl Decode for TransferableInput {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let utxo_id = UtxoId::decode(r)?;
        let asset_id = r.id()?;
        let type_id = r.type_id()?;
        if type_id != type_id::SECP_TRANSFER_INPUT {
            return Err(type_id::wrong_type_id(type_id, interface::TRANSFERABLE_IN));
        }
        Ok(Self { utxo_id, asset_id, input: TransferInput::decode(r)? })
    }
}
