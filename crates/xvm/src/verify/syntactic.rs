//! Rules that a transaction must meet by itself, in the reference's order
//! (docs/protocol/x-chain-rules.md, "Syntactic rules").

use std::collections::HashSet;

use esker_primitives::ids::{AssetId, ChainId};
use esker_transactions::xvm::{
    BaseTx, CreateAssetTx, InitialState, MAX_MEMO_LEN, Operation, Tx, UnsignedTx,
};
use esker_utxo::{FlowChecker, Output, TransferableInput, TransferableOutput, UtxoId};

use super::VerifyError;

/// Greatest length of an asset's name, in bytes.
pub const MAX_NAME_LEN: usize = 128;
/// Greatest length of an asset's symbol, in bytes.
pub const MAX_SYMBOL_LEN: usize = 4;
/// Greatest number of decimal places.
pub const MAX_DENOMINATION: u8 = 32;

/// The properties of the chain that the rules use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The network.
    pub network_id: u32,
    /// The chain.
    pub chain_id: ChainId,
    /// The asset that fees are paid in.
    pub fee_asset_id: AssetId,
    /// Fee of every transaction but those that create assets.
    pub tx_fee: u64,
    /// Fee of creating an asset.
    pub create_asset_tx_fee: u64,
    /// How many of the extensions, in the order of [`esker_utxo::FxKind::ALL`], the chain has.
    pub fx_count: u32,
}

/// Whether a transaction meets the rules that need no state.
pub fn verify(tx: &Tx, params: &Params) -> Result<(), VerifyError> {
    let unsigned = tx.unsigned();
    verify_type_first(unsigned)?;
    let base = unsigned.base();
    verify_base(base, params)?;
    verify_flow(unsigned, params)?;
    match unsigned {
        UnsignedTx::CreateAsset(tx) => verify_states(&tx.states, params.fx_count)?,
        UnsignedTx::Operation(tx) => verify_operations(base, &tx.operations)?,
        UnsignedTx::Base(_) | UnsignedTx::Import(_) | UnsignedTx::Export(_) => {}
    }
    for slot in tx.credentials() {
        slot.verify()?;
    }
    let (got, wanted) = (tx.credentials().len(), unsigned.credentials_needed());
    if got == wanted { Ok(()) } else { Err(VerifyError::WrongNumberOfCredentials { got, wanted }) }
}

/// Rules that each type has before the common ones.
fn verify_type_first(unsigned: &UnsignedTx) -> Result<(), VerifyError> {
    match unsigned {
        UnsignedTx::CreateAsset(tx) => verify_description(tx),
        UnsignedTx::Operation(tx) if tx.operations.is_empty() => Err(VerifyError::NoOperations),
        UnsignedTx::Import(tx) if tx.imported_inputs.is_empty() => Err(VerifyError::NoImportInputs),
        UnsignedTx::Export(tx) if tx.exported_outputs.is_empty() => {
            Err(VerifyError::NoExportOutputs)
        }
        UnsignedTx::Base(_)
        | UnsignedTx::Operation(_)
        | UnsignedTx::Import(_)
        | UnsignedTx::Export(_) => Ok(()),
    }
}

fn verify_description(tx: &CreateAssetTx) -> Result<(), VerifyError> {
    if tx.name.is_empty() {
        return Err(VerifyError::NameTooShort);
    }
    if tx.name.len() > MAX_NAME_LEN {
        return Err(VerifyError::NameTooLong);
    }
    if tx.symbol.is_empty() {
        return Err(VerifyError::SymbolTooShort);
    }
    if tx.symbol.len() > MAX_SYMBOL_LEN {
        return Err(VerifyError::SymbolTooLong);
    }
    if tx.states.is_empty() {
        return Err(VerifyError::NoFxs);
    }
    if tx.denomination > MAX_DENOMINATION {
        return Err(VerifyError::DenominationTooLarge);
    }
    // Whitespace in the sense of Unicode, as in the reference; what is no UTF-8 is no whitespace.
    let name = String::from_utf8_lossy(&tx.name);
    if name.trim().len() != name.len() {
        return Err(VerifyError::UnexpectedWhitespace);
    }
    if !tx.name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b' ') {
        return Err(VerifyError::IllegalNameCharacter);
    }
    if !tx.symbol.iter().all(u8::is_ascii_uppercase) {
        return Err(VerifyError::IllegalSymbolCharacter);
    }
    Ok(())
}

const fn verify_memo(memo: &[u8]) -> Result<(), VerifyError> {
    if memo.len() > MAX_MEMO_LEN { Err(VerifyError::MemoTooLarge(memo.len())) } else { Ok(()) }
}

fn verify_base(base: &BaseTx, params: &Params) -> Result<(), VerifyError> {
    if base.network_id != params.network_id {
        return Err(VerifyError::WrongNetworkId);
    }
    if base.blockchain_id != params.chain_id {
        return Err(VerifyError::WrongChainId);
    }
    verify_memo(&base.memo)
}

fn verify_asset(asset_id: &AssetId) -> Result<(), VerifyError> {
    if asset_id.is_zero() { Err(VerifyError::EmptyAssetId) } else { Ok(()) }
}

/// Outputs and inputs by themselves, their order, then what is produced against what is consumed.
fn verify_flow(unsigned: &UnsignedTx, params: &Params) -> Result<(), VerifyError> {
    let fee = match unsigned {
        UnsignedTx::CreateAsset(_) => params.create_asset_tx_fee,
        UnsignedTx::Base(_)
        | UnsignedTx::Operation(_)
        | UnsignedTx::Import(_)
        | UnsignedTx::Export(_) => params.tx_fee,
    };
    let mut flow = FlowChecker::default();
    flow.produce(params.fee_asset_id, fee);
    add_outputs(&mut flow, &unsigned.base().outputs)?;
    add_outputs(&mut flow, unsigned.exported_outputs())?;
    add_inputs(&mut flow, &unsigned.base().inputs)?;
    add_inputs(&mut flow, unsigned.imported_inputs())?;
    Ok(flow.verify()?)
}

fn add_outputs(flow: &mut FlowChecker, outputs: &[TransferableOutput]) -> Result<(), VerifyError> {
    for out in outputs {
        verify_asset(&out.asset_id)?;
        out.output.verify()?;
        flow.produce(out.asset_id, out.output.amount);
    }
    if TransferableOutput::is_sorted(outputs) { Ok(()) } else { Err(VerifyError::OutputsNotSorted) }
}

fn add_inputs(flow: &mut FlowChecker, inputs: &[TransferableInput]) -> Result<(), VerifyError> {
    for input in inputs {
        verify_asset(&input.asset_id)?;
        input.input.verify()?;
        flow.consume(input.asset_id, input.input.amount);
    }
    if TransferableInput::is_sorted_and_unique(inputs) {
        Ok(())
    } else {
        Err(VerifyError::InputsNotSortedUnique)
    }
}

fn verify_states(states: &[InitialState], fx_count: u32) -> Result<(), VerifyError> {
    for state in states {
        if state.fx_index >= fx_count {
            return Err(VerifyError::UnknownFx);
        }
        for output in &state.outputs {
            output.verify()?;
        }
        if !state.outputs.is_sorted_by(|a, b| Output::cmp_encoded(a, b).is_le()) {
            return Err(VerifyError::OutputsNotSorted);
        }
    }
    if states.is_sorted_by(|a, b| a.fx_index < b.fx_index) {
        Ok(())
    } else {
        Err(VerifyError::InitialStatesNotSortedUnique)
    }
}

fn verify_operations(base: &BaseTx, operations: &[Operation]) -> Result<(), VerifyError> {
    let mut consumed: HashSet<UtxoId> = base.inputs.iter().map(|input| input.utxo_id).collect();
    for operation in operations {
        if !operation.utxo_ids.is_sorted_by(|a, b| a < b) {
            return Err(VerifyError::UtxoIdsNotSortedUnique);
        }
        verify_asset(&operation.asset_id)?;
        operation.op.verify()?;
        for utxo_id in &operation.utxo_ids {
            if !consumed.insert(*utxo_id) {
                return Err(VerifyError::DoubleSpend);
            }
        }
    }
    if Operation::is_sorted_and_unique(operations) {
        Ok(())
    } else {
        Err(VerifyError::OperationsNotSortedUnique)
    }
}
