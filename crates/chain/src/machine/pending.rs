//! The tree of executed bundles that are not decided, over the last final one.

use std::collections::HashMap;
use std::sync::Arc;

use esker_storage::WriteSet;

use crate::tables::Position;
use crate::{Bundle, BundleId, ExecutedBlock};

/// An executed, undecided bundle.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: BundleId,
    pub(super) bundle: Bundle,
    /// Its blocks with the index of their chain, ascending.
    pub(super) executed: Vec<(usize, Arc<ExecutedBlock>)>,
    /// What all its blocks write: one layer of the overlays above it.
    pub(super) writes: Arc<WriteSet>,
}

impl Node {
    pub(super) fn new(bundle: Bundle, executed: Vec<(usize, Arc<ExecutedBlock>)>) -> Self {
        let mut writes = WriteSet::default();
        for (_, block) in &executed {
            writes.merge(&block.writes);
        }
        Self { id: bundle.id(), bundle, executed, writes: Arc::new(writes) }
    }

    /// This bundle's block of a chain.
    pub(super) fn block_of(&self, chain: usize) -> Option<&Arc<ExecutedBlock>> {
        self.executed.iter().find(|(index, _)| *index == chain).map(|(_, block)| block)
    }
}

/// The tree. Every node's parent is in it, or is the last final bundle.
#[derive(Debug)]
pub(super) struct Pending {
    last: Position,
    nodes: HashMap<BundleId, Arc<Node>>,
}

impl Pending {
    pub(super) fn new(last: Position) -> Self {
        Self { last, nodes: HashMap::new() }
    }

    pub(super) fn last(&self) -> Position {
        self.last
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn knows(&self, id: &BundleId) -> bool {
        *id == self.last.id || self.nodes.contains_key(id)
    }

    pub(super) fn node(&self, id: &BundleId) -> Option<Arc<Node>> {
        self.nodes.get(id).cloned()
    }

    /// Height and time (Unix ms) of a known bundle.
    pub(super) fn place_of(&self, id: &BundleId) -> Option<(u64, u64)> {
        if *id == self.last.id {
            return Some((self.last.height, self.last.timestamp_ms));
        }
        self.nodes.get(id).map(|node| (node.bundle.height, node.bundle.timestamp_ms))
    }

    pub(super) fn timestamp_of(&self, id: &BundleId) -> Option<u64> {
        self.place_of(id).map(|(_, timestamp_ms)| timestamp_ms)
    }

    /// The undecided bundles from `id` down to the final one, newest first; `None` if it is unknown.
    pub(super) fn path_to(&self, id: &BundleId) -> Option<Vec<Arc<Node>>> {
        let mut path = Vec::new();
        let mut at = *id;
        while at != self.last.id {
            let node = self.nodes.get(&at)?;
            at = node.bundle.parent;
            path.push(Arc::clone(node));
        }
        Some(path)
    }

    /// Adds a node; false if its parent is unknown, which then was abandoned.
    pub(super) fn insert(&mut self, node: Arc<Node>) -> bool {
        if !self.knows(&node.bundle.parent) {
            return false;
        }
        self.nodes.entry(node.id).or_insert(node);
        true
    }

    /// Makes a child of the final bundle the final one. Gives the nodes that can't become final any
    /// more, lowest first, so that an abandoned child's transactions follow its parent's.
    pub(super) fn advance(&mut self, node: &Node) -> Vec<Arc<Node>> {
        let Bundle { height, timestamp_ms, .. } = node.bundle;
        self.last = Position { height, id: node.id, timestamp_ms };
        self.nodes.remove(&node.id);
        let mut abandoned: Vec<_> = self
            .nodes
            .values()
            .filter(|other| self.path_to(&other.id).is_none())
            .cloned()
            .collect();
        // The ID breaks ties, so that a hash map's order reaches nobody.
        abandoned.sort_by_key(|other| (other.bundle.height, other.id));
        for other in &abandoned {
            self.nodes.remove(&other.id);
        }
        abandoned
    }
}
