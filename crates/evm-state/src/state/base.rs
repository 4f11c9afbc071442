//! The port to a state below the store's.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_trie::Nibbles;

use super::StateError;
use crate::trie::TrieError;
use crate::types::Account;

/// A state on top of which a chain began: that of a block of another node. It never changes.
///
/// A key falls through to it if the store has no row of it and no undo row of a block up to the height that is read
/// ([`super::StateView::with_base`]). No method waits: what is not known here is [`StateError::NotFetched`], or, for a
/// node, absent, and the implementation notes that it is wanted.
pub trait StateBase: Send + Sync {
    /// An account; `None` if it does not exist.
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError>;

    /// The account of a hashed address.
    fn account_by_hash(&self, hash: B256) -> Result<Option<Account>, StateError>;

    /// The value of a slot.
    fn storage(&self, address: &Address, slot: U256) -> Result<U256, StateError>;

    /// The value of a hashed slot of a hashed address.
    fn storage_by_hash(&self, account: B256, slot: B256) -> Result<U256, StateError>;

    /// Code by its hash.
    fn code(&self, hash: B256) -> Result<Bytes, StateError>;

    /// The RLP of a node of the account trie.
    fn account_node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError>;

    /// The RLP of a node of the storage trie of a hashed address.
    fn storage_node(&self, account: B256, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError>;
}
