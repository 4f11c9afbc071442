//! The Merkle-Patricia trie, with its nodes stored by their **path**: only the latest trie lies in the
//! store, and what a block replaces goes into undo rows, so that an old proof costs as much as a new one.
//!
//! Keys are hashes of 32 bytes, so no branch holds a value. [`TrieUpdate`] changes a trie over a
//! [`NodeSource`] and gives its roots, or the rows that change; [`TrieStream`] builds one from sorted leaves; [`prove`]
//! walks one.

mod proof;
mod stream;
mod update;

use alloy_primitives::B256;
use alloy_trie::Nibbles;
use esker_storage::StorageError;
use thiserror::Error;

pub use proof::{Proof, prove};
pub use stream::{NodeRow, TrieStream};
pub use update::{RowChange, TrieUpdate};

/// Where nodes come from.
pub trait NodeSource {
    /// The RLP of the node that begins at a path, if one is stored there. Nodes shorter than 32 bytes lie
    /// within their parents and are not stored; the root always is.
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError>;
}

impl<S: NodeSource + ?Sized> NodeSource for &S {
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        (**self).node(path)
    }
}

/// Why a trie can't be read.
#[derive(Debug, Error)]
pub enum TrieError {
    /// A node is not there: the data is damaged, or of a state that is not kept.
    #[error("missing trie node {hash:x} (path {path:?})")]
    Missing {
        /// Its hash.
        hash: B256,
        /// Where it should be.
        path: Nibbles,
    },
    /// A node can't be decoded.
    #[error("trie node at path {path:?} is damaged: {cause}")]
    Damaged {
        /// Where it is.
        path: Nibbles,
        /// What is wrong.
        cause: alloy_rlp::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
