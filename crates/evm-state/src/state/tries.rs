//! State roots of simulated blocks.

use std::collections::HashMap;

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_trie::EMPTY_ROOT_HASH;

use super::view::{AccountNodes, StateView, StorageNodes};
use super::{AccountChange, StateChanges, StateError};
use crate::trie::{NodeSource, TrieError, TrieUpdate};
use crate::types::AccountCodec;

/// Bytes of the encoding of most accounts.
const USUAL_LEAF: usize = 96;

/// The tries of a state that changes block by block, in memory: nothing is written. The cost of a block depends on
/// its changes, not on the number of earlier blocks.
#[derive(Debug)]
pub struct StateTries<'a> {
    codec: &'a dyn AccountCodec,
    view: StateView<'a>,
    accounts: TrieUpdate<AccountNodes<'a>>,
    /// Storage tries of accounts whose storage changed, or which were deleted.
    storages: HashMap<Address, TrieUpdate<StorageNodes<'a>>>,
    /// Number of hashed nodes of storage tries.
    hashed: u64,
}

impl<'a> StateTries<'a> {
    /// The tries of the state of `view`, at any kept height. `root` is the root of that state.
    pub fn new(
        codec: &'a dyn AccountCodec,
        view: StateView<'a>,
        root: B256,
    ) -> Result<Self, StateError> {
        let accounts = TrieUpdate::new(AccountNodes(view), view.trie_root(root)?);
        Ok(Self { codec, view, accounts, storages: HashMap::new(), hashed: 0 })
    }

    /// The root after the next block, which has these changes.
    pub fn apply(&mut self, changes: &StateChanges) -> Result<B256, StateError> {
        for (address, change) in changes {
            self.change(address, change)?;
        }
        Ok(self.root())
    }

    /// Adds a change of the next block. A block changes each account once.
    pub fn change(&mut self, address: &Address, change: &AccountChange) -> Result<(), StateError> {
        let hash = keccak256(address);
        let storage_root = self.storage_root(address, hash, change)?;
        let Some(parts) = change.account else {
            return Ok(self.accounts.remove(hash)?);
        };
        let mut leaf = Vec::with_capacity(USUAL_LEAF);
        self.codec.encode_account(&parts.with_storage(storage_root), &mut leaf);
        Ok(self.accounts.insert(hash, leaf)?)
    }

    /// The root after the changes so far.
    pub fn root(&mut self) -> B256 {
        self.accounts.root()
    }

    /// Number of nodes that were hashed so far, a measure of the work.
    pub fn hashed_nodes(&self) -> u64 {
        self.accounts.hashed_nodes() + self.hashed
    }

    /// An account's storage root after a change.
    fn storage_root(
        &mut self,
        address: &Address,
        account: B256,
        change: &AccountChange,
    ) -> Result<B256, StateError> {
        let nodes = StorageNodes { view: self.view, account };
        let is_known = self.storages.contains_key(address);
        if change.wiped || change.account.is_none() {
            self.storages.insert(*address, TrieUpdate::new(nodes, EMPTY_ROOT_HASH));
        } else if !is_known {
            let stored = self.view.account(address)?;
            let root = stored.map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
            let root = self.view.storage_trie_root(account, root)?;
            if change.slots.is_empty() {
                return Ok(root);
            }
            self.storages.insert(*address, TrieUpdate::new(nodes, root));
        }
        let trie = self.storages.get_mut(address).expect("just put there, or known");
        for (slot, value) in &change.slots {
            set_slot(trie, keccak256(B256::from(*slot)), value)?;
        }
        let (before, root) = (trie.hashed_nodes(), trie.root());
        self.hashed += trie.hashed_nodes() - before;
        Ok(root)
    }
}

/// Sets a slot of a storage trie; zero removes it.
pub(super) fn set_slot<S: NodeSource>(
    trie: &mut TrieUpdate<S>,
    hash: B256,
    value: &U256,
) -> Result<(), TrieError> {
    if value.is_zero() { trie.remove(hash) } else { trie.insert(hash, alloy_rlp::encode(value)) }
}
