//! A state that consists of a witness: whatever else is read of it is an error.

use std::collections::{BTreeMap, HashMap};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::Decodable as _;
use alloy_trie::nodes::{RlpNode, TrieNode};
use alloy_trie::{Nibbles, TrieAccount};
use esker_evm_state::state::{StateBase, StateError};
use esker_evm_state::trie::{NodeSource, TrieError, prove};
use esker_evm_state::types::Account;

/// The nodes and codes of a witness under their hashes.
pub(crate) struct WitnessState {
    pub(crate) root: B256,
    pub(crate) nodes: HashMap<B256, Vec<u8>>,
    pub(crate) codes: HashMap<B256, Bytes>,
    /// Hashes of the headers.
    pub(crate) headers: BTreeMap<u64, B256>,
}

/// A trie of the witness.
struct Trie<'a>(&'a WitnessState, B256);

impl NodeSource for Trie<'_> {
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        self.0.node_at(self.1, path)
    }
}

impl WitnessState {
    /// The node at a path of the trie with a root.
    fn node_at(&self, root: B256, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        let mut reference = RlpNode::word_rlp(&root);
        let mut at = 0;
        loop {
            let rlp = match reference.as_hash() {
                Some(hash) if hash == alloy_trie::EMPTY_ROOT_HASH => return Ok(None),
                Some(hash) => self
                    .nodes
                    .get(&hash)
                    .ok_or(TrieError::Missing { hash, path: path.slice(..at) })?
                    .clone(),
                None => reference.as_slice().to_vec(),
            };
            if at == path.len() {
                return Ok(Some(rlp));
            }
            match TrieNode::decode(&mut rlp.as_slice()).unwrap() {
                TrieNode::Branch(branch) => {
                    let nibble = path.get_unchecked(at);
                    let branch = branch.as_ref();
                    let child = branch.children().find(|(place, _)| *place == nibble);
                    let Some(child) = child.and_then(|(_, child)| child) else { return Ok(None) };
                    (reference, at) = (child.clone(), at + 1);
                }
                TrieNode::Extension(extension) if path.slice(at..).starts_with(&extension.key) => {
                    (reference, at) = (extension.child, at + extension.key.len());
                }
                TrieNode::Extension(_) | TrieNode::Leaf(_) | TrieNode::EmptyRoot => {
                    return Ok(None);
                }
            }
        }
    }

    fn storage_root(&self, account: B256) -> Result<B256, StateError> {
        let account = self.account_by_hash(account)?;
        Ok(account.map_or(alloy_trie::EMPTY_ROOT_HASH, |account| account.storage_root))
    }
}

impl StateBase for WitnessState {
    fn height(&self) -> u64 {
        0
    }

    fn has_nodes(&self) -> bool {
        true
    }

    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.account_by_hash(keccak256(address))
    }

    fn account_by_hash(&self, hash: B256) -> Result<Option<Account>, StateError> {
        let leaf = prove(&Trie(self, self.root), self.root, hash)?.value;
        let account = leaf.map(|leaf| TrieAccount::decode(&mut leaf.as_slice()).unwrap());
        Ok(account.map(|TrieAccount { nonce, balance, storage_root, code_hash }| Account {
            nonce,
            balance,
            storage_root,
            code_hash,
            ..Account::default()
        }))
    }

    fn storage(&self, address: &Address, slot: U256) -> Result<U256, StateError> {
        self.storage_by_hash(keccak256(address), keccak256(B256::from(slot)))
    }

    fn storage_by_hash(&self, account: B256, slot: B256) -> Result<U256, StateError> {
        let root = self.storage_root(account)?;
        let leaf = prove(&Trie(self, root), root, slot)?.value;
        Ok(leaf.map(|leaf| U256::decode(&mut leaf.as_slice()).unwrap()).unwrap_or_default())
    }

    fn code(&self, hash: B256) -> Result<Bytes, StateError> {
        self.codes.get(&hash).cloned().ok_or(StateError::MissingCode(hash))
    }

    fn block_hash(&self, number: u64) -> Result<B256, StateError> {
        self.headers.get(&number).copied().ok_or(StateError::MissingCode(B256::ZERO))
    }

    fn account_node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        self.node_at(self.root, path)
    }

    fn storage_node(&self, account: B256, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        let root = match self.storage_root(account) {
            Ok(root) => root,
            Err(StateError::Trie(error)) => return Err(error),
            Err(error) => panic!("{error}"),
        };
        self.node_at(root, path)
    }
}
