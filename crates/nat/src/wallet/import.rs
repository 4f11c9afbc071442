//! Importing all that some keys can spend.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use alloy_primitives::Address;
use esker_evm_execution::rules::MAX_ATOMIC_GAS;
use esker_primitives::ids::{AssetId, ChainId, ShortId};
use esker_transactions::nat::{
    AtomicTx, EvmOutput, GAS_PER_BYTE, GAS_PER_EVM_OUTPUT, GAS_PER_SIGNATURE, UnsignedAtomicTx,
    UnsignedImport, dynamic_fee,
};
use esker_utxo::{Keychain, TransferInput, TransferableInput, Utxo};

use super::{TxParams, WalletError};

/// Bytes of an input without its signature indices.
const INPUT_BYTES: u64 = 84;
/// Bytes of a signature index.
const INDEX_BYTES: u64 = 4;

/// An import under construction: it takes what it is offered, as far as it fits into one transaction.
#[derive(Debug)]
pub struct Import<'a> {
    terms: TxParams,
    source: ChainId,
    keys: &'a Keychain,
    now_s: u64,
    /// Inputs, and the owners who sign each.
    inputs: Vec<(TransferableInput, Vec<ShortId>)>,
    amounts: BTreeMap<AssetId, u64>,
    /// Gas that the transaction may still use.
    room: u64,
}

impl<'a> Import<'a> {
    /// Of what `source` exported to the owners of `keys`, at a time (Unix s).
    pub fn new(terms: TxParams, source: ChainId, keys: &'a Keychain, now_s: u64) -> Self {
        let (inputs, amounts) = (Vec::new(), BTreeMap::new());
        let mut import = Self { terms, source, keys, now_s, inputs, amounts, room: 0 };
        let empty = AtomicTx::new(import.unsigned(Vec::new()), Vec::new());
        // The native output, which pays what is left, is always counted.
        let fixed = empty.gas().saturating_add(GAS_PER_EVM_OUTPUT);
        import.room = MAX_ATOMIC_GAS.saturating_sub(fixed);
        import
    }

    /// Takes a UTXO if the keys can spend it now; breaks when the next one has no place any more. (The reference
    /// takes all, and can then import none of them.)
    pub fn offer(&mut self, utxo: &Utxo) -> Result<ControlFlow<()>, WalletError> {
        let Some(output) = utxo.output.as_transfer() else { return Ok(ControlFlow::Continue(())) };
        let Some(signing) = self.keys.signing_owners(&output.owners, self.now_s) else {
            return Ok(ControlFlow::Continue(()));
        };
        let gas = self.gas_of(&utxo.asset_id, signing.indices.len());
        let Some(room) = self.room.checked_sub(gas) else { return Ok(ControlFlow::Break(())) };
        let amount = self.amounts.entry(utxo.asset_id).or_default();
        *amount = amount.checked_add(output.amount).ok_or(WalletError::Overflow)?;
        let input = TransferInput { amount: output.amount, sig_indices: signing.indices };
        let (utxo_id, asset_id) = (utxo.utxo_id, utxo.asset_id);
        self.inputs.push((TransferableInput { utxo_id, asset_id, input }, signing.addresses));
        self.room = room;
        Ok(ControlFlow::Continue(()))
    }

    /// Gas that an input adds, with the output that it calls for.
    fn gas_of(&self, asset: &AssetId, signatures: usize) -> u64 {
        let signatures = signatures as u64;
        let bytes = INPUT_BYTES.saturating_add(signatures.saturating_mul(INDEX_BYTES));
        let is_new = *asset != self.terms.native && !self.amounts.contains_key(asset);
        bytes
            .saturating_mul(GAS_PER_BYTE)
            .saturating_add(signatures.saturating_mul(GAS_PER_SIGNATURE))
            .saturating_add(if is_new { GAS_PER_EVM_OUTPUT } else { 0 })
    }

    /// The transaction, which pays `to`.
    ///
    /// # Errors
    /// The UTXOs that were taken do not pay for the transaction.
    pub fn build(mut self, to: Address) -> Result<AtomicTx, WalletError> {
        self.inputs.sort_by_key(|(input, _)| input.utxo_id);
        let native = self.terms.native;
        let other = self.amounts.iter().filter(|(asset, amount)| **asset != native && **amount > 0);
        let mut outputs: Vec<EvmOutput> = other
            .map(|(asset, amount)| EvmOutput { address: to, amount: *amount, asset_id: *asset })
            .collect();
        let gas = AtomicTx::new(self.unsigned(outputs.clone()), Vec::new()).gas();
        let held = self.amounts.get(&native).copied().unwrap_or_default();
        if held < dynamic_fee(gas, self.terms.base_fee)?.0 {
            return Err(WalletError::ImportBelowFee);
        }
        let fee = dynamic_fee(gas.saturating_add(GAS_PER_EVM_OUTPUT), self.terms.base_fee)?.0;
        // Less than one more output costs is burned.
        if let Some(amount) = held.checked_sub(fee).filter(|amount| *amount > 0) {
            outputs.push(EvmOutput { address: to, amount, asset_id: native });
        }
        if outputs.is_empty() {
            return Err(WalletError::NothingLeft);
        }
        outputs.sort_by_key(EvmOutput::order);
        let signers: Vec<Vec<ShortId>> =
            self.inputs.iter().map(|(_, owners)| owners.clone()).collect();
        Ok(AtomicTx::sign_by(self.unsigned(outputs), self.keys, signers))
    }

    fn unsigned(&self, outputs: Vec<EvmOutput>) -> UnsignedAtomicTx {
        UnsignedAtomicTx::Import(UnsignedImport {
            network_id: self.terms.network_id,
            blockchain_id: self.terms.chain_id,
            source_chain: self.source,
            imported_inputs: self.inputs.iter().map(|(input, _)| input.clone()).collect(),
            outputs,
        })
    }
}
