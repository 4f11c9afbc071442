//! Verifies Merkle proofs, and keeps their nodes by path.

use alloy_primitives::{B256, Bytes, keccak256};
use alloy_rlp::{Decodable, EMPTY_STRING_CODE};
use alloy_trie::nodes::{RlpNode, TrieNode};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles};
use thiserror::Error;

/// The reason why the nodes of a proof prove nothing.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProofFault {
    /// A node has another hash than its parent, or the root, says.
    #[error("node {index} has the hash {found}, not {expected}")]
    Hash {
        /// Position in the proof.
        index: usize,
        /// The hash that it must have.
        expected: B256,
        /// The hash that it has.
        found: B256,
    },
    /// The proof ends too early.
    #[error("node {index} ({expected}) is missing")]
    Short {
        /// Position in the proof.
        index: usize,
        /// The hash of the missing node.
        expected: B256,
    },
    /// The proof goes on after its end.
    #[error("node {index} is not part of the proof")]
    Surplus {
        /// Position in the proof.
        index: usize,
    },
    /// A node can't be decoded.
    #[error("node {index} is not a trie node: {cause}")]
    Damaged {
        /// Position in the proof.
        index: usize,
        /// The error of the decoder.
        cause: alloy_rlp::Error,
    },
    /// The value is not in the form of its trie.
    #[error("the value is not in its form: {0}")]
    Value(alloy_rlp::Error),
}

/// What a proof proves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProvenPath {
    /// The nodes on the path to the key, with their paths. Embedded nodes are in their parents.
    pub nodes: Vec<(Nibbles, Bytes)>,
    /// The value; `None` if the nodes prove that there is none.
    pub value: Option<Vec<u8>>,
}

/// Follows a key from a root through the nodes of a proof. Each node must have the hash that its parent says, and no
/// node may be left over, except copies of embedded nodes, which some sources repeat.
///
/// # Errors
/// The nodes are no proof for this root and key.
pub fn verify_proof(root: B256, key: B256, proof: &[Bytes]) -> Result<ProvenPath, ProofFault> {
    let mut proven = ProvenPath::default();
    if root == EMPTY_ROOT_HASH {
        return match proof {
            [] => Ok(proven),
            [only] if only[..] == [EMPTY_STRING_CODE] => Ok(proven),
            _ => Err(ProofFault::Surplus { index: 0 }),
        };
    }
    let mut walk = Walk { proof, at: 0, key: Nibbles::unpack(key), path: Nibbles::new() };
    let mut reference = RlpNode::word_rlp(&root);
    loop {
        let rlp = walk.take(&reference, &mut proven)?;
        let node = TrieNode::decode(&mut &rlp[..])
            .map_err(|cause| ProofFault::Damaged { index: walk.at.saturating_sub(1), cause })?;
        match walk.descend(node) {
            Step::Down(child) => reference = child,
            Step::End(value) => {
                proven.value = value;
                break;
            }
        }
    }
    match walk.at < proof.len() {
        true => Err(ProofFault::Surplus { index: walk.at }),
        false => Ok(proven),
    }
}

enum Step {
    Down(RlpNode),
    End(Option<Vec<u8>>),
}

struct Walk<'a> {
    proof: &'a [Bytes],
    /// Position of the next node.
    at: usize,
    key: Nibbles,
    path: Nibbles,
}

impl Walk<'_> {
    /// The RLP of the node that a parent refers to.
    fn take(&mut self, reference: &RlpNode, proven: &mut ProvenPath) -> Result<Bytes, ProofFault> {
        let index = self.at;
        let next = self.proof.get(index);
        let Some(expected) = reference.as_hash() else {
            if next.is_some_and(|next| next[..] == *reference.as_slice()) {
                self.at += 1;
            }
            return Ok(Bytes::copy_from_slice(reference.as_slice()));
        };
        let rlp = next.ok_or(ProofFault::Short { index, expected })?;
        let found = keccak256(rlp);
        if found != expected {
            return Err(ProofFault::Hash { index, expected, found });
        }
        self.at += 1;
        proven.nodes.push((self.path, rlp.clone()));
        Ok(rlp.clone())
    }

    fn descend(&mut self, node: TrieNode) -> Step {
        let rest = self.key.slice(self.path.len()..);
        match node {
            TrieNode::EmptyRoot => Step::End(None),
            TrieNode::Leaf(leaf) => Step::End((leaf.key == rest).then_some(leaf.value)),
            TrieNode::Extension(extension) => {
                if extension.key.is_empty() || !rest.starts_with(&extension.key) {
                    return Step::End(None);
                }
                self.path = self.path.join(&extension.key);
                Step::Down(extension.child)
            }
            TrieNode::Branch(branch) => {
                let Some(nibble) = rest.first() else { return Step::End(None) };
                let branch = branch.as_ref();
                let child = branch.children().find(|(at, _)| *at == nibble);
                let Some(child) = child.and_then(|(_, child)| child) else {
                    return Step::End(None);
                };
                self.path.push(nibble);
                Step::Down(child.clone())
            }
        }
    }
}
