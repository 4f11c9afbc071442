//! The chain's rows against each other: blocks against their hashes, receipts against the headers, indexes against
//! the blocks, and the state against the newest header: every account and storage trie is made anew.
//!
//! Blocks are not run again: whether one was to be accepted was decided then, and an import decides it anew.

mod blocks;
mod history;
mod state;
mod trie;

use alloy_primitives::U256;
use esker_chain::ChainVm as _;
use esker_chain::audit::{Audit, AuditContext, Ledger, Ledgers};
use esker_evm_state::state::StateError;
use esker_evm_state::trie::TrieError;
use esker_evm_state::types::Header;
use esker_storage::audit::{AuditError, Finding};
use esker_storage::{Scope, StorageError};

use crate::chain::Evm;
use crate::pool::DROPPED;

impl Audit for Evm {
    fn audit(&self, ctx: &mut AuditContext<'_>) -> Result<Option<Ledgers>, AuditError> {
        let mut audit =
            Auditing { evm: self, name: self.name(), ledger: Ledger::default(), set: 0, tip: None };
        let genesis = self.genesis_definition();
        let genesis = genesis.map_err(|error| StorageError::Backend(error.to_string()))?;
        for account in genesis.alloc.values() {
            add(&mut audit.ledger.genesis, account.balance);
        }
        audit.audit_blocks(ctx)?;
        DROPPED.audit(&audit.place("dropped"), audit.scope(), ctx)?;
        let Some(tip) = audit.tip.take() else { return Ok(None) };
        audit.audit_state(&tip, ctx)?;
        audit.audit_history(ctx)?;
        let ledger = &mut audit.ledger;
        let side = if audit.set > 0 { &mut ledger.minted } else { &mut ledger.burnt };
        *side = side.saturating_add(audit.set.unsigned_abs());
        Ok(Some(Ledgers::from([(self.context().native_asset_id, audit.ledger)])))
    }
}

struct Auditing<'a> {
    evm: &'a Evm,
    name: String,
    ledger: Ledger,
    /// By how much control records changed the supply.
    set: i128,
    /// The newest header, if all blocks are there.
    tip: Option<Header>,
}

impl Auditing<'_> {
    fn scope(&self) -> Scope {
        self.evm.context().scope
    }

    fn place(&self, what: impl std::fmt::Display) -> String {
        format!("{}: {what}", self.name)
    }

    fn wrong(
        &self,
        ctx: &mut AuditContext<'_>,
        what: impl std::fmt::Display,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) {
        ctx.log.finding(Finding::new(self.place(what), expected, found));
    }
}

/// Adds wei; an amount beyond what a ledger counts stays at the most.
fn add(sum: &mut u128, wei: U256) {
    *sum = sum.saturating_add(wei.saturating_to());
}

/// A store that fails ends the audit; anything else is a finding, in words.
fn damage_text(error: StateError) -> Result<String, AuditError> {
    match error {
        StateError::Storage(error) | StateError::Trie(TrieError::Storage(error))
            if !error.is_corruption() =>
        {
            Err(error.into())
        }
        other => Ok(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_beyond_the_most_stay_there() {
        let mut sum = 1;
        add(&mut sum, U256::MAX);
        assert_eq!(sum, u128::MAX);
    }
}
