//! Compares the chain's rows with each other: blocks with their hashes, receipts with the headers, indexes with the
//! blocks, and the state with the newest header. It rebuilds every account and storage trie.
//!
//! It does not execute blocks again: their validity was decided when they were accepted. An import decides it again.

mod addresses;
mod blocks;
mod history;
mod state;
mod trie;

use alloy_primitives::{U256, U512};
use esker_chain::ChainVm as _;
use esker_chain::audit::{Audit, AuditContext, Ledger, Ledgers};
use esker_evm_state::state::StateError;
use esker_evm_state::trie::TrieError;
use esker_evm_state::types::Header;
use esker_storage::audit::{AuditError, Finding};
use esker_storage::{Scope, StorageError};

use crate::chain::Evm;
use crate::extension::SupplyChange;
use crate::pool::DROPPED;

impl Audit for Evm {
    fn audit(&self, ctx: &mut AuditContext<'_>) -> Result<Option<Ledgers>, AuditError> {
        let mut audit = Auditing {
            evm: self,
            name: self.name(),
            ledger: Ledger::default(),
            set: SupplyChange::default(),
            held: U512::ZERO,
            lost: U512::ZERO,
            tip: None,
        };
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
        balance(&mut audit.ledger, &audit.set, audit.held, audit.lost);
        Ok(Some(Ledgers::from([(self.context().native_asset_id, audit.ledger)])))
    }
}

struct Auditing<'a> {
    evm: &'a Evm,
    name: String,
    ledger: Ledger,
    /// Changes of the supply by control records.
    set: SupplyChange,
    /// Wei that all accounts hold.
    held: U512,
    /// Wei that accounts lost.
    lost: U512,
    /// The newest header, if no block is missing.
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

/// Adds wei. The sum saturates at the largest amount of a ledger.
fn add(sum: &mut u128, wei: U256) {
    *sum = sum.saturating_add(wei.saturating_to());
}

/// Adds wei without a limit.
fn add_wide(sum: &mut U512, wei: U256) {
    *sum = sum.saturating_add(U512::from(wei));
}

/// Most wei from control records that a ledger can count.
const COUNTED: U512 = U512::from_limbs([0, 1 << 56, 0, 0, 0, 0, 0, 0]);

/// Completes the ledger. Wei from control records that the ledger has no room for are left out on both sides, so that
/// the difference of the sides stays the same.
fn balance(ledger: &mut Ledger, set: &SupplyChange, held: U512, lost: U512) {
    let mut given = set.given.saturating_sub(set.taken);
    let mut gone = set.taken.saturating_sub(set.given).saturating_add(lost);
    let mut held = held;
    if given > COUNTED {
        for side in [&mut held, &mut gone] {
            let both = given.min(*side);
            given -= both;
            *side -= both;
        }
    }
    ledger.minted = ledger.minted.saturating_add(given.saturating_to());
    ledger.burnt = ledger.burnt.saturating_add(gone.saturating_to());
    ledger.held = ledger.held.saturating_add(held.saturating_to());
}

/// The text of a finding. An error of the store ends the audit instead.
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

    #[test]
    fn ledgers_hold_whatever_controls_gave() {
        let completed = |given: &[(U256, U256)], held: &[U256], lost: U256| {
            let mut ledger = Ledger { genesis: 100, ..Ledger::default() };
            let (mut set, mut sum) = (SupplyChange::default(), U512::ZERO);
            given.iter().for_each(|(before, after)| set.add_balance(*before, *after));
            held.iter().for_each(|wei| add_wide(&mut sum, *wei));
            balance(&mut ledger, &set, sum, U512::from(lost));
            let Ledger { genesis, minted, held, burnt, .. } = ledger;
            (genesis + minted).cast_signed() - (held + burnt).cast_signed()
        };
        let (wei, max) = (U256::from, U256::MAX);
        for (given, held, lost, missing) in [
            (vec![], vec![wei(100)], wei(0), 0),
            (vec![], vec![wei(98)], wei(1), 1),
            (vec![(wei(0), wei(7))], vec![wei(100), wei(7)], wei(0), 0),
            (vec![(wei(60), wei(0))], vec![wei(40)], wei(0), 0),
            (vec![(wei(0), max), (wei(0), max)], vec![wei(100), max, max], wei(0), 0),
            (vec![(wei(0), max), (wei(0), max)], vec![wei(100), max, max - wei(9)], wei(0), 9),
            (vec![(wei(0), max), (wei(0), max)], vec![wei(101), max, max], wei(0), -1),
            (vec![(wei(0), max)], vec![wei(100)], max, 0),
            (vec![(wei(0), max)], vec![wei(99)], max, 1),
            (vec![(wei(0), max), (max, wei(3))], vec![wei(103)], wei(0), 0),
        ] {
            assert_eq!(completed(&given, &held, lost), missing, "{given:?} {held:?} {lost}");
        }
    }
}
