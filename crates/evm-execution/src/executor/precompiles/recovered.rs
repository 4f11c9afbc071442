//! Signers that clients of a development network set for signatures ([`crate::executor::CONTROL_VALUES`]).

use alloy_primitives::Bytes;
use revm::interpreter::CallInputs;

use super::PrecompileOutcome;
use crate::executor::VmError;
use crate::executor::control_values::{SIGNATURE_LEN, signer_key, signer_of};
use crate::executor::database::DatabaseError;
use crate::executor::env::EvmContext;

/// Gas of a recovery.
const GAS: u64 = 3_000;

/// Length of the input: hash, v, r, s, each of 32 bytes.
const INPUT: usize = 128;

/// The signer that was set for the signature of a call of ECRECOVER; `None` if none was set, and the contract runs.
pub(super) fn run(
    context: &EvmContext<'_>,
    inputs: &CallInputs,
) -> Result<Option<PrecompileOutcome>, DatabaseError> {
    let mut input = [0; INPUT];
    let given = inputs.input.as_bytes(context);
    let length = given.len().min(INPUT);
    input[..length].copy_from_slice(&given[..length]);
    drop(given);
    let mut signature = [0; SIGNATURE_LEN];
    signature[..64].copy_from_slice(&input[64..]);
    signature[64] = input[63];
    let slot = context.chain.storage_slot(signer_key(&signature));
    let Some(signer) = signer_of(context.journaled_state.database.control_value(slot)?) else {
        return Ok(None);
    };
    Ok(Some(match inputs.gas_limit.checked_sub(GAS) {
        Some(left) => PrecompileOutcome::Done(left, Bytes::from(signer.into_word())),
        None => PrecompileOutcome::Failed(VmError::OutOfGas),
    }))
}
