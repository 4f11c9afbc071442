//! Rules that a transaction must meet by itself, in the reference's order.

use esker_chain::ChainContext;
use esker_evm_execution::rules::{Phase, PhaseRules};
use esker_primitives::ids::{AssetId, ChainId};
use esker_transactions::nat::{
    EvmInput, EvmOutput, UnsignedAtomicTx, UnsignedExport, UnsignedImport,
};
use esker_utxo::{TransferableInput, TransferableOutput};

use super::{ItemError, VerifyError};

/// Whether a transaction meets the rules of a phase that need no state.
pub fn verify(
    tx: &UnsignedAtomicTx,
    context: &ChainContext,
    phase: &PhaseRules,
) -> Result<(), VerifyError> {
    match tx {
        UnsignedAtomicTx::Import(tx) => verify_import(tx, context, phase),
        UnsignedAtomicTx::Export(tx) => verify_export(tx, context, phase),
    }
}

fn verify_import(
    tx: &UnsignedImport,
    context: &ChainContext,
    phase: &PhaseRules,
) -> Result<(), VerifyError> {
    if tx.imported_inputs.is_empty() {
        return Err(VerifyError::NoImportedInputs);
    }
    verify_place(tx.network_id, &tx.blockchain_id, context)?;
    if tx.outputs.is_empty() {
        return Err(VerifyError::NoEvmOutputs);
    }
    verify_peer(&tx.source_chain, context)?;
    let native_only = phase.at_least(Phase::Banff);
    for output in &tx.outputs {
        verify_evm_output(output).map_err(VerifyError::EvmOutput)?;
        if native_only && output.asset_id != context.native_asset_id {
            return Err(VerifyError::ImportOutputNotNative);
        }
    }
    for input in &tx.imported_inputs {
        verify_imported(input).map_err(VerifyError::AtomicInput)?;
        if native_only && input.asset_id != context.native_asset_id {
            return Err(VerifyError::ImportInputNotNative);
        }
    }
    if !TransferableInput::is_sorted_and_unique(&tx.imported_inputs) {
        return Err(VerifyError::InputsNotSortedUnique);
    }
    if !tx.outputs.is_sorted_by(|a, b| a.order() < b.order()) {
        return Err(VerifyError::OutputsNotSortedUnique);
    }
    Ok(())
}

fn verify_export(
    tx: &UnsignedExport,
    context: &ChainContext,
    phase: &PhaseRules,
) -> Result<(), VerifyError> {
    if tx.exported_outputs.is_empty() {
        return Err(VerifyError::NoExportOutputs);
    }
    verify_place(tx.network_id, &tx.blockchain_id, context)?;
    verify_peer(&tx.destination_chain, context)?;
    let native_only = phase.at_least(Phase::Banff);
    for input in &tx.inputs {
        verify_evm_input(input)?;
        if native_only && input.asset_id != context.native_asset_id {
            return Err(VerifyError::ExportInputNotNative);
        }
    }
    for output in &tx.exported_outputs {
        verify_asset(&output.asset_id)?;
        output.output.verify().map_err(ItemError::from)?;
        let is_native = output.asset_id == context.native_asset_id;
        // The P-Chain, whose ID is zero, holds the native asset alone.
        if !is_native && tx.destination_chain.is_zero() {
            return Err(VerifyError::WrongChainId);
        }
        if native_only && !is_native {
            return Err(VerifyError::ExportOutputNotNative);
        }
    }
    if !TransferableOutput::is_sorted(&tx.exported_outputs) {
        return Err(VerifyError::OutputsNotSorted);
    }
    if !tx.inputs.is_sorted_by(|a, b| a.order() < b.order()) {
        return Err(VerifyError::InputsNotSortedUnique);
    }
    Ok(())
}

fn verify_place(
    network_id: u32,
    blockchain_id: &ChainId,
    context: &ChainContext,
) -> Result<(), VerifyError> {
    if network_id != context.network_id {
        Err(VerifyError::WrongNetworkId)
    } else if *blockchain_id != context.chain_id {
        Err(VerifyError::WrongBlockchainId)
    } else {
        Ok(())
    }
}

/// The other chain is another one of the primary network.
fn verify_peer(peer: &ChainId, context: &ChainContext) -> Result<(), VerifyError> {
    if *peer != context.chain_id && context.peers.contains(peer) {
        Ok(())
    } else {
        Err(VerifyError::WrongChainId)
    }
}

fn verify_asset(asset_id: &AssetId) -> Result<(), ItemError> {
    if asset_id.is_zero() { Err(ItemError::EmptyAssetId) } else { Ok(()) }
}

fn verify_evm_output(output: &EvmOutput) -> Result<(), ItemError> {
    if output.amount == 0 {
        return Err(ItemError::OutputHasNoValue);
    }
    verify_asset(&output.asset_id)
}

fn verify_evm_input(input: &EvmInput) -> Result<(), ItemError> {
    if input.amount == 0 {
        return Err(ItemError::InputHasNoValue);
    }
    verify_asset(&input.asset_id)
}

fn verify_imported(input: &TransferableInput) -> Result<(), ItemError> {
    verify_asset(&input.asset_id)?;
    Ok(input.input.verify()?)
}
