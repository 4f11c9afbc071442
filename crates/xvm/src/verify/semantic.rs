//! Rules that depend on state: UTXOs, assets, signatures, other chains. The order and the texts are the
//! reference's (docs/protocol/x-chain-rules.md, "Semantic rules").
//!
//! A transaction that comes here has passed the syntactic rules. Time is a parameter: at issue the clock's, in a
//! block the block's own (docs/decisions.md, "Time in a block").

use std::collections::{HashMap, HashSet};

use esker_primitives::codec::{Decode, MAX_SIZE};
use esker_primitives::{AssetId, ChainId, Id, TxId};
use esker_shared_memory::SharedMemoryError;
use esker_storage::StorageError;
use esker_transactions::xvm::{ImportTx, Operation, Tx, UnsignedTx};
use esker_utxo::fx::{Witness, nft, property, secp256k1};
use esker_utxo::{FxError, FxKind, TransferableInput, Utxo, UtxoId};
use thiserror::Error;

use super::VerifyError;
use crate::state::ChainState;

/// A transaction of the main network, accepted before operations were checked as they are now; the reference
/// exempts it (`MkvpJS13eCnEYeYi9B5zuWrU9goG9RBj7nr83U7BjrFV22a12`).
pub(crate) const EXEMPT: TxId = Id::new([
    0x2f, 0x21, 0xd5, 0x74, 0x88, 0x89, 0x2c, 0x35, 0xa3, 0x39, 0xd1, 0xbf, 0x09, 0x6f, 0x8f, 0x33,
    0xe0, 0xe6, 0x01, 0x51, 0xc3, 0xf4, 0x2a, 0x99, 0x23, 0x73, 0x5b, 0x79, 0xbf, 0x4b, 0x2e, 0x68,
]);

/// Whether the same transaction may pass although this chain's last block stays the same: time or another chain
/// can change the answer.
pub(crate) const fn may_pass_on_same_tip(error: &VerifyError, tx: &UnsignedTx) -> bool {
    matches!(error, VerifyError::Fx(FxError::TimeLocked))
        || (matches!(error, VerifyError::NotFound) && matches!(tx, UnsignedTx::Import(_)))
}

/// A rule is broken, or the store failed.
#[derive(Debug, Error)]
pub(crate) enum CheckError {
    #[error(transparent)]
    Rule(#[from] VerifyError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<FxError> for CheckError {
    fn from(error: FxError) -> Self {
        Self::Rule(error.into())
    }
}

/// The properties of the chain that the rules use beside its state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VerifyContext<'a> {
    /// This chain.
    pub(crate) chain_id: &'a ChainId,
    /// The chains with which assets can be exchanged.
    pub(crate) peers: &'a [ChainId],
    /// The number of feature extensions that it has.
    pub(crate) fx_count: u32,
    /// The transactions of another network's chain whose outputs this chain has from its beginning on.
    pub(crate) foreign_txs: &'a HashSet<TxId>,
    /// Whether an address may stand in place of its signature.
    pub(crate) allows_impersonation: bool,
}

/// Feature extensions by asset, as bits: assets never change, so what was found once holds while a state and
/// those built on it are looked at.
pub(crate) type FxBits = HashMap<AssetId, u8>;

/// Extensions of known assets, without reading the store: those of the genesis, and those found before.
#[derive(Debug)]
pub(crate) struct AssetCache<'a> {
    genesis: &'a FxBits,
    found: FxBits,
}

impl<'a> AssetCache<'a> {
    pub(crate) fn new(genesis: &'a FxBits) -> Self {
        Self { genesis, found: FxBits::new() }
    }

    fn get(&self, id: &AssetId) -> Option<u8> {
        self.genesis.get(id).or_else(|| self.found.get(id)).copied()
    }
}

/// Checks transactions against one state.
#[derive(Debug)]
pub(crate) struct Semantic<'a, 'c> {
    pub(crate) context: VerifyContext<'a>,
    pub(crate) state: ChainState<'a>,
    /// Unix seconds, for locktimes.
    pub(crate) now_s: u64,
    pub(crate) assets: &'a mut AssetCache<'c>,
}

/// The UTXOs that a valid transaction consumes.
#[derive(Debug, Default)]
pub(crate) struct Consumed {
    /// From this chain's set, each with its UTXO ID.
    pub(crate) local: Vec<(Id, Utxo)>,
    /// UTXO IDs in shared memory.
    pub(crate) imported: Vec<Id>,
}

impl Consumed {
    /// Whether it is nothing at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.local.is_empty() && self.imported.is_empty()
    }
}

impl Semantic<'_, '_> {
    /// Checks a transaction, and gives what it consumes.
    pub(crate) fn check(&mut self, tx: &Tx) -> Result<Consumed, CheckError> {
        let mut consumed = Consumed::default();
        if tx.unsigned().consumed_utxo_ids().next().is_none() && self.was_accepted(&tx.id())? {
            return Err(VerifyError::AcceptedBefore.into());
        }
        if self.context.foreign_txs.contains(&tx.id()) {
            return Err(VerifyError::OfSource.into());
        }
        self.base(tx, &mut consumed)?;
        match tx.unsigned() {
            UnsignedTx::Base(_) | UnsignedTx::CreateAsset(_) => {}
            UnsignedTx::Operation(unsigned) if tx.id() == EXEMPT => {
                for utxo_id in unsigned.operations.iter().flat_map(|op| &op.utxo_ids) {
                    let utxo = self.state.utxo(utxo_id)?;
                    consumed.local.extend(utxo.map(|utxo| (utxo_id.input_id(), utxo)));
                }
            }
            UnsignedTx::Operation(unsigned) => {
                let first_slot = unsigned.base.inputs.len();
                for (slot, operation) in (first_slot..).zip(&unsigned.operations) {
                    self.operation(tx, slot, operation, &mut consumed)?;
                }
            }
            UnsignedTx::Import(unsigned) => self.import(tx, unsigned, &mut consumed)?,
            UnsignedTx::Export(unsigned) => {
                self.same_network(&unsigned.destination_chain)?;
                for output in &unsigned.exported_outputs {
                    self.fx_usage(FxKind::Secp256k1, &output.asset_id)?;
                }
            }
        }
        Ok(consumed)
    }

    /// Inputs, then outputs.
    fn base(&mut self, tx: &Tx, consumed: &mut Consumed) -> Result<(), CheckError> {
        let base = tx.unsigned().base();
        for (slot, input) in base.inputs.iter().enumerate() {
            let (id, utxo) = self.local_utxo(&input.utxo_id)?;
            self.transfer(tx, slot, input, &utxo)?;
            consumed.local.push((id, utxo));
        }
        for output in &base.outputs {
            self.fx_usage(FxKind::Secp256k1, &output.asset_id)?;
        }
        Ok(())
    }

    /// The credential of a slot, by the rules of this network.
    fn witness<'t>(&self, tx: &'t Tx, slot: usize) -> Result<Witness<'t>, FxError> {
        let witness = tx.witness(slot).ok_or(FxError::WrongCredentialType)?;
        Ok(witness.allowing_impersonation(self.context.allows_impersonation))
    }

    fn local_utxo(&self, utxo_id: &UtxoId) -> Result<(Id, Utxo), CheckError> {
        let utxo = self.state.utxo(utxo_id)?.ok_or(VerifyError::NotFound)?;
        Ok((utxo_id.input_id(), utxo))
    }

    /// Whether an input may consume a UTXO, local or imported.
    fn transfer(
        &mut self,
        tx: &Tx,
        slot: usize,
        input: &TransferableInput,
        utxo: &Utxo,
    ) -> Result<(), CheckError> {
        if utxo.asset_id != input.asset_id {
            return Err(VerifyError::AssetMismatch.into());
        }
        let witness = self.witness(tx, slot)?;
        let fx = witness.credential.fx();
        self.fx_usage(fx, &input.asset_id)?;
        match fx {
            FxKind::Secp256k1 => {
                secp256k1::verify_transfer(&utxo.output, &input.input, witness, self.now_s)?;
            }
            FxKind::Nft => nft::verify_transfer()?,
            FxKind::Property => property::verify_transfer()?,
        }
        Ok(())
    }

    fn operation(
        &mut self,
        tx: &Tx,
        slot: usize,
        operation: &Operation,
        consumed: &mut Consumed,
    ) -> Result<(), CheckError> {
        let first = consumed.local.len();
        for utxo_id in &operation.utxo_ids {
            let (id, utxo) = self.local_utxo(utxo_id)?;
            if utxo.asset_id != operation.asset_id {
                return Err(VerifyError::AssetMismatch.into());
            }
            consumed.local.push((id, utxo));
        }
        let fx = operation.op.fx();
        self.fx_usage(fx, &operation.asset_id)?;
        let witness = self.witness(tx, slot)?;
        let utxos: Vec<_> =
            consumed.local.iter().skip(first).map(|(_, utxo)| &utxo.output).collect();
        let verify = match fx {
            FxKind::Secp256k1 => secp256k1::verify_operation,
            FxKind::Nft => nft::verify_operation,
            FxKind::Property => property::verify_operation,
        };
        Ok(verify(&operation.op, &utxos, witness, self.now_s)?)
    }

    fn import(
        &mut self,
        tx: &Tx,
        unsigned: &ImportTx,
        consumed: &mut Consumed,
    ) -> Result<(), CheckError> {
        self.same_network(&unsigned.source_chain)?;
        consumed.imported =
            unsigned.imported_inputs.iter().map(|input| input.utxo_id.input_id()).collect();
        let keys: Vec<Vec<u8>> =
            consumed.imported.iter().map(|id| id.as_bytes().to_vec()).collect();
        let values = esker_shared_memory::get(
            self.state.reader(),
            self.context.chain_id,
            &unsigned.source_chain,
            &keys,
        )
        .map_err(|error| match error {
            SharedMemoryError::Storage(error) => CheckError::Storage(error),
            SharedMemoryError::NotFound
            | SharedMemoryError::DuplicatePut { .. }
            | SharedMemoryError::DuplicateRemove { .. }
            | SharedMemoryError::Length { .. } => VerifyError::NotFound.into(),
        })?;
        let first_slot = unsigned.base.inputs.len();
        for ((slot, input), bytes) in (first_slot..).zip(&unsigned.imported_inputs).zip(values) {
            let utxo =
                Utxo::from_versioned_bytes(&bytes, MAX_SIZE).map_err(VerifyError::ImportedUtxo)?;
            self.transfer(tx, slot, input, &utxo)?;
        }
        Ok(())
    }

    /// Whether a transaction that consumes nothing was accepted. One that made an asset is known by the asset, also
    /// where the history does not begin at genesis.
    fn was_accepted(&self, id: &TxId) -> Result<bool, CheckError> {
        Ok(self.state.asset(id)?.is_some() || self.state.has_tx(id)?)
    }

    /// The other chain of an import or export: another one of the primary network.
    fn same_network(&self, peer: &ChainId) -> Result<(), VerifyError> {
        if peer == self.context.chain_id {
            Err(VerifyError::SameChain)
        } else if self.context.peers.contains(peer) {
            Ok(())
        } else {
            Err(VerifyError::UnknownChain(*peer))
        }
    }

    /// Whether a feature extension may be used on an asset: its creating transaction lists it.
    fn fx_usage(&mut self, fx: FxKind, asset_id: &AssetId) -> Result<(), CheckError> {
        if fx.index() >= self.context.fx_count {
            return Err(VerifyError::UnknownFx.into());
        }
        let bits = match self.assets.get(asset_id) {
            Some(bits) => bits,
            None => {
                let bits = match self.state.asset(asset_id)? {
                    Some(asset) => asset.fx_bits,
                    None if self.state.has_tx(asset_id)? => {
                        return Err(VerifyError::NotAnAsset.into());
                    }
                    None => return Err(VerifyError::NotFound.into()),
                };
                self.assets.found.insert(*asset_id, bits);
                bits
            }
        };
        if bits & fx_bit(fx.index()) == 0 {
            return Err(VerifyError::IncompatibleFx.into());
        }
        Ok(())
    }
}

/// The bit of a feature extension; 0 for an index that no asset can use.
pub(crate) fn fx_bit(index: u32) -> u8 {
    1u8.checked_shl(index).unwrap_or(0)
}
