//! The block that would be built now, which the tag `pending` means on a development node.

use std::collections::VecDeque;
use std::sync::Arc;

use alloy_primitives::B256;
use esker_chain::{BuildContext, ChainError};
use esker_evm_execution::rules::HeaderTerms;
use esker_evm_state::state::At;
use esker_evm_state::types::{Receipt, SealedBlock};
use esker_primitives::sync::Mutex;
use esker_storage::{KvRead, Overlay, WriteSet};

use super::builder::preview;
use super::vm::Evm;
use crate::view::{StateSnapshot, ViewError};

/// Blocks that are kept for requests that have begun.
const KEPT: usize = 4;

/// What a pending block follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Basis {
    parent: B256,
    pool: u64,
    /// Unix s.
    time: u64,
    /// What the block sets of its header.
    set: HeaderTerms,
}

/// A block that is not decided.
#[derive(Debug)]
pub(super) struct PendingBlock {
    pub(super) block: Arc<SealedBlock>,
    pub(super) receipts: Arc<[Receipt]>,
    writes: Arc<WriteSet>,
    basis: Basis,
}

impl PendingBlock {
    /// The state after the block; `None` if the last block of `reader` is not its parent.
    pub(super) fn state(
        &self,
        reader: Box<dyn KvRead>,
        evm: &Evm,
        last: B256,
    ) -> Option<StateSnapshot> {
        let reader = (last == self.basis.parent)
            .then(|| Box::new(Overlay::new(reader, vec![Arc::clone(&self.writes)])))?;
        Some(StateSnapshot::new(reader, evm.context.scope, At::Latest))
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
    /// The block of a hash, if it was made a moment ago.
    pub(super) fn find(&self, hash: &B256) -> Option<Arc<PendingBlock>> {
        self.0.lock().iter().find(|made| made.block.hash == *hash).cloned()
    }

    fn of_basis(&self, basis: &Basis) -> Option<Arc<PendingBlock>> {
        self.0.lock().iter().find(|made| made.basis == *basis).cloned()
    }

    fn add(&self, made: Arc<PendingBlock>) {
        let mut kept = self.0.lock();
        let oldest = if kept.len() >= KEPT { kept.pop_back() } else { None };
        kept.push_front(made);
        drop(kept);
        // Freed without the lock.
        drop(oldest);
    }
}

impl Evm {
    /// The block that would be built now from the pool; `None` on a node that is not for development. Costs as much as
    /// building it; the last ones are kept.
    pub(super) fn pending_block(&self) -> Result<Option<Arc<PendingBlock>>, ViewError> {
        let Some(controls) = self.controls() else { return Ok(None) };
        let head = self.head();
        let now_ms = self.context.clock.now_ms();
        let time = |parent_s: u64| (now_ms / 1000).max(parent_s);
        // Read before the pool's transactions are.
        let pool = self.pool.revision();
        let set = controls.next_header().get();
        let basis = Basis { parent: head.hash, pool, time: time(head.header.time), set };
        if let Some(made) = self.pending.of_basis(&basis) {
            return Ok(Some(made));
        }
        let reader = self.context.store.snapshot()?;
        let at = BuildContext { now_ms, ancestors: Vec::new(), has_undecided: false };
        let parent = self.parent(reader.as_ref(), &at)?;
        let basis = Basis { parent: parent.hash, time: time(parent.header.time), ..basis };
        let made = self.with_parent_context(reader.as_ref(), &parent, &at, |ctx| {
            preview(ctx, &self.pool, basis.time, &set)
        });
        let (block, processed, writes) = made.map_err(|error| match ChainError::from(error) {
            ChainError::Storage(error) => ViewError::Storage(error),
            error => ViewError::Damaged(error.to_string()),
        })?;
        let rules = &self.params.rules;
        let (hash, size) = (rules.block_hash(&block.header), rules.encode_block(&block).len());
        let made = Arc::new(PendingBlock {
            block: Arc::new(SealedBlock { block, hash, size }),
            receipts: processed.receipts.into(),
            writes: Arc::new(writes),
            basis,
        });
        self.pending.add(Arc::clone(&made));
        Ok(Some(made))
    }
}
