//! Building blocks under the controls of a development node.

use std::collections::HashSet;
use std::sync::Arc;

use alloy_primitives::{Address, B256};
use esker_chain::tables::POSITION;
use esker_chain::{BuildContext, ChainError, ChainVm as _, ExecutedBlock};
use esker_evm_execution::executor::{SenderError, check_chain_id, impersonated, sender_of};
use esker_evm_state::state::StateError;
use esker_evm_state::types::{Header, Transaction};
use esker_storage::{Scope, StorageResult};

use super::builder::{BuildError, BuildOutcome};
use super::config::BuildMode;
use super::vm::Evm;
use super::{SubmitError, SubmittedTx};
use crate::control::{Controls, Plan};
use crate::extension::ExtError;
use crate::pool::{DropReason, PoolError, PooledTx};
use crate::view::ViewError;

impl Evm {
    /// The controls, on a development node.
    pub const fn controls(&self) -> Option<&Arc<Controls>> {
        self.controls.as_ref()
    }

    /// Fails while the store takes no writes: a requested block would wait for them.
    ///
    /// # Errors
    /// The disk is full, or can't be written.
    pub fn ensure_writable(&self) -> StorageResult<()> {
        self.context.store.ensure_writable()
    }

    /// Time of the last block of any chain of the node, Unix s.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn last_time_s(&self) -> Result<u64, ViewError> {
        let reader = self.context().store.snapshot()?;
        let last = POSITION.get(reader.as_ref(), Scope::NODE, &())?;
        let last_s = last.map_or(0, |position| position.timestamp_ms / 1000);
        Ok(last_s.max(self.head().header.time))
    }

    /// The plan of the next block.
    pub(super) fn plan(&self) -> Plan {
        self.controls().map_or(Plan::Pool, |controls| controls.plan())
    }

    /// The time of the next block, Unix s, if a request for blocks sets it.
    pub(super) fn planned_time_s(&self) -> Option<u64> {
        self.controls()?.planned_time_s()
    }

    /// The time at which a planned block is built, Unix ms. A client may have set the clock after the machine began
    /// the build and before it made its request, so the clock is read after the plan.
    pub(super) fn build_time_ms(&self, at: &BuildContext) -> u64 {
        self.controls().map_or(at.now_ms, |_| self.context.clock.now_ms())
    }

    /// The transactions of the next block, if it holds no others.
    pub(super) fn only(&self) -> Option<Arc<HashSet<B256>>> {
        self.controls()?.only()
    }

    /// The earliest time of the next block after `parent`, Unix ms, if blocks have a least distance. The distance
    /// does not apply to blocks on request, to blocks whose time is set, and to block 1.
    pub(super) fn next_due_ms(&self, plan: Plan, parent: &Header) -> Option<u64> {
        let BuildMode::Interval(ms) = self.config().mode else { return None };
        let is_stopped = || self.controls().is_some_and(|c| c.clock().stopped_ms().is_some());
        if plan != Plan::Pool || parent.number == self.genesis_number() || is_stopped() {
            return None;
        }
        Some(parent.time.saturating_mul(1000).saturating_add(ms))
    }

    /// The outcome of building on the block at `height`; `None` if a client asked for an impossible change, or the
    /// rules allow no block. A client that asked for the block gets the error; otherwise it is logged.
    pub(super) fn without_refused(
        &self,
        plan: Plan,
        height: u64,
        filled: Result<BuildOutcome, BuildError>,
    ) -> Result<Option<BuildOutcome>, ChainError> {
        let is_requested = matches!(plan, Plan::Change | Plan::Mine | Plan::Only);
        let requested_by = self.controls().filter(|_| is_requested);
        match (requested_by, filled) {
            (Some(controls), Err(BuildError::Extension(ExtError::Invalid(reason))))
                if plan == Plan::Change =>
            {
                controls.refuse(reason);
                Ok(None)
            }
            (Some(controls), Err(BuildError::Rules(error))) => {
                controls.refuse(error.to_string());
                Ok(None)
            }
            (None, Err(BuildError::Rules(error))) => {
                self.build_failures.log(&self.name(), height, &error);
                Ok(None)
            }
            (_, filled) => Ok(Some(filled?)),
        }
    }

    /// Remembers a block that was built under the controls.
    pub(super) fn note_built(&self, plan: Plan, block: &ExecutedBlock) {
        let Some(controls) = self.controls() else { return };
        let hash = B256::new(*block.id.as_bytes());
        controls.record_sealed(hash);
        if matches!(plan, Plan::Mine | Plan::Only | Plan::Change) {
            controls.record_built(hash);
        }
    }

    /// Refuses a transaction of a client that impersonates an account, unless the controls allow it.
    pub(super) fn check_impersonation(&self, tx: &Transaction) -> Result<(), PoolError> {
        let Some(account) = impersonated(tx.signature()) else { return Ok(()) };
        let is_allowed = self.controls().is_some_and(|c| c.impersonates(&account));
        if is_allowed { Ok(()) } else { Err(PoolError::InvalidSender) }
    }

    /// Pools a transaction of any sender with an [`esker_evm_execution::executor::impersonating_signature`].
    ///
    /// # Errors
    /// The pool refuses it.
    pub fn submit_impersonated(&self, tx: Transaction) -> Result<SubmittedTx, SubmitError> {
        self.check_fetched(&tx)?;
        let hash = self.submit_here(tx)?;
        Ok(SubmittedTx { hash, answer: self.answer_with_block(&hash) })
    }

    /// Whether waiting transactions get into a block at once: not if blocks are made on request or at fixed times.
    pub fn makes_blocks_at_once(&self) -> bool {
        self.config().mode == BuildMode::Immediate && self.controls().is_none_or(|c| c.automine())
    }

    /// Removes a transaction from the pool; false if it is not there.
    pub fn drop_transaction(&self, hash: &B256) -> bool {
        let is_there = self.pool().contains(hash);
        if is_there {
            self.pool().withdraw(hash, DropReason::Request, self.context.clock.now_ms());
        }
        is_there
    }

    /// Removes the transactions of the senders of `txs` from the pool.
    pub(crate) fn drop_transactions_of<'a>(&self, txs: impl Iterator<Item = &'a Transaction>) {
        let rules = self.params().rules.as_ref();
        let senders: HashSet<_> = txs.filter_map(|tx| sender_of(tx, rules).ok()).collect();
        self.drop_transactions_if(|sender| senders.contains(sender));
    }

    /// Removes the transactions from the pool that are signed for other chain IDs than that of the next block.
    ///
    /// # Errors
    /// The state can't be read.
    pub fn drop_transactions_of_other_chains(&self) -> Result<(), StateError> {
        let want = self.chain_id()?;
        self.withdraw_waiting(|tx| match check_chain_id(tx.tx(), want) {
            Err(SenderError::ChainId { have, want }) => Some(DropReason::ChainId { have, want }),
            Ok(()) | Err(_) => None,
        });
        Ok(())
    }

    /// Removes the transactions of an account from the pool.
    pub fn drop_transactions_from(&self, sender: &Address) {
        self.drop_transactions_if(|other| other == sender);
    }

    /// Removes all transactions from the pool.
    pub fn drop_all_transactions(&self) {
        self.drop_transactions_if(|_| true);
    }

    /// Removes the transactions of some senders from the pool.
    fn drop_transactions_if(&self, is_dropped: impl Fn(&Address) -> bool) {
        self.withdraw_waiting(|tx| is_dropped(&tx.sender()).then_some(DropReason::Request));
    }

    fn withdraw_waiting(&self, reason: impl Fn(&PooledTx) -> Option<DropReason>) {
        for tx in self.pool().waiting().iter().rev() {
            if let Some(reason) = reason(tx) {
                self.pool().withdraw(&tx.hash(), reason, self.context.clock.now_ms());
            }
        }
    }
}
