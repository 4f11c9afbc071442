//! Merkle proofs.

use alloy_primitives::{B256, Bytes, keccak256};
use alloy_rlp::Decodable;
use alloy_trie::nodes::{RlpNode, TrieNode};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles};

use super::{NodeSource, TrieError};

/// The nodes on the path to a key, and its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// RLP of the nodes, from the root down. Nodes that are embedded in their parents are not repeated.
    pub nodes: Vec<Bytes>,
    /// The key's value; `None` if the nodes prove that there is none.
    pub value: Option<Vec<u8>>,
}

/// Proves the value of a key in a trie with this root.
pub fn prove<S: NodeSource + ?Sized>(
    source: &S,
    root: B256,
    key: B256,
) -> Result<Proof, TrieError> {
    let mut proof = Proof::default();
    if root == EMPTY_ROOT_HASH {
        return Ok(proof);
    }
    let key = Nibbles::unpack(key);
    let mut path = Nibbles::new();
    let mut reference = RlpNode::word_rlp(&root);
    loop {
        let rlp = match reference.as_hash() {
            Some(hash) => {
                // A node with another hash counts as missing.
                let rlp = source.node(&path)?.filter(|rlp| keccak256(rlp) == hash);
                let rlp = rlp.ok_or(TrieError::Missing { hash, path })?;
                proof.nodes.push(rlp.clone().into());
                rlp
            }
            None => reference.as_slice().to_vec(),
        };
        let node = TrieNode::decode(&mut rlp.as_slice())
            .map_err(|cause| TrieError::Damaged { path, cause })?;
        let rest = key.slice(path.len()..);
        match node {
            TrieNode::EmptyRoot => return Ok(proof),
            TrieNode::Leaf(leaf) => {
                proof.value = (leaf.key == rest).then_some(leaf.value);
                return Ok(proof);
            }
            TrieNode::Extension(extension) => {
                if !rest.starts_with(&extension.key) {
                    return Ok(proof);
                }
                path = path.join(&extension.key);
                reference = extension.child;
            }
            TrieNode::Branch(branch) => {
                let Some(nibble) = rest.first() else { return Ok(proof) };
                let branch = branch.as_ref();
                let child = branch.children().find(|(at, _)| *at == nibble).and_then(|(_, c)| c);
                let Some(child) = child else { return Ok(proof) };
                reference = child.clone();
                path.push(nibble);
            }
        }
    }
}
