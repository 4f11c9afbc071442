//! Builds the pending block of a development node.

use std::sync::Arc;

use esker_chain::{BuildContext, ChainError};
use esker_evm_state::state::StateError;
use esker_evm_state::types::{Header, SealedBlock};

use super::builder::{BuildError, preview};
use super::pending::{Basis, PendingBlock};
use super::vm::Evm;
use crate::view::ViewError;

impl Evm {
    /// The block that would be built now from the pool; `None` on a node that is not for development. The call costs
    /// as much as building a block. The last blocks are kept.
    pub(super) fn pending_block(&self) -> Result<Option<Arc<PendingBlock>>, ViewError> {
        let Some(controls) = self.controls() else { return Ok(None) };
        let head = self.head();
        let now_ms = self.context.clock.now_ms();
        let rules = &self.params.rules;
        let time = |parent: &Header| rules.child_time(parent, now_ms / 1000);
        // The revision is read before the pool's transactions.
        let pool = self.pool.revision();
        let set = controls.next_header().get();
        let basis = Basis { parent: head.hash, pool, time: time(&head.header), set };
        if let Some(made) = self.pending.find_by_basis(&basis) {
            return Ok(Some(made));
        }
        let reader = self.context.store.snapshot()?;
        let at = BuildContext { now_ms, ancestors: Vec::new(), has_undecided: false };
        let parent = self.parent(reader.as_ref(), &at)?;
        let basis = Basis { parent: parent.hash, time: time(&parent.header), ..basis };
        let made = self.with_parent_context(reader.as_ref(), &parent, &at, |ctx| {
            preview(ctx, &self.pool, basis.time, &set)
        });
        let (block, processed, writes) = made.map_err(unreadable)?;
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

fn unreadable(error: BuildError) -> ViewError {
    if let Some(lacking) = error.not_fetched() {
        return StateError::from(lacking.clone()).into();
    }
    match ChainError::from(error) {
        ChainError::Storage(error) => ViewError::Storage(error),
        error => ViewError::Damaged(error.to_string()),
    }
}
