//! The tree of executed, undecided bundles over the last final one. Its bundles and bytes are limited.

use std::collections::HashMap;
use std::sync::Arc;

use esker_storage::WriteSet;

use super::MachineConfig;
use crate::bundle::{Bundle, BundleId};
use crate::tables::Position;
use crate::vm::ExecutedBlock;

/// The properties of a bundle that its children need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) height: u64,
    /// Unix ms.
    pub(super) timestamp_ms: u64,
    /// [`Bundle::version`].
    pub(super) version: u16,
}

/// An executed, undecided bundle.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: BundleId,
    pub(super) bundle: Bundle,
    /// Its blocks with the index of their chain, ascending.
    pub(super) executed: Vec<(usize, Arc<ExecutedBlock>)>,
    /// The rows of the state commitment after it.
    state: Arc<WriteSet>,
    /// Bytes of its blocks and write sets.
    pub(super) bytes: usize,
    /// Time that building or verifying its blocks took, ms.
    pub(super) execute_ms: u64,
}

impl Node {
    pub(super) fn new(
        id: BundleId,
        bundle: Bundle,
        executed: Vec<(usize, Arc<ExecutedBlock>)>,
        state: WriteSet,
        execute_ms: u64,
    ) -> Self {
        let written = executed.iter().map(|(_, block)| block.writes.size_bytes());
        let fixed = bundle.encoded_len().saturating_add(state.size_bytes());
        let bytes = written.fold(fixed, usize::saturating_add);
        Self { id, bundle, executed, state: Arc::new(state), bytes, execute_ms }
    }

    fn place(&self) -> Place {
        let Bundle { height, timestamp_ms, version, .. } = self.bundle;
        Place { height, timestamp_ms, version }
    }

    /// This bundle's block of a chain.
    pub(super) fn block_of(&self, chain: usize) -> Option<&Arc<ExecutedBlock>> {
        self.executed.iter().find(|(index, _)| *index == chain).map(|(_, block)| block)
    }

    /// The write sets of its blocks in the order of the chains, then that of the commitment; later sets override
    /// earlier ones.
    pub(super) fn writes(&self) -> impl DoubleEndedIterator<Item = Arc<WriteSet>> {
        let blocks = self.executed.iter().map(|(_, block)| Arc::clone(&block.writes));
        blocks.chain(std::iter::once(Arc::clone(&self.state)))
    }

    /// Bytes of all its writes.
    pub(super) fn written_bytes(&self) -> usize {
        self.writes().map(|set| set.size_bytes()).sum()
    }
}

#[derive(Debug)]
struct Entry {
    node: Arc<Node>,
    is_notarized: bool,
}

/// The tree. The parent of each node is in it, or is the last final bundle.
#[derive(Debug)]
pub(super) struct Tree {
    last: Position,
    /// Version of the last final bundle.
    last_version: u16,
    entries: HashMap<BundleId, Entry>,
    bytes: usize,
}

impl Tree {
    /// A tree over the last final bundle, which has this version.
    pub(super) fn new(last: Position, last_version: u16) -> Self {
        Self { last, last_version, entries: HashMap::new(), bytes: 0 }
    }

    pub(super) fn last(&self) -> Position {
        self.last
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether another bundle of this size fits.
    pub(super) fn has_room(&self, bytes: usize, config: &MachineConfig) -> bool {
        self.len() < config.max_undecided
            && self.bytes.saturating_add(bytes) <= config.max_undecided_bytes
    }

    /// Whether the state after a bundle is known.
    pub(super) fn contains(&self, id: &BundleId) -> bool {
        *id == self.last.id || self.entries.contains_key(id)
    }

    /// An undecided bundle.
    pub(super) fn node(&self, id: &BundleId) -> Option<&Arc<Node>> {
        self.entries.get(id).map(|entry| &entry.node)
    }

    /// The place of a known bundle.
    pub(super) fn place(&self, id: &BundleId) -> Option<Place> {
        if *id == self.last.id {
            let Position { height, timestamp_ms, .. } = self.last;
            return Some(Place { height, timestamp_ms, version: self.last_version });
        }
        self.node(id).map(|node| node.place())
    }

    /// The undecided bundles from `id` down to the final one, newest first; `None` if `id` is unknown.
    pub(super) fn path_to(&self, id: &BundleId) -> Option<Vec<Arc<Node>>> {
        let mut path = Vec::new();
        let mut at = *id;
        while at != self.last.id {
            let node = self.node(&at)?;
            at = node.bundle.parent;
            path.push(Arc::clone(node));
        }
        Some(path)
    }

    /// Adds a node with a known parent; false if the tree has it already.
    pub(super) fn insert(&mut self, node: Arc<Node>) -> bool {
        if self.entries.contains_key(&node.id) {
            return false;
        }
        self.bytes = self.bytes.saturating_add(node.bytes);
        self.entries.insert(node.id, Entry { node, is_notarized: false });
        true
    }

    /// Marks a bundle as notarized. Returns it the first time.
    pub(super) fn notarize(&mut self, id: &BundleId) -> Option<Arc<Node>> {
        let entry = self.entries.get_mut(id)?;
        let is_news = !std::mem::replace(&mut entry.is_notarized, true);
        is_news.then(|| Arc::clone(&entry.node))
    }

    /// Makes a child of the final bundle the final one. Returns the nodes that can no longer become final, lowest
    /// first.
    pub(super) fn advance(&mut self, node: &Node) -> Vec<Arc<Node>> {
        let Bundle { height, timestamp_ms, .. } = node.bundle;
        self.last = Position { height, id: node.id, timestamp_ms };
        self.last_version = node.bundle.version;
        self.remove(&node.id);
        self.remove_detached()
    }

    /// Makes an earlier bundle the final one. Returns all undecided nodes, lowest first.
    pub(super) fn rewind(&mut self, to: Position, version: u16) -> Vec<Arc<Node>> {
        (self.last, self.last_version) = (to, version);
        self.remove_detached()
    }

    /// Removes an undecided bundle and its descendants. Returns them, lowest first.
    pub(super) fn abandon(&mut self, id: &BundleId) -> Vec<Arc<Node>> {
        let Some(dead) = self.remove(id) else { return Vec::new() };
        let mut removed = vec![dead];
        removed.extend(self.remove_detached());
        removed
    }

    fn remove(&mut self, id: &BundleId) -> Option<Arc<Node>> {
        let node = self.entries.remove(id)?.node;
        self.bytes = self.bytes.saturating_sub(node.bytes);
        Some(node)
    }

    /// Removes all nodes that are not descendants of the final bundle.
    fn remove_detached(&mut self) -> Vec<Arc<Node>> {
        let nodes = self.entries.values().map(|entry| &entry.node);
        let mut detached: Vec<_> =
            nodes.filter(|node| self.path_to(&node.id).is_none()).cloned().collect();
        // The ID breaks ties, so that the order does not depend on a hash map.
        detached.sort_by_key(|node| (node.bundle.height, node.id));
        for node in &detached {
            self.remove(&node.id);
        }
        detached
    }
}
