//! property: what can be minted and burned, but not transferred.

use super::{FxError, FxKind, Witness, verify_credentials};
use crate::operation::FxOperation;
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
    witness.expect(FxKind::Property)?;
    match operation {
        FxOperation::PropertyMint(mint) => {
            let Output::PropertyMint(owners) = utxo else {
                return Err(FxError::WrongUtxoType);
            };
            operation.verify()?;
            owners.verify()?;
            if *owners != mint.mint_output {
                return Err(FxError::WrongMintOutput);
            }
            verify_credentials(owners, &mint.mint_input, witness, now_s)
        }
        FxOperation::PropertyBurn(input) => {
            let Output::PropertyOwned(owners) = utxo else {
                return Err(FxError::WrongUtxoType);
            };
            operation.verify()?;
            owners.verify()?;
            verify_credentials(owners, input, witness, now_s)
        }
        FxOperation::SecpMint(_) | FxOperation::NftMint(_) | FxOperation::NftTransfer(_) => {
            Err(FxError::WrongOperationType)
        }
    }
}
