//! Runs long calls of precompiled contracts in pieces, with a stop check between the pieces.
//!
//! revm runs each call of a precompiled contract at once: with the gas of a call MODEXP takes seconds. If an
//! execution may be stopped (never in a block), contracts whose work grows with their price run here instead, with
//! the same results. All other contracts take at most a few milliseconds.

mod blake2f;
mod bls_pairing;
mod bls_sum;
mod modexp;
mod pairing;
mod pairing_product;

use alloy_primitives::Bytes;
use revm::precompile::{Precompile, PrecompileHalt, PrecompileId, PrecompileOutput};

use crate::executor::{Stop, StopCheck};
use crate::rules::Revision;

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

/// A call of a precompiled contract.
pub(super) struct LongCallInput<'i> {
    pub(super) precompile: &'i Precompile,
    pub(super) revision: Revision,
    pub(super) input: &'i [u8],
    pub(super) gas_limit: u64,
    pub(super) reservoir: u64,
}

/// Runs a long call of a precompiled contract; `None` if the call is not long, has no result, or is of another
/// contract.
pub(super) fn run(
    call: &LongCallInput<'_>,
    stop: StopCheck<'_>,
) -> Option<Result<PrecompileOutput, Stop>> {
    let &LongCallInput { precompile, revision, input, gas_limit, reservoir } = call;
    macro_rules! run {
        ($call:expr) => {{
            let call = $call?;
            (call.gas(), (call.gas() <= gas_limit).then(|| call.run(stop))?)
        }};
    }
    let (gas, ended): (u64, Result<Bytes, LongCallError>) = match precompile.id() {
        PrecompileId::Blake2F => run!(blake2f::LongCall::parse(input)),
        PrecompileId::ModExp => run!(modexp::LongCall::parse(revision, input)),
        PrecompileId::Bn254Pairing => run!(pairing::LongCall::parse(revision, input)),
        PrecompileId::Bls12G1Msm => run!(bls_sum::LongCall::of_g1(input)),
        PrecompileId::Bls12G2Msm => run!(bls_sum::LongCall::of_g2(input)),
        PrecompileId::Bls12Pairing => run!(bls_pairing::LongCall::parse(input)),
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
