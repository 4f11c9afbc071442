//! Numbers and times of simulated blocks.

use alloy_primitives::U256;
use esker_evm_state::types::SealedHeader;

use super::{BlockRequest, MAX_BLOCKS, SimulateError};

/// A block with its number and time.
#[derive(Debug)]
pub(super) struct NumberedBlock {
    pub(super) number: u64,
    /// Unix s.
    pub(super) time: u64,
    pub(super) request: BlockRequest,
}

/// Assigns numbers and times to all blocks, and fills gaps between numbers with empty blocks. `interval_s` is the
/// usual time between two blocks, s.
pub(super) fn complete(
    base: &SealedHeader,
    blocks: Vec<BlockRequest>,
    interval_s: u64,
) -> Result<Vec<NumberedBlock>, SimulateError> {
    if blocks.is_empty() {
        return Err(SimulateError::Empty);
    }
    if blocks.len() as u64 > MAX_BLOCKS {
        return Err(SimulateError::TooManyBlocks);
    }
    let (mut number, mut time) = (base.header.number, base.header.time);
    let most = number.saturating_add(MAX_BLOCKS);
    let mut placed = Vec::new();
    for request in blocks {
        let wanted = request.header.number.unwrap_or(U256::from(number) + U256::from(1));
        if wanted <= U256::from(number) {
            let number_given = wanted.saturating_to();
            return Err(SimulateError::NumberOrder { number: number_given, previous: number });
        }
        if wanted > U256::from(most) {
            return Err(SimulateError::TooManyBlocks);
        }
        while U256::from(number) + U256::from(1) < wanted {
            number += 1;
            time = next_time(None, time, interval_s)?;
            placed.push(NumberedBlock { number, time, request: BlockRequest::default() });
        }
        number += 1;
        time = next_time(request.header.time, time, interval_s)?;
        placed.push(NumberedBlock { number, time, request });
    }
    Ok(placed)
}

/// The time of a block after one with the time `previous`. `given` is the requested time.
fn next_time(given: Option<u64>, previous: u64, interval_s: u64) -> Result<u64, SimulateError> {
    let time = given.unwrap_or(previous.saturating_add(interval_s));
    if time <= previous {
        return Err(SimulateError::TimeOrder { time, previous });
    }
    Ok(time)
}
