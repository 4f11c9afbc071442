//! Gas of atomic transactions, and what it costs (docs/protocol/atomic-transactions.md, "Gas and fees").

use alloy_primitives::U256;
use esker_primitives::amount::NanoNative;

use crate::money::Wei;

/// Gas of a byte of the unsigned transaction.
pub const GAS_PER_BYTE: u64 = 1;
/// Gas of a signature: each that an imported input calls for, one an [`EvmInput`](super::EvmInput).
pub const GAS_PER_SIGNATURE: u64 = 1000;
/// Gas that one more [`EvmInput`](super::EvmInput) adds: its 68 bytes and its signature.
pub const GAS_PER_EVM_INPUT: u64 = 1068;
/// Gas that one more [`EvmOutput`](super::EvmOutput) adds: its 60 bytes.
pub const GAS_PER_EVM_OUTPUT: u64 = 60;
/// Gas of every transaction beside that, from Apricot 5 on.
pub const BASE_GAS: u64 = 10_000;

/// The reason why a fee can't be computed. The text is the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeeError {
    /// It exceeds 64 bits.
    #[error("overflow occurred while calculating the fee")]
    Overflow,
}

/// The price of `gas` at `base_fee` (wei for each gas), rounded up to a whole billionth.
pub fn dynamic_fee(gas: u64, base_fee: U256) -> Result<NanoNative, FeeError> {
    let cost = U256::from(gas).checked_mul(base_fee).ok_or(FeeError::Overflow)?;
    Wei(cost).nanos_rounded_up().ok_or(FeeError::Overflow)
}
