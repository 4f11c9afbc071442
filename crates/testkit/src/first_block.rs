//! The parameters and the first block of chains in memory.

use std::sync::Arc;

use esker_evm_execution::executor::ChainParams;
use esker_evm_execution::genesis::Genesis;
use esker_evm_execution::rules::{CChainRules, FeeOverrides, ForkSchedule};
use esker_evm_state::state::ApplyOptions;
use esker_evm_state::types::Block;
use esker_storage::{KvStore, MemoryStore, Scope, WriteSet};

pub const SCOPE: Scope = Scope(3);

pub fn params(chain_id: u64, schedule: ForkSchedule) -> ChainParams {
    let id = "2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC".parse().unwrap();
    let rules = CChainRules::new(chain_id, schedule, FeeOverrides::default());
    ChainParams::new(Arc::new(rules), 12345, id)
}

/// The local network's genesis.
pub fn local_genesis() -> Genesis {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/genesis/local-c.json");
    Genesis::parse(&std::fs::read(path).unwrap()).unwrap()
}

/// The block of a genesis, and a store that holds the state after it.
pub fn first_block(params: &ChainParams, genesis: &Genesis) -> (MemoryStore, Block) {
    let (store, mut out) = (MemoryStore::new(), WriteSet::default());
    let block = genesis.build(&*params.rules, SCOPE, ApplyOptions::default(), &mut out).unwrap();
    store.write(&out).unwrap();
    (store, block)
}
