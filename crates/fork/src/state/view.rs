//! Reads the known part of the base state, and collects what is missing.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::Nibbles;
use esker_evm_state::trie::{NodeSource, TrieError};

use super::facts::{BaseAccount, Trie};
use super::known::KnownState;
use crate::misses::{Misses, Want};

/// The result of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<T> {
    /// The value.
    Known(T),
    /// Not fetched yet. It is among the misses now.
    Missing,
}

impl<T> Lookup<T> {
    /// The value, if it is known.
    pub fn known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Missing => None,
        }
    }

    fn or_miss(found: Option<T>, misses: &Misses, want: impl FnOnce() -> Want) -> Self {
        if let Some(value) = found {
            return Self::Known(value);
        }
        misses.add(want());
        Self::Missing
    }
}

/// The base state as one run reads it. No look-up waits for a source or a file.
#[derive(Clone, Copy, Debug)]
pub struct BaseView<'a> {
    pub(crate) known: &'a KnownState,
    pub(crate) misses: &'a Misses,
}

impl<'a> BaseView<'a> {
    /// An account; `None` if it does not exist.
    pub fn account(&self, address: &Address) -> Lookup<Option<BaseAccount>> {
        Lookup::or_miss(self.known.account(address), self.misses, || Want::Account(*address))
    }

    /// The value of a slot.
    pub fn slot(&self, address: &Address, slot: U256) -> Lookup<U256> {
        let found = self.known.slot(address, slot);
        Lookup::or_miss(found, self.misses, || Want::Slot(*address, slot))
    }

    /// Code by its hash. The account with it was read before.
    pub fn code(&self, hash: B256) -> Lookup<Bytes> {
        Lookup::or_miss(self.known.code(hash), self.misses, || Want::Code(hash))
    }

    /// The address of a hash, if its account or a slot of it is known.
    pub(crate) fn address_of(&self, hash: B256) -> Option<Address> {
        self.known.address_of(hash)
    }

    /// The key of a hashed slot, if such a slot of any account is known.
    pub(crate) fn slot_key_of(&self, hash: B256) -> Option<U256> {
        self.known.slot_key_of(hash)
    }

    /// The nodes of the account trie. A missing node is absent there and among the misses.
    pub fn account_nodes(&self) -> BaseAccountNodes<'a> {
        BaseAccountNodes(*self)
    }

    /// The nodes of an account's storage trie.
    pub fn storage_nodes(&self, address: Address) -> BaseStorageNodes<'a> {
        BaseStorageNodes { view: *self, address }
    }

    /// The hash of a block before the pinned one.
    pub fn block_hash(&self, number: u64) -> Lookup<B256> {
        let found = self.known.block_hash(number);
        Lookup::or_miss(found, self.misses, || Want::BlockHash(number))
    }

    /// The RLP of a node of the account trie.
    pub fn account_node(&self, path: &Nibbles) -> Lookup<Vec<u8>> {
        self.node(Trie::Accounts, path, || Want::AccountNode(*path))
    }

    /// The RLP of a node of an account's storage trie.
    pub fn storage_node(&self, address: Address, path: &Nibbles) -> Lookup<Vec<u8>> {
        let trie = Trie::Storage(keccak256(address));
        self.node(trie, path, || Want::StorageNode(address, *path))
    }

    fn node(&self, trie: Trie, path: &Nibbles, want: impl FnOnce() -> Want) -> Lookup<Vec<u8>> {
        let found = self.known.node(trie, path).map(|rlp| rlp.to_vec());
        Lookup::or_miss(found, self.misses, want)
    }
}

/// The nodes of the base's account trie.
#[derive(Clone, Copy, Debug)]
pub struct BaseAccountNodes<'a>(BaseView<'a>);

impl NodeSource for BaseAccountNodes<'_> {
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        Ok(self.0.account_node(path).known())
    }
}

/// The nodes of a storage trie of the base.
#[derive(Clone, Copy, Debug)]
pub struct BaseStorageNodes<'a> {
    view: BaseView<'a>,
    address: Address,
}

impl NodeSource for BaseStorageNodes<'_> {
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        Ok(self.view.storage_node(self.address, path).known())
    }
}
