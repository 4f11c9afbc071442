//! Blocks that are run and not made: calls in a row of blocks on top of an accepted one, each block with a
//! header, hash and state root as it would have them (Ethereum's `eth_simulateV1`;
//! docs/protocol/c-chain-execution.md, "Simulations").
//!
//! [`simulate`] is a plain function over a [`SimulationEnv`]. Header and fees follow from the chain's own
//! rules: a block is [`TARGET_BLOCK_RATE_S`] after its parent unless it says otherwise, its gas limit is the
//! chain's, and where transactions are validated its base fee too. Extra data are empty. What makes blocks of this
//! chain invalid for other reasons, having no transaction or being made too soon for its tips, is not checked.

mod assemble;
mod error;
mod overrides;
mod run;
mod sequence;
mod transfers;

use std::cell::RefCell;
use std::sync::Arc;

use alloy_primitives::{Address, B256};
use esker_evm_state::state::{StateError, StateView};
use esker_evm_state::types::{SealedBlock, SealedHeader};

use crate::call::{CallLimits, CallOutcome, CallRequest};
use crate::executor::{BlockHashes, ChainParams, StateOverlay};

pub use error::SimulateError;
pub use overrides::{HeaderOverrides, SimulatedState};

#[cfg(doc)]
use crate::rules::TARGET_BLOCK_RATE_S;

/// Most blocks of a simulation, those that fill gaps included.
pub const MAX_BLOCKS: u64 = 256;

/// Most bytes that the calls of a simulation return and log together. The gas cap alone allows a hundred
/// megabytes.
pub const MAX_RETURNED_BYTES: usize = 12_000_000;

/// Where a simulation begins.
#[derive(Clone, Copy)]
pub struct SimulationEnv<'a> {
    /// The chain.
    pub chain: &'a ChainParams,
    /// The state after `base`.
    pub view: StateView<'a>,
    /// The block before the first simulated one.
    pub base: &'a SealedHeader,
    /// Hashes of that block and those before it.
    pub hashes: &'a dyn BlockHashes,
}

impl std::fmt::Debug for SimulationEnv<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimulationEnv").field("base", &self.base).finish_non_exhaustive()
    }
}

/// A block to be simulated.
#[derive(Clone, Debug, Default)]
pub struct BlockRequest {
    /// What its header has otherwise.
    pub header: HeaderOverrides,
    /// What is changed in the state before its calls.
    pub state: SimulatedState,
    /// What is called in it.
    pub calls: Vec<CallRequest>,
}

/// How calls are run.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimulationOptions {
    /// Show transfers of the chain's own coin as logs.
    pub trace_transfers: bool,
    /// Check nonces and fees as of signed transactions.
    pub validation: bool,
}

/// A block that was simulated.
#[derive(Clone, Debug)]
pub struct SimulatedBlock {
    /// The block; its transactions have no signatures.
    pub block: Arc<SealedBlock>,
    /// Who sent them.
    pub senders: Vec<Address>,
    /// What they came to.
    pub calls: Vec<CallOutcome>,
}

/// Runs calls in a row of blocks. Gas (all blocks together), memory and time are bounded by `limits`.
pub fn simulate(
    env: &SimulationEnv<'_>,
    blocks: Vec<BlockRequest>,
    options: SimulationOptions,
    limits: &CallLimits<'_>,
) -> Result<Vec<SimulatedBlock>, SimulateError> {
    let blocks = sequence::complete(env.base, blocks)?;
    let hashes = Hashes {
        below: env.hashes,
        base: env.base.header.number,
        simulated: RefCell::new(Vec::new()),
    };
    let state = StateOverlay::new(env.view, &hashes, env.chain.codes.clone());
    let mut simulation = run::Simulation::new(env, state, options, limits);
    let mut done = Vec::with_capacity(blocks.len());
    for block in blocks {
        let block = simulation.run(block)?;
        hashes.simulated.borrow_mut().push(block.block.hash);
        done.push(block);
    }
    Ok(done)
}

/// Hashes of the blocks so far, simulated ones on top of accepted ones.
struct Hashes<'a> {
    below: &'a dyn BlockHashes,
    /// Height of the last accepted one.
    base: u64,
    simulated: RefCell<Vec<B256>>,
}

impl BlockHashes for Hashes<'_> {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        match number.checked_sub(self.base) {
            None | Some(0) => self.below.block_hash(number),
            Some(above) => {
                let at = usize::try_from(above - 1).unwrap_or(usize::MAX);
                Ok(self.simulated.borrow().get(at).copied())
            }
        }
    }
}
