//! The price of MODEXP, and the memory that it requires: its input declares the lengths of its numbers, whether they
//! are there or not.

use alloy_primitives::U256;
use revm::precompile::modexp::{berlin_gas_calc, byzantium_gas_calc, osaka_gas_calc};
use revm::precompile::{Precompile, PrecompileId};

use crate::rules::Revision;

/// Longest number since Osaka (EIP-7823), bytes.
const MAX_LENGTH: U256 = U256::from_limbs([1024, 0, 0, 0]);

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
    revision: Revision,
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
    // Without base and modulus the exponent is not read. Since Osaka the contract refuses long numbers itself.
    let is_refused = revision >= Revision::Osaka && longest.max(exponent) > MAX_LENGTH;
    if longest.is_zero() || is_refused || total <= U256::from(limit) {
        return Ok(());
    }
    // The price of an exponent that begins with zeros. revm's prices end at 64 bits.
    let bits = exponent.saturating_sub(U256::from(32)).saturating_mul(U256::from(8));
    let (complexity, divisor) = complexity(revision, longest);
    let gas = complexity.saturating_mul(bits.max(U256::ONE)) / U256::from(divisor);
    Err(if gas > U256::from(gas_limit) { LengthError::OutOfGas } else { LengthError::Limit })
}

/// The work of a multiplication of numbers of this length, and the divisor of the price.
fn complexity(revision: Revision, length: U256) -> (U256, u64) {
    let square = |number: U256| number.saturating_mul(number);
    let times = |factor: u64| length.saturating_mul(U256::from(factor));
    if revision >= Revision::Berlin {
        return (square(length.div_ceil(U256::from(8))), 3);
    }
    let work = if length <= U256::from(64) {
        square(length)
    } else if length <= U256::from(1024) {
        square(length) / U256::from(4) + times(96) - U256::from(3_072)
    } else {
        (square(length) / U256::from(16)).saturating_add(times(480)) - U256::from(199_680)
    };
    (work, 20)
}

/// Gas of a call with numbers of these lengths. `head` is the first word of the exponent.
pub(super) fn price(
    revision: Revision,
    base: u64,
    exponent: u64,
    modulus: u64,
    head: &U256,
) -> u64 {
    let of_fork = match revision {
        Revision::Osaka => osaka_gas_calc,
        revision if revision >= Revision::Berlin => berlin_gas_calc,
        _ => byzantium_gas_calc,
    };
    of_fork(base, exponent, modulus, head)
}
