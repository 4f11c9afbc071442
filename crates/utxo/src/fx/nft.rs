//! nft: minting and transferring non-fungible tokens, by operations only.

use super::{FxError, FxKind, Witness, verify_credentials};
use crate::operation::{FxOperation, NftMintOperation, NftTransferOperation};
use crate::output::Output;

/// Inputs never consume what this extension owns.
pub const fn verify_transfer() -> Result<(), FxError> {
    Err(FxError::CantTransfer)
}

/// Whether `operation` may consume `utxos`; `now_s` in Unix seconds.
pub fn verify_operation(
    operation: &FxOperation,
    utxos: &[&Output],
    witness: Witness<'_>,
    now_s: u64,
) -> Result<(), FxError> {
    let [utxo] = utxos else {
        return Err(FxError::WrongNumberOfUtxosUpper);
    };
    witness.expect(FxKind::Nft)?;
    match operation {
        FxOperation::NftMint(mint) => verify_mint(operation, mint, utxo, witness, now_s),
        FxOperation::NftTransfer(transfer) => {
            verify_nft_transfer(operation, transfer, utxo, witness, now_s)
        }
        FxOperation::SecpMint(_) | FxOperation::PropertyMint(_) | FxOperation::PropertyBurn(_) => {
            Err(FxError::WrongOperationType)
        }
    }
}

fn verify_mint(
    operation: &FxOperation,
    mint: &NftMintOperation,
    utxo: &Output,
    witness: Witness<'_>,
    now_s: u64,
) -> Result<(), FxError> {
    let Output::NftMint(output) = utxo else {
        return Err(FxError::WrongUtxoType);
    };
    operation.verify()?;
    output.owners.verify()?;
    if output.group_id != mint.group_id {
        return Err(FxError::WrongUniqueId);
    }
    verify_credentials(&output.owners, &mint.mint_input, witness, now_s)
}

fn verify_nft_transfer(
    operation: &FxOperation,
    transfer: &NftTransferOperation,
    utxo: &Output,
    witness: Witness<'_>,
    now_s: u64,
) -> Result<(), FxError> {
    let Output::NftTransfer(output) = utxo else {
        return Err(FxError::WrongUtxoType);
    };
    operation.verify()?;
    output.verify()?;
    if output.group_id != transfer.output.group_id {
        return Err(FxError::WrongUniqueId);
    }
    if output.payload != transfer.output.payload {
        return Err(FxError::WrongBytes);
    }
    verify_credentials(&output.owners, &transfer.input, witness, now_s)
}
