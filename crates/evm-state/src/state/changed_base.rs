//! A base with other accounts.

use std::collections::HashMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::{KECCAK_EMPTY, Nibbles};

use super::{StateBase, StateError};
use crate::trie::{NodeSource, TrieError, TrieUpdate};
use crate::types::{Account, AccountCodec};

/// A change of an account of a base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseChange {
    /// Its balance, wei.
    Balance(U256),
    /// Its code, with nonce 1, unless it has code.
    CodeIfNone(Bytes),
}

/// A base some of whose accounts are other ones, with the nodes of its account trie on their paths.
pub struct ChangedBase {
    below: Arc<dyn StateBase>,
    accounts: HashMap<Address, Account>,
    addresses: HashMap<B256, Address>,
    codes: HashMap<B256, Bytes>,
    /// Nodes that are other ones, or gone.
    nodes: HashMap<Nibbles, Option<Vec<u8>>>,
}

impl std::fmt::Debug for ChangedBase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangedBase").field("accounts", &self.accounts).finish_non_exhaustive()
    }
}

impl ChangedBase {
    /// `below` with these changes. `root` is the root of its account trie; `codec` encodes accounts as leaves.
    ///
    /// # Errors
    /// Something of `below` is not fetched yet; the call may be repeated then.
    pub fn new(
        below: Arc<dyn StateBase>,
        root: B256,
        codec: &dyn AccountCodec,
        changes: &[(Address, BaseChange)],
    ) -> Result<Self, StateError> {
        let mut accounts = HashMap::with_capacity(changes.len());
        let mut codes = HashMap::new();
        for (address, change) in changes {
            let before = below.account(address)?.unwrap_or_default();
            let account = match change {
                BaseChange::Balance(balance) => Account { balance: *balance, ..before },
                BaseChange::CodeIfNone(_) if before.code_hash != KECCAK_EMPTY => continue,
                BaseChange::CodeIfNone(code) => {
                    let code_hash = keccak256(code);
                    codes.insert(code_hash, code.clone());
                    Account { nonce: before.nonce.max(1), code_hash, ..before }
                }
            };
            accounts.insert(*address, account);
        }
        let mut nodes = HashMap::new();
        if below.has_nodes() {
            let mut trie = TrieUpdate::new(NodesOf(below.as_ref()), root);
            for (address, account) in &accounts {
                let mut leaf = Vec::new();
                codec.encode_account(account, &mut leaf);
                trie.insert(keccak256(address), leaf)?;
            }
            nodes.extend(trie.finish().1);
        }
        let addresses = accounts.keys().map(|address| (keccak256(address), *address)).collect();
        Ok(Self { below, accounts, addresses, codes, nodes })
    }
}

/// The nodes of a base's account trie.
struct NodesOf<'a>(&'a dyn StateBase);

impl NodeSource for NodesOf<'_> {
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        self.0.account_node(path)
    }
}

impl StateBase for ChangedBase {
    fn height(&self) -> u64 {
        self.below.height()
    }

    fn has_nodes(&self) -> bool {
        self.below.has_nodes()
    }

    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        match self.accounts.get(address) {
            Some(account) => Ok(Some(*account)),
            None => self.below.account(address),
        }
    }

    fn account_by_hash(&self, hash: B256) -> Result<Option<Account>, StateError> {
        match self.addresses.get(&hash) {
            Some(address) => self.account(address),
            None => self.below.account_by_hash(hash),
        }
    }

    fn storage(&self, address: &Address, slot: U256) -> Result<U256, StateError> {
        self.below.storage(address, slot)
    }

    fn storage_by_hash(&self, account: B256, slot: B256) -> Result<U256, StateError> {
        self.below.storage_by_hash(account, slot)
    }

    fn code(&self, hash: B256) -> Result<Bytes, StateError> {
        match self.codes.get(&hash) {
            Some(code) => Ok(code.clone()),
            None if hash == KECCAK_EMPTY => Ok(Bytes::new()),
            None => self.below.code(hash),
        }
    }

    fn block_hash(&self, number: u64) -> Result<B256, StateError> {
        self.below.block_hash(number)
    }

    fn account_node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        match self.nodes.get(path) {
            Some(node) => Ok(node.clone()),
            None => self.below.account_node(path),
        }
    }

    fn storage_node(&self, account: B256, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        self.below.storage_node(account, path)
    }
}
