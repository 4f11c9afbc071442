//! Approvals and promises of the next change.
//!
//! An approval binds nobody: it says that an operator wants the change. When those of a quorum are known, each validator
//! whose operator approved it promises to vote for no bundle at its height or above in the current epoch. The promises of
//! a quorum are the change.

use std::collections::BTreeMap;

use esker_primitives::Id;
use esker_validators::{
    SetChange, Signature, Signatures, SignedChange, ValidatorPublicKey, quorum,
};

use super::history::ValidatorSet;
use super::signing::{Domain, Statement, is_signed};

/// The signatures of a change.
#[derive(Clone, Debug)]
pub(super) struct Votes {
    pub(super) change: SetChange,
    pub(super) approvals: Signatures,
    pub(super) promises: Signatures,
}

impl Votes {
    fn signatures_mut(&mut self, statement: Statement) -> &mut Signatures {
        match statement {
            Statement::Approval => &mut self.approvals,
            Statement::Promise => &mut self.promises,
        }
    }
}

/// All changes to the next epoch that are known. Each validator's last approval and last promise counts, so there are at
/// most two changes a validator.
#[derive(Clone, Debug, Default)]
pub(super) struct Agreement(BTreeMap<Id, Votes>);

impl Agreement {
    /// Takes a signature of a current validator, whose validity was checked; returns whether it is new.
    pub(super) fn add(
        &mut self,
        change: &SetChange,
        statement: Statement,
        (key, signature): (ValidatorPublicKey, Signature),
    ) -> bool {
        let id = change.id();
        if self.has(&id, statement, &key) {
            return false;
        }
        for votes in self.0.values_mut() {
            votes.signatures_mut(statement).remove(&key);
        }
        let new = || Votes {
            change: change.clone(),
            approvals: Signatures::new(),
            promises: Signatures::new(),
        };
        self.0.entry(id).or_insert_with(new).signatures_mut(statement).insert(key, signature);
        self.0.retain(|_, votes| !(votes.approvals.is_empty() && votes.promises.is_empty()));
        true
    }

    pub(super) fn has(&self, id: &Id, statement: Statement, key: &ValidatorPublicKey) -> bool {
        self.0.get(id).is_some_and(|votes| match statement {
            Statement::Approval => votes.approvals.contains_key(key),
            Statement::Promise => votes.promises.contains_key(key),
        })
    }

    /// Takes the signatures that a peer sent, those of current validators. The error names one that is wrong.
    pub(super) fn merge(
        &mut self,
        domain: &Domain,
        set: &ValidatorSet,
        received: Votes,
    ) -> Result<bool, ValidatorPublicKey> {
        let id = received.change.id();
        let keys = set.keys();
        let mut is_new = false;
        let Votes { change, approvals, promises } = received;
        for (statement, signatures) in
            [(Statement::Approval, approvals), (Statement::Promise, promises)]
        {
            for (key, signature) in signatures {
                if !keys.contains(&key) || self.has(&id, statement, &key) {
                    continue;
                }
                if !is_signed(&change, domain, statement, &key, &signature) {
                    return Err(key);
                }
                is_new |= self.add(&change, statement, (key, signature));
            }
        }
        Ok(is_new)
    }

    pub(super) fn votes(&self, change: &SetChange) -> Option<&Votes> {
        self.0.get(&change.id())
    }

    /// The change that a node passes on: the one that it approved, or else the one with the most signatures.
    pub(super) fn leading(&self, own: Option<&SetChange>) -> Option<&Votes> {
        own.and_then(|own| self.votes(own)).or_else(|| {
            self.0.values().max_by_key(|votes| votes.promises.len() + votes.approvals.len())
        })
    }

    /// The change that a quorum promised.
    pub(super) fn agreed(&self, validators: usize) -> Option<SignedChange> {
        let needed = quorum(validators);
        let votes = self.0.values().find(|votes| votes.promises.len() >= needed)?;
        Some(SignedChange { change: votes.change.clone(), promises: votes.promises.clone() })
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets changes below a height: they are too late.
    pub(super) fn forget_below(&mut self, height: u64) {
        self.0.retain(|_, votes| votes.change.first_height > height);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Votes> {
        self.0.values()
    }
}
