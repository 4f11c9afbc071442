//! The tables of the state, with the tags 0x40 to 0x4d of the chain's scope.
//!
//! `A` is the hash of an address, `S` the hash of a storage slot, `P` the path of a trie node.

use alloy_primitives::B256;
use alloy_trie::Nibbles;
use esker_storage::{KeyCodec, Table, ValueCodec};

use super::rows::{StoredAccount, StoredSlot, UndoKeys};

/// The hash of an address or slot as a key.
pub type HashKey = [u8; 32];

/// Latest accounts by `A`.
pub const ACCOUNTS: Table<HashKey, StoredAccount> = Table::new(0x40, "account");
/// Latest storage by `A`, `S`; no row holds zero.
pub const SLOTS: Table<(HashKey, HashKey), StoredSlot> = Table::new(0x41, "slot");
/// Code by its hash.
pub const CODE: Table<HashKey, Vec<u8>> = Table::new(0x42, "code");
/// Nodes of the latest account trie by `P`.
pub const NODES: Table<PathKey, Vec<u8>> = Table::new(0x43, "node");
/// Nodes of the latest storage tries by `A`, `P`.
pub const STORAGE_NODES: Table<(HashKey, PathKey), Vec<u8>> = Table::new(0x44, "storage node");
/// An account before the block at a height. An empty row says that it did not exist.
pub const ACCOUNT_UNDO: Table<(HashKey, u64), Vec<u8>> = Table::new(0x45, "account undo");
/// A slot before the block at a height.
pub const SLOT_UNDO: Table<(HashKey, HashKey, u64), Vec<u8>> = Table::new(0x46, "slot undo");
/// A node of the account trie before the block at a height.
pub const NODE_UNDO: Table<(PathKey, u64), Vec<u8>> = Table::new(0x47, "node undo");
/// A node of a storage trie before the block at a height.
pub const STORAGE_NODE_UNDO: Table<(HashKey, PathKey, u64), Vec<u8>> =
    Table::new(0x48, "storage node undo");
/// The keys of a block's undo rows.
pub const UNDO_KEYS: Table<u64, UndoKeys> = Table::new(0x49, "undo keys");
/// Preimages by hash: addresses and slots, if the configuration keeps them.
pub const PREIMAGES: Table<HashKey, Vec<u8>> = Table::new(0x4a, "preimage");

/// Height of the state of the snapshot from which the node joined, in one row. No earlier state can be read.
pub const STATE_START: Table<(), u64> = Table::new(0x4b, "state start");

/// Accounts whose storage in the base state no longer counts, by `A`: it was cleared. Only a chain over a base
/// ([`super::StateBase`]) has such rows, with the height of the last block that cleared it.
pub const CLEARED: Table<HashKey, u64> = Table::new(0x4c, "cleared storage");
/// A row of [`CLEARED`] before the block at a height. An empty row says that it did not exist.
pub const CLEARED_UNDO: Table<(HashKey, u64), Vec<u8>> = Table::new(0x4d, "cleared storage undo");

/// A path of nibbles as a key: its length, then the nibbles in pairs. No key is the prefix of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathKey(pub Nibbles);

impl KeyCodec for PathKey {
    fn encode_key(&self, out: &mut Vec<u8>) {
        out.push(u8::try_from(self.0.len()).expect("a path has at most 64 nibbles"));
        out.extend_from_slice(&self.0.pack());
    }

    fn decode_key(bytes: &mut &[u8]) -> Option<Self> {
        let (&length, rest) = bytes.split_first()?;
        let length = usize::from(length);
        let (packed, rest) = rest.split_at_checked(length.div_ceil(2))?;
        *bytes = rest;
        let path = Nibbles::unpack(packed);
        (length <= 64 && length <= path.len()).then(|| Self(path.slice(..length)))
    }
}

/// The bytes of a value.
pub(super) fn bytes_of(value: &impl ValueCodec) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode_value(&mut out);
    out
}

/// A hash as a key.
pub(super) fn key_of(hash: B256) -> HashKey {
    hash.0
}
