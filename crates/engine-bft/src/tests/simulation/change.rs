//! A change of the validators in the middle of a run.

use std::sync::Arc;

use esker_chain::{Bundle, ChainMachine};
use esker_primitives::{Id, Randomness};
use esker_validators::{SetChange, ValidatorAddress, ValidatorKey, ValidatorPublicKey};

use super::scenario::Random;
use crate::CertificateVerifier;
use crate::changes::{ChangeHistory, ChangeState};

/// Heights from the first approval to the change, at least.
const AHEAD: u64 = 33;

/// Within so many heights of the change there are more faults.
const NEAR: u64 = 3;

/// The ID of the network of the simulation.
pub(super) const NETWORK: u32 = 12345;

type Members = Vec<(ValidatorPublicKey, ValidatorAddress)>;

/// A change that the operators want.
pub(super) struct Change {
    /// The validators before and after it, by the numbers of their nodes.
    sets: [Vec<usize>; 2],
    keys: Vec<ValidatorPublicKey>,
    /// By node: the step from which on its operator approves it; `None`: never, or it is done.
    approves: Vec<Option<u64>>,
    /// Heights from the first approval to the change.
    ahead: u64,
    /// Set by the first approval.
    height: Option<u64>,
}

impl Change {
    /// The first nodes are the validators, the last one is not. After the change it is one: one more, or in place of
    /// another.
    pub(super) fn new(keys: &[ValidatorKey], random: &mut Random) -> Self {
        let keys: Vec<_> = keys.iter().map(ValidatorKey::public_key).collect();
        let last = keys.len() - 1;
        let before: Vec<usize> = (0..last).collect();
        let mut after: Vec<usize> = (0..=last).collect();
        if random.below(2) == 0 {
            after.remove(random.below(last as u64) as usize);
        }
        // In one of eight runs too few approve.
        let operators = if random.below(8) == 0 { before.len() / 2 } else { before.len() };
        let approves = |node| (node < operators).then(|| random.below(16));
        let approves = (0..=last).map(approves).collect();
        let ahead = AHEAD + random.below(8);
        Self { sets: [before, after], keys, approves, ahead, height: None }
    }

    fn members(&self, set: usize) -> Members {
        let member = |node: &usize| (self.keys[*node], format!("node-{node}:1").parse().unwrap());
        self.sets[set].iter().map(member).collect()
    }

    /// The validators at the beginning.
    pub(super) fn first(&self) -> Members {
        self.members(0)
    }

    /// A node's operator approves it when it is time.
    pub(super) fn approve(&mut self, step: u64, node: usize, state: &ChangeState, tip: u64) {
        if self.approves[node].is_none_or(|from| step < from) {
            return;
        }
        let height = *self.height.get_or_insert(tip + self.ahead);
        let change = SetChange::new(1, height, self.members(1)).unwrap();
        // One that comes too late is refused.
        let _approved = state.approve(change, tip);
        self.approves[node] = None;
    }

    /// Whether a node with this last bundle is at the change.
    pub(super) fn is_near(&self, last: u64) -> bool {
        self.height.is_some_and(|height| last.abs_diff(height) <= NEAR)
    }

    /// Whether a node is in the epoch in which all should be: the next one, if one node knows that it is agreed.
    pub(super) fn is_complete(&self, states: &[&ChangeState], machine: &dyn ChainMachine) -> bool {
        let newest = |state: &&ChangeState| state.with_history(ChangeHistory::newest_epoch);
        let agreed = states.iter().map(newest).max().unwrap_or(0);
        let height = self.height.unwrap_or(0);
        states.iter().all(|state| state.epoch() == agreed) && machine.last_final().0 > height + 1
    }

    /// Every certificate is one of the validators of its height. Returns whether the validators have changed.
    pub(super) fn check(&self, state: &ChangeState, machine: &dyn ChainMachine) -> bool {
        let history = state.with_history(ChangeHistory::clone);
        let mut sets = vec![(0, 0, self.first().iter().map(|(key, _)| *key).collect::<Vec<_>>())];
        if history.newest_epoch() > 0 {
            let keys = self.members(1).iter().map(|(key, _)| *key).collect();
            sets.push((self.height.unwrap(), 1, keys));
        }
        let sorted = |(first, epoch, mut keys): (u64, u64, Vec<ValidatorPublicKey>)| {
            keys.sort_unstable();
            (first, epoch, keys)
        };
        let known: Vec<_> = history.committees().into_iter().map(sorted).collect();
        assert_eq!(known, sets.into_iter().map(sorted).collect::<Vec<_>>());
        let randomness: Randomness = Arc::new(|bytes: &mut [u8]| bytes.fill(7));
        let keys: Vec<_> = self.first().iter().map(|(key, _)| *key).collect();
        let verifier = CertificateVerifier::new(NETWORK, Id::ZERO, &keys, randomness).unwrap();
        verifier.add_committees(&history).unwrap();
        let bundles = (1..=machine.last_final().0).map(|height| machine.bundle_at(height).unwrap());
        let bundles: Vec<(Bundle, _)> = bundles.map(Option::unwrap).collect();
        let proven: Vec<_> = bundles
            .iter()
            .filter_map(|(bundle, proof)| Some((bundle, proof.as_deref()?)))
            .collect();
        if let Err((index, error)) = verifier.verify_all(&proven) {
            panic!("bundle {}: {error}", proven[index].0.height);
        }
        history.newest_epoch() > 0
    }
}
