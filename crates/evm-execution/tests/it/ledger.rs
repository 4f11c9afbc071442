//! A chain in memory that has only its first block.

use esker_evm_execution::executor::ChainParams;
use esker_evm_execution::genesis::Genesis;
use esker_evm_execution::rules::ForkSchedule;
use esker_evm_state::types::Header;
use esker_storage::{KvRead, KvStore, MemoryStore};
use esker_testkit::first_block::{first_block, local_genesis, params};

#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) params: ChainParams,
    pub(crate) store: MemoryStore,
    pub(crate) tip: Header,
}

impl Ledger {
    pub(crate) fn new(params: ChainParams, genesis: &Genesis) -> Self {
        let (store, block) = first_block(&params, genesis);
        Self { params, store, tip: block.header }
    }

    /// The local network's chain.
    pub(crate) fn local() -> Self {
        Self::new(params(43112, ForkSchedule::LOCAL), &local_genesis())
    }

    pub(crate) fn reader(&self) -> Box<dyn KvRead> {
        self.store.snapshot().unwrap()
    }
}
