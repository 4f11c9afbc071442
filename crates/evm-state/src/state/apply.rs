//! Writes a block's changes of the state.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles};
use esker_storage::{KeyCodec, KvRead, KvWrite, Scope, StorageResult, Table, ValueCodec};

use super::rows::{StoredAccount, StoredSlot, UndoKeys};
use super::tables::{
    ACCOUNT_UNDO, ACCOUNTS, CLEARED, CLEARED_UNDO, CODE, HashKey, NODE_UNDO, NODES, PREIMAGES,
    PathKey, SLOT_UNDO, SLOTS, STORAGE_NODE_UNDO, STORAGE_NODES, UNDO_KEYS, bytes_of, key_of,
};
use super::tries::set_slot;
use super::view::{AccountNodes, StateVersion, StateView, StorageNodes};
use super::{AccountChange, StateBase, StateChanges, StateError};
use crate::trie::{NodeSource, TrieError, TrieUpdate};
use crate::types::{Account, AccountCodec};

/// Options of the rows besides the state itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApplyOptions {
    /// Store addresses and slots by their hashes.
    pub preimages: bool,
}

/// The state before a block, to which its changes are applied.
#[derive(Clone, Copy)]
pub struct BlockState<'a> {
    /// The encoding of accounts as leaves.
    pub codec: &'a dyn AccountCodec,
    /// The state before the block.
    pub below: &'a dyn KvRead,
    /// The chain's scope.
    pub scope: Scope,
    /// The state root before the block.
    pub root: B256,
    /// The block's height. Genesis (0) has no undo rows: there is no state before it.
    pub height: u64,
    /// Options of the other rows.
    pub options: ApplyOptions,
    /// The state below the store's, if the chain began on top of one.
    pub base: Option<&'a dyn StateBase>,
}

impl BlockState<'_> {
    /// Writes the block's changes. Returns the root after the block.
    pub fn apply(&self, changes: &StateChanges, out: &mut dyn KvWrite) -> Result<B256, StateError> {
        let Self { codec, below, scope, root, height, options, base } = *self;
        let mut rows = Rows { below, scope, height, out, undone: BTreeSet::new() };
        let view = StateView::new(below, scope, StateVersion::Latest).with_base(base);
        let mut trie = TrieUpdate::new(AccountNodes(view), view.trie_root(root)?);
        for (address, change) in changes {
            let hash = keccak256(address);
            if options.preimages {
                rows.preimage(hash, address.as_slice())?;
                for slot in change.slots.keys() {
                    let slot = B256::from(*slot);
                    rows.preimage(keccak256(slot), slot.as_slice())?;
                }
            }
            match rows.account(view, address, hash, change)? {
                Some(account) => {
                    let mut leaf = Vec::new();
                    codec.encode_account(&account, &mut leaf);
                    trie.insert(hash, leaf)?;
                }
                None => trie.remove(hash)?,
            }
        }
        let (root, changed) = trie.finish();
        for (path, rlp) in changed {
            let path = PathKey(path);
            rows.change(&NODES, path, &NODE_UNDO, |height| (path, height), rlp)?;
        }
        rows.finish();
        Ok(root)
    }
}

impl std::fmt::Debug for BlockState<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockState").field("height", &self.height).finish_non_exhaustive()
    }
}

/// Deletes the undo rows of the block at a height. No state below it can be read afterwards.
pub fn prune(
    reader: &dyn KvRead,
    scope: Scope,
    height: u64,
    out: &mut dyn KvWrite,
) -> StorageResult<()> {
    if let Some(UndoKeys(keys)) = UNDO_KEYS.get(reader, scope, &height)? {
        keys.iter().for_each(|key| out.delete(key));
        UNDO_KEYS.delete(out, scope, &height);
    }
    Ok(())
}

/// Writes the rows of one block.
struct Rows<'a> {
    below: &'a dyn KvRead,
    scope: Scope,
    height: u64,
    out: &'a mut dyn KvWrite,
    /// Keys of the undo rows written so far. An undo row has the value before the block, so only the first change
    /// writes one.
    undone: BTreeSet<Vec<u8>>,
}

impl Rows<'_> {
    /// Replaces a row (`None` deletes it), and writes its undo row.
    fn change<K: KeyCodec, V: ValueCodec, U: KeyCodec>(
        &mut self,
        table: &Table<K, V>,
        key: K,
        undo: &Table<U, Vec<u8>>,
        undo_key: impl FnOnce(u64) -> U,
        value: Option<Vec<u8>>,
    ) -> StorageResult<()> {
        let row = table.key(self.scope, &key);
        if self.height > 0 {
            let undo_row = undo.key(self.scope, &undo_key(self.height));
            if !self.undone.contains(&undo_row) {
                let before = self.below.get(&row)?.unwrap_or_default();
                self.out.put(&undo_row, &before);
                self.undone.insert(undo_row);
            }
        }
        match value {
            Some(value) => self.out.put(&row, &value),
            None => self.out.delete(&row),
        }
        Ok(())
    }

    /// Most preimages exist already: a look-up costs less than writing a row again.
    fn preimage(&mut self, hash: B256, bytes: &[u8]) -> StorageResult<()> {
        let key = key_of(hash);
        if !PREIMAGES.contains(self.below, self.scope, &key)? {
            PREIMAGES.put(self.out, self.scope, &key, &bytes.to_vec());
        }
        Ok(())
    }

    /// Writes the storage, the code and the row of an account. Returns the account with its new storage root.
    fn account(
        &mut self,
        view: StateView<'_>,
        address: &Address,
        hash: B256,
        change: &AccountChange,
    ) -> Result<Option<Account>, StateError> {
        let key = key_of(hash);
        let before = view.account(address)?;
        let wiped = change.wiped || change.account.is_none();
        let stored_root = before.map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
        let old_root = view.storage_trie_root(hash, stored_root)?;
        if wiped && old_root != EMPTY_ROOT_HASH {
            self.wipe(key)?;
        }
        let is_cleared = view.has_base() && (wiped || view.is_cleared(key)?);
        if wiped && is_cleared {
            let row = Some(bytes_of(&self.height));
            self.change(&CLEARED, key, &CLEARED_UNDO, |height| (key, height), row)?;
        }
        let Some(parts) = change.account else {
            if before.is_some() {
                self.change(&ACCOUNTS, key, &ACCOUNT_UNDO, |height| (key, height), None)?;
            }
            return Ok(None);
        };
        let storage_root = if wiped {
            self.slots(&NoNodes, EMPTY_ROOT_HASH, hash, &change.slots)?
        } else if change.slots.is_empty() {
            old_root
        } else {
            self.slots(&StorageNodes { view, account: hash }, old_root, hash, &change.slots)?
        };
        if let Some((code_hash, code)) = &change.code {
            CODE.put(self.out, self.scope, &key_of(*code_hash), &code.to_vec());
        }
        // The base may have slots of the account, although no slot is stored here.
        let is_unknown = storage_root == EMPTY_ROOT_HASH && stored_root != EMPTY_ROOT_HASH;
        let storage_root = match is_unknown && view.has_partial_roots() && !is_cleared {
            true => B256::ZERO,
            false => storage_root,
        };
        let account = parts.with_storage(storage_root);
        if before != Some(account) {
            let row = Some(bytes_of(&StoredAccount(account)));
            self.change(&ACCOUNTS, key, &ACCOUNT_UNDO, |height| (key, height), row)?;
        }
        Ok(Some(account))
    }

    /// Writes slots and their trie nodes. Returns the new storage root.
    fn slots(
        &mut self,
        nodes: &dyn NodeSource,
        root: B256,
        account: B256,
        slots: &BTreeMap<U256, U256>,
    ) -> Result<B256, StateError> {
        let key = key_of(account);
        let mut trie = TrieUpdate::new(nodes, root);
        for (slot, value) in slots {
            let hash = keccak256(B256::from(*slot));
            let slot = key_of(hash);
            set_slot(&mut trie, hash, value)?;
            let row = (!value.is_zero()).then(|| bytes_of(&StoredSlot(*value)));
            self.change(&SLOTS, (key, slot), &SLOT_UNDO, |height| (key, slot, height), row)?;
        }
        let (root, changed) = trie.finish();
        for (path, rlp) in changed {
            self.storage_node(key, path, rlp)?;
        }
        Ok(root)
    }

    fn storage_node(
        &mut self,
        account: HashKey,
        path: Nibbles,
        rlp: Option<Vec<u8>>,
    ) -> StorageResult<()> {
        let path = PathKey(path);
        let undo = |height| (account, path, height);
        self.change(&STORAGE_NODES, (account, path), &STORAGE_NODE_UNDO, undo, rlp)
    }

    /// Deletes all slots and storage nodes of an account, each with its undo row.
    fn wipe(&mut self, account: HashKey) -> Result<(), StateError> {
        let below = self.below;
        let mut slots = Vec::new();
        SLOTS.scan(below, self.scope, &account, None, |key: &[u8], _: &[u8]| {
            slots.push(SLOTS.decode_key(key));
            ControlFlow::Continue(())
        })?;
        for slot in slots {
            let (_, slot) = slot?;
            let undo = |height| (account, slot, height);
            self.change(&SLOTS, (account, slot), &SLOT_UNDO, undo, None)?;
        }
        let mut paths = Vec::new();
        STORAGE_NODES.scan(below, self.scope, &account, None, |key: &[u8], _: &[u8]| {
            paths.push(STORAGE_NODES.decode_key(key));
            ControlFlow::Continue(())
        })?;
        for path in paths {
            let (_, PathKey(path)) = path?;
            self.storage_node(account, path, None)?;
        }
        Ok(())
    }

    /// Writes the list of the undo rows.
    fn finish(self) {
        if !self.undone.is_empty() {
            let keys = UndoKeys(self.undone.into_iter().collect());
            UNDO_KEYS.put(self.out, self.scope, &self.height, &keys);
        }
    }
}

/// The nodes of an empty trie.
struct NoNodes;

impl NodeSource for NoNodes {
    fn node(&self, _: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        Ok(None)
    }
}
