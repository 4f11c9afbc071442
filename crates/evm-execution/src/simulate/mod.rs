//! Simulates a sequence of blocks with calls on top of an accepted block. Each block has the header, hash and state
//! root that a real block would have (Ethereum's `eth_simulateV1`; docs/protocol/c-chain-execution.md,
//! "Simulations").
//!
//! [`simulate`] takes a [`SimulationEnv`]. Header and fees follow from the chain's own rules: a block is
//! [`Rules::block_interval_s`] after its parent unless it has overrides, and its gas limit is the chain's. If
//! transactions are validated, its base fee is the chain's too. Extra data is empty. Other rules of this chain are
//! not checked: a block may have no transaction, and its tips need not pay the block gas cost.

mod assemble;
mod error;
mod overrides;
mod run;
mod sequence;
mod transfers;
mod unsigned;

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
use crate::rules::Rules;

/// Most blocks of a simulation, those that fill gaps included.
pub const MAX_BLOCKS: u64 = 256;

/// Most bytes that all calls of a simulation return and log. The gas cap alone allows a hundred megabytes.
pub const MAX_RETURNED_BYTES: usize = 12_000_000;

/// The block on which a simulation begins.
#[derive(Clone, Copy)]
pub struct SimulationEnv<'a> {
    /// The chain.
    pub chain: &'a ChainParams,
    /// The state after `base`.
    pub view: StateView<'a>,
    /// The block before the first simulated one.
    pub base: &'a SealedHeader,
    /// Hashes of that block and its ancestors.
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
    /// Overrides of its header.
    pub header: HeaderOverrides,
    /// Overrides of the state before its calls.
    pub state: SimulatedState,
    /// Its calls.
    pub calls: Vec<CallRequest>,
}

/// Options of a simulation.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimulationOptions {
    /// Show transfers of the chain's own coin as logs.
    pub trace_transfers: bool,
    /// Check nonces and fees as for signed transactions.
    pub validation: bool,
}

/// A simulated block.
#[derive(Clone, Debug)]
pub struct SimulatedBlock {
    /// The block; its transactions have no signatures.
    pub block: Arc<SealedBlock>,
    /// Senders of the transactions.
    pub senders: Vec<Address>,
    /// Outcomes of the calls.
    pub calls: Vec<CallOutcome>,
    /// The index in the block of each log of each call.
    pub log_indexes: Vec<Vec<usize>>,
}

/// Executes calls in a sequence of blocks. `limits` bounds memory, time and the gas of all blocks together.
pub fn simulate(
    env: &SimulationEnv<'_>,
    blocks: Vec<BlockRequest>,
    options: SimulationOptions,
    limits: &CallLimits<'_>,
) -> Result<Vec<SimulatedBlock>, SimulateError> {
    let blocks = sequence::complete(env.base, blocks, env.chain.rules.block_interval_s())?;
    let hashes = Hashes {
        below: env.hashes,
        base: env.base.header.number,
        simulated: RefCell::new(Vec::new()),
    };
    let state = StateOverlay::new(env.view, &hashes, env.chain.machine.codes.clone());
    let mut simulation = run::Simulation::new(env, state, options, limits)?;
    let mut done = Vec::with_capacity(blocks.len());
    for block in blocks {
        let block = simulation.run(block)?;
        hashes.simulated.borrow_mut().push(block.block.hash);
        done.push(block);
    }
    Ok(done)
}

/// Hashes of the blocks so far: simulated blocks on top of accepted ones.
struct Hashes<'a> {
    below: &'a dyn BlockHashes,
    /// Height of the last accepted block.
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
