//! The port to a state below the store's.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_trie::Nibbles;

use super::StateError;
use crate::trie::TrieError;
use crate::types::Account;

/// A state on top of which a chain began: that of a block of another node. It never changes.
///
/// A key falls through to it if the store has no row of it and no undo row of a block up to the height that is read
/// ([`super::StateView::with_base`]). No method waits: what is not known here is a [`crate::not_fetched::NotFetched`] error.
pub trait StateBase: Send + Sync {
    /// Height of the block whose state this is.
    fn height(&self) -> u64;

    /// Whether it has trie nodes, so that roots over it are those of the whole state. Without them, roots are those of
    /// the changes alone.
    fn has_nodes(&self) -> bool;

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

    /// The hash of a block before the one whose state this is.
    fn block_hash(&self, number: u64) -> Result<B256, StateError>;

    /// The RLP of a node of the account trie.
    fn account_node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError>;

    /// The RLP of a node of the storage trie of a hashed address.
    fn storage_node(&self, account: B256, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError>;
}
