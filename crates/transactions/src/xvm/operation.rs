//! Runs operations of the feature extensions: minting, NFT transfers, burning.

use std::cmp::Ordering;

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::AssetId;
use esker_utxo::{FxOperation, UtxoId};

use super::base::BaseTx;

/// Runs operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationTx {
    /// Pays the fee.
    pub base: BaseTx,
    /// At least one; strictly ascending by encoded form.
    pub operations: Vec<Operation>,
}

/// An operation on UTXOs of one asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The asset of the consumed and of the produced outputs.
    pub asset_id: AssetId,
    /// The UTXOs that it consumes; strictly ascending.
    pub utxo_ids: Vec<UtxoId>,
    /// The operation of the feature extension.
    pub op: FxOperation,
}

impl Operation {
    /// Whether a list has the order that the reference asks for: strictly ascending by encoded form.
    pub fn is_sorted_and_unique(operations: &[Self]) -> bool {
        let encoded: Vec<Vec<u8>> = operations.iter().map(Encode::to_versioned_bytes).collect();
        encoded.is_sorted_by(|a, b| a.cmp(b) == Ordering::Less)
    }

    /// Brings a list into that order.
    pub fn sort(operations: &mut [Self]) {
        operations.sort_by_cached_key(Encode::to_versioned_bytes);
    }
}

impl Encode for Operation {
    fn encode(&self, w: &mut Writer) {
        w.id(&self.asset_id);
        w.values(&self.utxo_ids);
        self.op.encode(w);
    }
}

impl Decode for Operation {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { asset_id: r.id()?, utxo_ids: r.values()?, op: FxOperation::decode(r)? })
    }
}

impl Encode for OperationTx {
    fn encode(&self, w: &mut Writer) {
        self.base.encode(w);
        w.values(&self.operations);
    }
}

impl Decode for OperationTx {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { base: BaseTx::decode(r)?, operations: r.values()? })
    }
}
