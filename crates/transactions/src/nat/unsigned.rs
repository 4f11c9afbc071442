//! Any unsigned transaction, and the questions that are asked of both kinds.

use std::collections::BTreeSet;

use alloy_primitives::Address;
use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::{AssetId, ChainId, Id};

use super::account_nonce::AccountNonce;
use super::amounts::{AmountError, sum};
use super::{GAS_PER_SIGNATURE, UnsignedExport, UnsignedImport, type_id};

/// An unsigned transaction of either kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnsignedAtomicTx {
    /// Imports from another chain.
    Import(UnsignedImport),
    /// Exports to another chain.
    Export(UnsignedExport),
}

impl UnsignedAtomicTx {
    /// Type ID in the codec.
    pub const fn type_id(&self) -> u32 {
        match self {
            Self::Import(_) => type_id::IMPORT,
            Self::Export(_) => type_id::EXPORT,
        }
    }

    /// The network that it is for.
    pub const fn network_id(&self) -> u32 {
        match self {
            Self::Import(tx) => tx.network_id,
            Self::Export(tx) => tx.network_id,
        }
    }

    /// The chain that it is for.
    pub const fn blockchain_id(&self) -> ChainId {
        match self {
            Self::Import(tx) => tx.blockchain_id,
            Self::Export(tx) => tx.blockchain_id,
        }
    }

    /// The other chain: where the assets come from, or go to.
    pub const fn peer_chain(&self) -> ChainId {
        match self {
            Self::Import(tx) => tx.source_chain,
            Self::Export(tx) => tx.destination_chain,
        }
    }

    /// The keys that two transactions can't both consume: an import's UTXOs, an export's nonces
    /// (docs/protocol/atomic-transactions.md, "Conflict keys").
    pub fn conflict_keys(&self) -> BTreeSet<Id> {
        match self {
            Self::Import(tx) => {
                tx.imported_inputs.iter().map(|input| input.utxo_id.input_id()).collect()
            }
            Self::Export(tx) => {
                tx.inputs.iter().map(|input| nonce_key(&input.address, input.nonce)).collect()
            }
        }
    }

    /// The nonces of accounts that an export uses, one for each input; none of an import.
    pub fn account_nonces(&self) -> impl Iterator<Item = AccountNonce> {
        let inputs = match self {
            Self::Import(_) => &[],
            Self::Export(tx) => tx.inputs.as_slice(),
        };
        inputs.iter().map(|input| AccountNonce { account: input.address, nonce: input.nonce })
    }

    /// The amount of an asset that it consumes and does not produce again: the fee, and a tip.
    ///
    /// # Errors
    /// A sum exceeds 64 bits, or more is produced than consumed.
    pub fn burned(&self, asset_id: &AssetId) -> Result<u64, AmountError> {
        let (consumed, produced) = self.consumed_and_produced(asset_id);
        consumed?.checked_sub(produced?).ok_or(AmountError::Underflow)
    }

    /// The sums of an asset that go in and come out.
    fn consumed_and_produced(
        &self,
        asset_id: &AssetId,
    ) -> (Result<u64, AmountError>, Result<u64, AmountError>) {
        match self {
            Self::Import(tx) => {
                let inputs = tx.imported_inputs.iter().filter(|input| input.asset_id == *asset_id);
                let outputs = tx.outputs.iter().filter(|output| output.asset_id == *asset_id);
                let consumed = sum(inputs.map(|input| input.input.amount));
                (consumed, sum(outputs.map(|output| output.amount)))
            }
            Self::Export(tx) => {
                let inputs = tx.inputs.iter().filter(|input| input.asset_id == *asset_id);
                let outputs = tx.exported_outputs.iter().filter(|out| out.asset_id == *asset_id);
                let consumed = sum(inputs.map(|input| input.amount));
                (consumed, sum(outputs.map(|output| output.output.amount)))
            }
        }
    }

    /// Gas of the signatures that the transaction calls for.
    pub(super) fn signature_gas(&self) -> u64 {
        let signatures = match self {
            Self::Import(tx) => {
                let indices = tx.imported_inputs.iter().map(|input| input.input.sig_indices.len());
                indices.fold(0, usize::saturating_add)
            }
            Self::Export(tx) => tx.inputs.len(),
        };
        (signatures as u64).saturating_mul(GAS_PER_SIGNATURE)
    }
}

/// An account's nonce as a name that no UTXO has: nonce (u64), length of the address (u32), address.
pub fn nonce_key(account: &Address, nonce: u64) -> Id {
    let mut w = Writer::with_capacity(Id::LEN);
    w.u64(nonce);
    w.bytes(account.as_slice());
    Id::from_slice(w.as_slice()).expect("8, 4 and 20 bytes")
}

/// Type ID, then the fields.
impl Encode for UnsignedAtomicTx {
    fn encode(&self, w: &mut Writer) {
        w.type_id(self.type_id());
        match self {
            Self::Import(tx) => tx.encode(w),
            Self::Export(tx) => tx.encode(w),
        }
    }
}

impl Decode for UnsignedAtomicTx {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        match r.type_id()? {
            type_id::IMPORT => Ok(Self::Import(UnsignedImport::decode(r)?)),
            type_id::EXPORT => Ok(Self::Export(UnsignedExport::decode(r)?)),
            other => Err(type_id::wrong_type_id(other, type_id::UNSIGNED_TX)),
        }
    }
}
