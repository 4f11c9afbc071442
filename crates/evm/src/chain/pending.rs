//! The pending block of a development node: the block that would be built now.

use std::collections::VecDeque;
use std::sync::Arc;

use alloy_primitives::B256;
use esker_evm_execution::rules::HeaderTerms;
use esker_evm_state::state::{StateBase, StateVersion};
use esker_evm_state::types::{Receipt, SealedBlock};
use esker_primitives::sync::Mutex;
use esker_storage::{KvRead, Overlay, Scope, WriteSet};

use crate::view::StateSnapshot;

/// Blocks that are kept for running requests.
const KEPT: usize = 4;

/// The inputs that determine a pending block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Basis {
    pub(super) parent: B256,
    pub(super) pool: u64,
    /// Unix s.
    pub(super) time: u64,
    /// Header fields that the block sets.
    pub(super) set: HeaderTerms,
}

/// A block that would be built now.
#[derive(Debug)]
pub(super) struct PendingBlock {
    pub(super) block: Arc<SealedBlock>,
    pub(super) receipts: Arc<[Receipt]>,
    pub(super) writes: Arc<WriteSet>,
    pub(super) basis: Basis,
}

impl PendingBlock {
    /// The state after the block; `None` if the last block of `reader` is not its parent.
    pub(super) fn state(
        &self,
        reader: Box<dyn KvRead>,
        scope: Scope,
        last: B256,
        base: Option<Arc<dyn StateBase>>,
    ) -> Option<StateSnapshot> {
        let reader = (last == self.basis.parent)
            .then(|| Box::new(Overlay::new(reader, vec![Arc::clone(&self.writes)])))?;
        Some(StateSnapshot::new(reader, scope, StateVersion::Latest, base))
    }
}

/// The pending blocks that were made last.
#[derive(Debug)]
pub(super) struct PendingBlocks(Mutex<VecDeque<Arc<PendingBlock>>>);

impl Default for PendingBlocks {
    fn default() -> Self {
        Self(Mutex::new_named("evm.pending", VecDeque::new()))
    }
}

impl PendingBlocks {
    /// The block with this hash, if it was made recently.
    pub(super) fn find(&self, hash: &B256) -> Option<Arc<PendingBlock>> {
        self.0.lock().iter().find(|made| made.block.hash == *hash).cloned()
    }

    pub(super) fn find_by_basis(&self, basis: &Basis) -> Option<Arc<PendingBlock>> {
        self.0.lock().iter().find(|made| made.basis == *basis).cloned()
    }

    pub(super) fn add(&self, made: Arc<PendingBlock>) {
        let mut kept = self.0.lock();
        let oldest = if kept.len() >= KEPT { kept.pop_back() } else { None };
        kept.push_front(made);
        drop(kept);
        // The block is freed after the lock.
        drop(oldest);
    }
}
