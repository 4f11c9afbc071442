//! Changes a trie.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use alloy_primitives::{B256, keccak256};
use alloy_rlp::Decodable;
use alloy_trie::nodes::{
    BranchNode, BranchNodeRef, ExtensionNode, ExtensionNodeRef, LeafNode, LeafNodeRef, RlpNode,
    TrieNode,
};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, TrieMask};

use super::{NodeSource, TrieError};

/// A row that a change of the trie writes (its new RLP) or deletes (`None`).
pub type RowChange = (Nibbles, Option<Vec<u8>>);

/// A trie that is being changed. Its touched part is in memory.
///
/// It returns either one root with the changed rows ([`Self::finish`]), or any number of roots ([`Self::root`]).
#[derive(Debug)]
pub struct TrieUpdate<S> {
    source: S,
    root: Child,
    /// Paths of the rows that were read.
    loaded: BTreeSet<Nibbles>,
    hashed: u64,
}

/// A child of a branch or extension.
#[derive(Debug, Default)]
enum Child {
    #[default]
    None,
    /// The reference of the parent to a node that was not read.
    Stored(RlpNode),
    Node(Box<Node>),
}

#[derive(Debug)]
struct Node {
    kind: Kind,
    /// The reference of the parent to the node, if nothing below changed since it was read or since the last root.
    unchanged: Option<RlpNode>,
}

#[derive(Debug)]
enum Kind {
    Leaf { key: Nibbles, value: Vec<u8> },
    Extension { key: Nibbles, child: Child },
    Branch { children: Box<[Child; 16]> },
}

impl Child {
    fn new(kind: Kind) -> Self {
        Self::Node(Box::new(Node { kind, unchanged: None }))
    }

    fn leaf(key: Nibbles, value: Vec<u8>) -> Self {
        Self::new(Kind::Leaf { key, value })
    }

    /// `child` below `key`; without an extension if the key is empty.
    fn below(key: Nibbles, child: Self) -> Self {
        if key.is_empty() { child } else { Self::new(Kind::Extension { key, child }) }
    }

    fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

impl From<TrieNode> for Kind {
    fn from(node: TrieNode) -> Self {
        match node {
            TrieNode::EmptyRoot => Self::Branch { children: Box::default() },
            TrieNode::Leaf(LeafNode { key, value }) => Self::Leaf { key, value },
            TrieNode::Extension(ExtensionNode { key, child }) => {
                Self::Extension { key, child: Child::Stored(child) }
            }
            TrieNode::Branch(BranchNode { stack, state_mask }) => {
                let mut children: Box<[Child; 16]> = Box::default();
                let mut stored = stack.into_iter();
                for (nibble, child) in (0u8..).zip(children.iter_mut()) {
                    if state_mask.is_bit_set(nibble) {
                        *child = stored.next().map(Child::Stored).unwrap_or_default();
                    }
                }
                Self::Branch { children }
            }
        }
    }
}

fn joined(path: &Nibbles, nibble: usize) -> Nibbles {
    let mut path = *path;
    path.push(u8::try_from(nibble).expect("a nibble is below 16"));
    path
}

impl<S: NodeSource> TrieUpdate<S> {
    /// Begins a change of the trie with this root.
    pub fn new(source: S, root: B256) -> Self {
        let root = if root == EMPTY_ROOT_HASH {
            Child::None
        } else {
            Child::Stored(RlpNode::word_rlp(&root))
        };
        Self { source, root, loaded: BTreeSet::new(), hashed: 0 }
    }

    /// Sets the value of a key.
    pub fn insert(&mut self, key: B256, value: Vec<u8>) -> Result<(), TrieError> {
        let root = mem::take(&mut self.root);
        self.root = self.insert_at(root, Nibbles::new(), Nibbles::unpack(key), value)?;
        Ok(())
    }

    /// Removes a key. A missing key changes nothing.
    pub fn remove(&mut self, key: B256) -> Result<(), TrieError> {
        let root = mem::take(&mut self.root);
        self.root = self.remove_at(root, Nibbles::new(), Nibbles::unpack(key))?;
        Ok(())
    }

    /// The current root. Only nodes that changed since the last call are hashed. The changed rows are lost
    /// afterwards.
    pub fn root(&mut self) -> B256 {
        let node = match &mut self.root {
            Child::None => return EMPTY_ROOT_HASH,
            Child::Stored(reference) => return reference.as_hash().unwrap_or_default(),
            Child::Node(node) => node,
        };
        if let Some(hash) = node.unchanged.as_ref().and_then(RlpNode::as_hash) {
            return hash;
        }
        let hash = keccak256(encode_settled(&mut node.kind, &mut self.hashed));
        node.unchanged = Some(RlpNode::word_rlp(&hash));
        hash
    }

    /// Number of nodes that [`Self::root`] has encoded so far, a measure of its work.
    pub fn hashed_nodes(&self) -> u64 {
        self.hashed
    }

    /// The new root, and the changed rows.
    pub fn finish(self) -> (B256, Vec<RowChange>) {
        let mut commit = Commit { rows: BTreeMap::new(), live: BTreeSet::new() };
        let root = match self.root {
            Child::None => EMPTY_ROOT_HASH,
            Child::Stored(reference) => {
                // Nothing was read, so nothing changed.
                return (reference.as_hash().unwrap_or_default(), Vec::new());
            }
            Child::Node(node) => commit.root(&node),
        };
        let gone = self.loaded.iter().filter(|path| !commit.live.contains(*path));
        let deleted: Vec<RowChange> = gone.map(|path| (*path, None)).collect();
        let written = commit.rows.into_iter().map(|(path, rlp)| (path, Some(rlp)));
        (root, deleted.into_iter().chain(written).collect())
    }

    /// Reads a node that was not read yet.
    fn load(&mut self, child: Child, path: &Nibbles) -> Result<Option<Box<Node>>, TrieError> {
        let reference = match child {
            Child::None => return Ok(None),
            Child::Node(node) => return Ok(Some(node)),
            Child::Stored(reference) => reference,
        };
        let rlp = match reference.as_hash() {
            Some(hash) => {
                let rlp = self.source.node(path)?;
                self.loaded.insert(*path);
                rlp.ok_or(TrieError::Missing { hash, path: *path })?
            }
            None => reference.as_slice().to_vec(),
        };
        let node = TrieNode::decode(&mut rlp.as_slice())
            .map_err(|cause| TrieError::Damaged { path: *path, cause })?;
        Ok(Some(Box::new(Node { kind: node.into(), unchanged: Some(reference) })))
    }

    fn insert_at(
        &mut self,
        child: Child,
        path: Nibbles,
        key: Nibbles,
        value: Vec<u8>,
    ) -> Result<Child, TrieError> {
        let Some(mut node) = self.load(child, &path)? else { return Ok(Child::leaf(key, value)) };
        match &mut node.kind {
            Kind::Leaf { key: own, value: old } if *own == key => {
                if *old != value {
                    *old = value;
                    node.unchanged = None;
                }
                Ok(Child::Node(node))
            }
            Kind::Leaf { key: own, value: old } => {
                let common = own.common_prefix_length(&key);
                let mut children: Box<[Child; 16]> = Box::default();
                let at = |key: &Nibbles| usize::from(key.get_unchecked(common));
                children[at(own)] = Child::leaf(own.slice(common + 1..), mem::take(old));
                children[at(&key)] = Child::leaf(key.slice(common + 1..), value);
                let branch = Child::new(Kind::Branch { children });
                Ok(Child::below(key.slice(..common), branch))
            }
            Kind::Extension { key: own, child } => {
                let common = own.common_prefix_length(&key);
                if common == own.len() {
                    let below = path.join(own);
                    *child = self.insert_at(mem::take(child), below, key.slice(common..), value)?;
                    node.unchanged = None;
                    return Ok(Child::Node(node));
                }
                let mut children: Box<[Child; 16]> = Box::default();
                children[usize::from(own.get_unchecked(common))] =
                    Child::below(own.slice(common + 1..), mem::take(child));
                children[usize::from(key.get_unchecked(common))] =
                    Child::leaf(key.slice(common + 1..), value);
                let branch = Child::new(Kind::Branch { children });
                Ok(Child::below(key.slice(..common), branch))
            }
            Kind::Branch { children } => {
                let nibble = usize::from(key.get_unchecked(0));
                let slot = &mut children[nibble];
                *slot =
                    self.insert_at(mem::take(slot), joined(&path, nibble), key.slice(1..), value)?;
                node.unchanged = None;
                Ok(Child::Node(node))
            }
        }
    }

    fn remove_at(&mut self, child: Child, path: Nibbles, key: Nibbles) -> Result<Child, TrieError> {
        let Some(mut node) = self.load(child, &path)? else { return Ok(Child::None) };
        match &mut node.kind {
            Kind::Leaf { key: own, .. } if *own == key => return Ok(Child::None),
            Kind::Leaf { .. } => {}
            Kind::Extension { key: own, child } => {
                if key.starts_with(own) {
                    let below = path.join(own);
                    let rest = key.slice(own.len()..);
                    let left = self.remove_at(mem::take(child), below, rest)?;
                    return self.merged(*own, left, below, node);
                }
            }
            Kind::Branch { children } => {
                let nibble = usize::from(key.get_unchecked(0));
                let slot = &mut children[nibble];
                let below = joined(&path, nibble);
                *slot = self.remove_at(mem::take(slot), below, key.slice(1..))?;
                if is_unchanged(slot) {
                    return Ok(Child::Node(node));
                }
                node.unchanged = None;
                let mut left = children.iter().enumerate().filter(|(_, child)| !child.is_none());
                let (first, second) = (left.next(), left.next());
                if let (Some((only, _)), None) = (first, second) {
                    let child = mem::take(&mut children[only]);
                    let prefix = joined(&Nibbles::new(), only);
                    return self.merged(prefix, child, joined(&path, only), node);
                }
            }
        }
        Ok(Child::Node(node))
    }

    /// The node that replaces a node whose only content is `child` (at path `at`) below `prefix`.
    fn merged(
        &mut self,
        prefix: Nibbles,
        child: Child,
        at: Nibbles,
        mut node: Box<Node>,
    ) -> Result<Child, TrieError> {
        if let Kind::Extension { child: own, .. } = &mut node.kind
            && is_unchanged(&child)
        {
            *own = child;
            return Ok(Child::Node(node));
        }
        let Some(below) = self.load(child, &at)? else { return Ok(Child::None) };
        Ok(match below.kind {
            Kind::Leaf { key, value } => Child::leaf(prefix.join(&key), value),
            Kind::Extension { key, child } => Child::below(prefix.join(&key), child),
            Kind::Branch { .. } => Child::below(prefix, Child::Node(below)),
        })
    }
}

/// Whether the child is unchanged in the store.
fn is_unchanged(child: &Child) -> bool {
    match child {
        Child::None => false,
        Child::Stored(_) => true,
        Child::Node(node) => node.unchanged.is_some(),
    }
}

/// Hashes the changed nodes from the leaves up.
struct Commit {
    rows: BTreeMap<Nibbles, Vec<u8>>,
    /// Paths with a row after the change.
    live: BTreeSet<Nibbles>,
}

impl Commit {
    fn root(&mut self, node: &Node) -> B256 {
        let path = Nibbles::new();
        if let Some(hash) = node.unchanged.as_ref().and_then(RlpNode::as_hash) {
            self.keep(node, &path);
            return hash;
        }
        let rlp = self.encode(node, &path);
        let hash = keccak256(&rlp);
        self.live.insert(path);
        self.rows.insert(path, rlp);
        hash
    }

    fn child(&mut self, child: &Child, path: &Nibbles) -> Option<RlpNode> {
        match child {
            Child::None => None,
            Child::Stored(reference) => Some(reference.clone()),
            Child::Node(node) => Some(self.node(node, path)),
        }
    }

    fn node(&mut self, node: &Node, path: &Nibbles) -> RlpNode {
        if let Some(reference) = &node.unchanged {
            let reference = reference.clone();
            self.keep(node, path);
            return reference;
        }
        let rlp = self.encode(node, path);
        let reference = RlpNode::from_rlp(&rlp);
        if reference.is_hash() {
            self.live.insert(*path);
            self.rows.insert(*path, rlp);
        }
        reference
    }

    /// Marks the rows of a part of the trie that was read and did not change.
    fn keep(&mut self, node: &Node, path: &Nibbles) {
        self.live.insert(*path);
        match &node.kind {
            Kind::Leaf { .. } => {}
            Kind::Extension { key, child } => self.keep_child(child, &path.join(key)),
            Kind::Branch { children } => {
                for (nibble, child) in children.iter().enumerate() {
                    self.keep_child(child, &joined(path, nibble));
                }
            }
        }
    }

    fn keep_child(&mut self, child: &Child, path: &Nibbles) {
        if let Child::Node(node) = child {
            self.keep(node, path);
        }
    }

    fn encode(&mut self, node: &Node, path: &Nibbles) -> Vec<u8> {
        encode(&node.kind, |child, at| match at {
            ChildPosition::Key(key) => self.child(child, &path.join(key)),
            ChildPosition::Nibble(nibble) => self.child(child, &joined(path, nibble)),
        })
    }
}

/// The position of a child.
enum ChildPosition<'a> {
    Key(&'a Nibbles),
    Nibble(usize),
}

/// The RLP of a node; `reference` returns its reference to a child.
fn encode(
    kind: &Kind,
    mut reference: impl FnMut(&Child, ChildPosition<'_>) -> Option<RlpNode>,
) -> Vec<u8> {
    let mut rlp = Vec::new();
    match kind {
        Kind::Leaf { key, value } => {
            LeafNodeRef::new(key, value).rlp(&mut rlp);
        }
        Kind::Extension { key, child } => {
            let child = reference(child, ChildPosition::Key(key)).unwrap_or_default();
            ExtensionNodeRef::new(key, child.as_slice()).rlp(&mut rlp);
        }
        Kind::Branch { children } => {
            let mut stack = Vec::with_capacity(children.len());
            let mut mask = 0u16;
            for (nibble, child) in children.iter().enumerate() {
                if let Some(reference) = reference(child, ChildPosition::Nibble(nibble)) {
                    stack.push(reference);
                    mask |= 1 << nibble;
                }
            }
            BranchNodeRef::new(&stack, TrieMask::new(mask)).rlp(&mut rlp);
        }
    }
    rlp
}

/// Computes the references of the children, then the RLP of the node. Counts encoded nodes.
fn encode_settled(kind: &mut Kind, hashed: &mut u64) -> Vec<u8> {
    match kind {
        Kind::Leaf { .. } => {}
        Kind::Extension { child, .. } => settle(child, hashed),
        Kind::Branch { children } => children.iter_mut().for_each(|child| settle(child, hashed)),
    }
    *hashed += 1;
    encode(kind, |child, _| match child {
        Child::None => None,
        Child::Stored(reference) => Some(reference.clone()),
        Child::Node(node) => node.unchanged.clone(),
    })
}

/// Computes the parent's reference to a changed node.
fn settle(child: &mut Child, hashed: &mut u64) {
    if let Child::Node(node) = child
        && node.unchanged.is_none()
    {
        node.unchanged = Some(RlpNode::from_rlp(&encode_settled(&mut node.kind, hashed)));
    }
}
