//! Reading the state.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, KECCAK_EMPTY, Nibbles};
use esker_storage::{KeyCodec, KvRead, Scope, StorageError, StorageResult, Table, ValueCodec};

use super::StateError;
use super::base::StateBase;
use super::recorder::StateRecorder;
use super::rows::{StoredAccount, StoredSlot};
use super::tables::{
    ACCOUNT_UNDO, ACCOUNTS, CLEARED, CLEARED_UNDO, CODE, HashKey, NODE_UNDO, NODES, PathKey,
    SLOT_UNDO, SLOTS, STORAGE_NODE_UNDO, STORAGE_NODES, key_of,
};
use crate::trie::{NodeSource, Proof, TrieError, prove};
use crate::types::Account;

/// The state to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateVersion {
    /// The newest state of the reader.
    Latest,
    /// The state after the block at a height. Its undo rows must exist.
    AtHeight(u64),
}

/// The state in a reader.
#[derive(Clone, Copy)]
pub struct StateView<'a> {
    pub(super) reader: &'a dyn KvRead,
    pub(super) scope: Scope,
    pub(super) at: StateVersion,
    base: Option<&'a dyn StateBase>,
    recorder: Option<&'a dyn StateRecorder>,
}

impl std::fmt::Debug for StateView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateView").field("at", &self.at).finish_non_exhaustive()
    }
}

impl<'a> StateView<'a> {
    /// The state of a chain's scope.
    pub fn new(reader: &'a dyn KvRead, scope: Scope, at: StateVersion) -> Self {
        Self { reader, scope, at, base: None, recorder: None }
    }

    /// The state over a base: a key without a row, and without an undo row of a block up to the height of this view,
    /// has the value of the base. A key that was changed keeps an undo row, so none may be pruned.
    ///
    /// Walks see only keys with rows.
    pub fn with_base(self, base: Option<&'a dyn StateBase>) -> Self {
        Self { base, ..self }
    }

    /// The same state, without a recorder.
    #[must_use]
    pub fn without_recorder(self) -> Self {
        Self { recorder: None, ..self }
    }

    /// The same state; the recorder learns what is read of it.
    #[must_use]
    pub fn with_recorder(self, recorder: &'a dyn StateRecorder) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// Whether roots are those of the changes alone: the base has no trie nodes.
    pub fn has_partial_roots(&self) -> bool {
        self.base.is_some_and(|base| !base.has_nodes())
    }

    /// Whether it has a base.
    pub(super) fn has_base(&self) -> bool {
        self.base.is_some()
    }

    /// The root of the account trie that is computed here, if `root` is that of the header of the state's block: over a base
    /// it may be another one.
    pub fn trie_root(&self, root: B256) -> Result<B256, StateError> {
        if self.has_base() { self.root() } else { Ok(root) }
    }

    /// The root of the storage trie that is computed here, if `root` is that of an account.
    pub(super) fn storage_trie_root(&self, account: B256, root: B256) -> Result<B256, StateError> {
        if !self.has_partial_roots() {
            return Ok(root);
        }
        let node = StorageNodes { view: *self, account }.node(&Nibbles::new())?;
        Ok(node.map_or(EMPTY_ROOT_HASH, keccak256))
    }

    /// Whether the storage of an account in the base no longer counts.
    pub(super) fn is_cleared(&self, account: HashKey) -> StorageResult<bool> {
        let undo_key = |height| (account, height);
        Ok(self.read(&CLEARED, &account, &CLEARED_UNDO, undo_key)?.is_some())
    }

    /// A row of `latest`, or its value at the height: that of the first undo row above the height, if there is one.
    pub(super) fn read<K: KeyCodec, V: ValueCodec, U: KeyCodec>(
        &self,
        latest: &Table<K, V>,
        key: &K,
        undo: &Table<U, Vec<u8>>,
        undo_key: impl FnOnce(u64) -> U,
    ) -> StorageResult<Option<V>> {
        if let StateVersion::AtHeight(height) = self.at {
            let from = undo.key(self.scope, &undo_key(height.saturating_add(1)));
            let row = from.len() - size_of::<u64>();
            if let Some((found, value)) = self.reader.seek(&from)?
                && found.len() == from.len()
                && found[..row] == from[..row]
            {
                return if value.is_empty() { Ok(None) } else { latest.value(&value).map(Some) };
            }
        }
        latest.get(self.reader, self.scope, key)
    }

    /// As [`Self::read`]; if the key was not changed up to the height of this view, the base's value, if there is a
    /// base.
    fn read_or<K: KeyCodec, V: ValueCodec, U: KeyCodec, E: From<StorageError>>(
        &self,
        latest: &Table<K, V>,
        key: &K,
        undo: &Table<U, Vec<u8>>,
        undo_key: impl Fn(u64) -> U,
        from_base: impl FnOnce(&dyn StateBase) -> Result<Option<V>, E>,
    ) -> Result<Option<V>, E> {
        let found = self.read(latest, key, undo, &undo_key)?;
        let Some(base) = self.base.filter(|_| found.is_none()) else { return Ok(found) };
        if self.was_changed(undo, undo_key)? { Ok(None) } else { from_base(base) }
    }

    /// Whether there is an undo row of a key of a block up to the height of this view. Genesis has none.
    fn was_changed<U: KeyCodec>(
        &self,
        undo: &Table<U, Vec<u8>>,
        undo_key: impl Fn(u64) -> U,
    ) -> StorageResult<bool> {
        let from = undo.key(self.scope, &undo_key(0));
        let row = from.len() - size_of::<u64>();
        let first = self
            .reader
            .seek(&from)?
            .filter(|(found, _)| found.len() == from.len() && found[..row] == from[..row]);
        let Some((found, _)) = first else { return Ok(false) };
        Ok(match self.at {
            StateVersion::Latest => true,
            StateVersion::AtHeight(height) => found <= undo.key(self.scope, &undo_key(height)),
        })
    }

    /// An account.
    pub fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        if let Some(recorder) = self.recorder {
            recorder.account(address);
        }
        self.account_or(keccak256(address), |base| base.account(address))
    }

    /// The account of a hashed address.
    pub fn account_by_hash(&self, hash: B256) -> Result<Option<Account>, StateError> {
        self.account_or(hash, |base| base.account_by_hash(hash))
    }

    fn account_or(
        &self,
        hash: B256,
        from_base: impl FnOnce(&dyn StateBase) -> Result<Option<Account>, StateError>,
    ) -> Result<Option<Account>, StateError> {
        let key = key_of(hash);
        let undo_key = |height| (key, height);
        let from_base =
            |base: &dyn StateBase| from_base(base).map(|account| account.map(StoredAccount));
        let found: Result<_, StateError> =
            self.read_or(&ACCOUNTS, &key, &ACCOUNT_UNDO, undo_key, from_base);
        Ok(found?.map(|StoredAccount(account)| account))
    }

    /// The value of a slot, as the rules map storage keys to slots; zero if the slot is empty.
    pub fn storage(&self, address: &Address, slot: U256) -> Result<U256, StateError> {
        if let Some(recorder) = self.recorder {
            recorder.slot(address, slot);
        }
        let (account, hash) = (keccak256(address), keccak256(B256::from(slot)));
        self.storage_or(account, hash, |base| base.storage(address, slot))
    }

    /// The balance of another asset of an account.
    pub fn asset_balance(&self, address: &Address, asset: B256) -> Result<U256, StateError> {
        self.storage(address, asset_slot(asset))
    }

    /// The value of a hashed slot of a hashed address.
    pub fn storage_by_hash(&self, account: B256, slot: B256) -> Result<U256, StateError> {
        self.storage_or(account, slot, |base| base.storage_by_hash(account, slot))
    }

    fn storage_or(
        &self,
        account: B256,
        slot: B256,
        from_base: impl FnOnce(&dyn StateBase) -> Result<U256, StateError>,
    ) -> Result<U256, StateError> {
        let (account, slot) = (key_of(account), key_of(slot));
        let undo_key = |height| (account, slot, height);
        let from_base = |base: &dyn StateBase| match self.is_cleared(account)? {
            true => Ok(None),
            false => from_base(base).map(StoredSlot).map(Some),
        };
        let key = (account, slot);
        let found: Result<_, StateError> =
            self.read_or(&SLOTS, &key, &SLOT_UNDO, undo_key, from_base);
        let found = found?;
        Ok(found.map(|StoredSlot(value)| value).unwrap_or_default())
    }

    /// Code by its hash.
    pub fn code(&self, hash: B256) -> Result<Bytes, StateError> {
        if hash == KECCAK_EMPTY || hash.is_zero() {
            return Ok(Bytes::new());
        }
        let code = CODE.get(self.reader, self.scope, &key_of(hash))?;
        let code = match (code, self.base) {
            (Some(code), _) => code.into(),
            (None, Some(base)) => base.code(hash)?,
            (None, None) => return Err(StateError::MissingCode(hash)),
        };
        if let Some(recorder) = self.recorder {
            recorder.code(&code);
        }
        Ok(code)
    }

    fn recorded(&self, node: Option<Vec<u8>>) -> Option<Vec<u8>> {
        if let (Some(recorder), Some(rlp)) = (self.recorder, &node) {
            recorder.node(rlp);
        }
        node
    }

    /// The root of the account trie, from its stored root node.
    pub fn root(&self) -> Result<B256, StateError> {
        let root = AccountNodes(*self).node(&Nibbles::new())?;
        Ok(root.map_or(EMPTY_ROOT_HASH, keccak256))
    }

    /// Proves an account against a state root.
    pub fn prove_account(&self, root: B256, address: &Address) -> Result<Proof, StateError> {
        Ok(prove(&AccountNodes(*self), root, keccak256(address))?)
    }

    /// Proves a storage key, which is not mapped to a slot, against an account's storage root.
    pub fn prove_storage(
        &self,
        root: B256,
        address: &Address,
        key: B256,
    ) -> Result<Proof, StateError> {
        let nodes = StorageNodes { view: *self, account: keccak256(address) };
        Ok(prove(&nodes, root, keccak256(key))?)
    }
}

/// The slot of an account's balance of another asset: the asset's ID with the lowest bit of the first byte set. This
/// bit is clear in all slots of contract storage (docs/protocol/c-chain-state.md, "Other assets").
pub fn asset_slot(asset: B256) -> U256 {
    U256::from_be_bytes(asset.0) | (U256::ONE << 248)
}

/// The nodes of the account trie.
#[derive(Clone, Copy, Debug)]
pub struct AccountNodes<'a>(
    /// The state.
    pub StateView<'a>,
);

impl NodeSource for AccountNodes<'_> {
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        let key = PathKey(*path);
        let undo_key = |height| (key, height);
        let node =
            self.0.read_or(&NODES, &key, &NODE_UNDO, undo_key, |base| match base.has_nodes() {
                true => base.account_node(path),
                false => Ok(None),
            });
        Ok(self.0.recorded(node?))
    }
}

/// The nodes of an account's storage trie.
#[derive(Clone, Copy, Debug)]
pub struct StorageNodes<'a> {
    /// The state.
    pub view: StateView<'a>,
    /// Hash of the account's address.
    pub account: B256,
}

impl NodeSource for StorageNodes<'_> {
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        let (account, path) = (key_of(self.account), PathKey(*path));
        let undo_key = |height| (account, path, height);
        let from_base =
            |base: &dyn StateBase| match base.has_nodes() && !self.view.is_cleared(account)? {
                true => base.storage_node(self.account, &path.0),
                false => Ok(None),
            };
        let key = (account, path);
        let node = self.view.read_or(&STORAGE_NODES, &key, &STORAGE_NODE_UNDO, undo_key, from_base);
        Ok(self.view.recorded(node?))
    }
}
