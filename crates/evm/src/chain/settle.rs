//! Updates the pool after accepted blocks.

use std::collections::HashSet;

use alloy_primitives::B256;
use esker_chain::ChainVm as _;
use esker_evm_state::state::StateError;

use super::submit::newest;
use super::vm::Evm;
use super::{AcceptedBlock, SubmitError};
use crate::pool::NewHead;

/// Accounts of the pool that each block compares with the store. All accounts take turns, so that no inconsistency
/// lasts.
const CHECKED_PER_BLOCK: usize = 4;

impl Evm {
    /// Updates the pool after an accepted block.
    pub(super) fn settle_pool(&self, block: &AcceptedBlock) {
        let mined: HashSet<&B256> =
            block.block.transactions.iter().map(|tx| tx.tx_hash()).collect();
        // The head is this block, which was verified, so its fees are valid.
        let gas_limit = self.next_block().map_or(u64::MAX, |next| next.gas_limit);
        let head = NewHead {
            height: block.block.header.number,
            accounts: &block.touched,
            is_mined: &|hash| mined.contains(hash),
            gas_limit,
            now_ms: self.context.clock.now_ms(),
        };
        self.pool.settle(&head);
        if let Err(error) = self.check_pooled_accounts(&head) {
            tracing::error!(chain = self.name(), %error, "cannot check the accounts of the pool");
        }
    }

    /// Reads some of the pool's accounts again. All accounts take turns.
    fn check_pooled_accounts(&self, head: &NewHead<'_>) -> Result<(), SubmitError> {
        let due = self.pool.next_to_check(CHECKED_PER_BLOCK);
        if due.is_empty() {
            return Ok(());
        }
        let reader = self.context.store.snapshot()?;
        let view = self.view(reader.as_ref());
        let read = due.iter().map(|address| Ok((*address, newest(&view, address)?)));
        let accounts: Vec<_> = read.collect::<Result<_, StateError>>()?;
        let (height, is_mined) = (view.tip()?.height, |hash: &B256| {
            view.location(hash).is_ok_and(|place| place.is_some())
        });
        self.pool.settle(&NewHead { height, accounts: &accounts, is_mined: &is_mined, ..*head });
        Ok(())
    }
}
