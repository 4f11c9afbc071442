//! Builds a trie from sorted leaves.

use alloy_primitives::{B256, keccak256};
use alloy_trie::nodes::{BranchNodeRef, ExtensionNodeRef, LeafNodeRef, RlpNode};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, TrieMask};

/// Receives the rows of a trie: the path of a node, and its RLP.
pub type NodeRow<'a> = dyn FnMut(&Nibbles, &[u8]) + 'a;

/// Builds a trie from leaves in ascending order of their keys. Memory is bounded by the depth of the trie: nodes are
/// handed out as soon as they are complete, children before their parents. The rows are those that
/// [`super::TrieUpdate`] writes for the same leaves.
#[derive(Debug, Default)]
pub struct TrieStream {
    /// The last leaf, whose path depends on the next one.
    last: Option<(Nibbles, Vec<u8>)>,
    /// Branches on the path of the last leaf, the topmost first.
    open: Vec<OpenBranch>,
}

/// A branch that may get more children.
#[derive(Debug)]
struct OpenBranch {
    /// Length of its path.
    depth: usize,
    children: [Option<RlpNode>; 16],
}

impl OpenBranch {
    fn new(depth: usize) -> Self {
        Self { depth, children: Default::default() }
    }

    fn rlp(&self) -> Vec<u8> {
        let mut stack = Vec::with_capacity(16);
        let mut mask = 0u16;
        for (nibble, child) in self.children.iter().enumerate() {
            if let Some(child) = child {
                stack.push(child.clone());
                mask |= 1 << nibble;
            }
        }
        let mut rlp = Vec::new();
        BranchNodeRef::new(&stack, TrieMask::new(mask)).rlp(&mut rlp);
        rlp
    }

    fn set(&mut self, key: &Nibbles, child: RlpNode) {
        self.children[usize::from(key.get_unchecked(self.depth))] = Some(child);
    }
}

impl TrieStream {
    /// Adds the next leaf. Returns false and changes nothing if its key is not above the last one.
    pub fn push(&mut self, key: B256, value: &[u8], rows: &mut NodeRow<'_>) -> bool {
        let key = Nibbles::unpack(key);
        if let Some((last, _)) = &self.last {
            if key <= *last {
                return false;
            }
            let common = last.common_prefix_length(&key);
            self.settle(common, rows);
        }
        self.last = Some((key, value.to_vec()));
        true
    }

    /// Returns the root after the last leaf, and hands out its row, unless the trie is empty. The builder is empty
    /// afterwards.
    pub fn finish(&mut self, rows: &mut NodeRow<'_>) -> B256 {
        let Some((key, value)) = self.last.take() else { return EMPTY_ROOT_HASH };
        let Some(mut top) = self.open.pop() else {
            return root(&leaf(&key, &value), rows);
        };
        let depth = top.depth;
        top.set(&key, store(key.slice(..=depth), leaf(&key.slice(depth + 1..), &value), rows));
        while let Some(mut parent) = self.open.pop() {
            let child = close(&top, &key, parent.depth + 1, rows);
            parent.set(&key, child);
            top = parent;
        }
        if top.depth == 0 {
            return root(&top.rlp(), rows);
        }
        let below = key.slice(..top.depth);
        let child = store(below, top.rlp(), rows);
        root(&extension(&below, &child), rows)
    }

    /// Adds the last leaf to its branch, and closes the branches that do not contain the next leaf, which has
    /// `common` nibbles in common with the last one.
    fn settle(&mut self, common: usize, rows: &mut NodeRow<'_>) {
        let Some((key, value)) = self.last.take() else { return };
        if self.open.last().is_none_or(|top| top.depth < common) {
            self.open.push(OpenBranch::new(common));
        }
        let Some(mut top) = self.open.pop() else { return };
        let depth = top.depth;
        top.set(&key, store(key.slice(..=depth), leaf(&key.slice(depth + 1..), &value), rows));
        while top.depth > common {
            let mut parent = match self.open.pop() {
                Some(parent) if parent.depth >= common => parent,
                other => {
                    self.open.extend(other);
                    OpenBranch::new(common)
                }
            };
            let child = close(&top, &key, parent.depth + 1, rows);
            parent.set(&key, child);
            top = parent;
        }
        self.open.push(top);
    }
}

/// The reference of the parent to a complete branch below the nibble `from` of `key`, with an extension between them
/// if needed.
fn close(branch: &OpenBranch, key: &Nibbles, from: usize, rows: &mut NodeRow<'_>) -> RlpNode {
    let child = store(key.slice(..branch.depth), branch.rlp(), rows);
    if branch.depth == from {
        return child;
    }
    store(key.slice(..from), extension(&key.slice(from..branch.depth), &child), rows)
}

fn leaf(key: &Nibbles, value: &[u8]) -> Vec<u8> {
    let mut rlp = Vec::new();
    LeafNodeRef::new(key, value).rlp(&mut rlp);
    rlp
}

fn extension(key: &Nibbles, child: &RlpNode) -> Vec<u8> {
    let mut rlp = Vec::new();
    ExtensionNodeRef::new(key, child.as_slice()).rlp(&mut rlp);
    rlp
}

/// The reference of the parent to a node. Nodes shorter than 32 bytes are embedded and have no row.
fn store(path: Nibbles, rlp: Vec<u8>, rows: &mut NodeRow<'_>) -> RlpNode {
    let reference = RlpNode::from_rlp(&rlp);
    if reference.is_hash() {
        rows(&path, &rlp);
    }
    reference
}

fn root(rlp: &[u8], rows: &mut NodeRow<'_>) -> B256 {
    rows(&Nibbles::new(), rlp);
    keccak256(rlp)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::trie::{NodeSource, TrieError, TrieUpdate};

    struct Empty;

    impl NodeSource for Empty {
        fn node(&self, _: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
            Ok(None)
        }
    }

    type Rows = BTreeMap<Nibbles, Vec<u8>>;

    fn streamed(leaves: &BTreeMap<B256, Vec<u8>>) -> (B256, Rows) {
        let (mut trie, mut rows) = (TrieStream::default(), Rows::new());
        let mut keep = |path: &Nibbles, rlp: &[u8]| {
            assert!(rows.insert(*path, rlp.to_vec()).is_none(), "each row once");
        };
        for (key, value) in leaves {
            assert!(trie.push(*key, value, &mut keep));
        }
        (trie.finish(&mut keep), rows)
    }

    fn updated(leaves: &BTreeMap<B256, Vec<u8>>) -> (B256, Rows) {
        let mut trie = TrieUpdate::new(Empty, EMPTY_ROOT_HASH);
        for (key, value) in leaves {
            trie.insert(*key, value.clone()).unwrap();
        }
        let (root, rows) = trie.finish();
        (root, rows.into_iter().map(|(path, rlp)| (path, rlp.unwrap())).collect())
    }

    /// Keys with long common prefixes, and values short enough to be embedded in their parents.
    fn leaves() -> impl Strategy<Value = BTreeMap<B256, Vec<u8>>> {
        let byte = prop_oneof![Just(0u8), Just(1), Just(16), any::<u8>()];
        let key = (prop::collection::vec(byte.clone(), 3), 0usize..30, byte).prop_map(
            |(head, at, byte)| {
                let mut key = B256::ZERO;
                key[..3].copy_from_slice(&head);
                key[at] ^= byte;
                key
            },
        );
        let value = prop_oneof![
            prop::collection::vec(any::<u8>(), 1..3),
            prop::collection::vec(any::<u8>(), 30..80)
        ];
        prop::collection::btree_map(key, value, 0..60)
    }

    proptest! {
        #[test]
        fn a_stream_gives_the_rows_of_an_update(leaves in leaves()) {
            prop_assert_eq!(streamed(&leaves), updated(&leaves));
        }
    }

    #[test]
    fn keys_that_do_not_ascend_are_refused() {
        let mut trie = TrieStream::default();
        let key = B256::repeat_byte(7);
        assert!(trie.push(key, b"a", &mut |_, _| ()));
        assert!(!trie.push(key, b"b", &mut |_, _| ()));
        assert!(!trie.push(B256::repeat_byte(6), b"b", &mut |_, _| ()));
    }
}
