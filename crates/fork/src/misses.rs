//! The parts of the base state that a run lacked.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, U256};
use alloy_trie::Nibbles;
use esker_primitives::sync::Mutex;

/// A part of the base state that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Want {
    /// An account.
    Account(Address),
    /// The value of a slot.
    Slot(Address, U256),
    /// Code by its hash. An account with it is known.
    Code(B256),
    /// A node of the account trie.
    AccountNode(Nibbles),
    /// A node of an account's storage trie.
    StorageNode(Address, Nibbles),
}

impl std::fmt::Display for Want {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Account(address) => write!(f, "account {address}"),
            Self::Slot(address, slot) => write!(f, "slot {slot:#x} of {address}"),
            Self::Code(hash) => write!(f, "code {hash}"),
            Self::AccountNode(path) => write!(f, "account trie node {}", path_text(path)),
            Self::StorageNode(address, path) => {
                write!(f, "storage trie node {} of {address}", path_text(path))
            }
        }
    }
}

/// The nibbles of a path, one digit each.
pub(crate) fn path_text(path: &Nibbles) -> String {
    path.iter().map(|nibble| char::from_digit(u32::from(nibble), 16).unwrap_or('?')).collect()
}

/// Collects what a run lacks. Shared by the readers of one run.
#[derive(Debug, Default)]
pub struct Misses(Mutex<BTreeSet<Want>>);

impl Misses {
    /// Adds a part.
    pub fn add(&self, want: Want) {
        self.0.lock().insert(want);
    }

    /// Whether nothing is lacking.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// The number of parts.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// The parts so far; nothing is lacking afterwards.
    pub fn take(&self) -> BTreeSet<Want> {
        std::mem::take(&mut *self.0.lock())
    }
}
