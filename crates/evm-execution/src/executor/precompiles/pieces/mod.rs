//! Runs long calls of precompiled contracts in pieces, with a stop check between the pieces.
//!
//! revm runs each call of a precompiled contract at once: with the gas of a call MODEXP takes seconds. If an
//! execution may be stopped (never in a block), contracts whose work grows with their price run here instead, with
//! the same results. All other contracts take at most a few milliseconds.

mod blake2f;
mod modexp;
mod pairing;

use alloy_primitives::Bytes;
use revm::precompile::{Precompile, PrecompileHalt, PrecompileId, PrecompileOutput};

use crate::executor::{Stop, StopCheck};

/// Why a long call has no result.
pub(super) enum LongCallError {
    /// It was stopped from outside.
    Stopped(Stop),
    /// The input is not valid.
    Halted(PrecompileHalt),
}

impl From<Stop> for LongCallError {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

/// Fails if the call has to stop.
fn check_stop(stop: StopCheck<'_>) -> Result<(), Stop> {
    stop().map_or(Ok(()), Err)
}

/// Runs a long call of a precompiled contract; `None` if the call is not long, has no result, or is of another
/// contract.
pub(super) fn run(
    precompile: &Precompile,
    input: &[u8],
    gas_limit: u64,
    reservoir: u64,
    stop: StopCheck<'_>,
) -> Option<Result<PrecompileOutput, Stop>> {
    let (gas, ended): (u64, Result<Bytes, LongCallError>) = match precompile.id() {
        PrecompileId::Blake2F => {
            let call = blake2f::LongCall::parse(input)?;
            (call.gas(), (call.gas() <= gas_limit).then(|| call.run(stop))?)
        }
        PrecompileId::ModExp => {
            let call = modexp::LongCall::parse(input)?;
            (call.gas(), (call.gas() <= gas_limit).then(|| call.run(stop))?)
        }
        PrecompileId::Bn254Pairing => {
            let call = pairing::LongCall::parse(input)?;
            (call.gas(), (call.gas() <= gas_limit).then(|| call.run(stop))?)
        }
        _ => return None,
    };
    Some(match ended {
        Ok(output) => Ok(PrecompileOutput::new(gas, output, reservoir)),
        Err(LongCallError::Halted(halt)) => Ok(PrecompileOutput::halt(halt, reservoir)),
        Err(LongCallError::Stopped(stop)) => Err(stop),
    })
}

#[cfg(test)]
mod tests;
