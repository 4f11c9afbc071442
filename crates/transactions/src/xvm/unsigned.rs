//! Any unsigned transaction, and the questions that are asked of all of them.

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::AssetId;
use esker_utxo::type_id::{self, interface};
use esker_utxo::{Output, TransferableInput, TransferableOutput, UtxoId};

use super::{BaseTx, CreateAssetTx, ExportTx, ImportTx, Operation, OperationTx};

/// An unsigned transaction of any type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnsignedTx {
    /// Moves amounts.
    Base(BaseTx),
    /// Creates an asset.
    CreateAsset(CreateAssetTx),
    /// Mints, transfers NFTs, burns.
    Operation(OperationTx),
    /// Imports from another chain.
    Import(ImportTx),
    /// Exports to another chain.
    Export(ExportTx),
}

impl UnsignedTx {
    /// Type ID in the codec.
    pub const fn type_id(&self) -> u32 {
        match self {
            Self::Base(_) => type_id::BASE_TX,
            Self::CreateAsset(_) => type_id::CREATE_ASSET_TX,
            Self::Operation(_) => type_id::OPERATION_TX,
            Self::Import(_) => type_id::IMPORT_TX,
            Self::Export(_) => type_id::EXPORT_TX,
        }
    }

    /// The kind in words, for a person.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Base(_) => "transfer",
            Self::CreateAsset(_) => "create asset",
            Self::Operation(_) => "operation",
            Self::Import(_) => "import",
            Self::Export(_) => "export",
        }
    }

    /// The fields that every transaction has.
    pub const fn base(&self) -> &BaseTx {
        match self {
            Self::Base(tx) => tx,
            Self::CreateAsset(tx) => &tx.base,
            Self::Operation(tx) => &tx.base,
            Self::Import(tx) => &tx.base,
            Self::Export(tx) => &tx.base,
        }
    }

    /// Operations; none of a transaction of another type.
    pub fn operations(&self) -> &[Operation] {
        match self {
            Self::Operation(tx) => &tx.operations,
            Self::Base(_) | Self::CreateAsset(_) | Self::Import(_) | Self::Export(_) => &[],
        }
    }

    /// Imported inputs; none of a transaction of another type.
    pub fn imported_inputs(&self) -> &[TransferableInput] {
        match self {
            Self::Import(tx) => &tx.imported_inputs,
            Self::Base(_) | Self::CreateAsset(_) | Self::Operation(_) | Self::Export(_) => &[],
        }
    }

    /// Exported outputs; none of a transaction of another type.
    pub fn exported_outputs(&self) -> &[TransferableOutput] {
        match self {
            Self::Export(tx) => &tx.exported_outputs,
            Self::Base(_) | Self::CreateAsset(_) | Self::Operation(_) | Self::Import(_) => &[],
        }
    }

    /// UTXOs consumed from this chain's set: by inputs, then by operations.
    pub fn local_utxo_ids(&self) -> impl Iterator<Item = UtxoId> {
        let inputs = self.base().inputs.iter().map(|input| input.utxo_id);
        let operations = self.operations().iter().flat_map(|op| op.utxo_ids.iter().copied());
        inputs.chain(operations)
    }

    /// UTXOs consumed, here or in shared memory; two transactions that share one exclude each other.
    pub fn consumed_utxo_ids(&self) -> impl Iterator<Item = UtxoId> {
        self.local_utxo_ids().chain(self.imported_inputs().iter().map(|input| input.utxo_id))
    }

    /// Credentials that the transaction must carry: one for each input, operation and imported input.
    pub fn credentials_needed(&self) -> usize {
        self.base()
            .inputs
            .len()
            .saturating_add(self.operations().len())
            .saturating_add(self.imported_inputs().len())
    }

    /// Assets and outputs that join this chain's UTXO set, in the order of their indices: the outputs,
    /// then those of initial states or operations.
    pub(super) fn produced(&self) -> impl Iterator<Item = (Option<AssetId>, Output)> {
        let outputs = self
            .base()
            .outputs
            .iter()
            .map(|out| (Some(out.asset_id), Output::SecpTransfer(out.output.clone())));
        let states = match self {
            Self::CreateAsset(tx) => tx.states.as_slice(),
            Self::Base(_) | Self::Operation(_) | Self::Import(_) | Self::Export(_) => &[],
        };
        let initial = states.iter().flat_map(|state| &state.outputs).map(|out| (None, out.clone()));
        let operated = self
            .operations()
            .iter()
            .flat_map(|op| op.op.outputs().into_iter().map(|out| (Some(op.asset_id), out)));
        outputs.chain(initial).chain(operated)
    }
}

/// Type ID, then the fields.
impl Encode for UnsignedTx {
    fn encode(&self, w: &mut Writer) {
        w.type_id(self.type_id());
        match self {
            Self::Base(tx) => tx.encode(w),
            Self::CreateAsset(tx) => tx.encode(w),
            Self::Operation(tx) => tx.encode(w),
            Self::Import(tx) => tx.encode(w),
            Self::Export(tx) => tx.encode(w),
        }
    }
}

impl Decode for UnsignedTx {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        match r.type_id()? {
            type_id::BASE_TX => Ok(Self::Base(BaseTx::decode(r)?)),
            type_id::CREATE_ASSET_TX => Ok(Self::CreateAsset(CreateAssetTx::decode(r)?)),
            type_id::OPERATION_TX => Ok(Self::Operation(OperationTx::decode(r)?)),
            type_id::IMPORT_TX => Ok(Self::Import(ImportTx::decode(r)?)),
            type_id::EXPORT_TX => Ok(Self::Export(ExportTx::decode(r)?)),
            other => Err(type_id::wrong_type_id(other, interface::UNSIGNED_TX)),
        }
    }
}
