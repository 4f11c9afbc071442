//! The parts of the chain.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use esker_chain::ChainContext;
use esker_storage::Scope;

/// The P-Chain as an observed chain: executing a block writes what its exports leave in shared memory, and removes
/// what its imports take out of it.
#[derive(Debug)]
pub struct Platform {
    pub(super) context: ChainContext,
    pub(super) accepted_height: AtomicU64,
    /// Height of the first stored block, if the node joined from a snapshot.
    pub(super) first_block: AtomicU64,
    pub(super) accepted_txs: AtomicU64,
}

impl Platform {
    /// The chain with that context: the zero ID, and as peers the chains that exchange with P.
    pub fn new(context: ChainContext) -> Arc<Self> {
        let (accepted_height, accepted_txs) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { context, accepted_height, first_block: AtomicU64::new(0), accepted_txs })
    }

    pub(crate) fn scope(&self) -> Scope {
        self.context.scope
    }
}
