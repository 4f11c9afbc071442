//! The memory that MODEXP requires: its input declares the lengths of its numbers, whether they are there or not.

use alloy_primitives::U256;
use revm::precompile::{Precompile, PrecompileId};

/// Why the lengths of a call are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LengthError {
    /// The gas does not pay for the numbers.
    OutOfGas,
    /// The numbers exceed the limit of the node.
    Limit,
}

/// Checks the lengths of a call's numbers, which may have `limit` bytes together. Calls of other contracts pass.
pub(super) fn check(
    precompile: &Precompile,
    input: &[u8],
    gas_limit: u64,
    limit: u64,
) -> Result<(), LengthError> {
    if *precompile.id() != PrecompileId::ModExp {
        return Ok(());
    }
    let length = |at: usize| {
        let mut word = [0; 32];
        let given = input.get(at..).unwrap_or_default();
        let given = &given[..given.len().min(32)];
        word[..given.len()].copy_from_slice(given);
        U256::from_be_bytes(word)
    };
    let (base, exponent, modulus) = (length(0), length(32), length(64));
    let longest = base.max(modulus);
    let total = base.saturating_add(exponent).saturating_add(modulus);
    // Without base and modulus the exponent is not read.
    if longest.is_zero() || total <= U256::from(limit) {
        return Ok(());
    }
    // The price by EIP-2565 of an exponent that begins with zeros.
    let words = longest.div_ceil(U256::from(8));
    let bits = exponent.saturating_sub(U256::from(32)).saturating_mul(U256::from(8));
    let complexity = words.saturating_mul(words);
    let gas = complexity.saturating_mul(bits.max(U256::ONE)) / U256::from(3);
    Err(if gas > U256::from(gas_limit) { LengthError::OutOfGas } else { LengthError::Limit })
}
