//! secp256k1: amounts of fungible assets, and minting them.

use super::{FxError, FxKind, Witness, verify_credentials};
use crate::input::TransferInput;
use crate::operation::FxOperation;
use crate::output::Output;

/// Whether `input` may consume `utxo`; `now_s` in Unix seconds.
pub fn verify_transfer(
    utxo: &Output,
    input: &TransferInput,
    witness: Witness<'_>,
    now_s: u64,
) -> Result<(), FxError> {
    witness.expect(FxKind::Secp256k1)?;
    let output = utxo.as_transfer().ok_or(FxError::WrongUtxoType)?;
    output.verify()?;
    input.verify()?;
    if output.amount != input.amount {
        return Err(FxError::AmountsDiffer { utxo: output.amount, input: input.amount });
    }
    verify_credentials(&output.owners, &input.sig_indices, witness, now_s)
}

/// Whether `operation` may consume `utxos`; `now_s` in Unix seconds.
pub fn verify_operation(
    operation: &FxOperation,
    utxos: &[&Output],
    witness: Witness<'_>,
    now_s: u64,
) -> Result<(), FxError> {
    let FxOperation::SecpMint(mint) = operation else {
        return Err(FxError::WrongOperationType);
    };
    witness.expect(FxKind::Secp256k1)?;
    let [utxo] = utxos else {
        return Err(FxError::WrongNumberOfUtxos);
    };
    let Output::SecpMint(owners) = utxo else {
        return Err(FxError::WrongUtxoType);
    };
    operation.verify()?;
    owners.verify()?;
    if *owners != mint.mint_output {
        return Err(FxError::WrongMintCreated);
    }
    verify_credentials(owners, &mint.mint_input, witness, now_s)
}
