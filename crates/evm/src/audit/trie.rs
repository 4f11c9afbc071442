//! Walks over a stored trie from the root down, and checks that each node has the hash that its parent holds.

use alloy_primitives::{B256, keccak256};
use alloy_rlp::Decodable;
use alloy_trie::nodes::{RlpNode, TrieNode};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles};
use esker_evm_state::trie::{NodeSource, TrieError};

/// The result of a walk over a trie.
#[derive(Debug, Default)]
pub(super) struct TrieWalk {
    /// Rows that belong to the trie.
    pub(super) rows: u64,
    /// Leaves.
    pub(super) leaves: u64,
    /// Missing, damaged or different nodes: path, expected value, found value.
    pub(super) wrong: Vec<(Nibbles, String, String)>,
}

/// Called with the key and the value of a leaf.
type OnLeaf<'a, E> = dyn FnMut(B256, &[u8]) -> Result<(), E> + 'a;

/// Walks over a whole trie. Calls `leaf` with the key and the value of each leaf, in the order of the keys.
pub(super) fn walk<E: From<TrieError>>(
    source: &dyn NodeSource,
    root: B256,
    leaf: &mut OnLeaf<'_, E>,
) -> Result<TrieWalk, E> {
    let mut walked = TrieWalk::default();
    if root != EMPTY_ROOT_HASH {
        visit(source, Nibbles::new(), &RlpNode::word_rlp(&root), &mut walked, leaf)?;
    }
    Ok(walked)
}

fn visit<E: From<TrieError>>(
    source: &dyn NodeSource,
    path: Nibbles,
    reference: &RlpNode,
    walked: &mut TrieWalk,
    leaf: &mut OnLeaf<'_, E>,
) -> Result<(), E> {
    let rlp = match reference.as_hash() {
        None => reference.as_slice().to_vec(),
        Some(hash) => match source.node(&path)? {
            Some(rlp) => {
                walked.rows += 1;
                let found = keccak256(&rlp);
                if found != hash {
                    walked.wrong.push((path, hash.to_string(), found.to_string()));
                    return Ok(());
                }
                rlp
            }
            None => {
                walked.wrong.push((path, hash.to_string(), "nothing".to_owned()));
                return Ok(());
            }
        },
    };
    match TrieNode::decode(&mut rlp.as_slice()) {
        Err(cause) => walked.wrong.push((path, "a node".to_owned(), cause.to_string())),
        Ok(TrieNode::EmptyRoot) => {}
        Ok(TrieNode::Leaf(node)) => {
            let key = path.join(&node.key);
            match <[u8; 32]>::try_from(key.pack().as_slice()) {
                Ok(key) => {
                    walked.leaves += 1;
                    leaf(B256::from(key), &node.value)?;
                }
                Err(_) => {
                    let found = format!("a leaf of {} nibbles", key.len());
                    walked.wrong.push((path, "a leaf of 64 nibbles".to_owned(), found));
                }
            }
        }
        Ok(TrieNode::Extension(node)) => {
            visit(source, path.join(&node.key), &node.child, walked, leaf)?;
        }
        Ok(TrieNode::Branch(node)) => {
            for (nibble, child) in node.as_ref().children() {
                if let Some(child) = child {
                    let mut below = path;
                    below.push(nibble);
                    visit(source, below, child, walked, leaf)?;
                }
            }
        }
    }
    Ok(())
}
