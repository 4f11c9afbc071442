//! The Merkle-Patricia trie with nodes stored by their **path**: only the latest trie is in the store, and replaced
//! nodes are in undo rows, so an old proof costs as much as a new one.
//!
//! Keys are hashes of 32 bytes, so no branch holds a value. [`TrieUpdate`] changes a trie over a [`NodeSource`] and
//! returns its roots or the changed rows. [`TrieStream`] builds a trie from sorted leaves. [`prove`] makes proofs.

mod proof;
mod stream;
mod update;

use alloy_primitives::B256;
use alloy_trie::Nibbles;
use esker_storage::StorageError;
use thiserror::Error;

use crate::not_fetched::NotFetched;

pub use proof::{Proof, prove};
pub use stream::{NodeRow, TrieStream};
pub use update::{RowChange, TrieUpdate};

/// A source of stored nodes.
pub trait NodeSource {
    /// The RLP of the node at a path, if one is stored there. Nodes shorter than 32 bytes are embedded in their
    /// parents and not stored, except for the root.
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError>;
}

impl<S: NodeSource + ?Sized> NodeSource for &S {
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        (**self).node(path)
    }
}

/// The reason why a trie can't be read.
#[derive(Debug, Error)]
pub enum TrieError {
    /// A node is missing: the data is damaged, or belongs to a state that is not kept.
    #[error("missing trie node {hash:x} (path {path:?})")]
    Missing {
        /// Hash of the node.
        hash: B256,
        /// Path of the node.
        path: Nibbles,
    },
    /// A node can't be decoded.
    #[error("trie node at path {path:?} is damaged: {cause}")]
    Damaged {
        /// Path of the node.
        path: Nibbles,
        /// The error of the decoder.
        cause: alloy_rlp::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A node of the state below the store's is not here yet.
    #[error(transparent)]
    NotFetched(#[from] NotFetched),
}
