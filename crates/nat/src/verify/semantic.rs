//! Rules that depend on the fee, on signatures and on what other chains exported.
//!
//! Time is a parameter: at issue the clock's, in a block the block's own (docs/decisions.md, "Time in a block").

use alloy_primitives::{Bytes, U256};
use esker_chain::ChainContext;
use esker_evm_execution::rules::PhaseRules;
use esker_primitives::codec::{Decode, MAX_SIZE};
use esker_shared_memory::SharedMemoryError;
use esker_storage::{KvRead, StorageError};
use esker_transactions::nat::{
    AtomicTx, ExtDataForm, UnsignedAtomicTx, UnsignedExport, UnsignedImport, decode_ext_data,
    type_id,
};
use esker_utxo::fx::secp256k1;
use esker_utxo::{FlowChecker, FxError, Utxo};

use super::{VerifyError, syntactic};

/// A rule is broken, or the store failed.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A rule is broken.
    #[error(transparent)]
    Rule(#[from] VerifyError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The context of a verification: a block, or the tip.
#[derive(Clone, Copy)]
pub struct VerifyContext<'a> {
    /// The chain.
    pub context: &'a ChainContext,
    /// The rules of the time.
    pub phase: &'a PhaseRules,
    /// Wei a gas.
    pub base_fee: U256,
    /// Unix s, for locktimes.
    pub time_s: u64,
    /// Shared memory before the block.
    pub shared: &'a dyn KvRead,
    /// Ext data of undecided blocks that `shared` already includes.
    pub undecided: &'a [Bytes],
}

impl std::fmt::Debug for VerifyContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VerifyContext")
            .field("base_fee", &self.base_fee)
            .field("time_s", &self.time_s)
            .finish_non_exhaustive()
    }
}

impl VerifyContext<'_> {
    /// Whether a transaction is valid here, but for what its accounts must have.
    pub fn verify(&self, tx: &AtomicTx) -> Result<(), CheckError> {
        syntactic::verify(tx.unsigned(), self.context, self.phase)?;
        let mut flow = FlowChecker::default();
        let fee = tx.fee(self.base_fee).map_err(VerifyError::from)?;
        flow.produce(self.context.native_asset_id, fee.0);
        match tx.unsigned() {
            UnsignedAtomicTx::Import(unsigned) => self.verify_import(tx, unsigned, flow),
            UnsignedAtomicTx::Export(unsigned) => Ok(verify_export(tx, unsigned, flow)?),
        }
    }

    fn verify_import(
        &self,
        tx: &AtomicTx,
        unsigned: &UnsignedImport,
        mut flow: FlowChecker,
    ) -> Result<(), CheckError> {
        for output in &unsigned.outputs {
            flow.produce(output.asset_id, output.amount);
        }
        for input in &unsigned.imported_inputs {
            flow.consume(input.asset_id, input.input.amount);
        }
        flow.verify().map_err(VerifyError::ImportFlow)?;
        let (inputs, credentials) = (unsigned.imported_inputs.len(), tx.credentials().len());
        if inputs != credentials {
            return Err(VerifyError::ImportCredentials { inputs, credentials }.into());
        }
        let Some(values) = self.exported_to_us(unsigned)? else {
            return Err(match self.is_imported_undecided(tx) {
                true => VerifyError::ConflictingInputs.into(),
                false => VerifyError::UtxosNotFound(unsigned.source_chain).into(),
            });
        };
        for ((slot, input), bytes) in unsigned.imported_inputs.iter().enumerate().zip(values) {
            let utxo = Utxo::from_versioned_bytes(&bytes, MAX_SIZE)
                .map_err(|fault| VerifyError::ImportedUtxo(type_id::translated(fault)))?;
            if utxo.asset_id != input.asset_id {
                return Err(VerifyError::AssetMismatch.into());
            }
            tx.witness(slot)
                .ok_or(FxError::WrongCredentialType)
                .and_then(|witness| {
                    let allows = self.context.allows_impersonation();
                    let witness = witness.allowing_impersonation(allows);
                    secp256k1::verify_transfer(&utxo.output, &input.input, witness, self.time_s)
                })
                .map_err(VerifyError::Transfer)?;
        }
        Ok(())
    }

    /// The bytes of the UTXOs that an import consumes; `None` if one is not there.
    pub fn exported_to_us(
        &self,
        unsigned: &UnsignedImport,
    ) -> Result<Option<Vec<Vec<u8>>>, StorageError> {
        let keys: Vec<Vec<u8>> = unsigned
            .imported_inputs
            .iter()
            .map(|input| input.utxo_id.input_id().as_bytes().to_vec())
            .collect();
        let (this, peer) = (&self.context.chain_id, &unsigned.source_chain);
        match esker_shared_memory::get(self.shared, this, peer, &keys) {
            Ok(values) => Ok(Some(values)),
            Err(SharedMemoryError::Storage(error)) => Err(error),
            Err(
                SharedMemoryError::NotFound
                | SharedMemoryError::DuplicatePut { .. }
                | SharedMemoryError::DuplicateRemove { .. }
                | SharedMemoryError::Length { .. },
            ) => Ok(None),
        }
    }

    /// Whether an undecided block consumes what the transaction does.
    pub fn is_imported_undecided(&self, tx: &AtomicTx) -> bool {
        let blocks = self.undecided.iter();
        let mut before = blocks
            .flat_map(|ext_data| decode_ext_data(ext_data, ExtDataForm::Batch).unwrap_or_default());
        before.any(|before| !before.conflict_keys().is_disjoint(tx.conflict_keys()))
    }
}

fn verify_export(
    tx: &AtomicTx,
    unsigned: &UnsignedExport,
    mut flow: FlowChecker,
) -> Result<(), VerifyError> {
    for output in &unsigned.exported_outputs {
        flow.produce(output.asset_id, output.output.amount);
    }
    for input in &unsigned.inputs {
        flow.consume(input.asset_id, input.amount);
    }
    flow.verify().map_err(VerifyError::ExportFlow)?;
    let (inputs, credentials) = (unsigned.inputs.len(), tx.credentials().len());
    if inputs != credentials {
        return Err(VerifyError::ExportCredentials { inputs, credentials });
    }
    for ((slot, input), credential) in unsigned.inputs.iter().enumerate().zip(tx.credentials()) {
        let credential = credential.credential().ok_or(VerifyError::NoCredential)?;
        if credential.signatures.len() != 1 {
            return Err(VerifyError::SignatureCount(credential.signatures.len()));
        }
        if tx.evm_signer(slot, 0)? != input.address {
            return Err(VerifyError::WrongSigner);
        }
    }
    Ok(())
}
