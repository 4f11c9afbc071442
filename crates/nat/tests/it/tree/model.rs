//! The consequences of the steps: verdicts, decided bundles, and the fate of transactions.

use std::collections::{BTreeMap, BTreeSet};

use esker_chain::{Bundle, Verdict};
use esker_primitives::ids::Id;

use super::txs::{AnyTx, Consumed};

/// All bundles, the decided ones among them, and all transactions.
#[derive(Debug)]
pub(super) struct Model {
    /// Valid bundles that were made, the first being final from the start.
    pub(super) bundles: Vec<Bundle>,
    /// The decided ones in their order, the same first one included.
    pub(super) decided: Vec<Bundle>,
    pub(super) txs: BTreeMap<Id, AnyTx>,
    /// In which of the decided ones a transaction is.
    accepted: BTreeMap<Id, usize>,
    /// Which of the decided ones consumes what.
    consumed: BTreeMap<Consumed, usize>,
}

/// The model's knowledge of a node.
#[derive(Debug, Default)]
pub(super) struct Follower {
    /// How many of the decided bundles are final here, without the first.
    pub(super) height: usize,
    /// Undecided bundles that it has executed.
    pub(super) tree: BTreeSet<Id>,
    /// A proposal was given up. Its bundle may have been kept: the caller went away with the answer in hand.
    pub(super) may_hold_more: bool,
    /// Transactions that it has taken in and must not lose.
    pub(super) taken: BTreeSet<Id>,
}

impl Model {
    pub(super) fn new(first: Bundle) -> Self {
        Self {
            bundles: vec![first.clone()],
            decided: vec![first],
            txs: BTreeMap::new(),
            accepted: BTreeMap::new(),
            consumed: BTreeMap::new(),
        }
    }

    pub(super) fn pick(&self, choice: u8) -> Bundle {
        self.bundles[usize::from(choice) % self.bundles.len()].clone()
    }

    pub(super) fn add(&mut self, bundle: Bundle) {
        if !self.bundles.contains(&bundle) {
            self.bundles.push(bundle);
        }
    }

    fn parent_of(&self, bundle: &Bundle) -> Option<&Bundle> {
        self.bundles.iter().find(|other| other.id() == bundle.parent)
    }

    /// All bundles below one, newest first.
    pub(super) fn ancestry(&self, bundle: &Bundle) -> Vec<Bundle> {
        let mut found: Vec<Bundle> = Vec::new();
        while let Some(parent) = self.parent_of(found.last().unwrap_or(bundle)) {
            found.push(parent.clone());
        }
        found
    }

    /// The last final bundle of a node.
    pub(super) fn last(&self, node: &Follower) -> &Bundle {
        &self.decided[node.height]
    }

    /// Whether a node knows the state after a bundle.
    pub(super) fn is_known(&self, node: &Follower, id: &Id) -> bool {
        node.tree.contains(id) || self.last(node).id() == *id
    }

    /// The verdict of a node about a valid bundle.
    pub(super) fn verdict(&self, node: &Follower, bundle: &Bundle, with_ancestry: bool) -> Verdict {
        let id = bundle.id();
        if self.decided[..=node.height].iter().any(|decided| decided.id() == id) {
            return Verdict::AlreadyFinal;
        }
        if node.tree.contains(&id) {
            return Verdict::Valid;
        }
        let last = self.last(node).height;
        let mut lowest = bundle;
        loop {
            if self.is_known(node, &lowest.parent) {
                return Verdict::Valid;
            }
            if lowest.height <= last + 1 {
                return Verdict::Abandoned;
            }
            match self.parent_of(lowest) {
                Some(parent) if with_ancestry => lowest = parent,
                _ => return Verdict::ParentMissing,
            }
        }
    }

    /// A node has executed a bundle, and what leads to it.
    pub(super) fn executed(&self, node: &mut Follower, bundle: &Bundle) {
        let mut at = bundle.clone();
        while !self.is_known(node, &at.id()) {
            node.tree.insert(at.id());
            at = self.parent_of(&at).unwrap().clone();
        }
    }

    /// A node has made more of the decided bundles final.
    pub(super) fn followed(&self, node: &mut Follower, count: usize) {
        node.height += count;
        let last = self.last(node).id();
        let mut alive = BTreeSet::from([last]);
        for bundle in &self.bundles {
            // A parent is made before its children.
            if alive.contains(&bundle.parent) {
                alive.insert(bundle.id());
            }
        }
        node.tree.retain(|id| alive.contains(id) && *id != last);
    }

    /// A node has dropped a bundle with what follows it. Returns how many.
    pub(super) fn abandoned(&self, node: &mut Follower, id: Id) -> usize {
        let before = node.tree.len();
        if !node.tree.remove(&id) {
            return 0;
        }
        let mut dead = BTreeSet::from([id]);
        for bundle in &self.bundles {
            if dead.contains(&bundle.parent) {
                dead.insert(bundle.id());
                node.tree.remove(&bundle.id());
            }
        }
        before - node.tree.len()
    }

    /// The path from the last decided bundle to one that follows it.
    pub(super) fn undecided_path(&self, bundle: &Bundle) -> Option<Vec<Bundle>> {
        let last = self.decided[self.decided.len() - 1].id();
        let mut path = vec![bundle.clone()];
        while path[path.len() - 1].parent != last {
            let parent = self.parent_of(&path[path.len() - 1])?.clone();
            path.push(parent);
        }
        path.reverse();
        Some(path)
    }

    /// A bundle with these transactions is decided: none is counted twice, and nothing is consumed twice.
    pub(super) fn decide(&mut self, bundle: Bundle, ids: &[Id]) {
        self.decided.push(bundle);
        let place = self.decided.len() - 1;
        for id in ids {
            assert_eq!(self.accepted.insert(*id, place), None, "{id} is accepted twice");
            for consumed in &self.txs[id].consumes {
                let before = self.consumed.insert(*consumed, place);
                assert_eq!(before, None, "{consumed:?} is consumed twice");
            }
        }
    }

    pub(super) fn is_accepted(&self, node: &Follower, id: &Id) -> bool {
        self.accepted.get(id).is_some_and(|place| *place <= node.height)
    }

    /// Whether a transaction can't be accepted any more, because of what is final at a node.
    pub(super) fn is_impossible(&self, node: &Follower, id: &Id) -> bool {
        let is_gone =
            |what: &Consumed| self.consumed.get(what).is_some_and(|place| *place <= node.height);
        !self.is_accepted(node, id) && self.txs[id].consumes.iter().any(is_gone)
    }
}
