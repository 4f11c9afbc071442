//! Restores a whole state from its rows: writes its tries, and compares the state root.

use alloy_primitives::{B256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, KECCAK_EMPTY};
use esker_storage::{KvRead, KvWrite, Scope, StorageError, StorageResult, ValueCodec};
use thiserror::Error;

use super::rows::{StoredAccount, StoredSlot};
use super::tables::{ACCOUNTS, CODE, NODES, PathKey, STORAGE_NODES, bytes_of};
use crate::trie::TrieStream;
use crate::types::AccountCodec;

/// The reason why rows are refused.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The rows are wrong.
    #[error("{0}")]
    Invalid(String),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

fn invalid(text: impl Into<String>) -> RestoreError {
    RestoreError::Invalid(text.into())
}

/// Writes the nodes of all tries of a state while its rows arrive: all code, then the accounts ascending, then the
/// slots ascending. The caller writes the rows themselves. All rows of a table must be in `stored` before the first
/// row of the next table. Memory does not grow with the state.
#[derive(Debug)]
pub struct StateRestore<'a> {
    codec: &'a dyn AccountCodec,
    scope: Scope,
    accounts: TrieStream,
    /// Number of accounts with storage whose slots have not arrived yet.
    without_slots: u64,
    root: Option<B256>,
    storage: Storage,
    /// Hash of the last code that was looked up.
    known_code: B256,
}

/// The storage trie that is being built.
#[derive(Debug, Default)]
struct Storage {
    account: Option<B256>,
    slots: TrieStream,
}

impl<'a> StateRestore<'a> {
    /// A restore into an empty scope.
    pub fn new(codec: &'a dyn AccountCodec, scope: Scope) -> Self {
        let (accounts, storage) = (TrieStream::default(), Storage::default());
        let known_code = KECCAK_EMPTY;
        Self { codec, scope, accounts, without_slots: 0, root: None, storage, known_code }
    }

    /// Checks a row of [`CODE`].
    pub fn code(&self, hash: B256, code: &[u8]) -> Result<(), RestoreError> {
        match keccak256(code) == hash {
            true => Ok(()),
            false => Err(invalid(format!("code {hash} has another hash"))),
        }
    }

    /// Adds a row of [`ACCOUNTS`].
    pub fn account(
        &mut self,
        hash: B256,
        row: &[u8],
        stored: &dyn KvRead,
        out: &mut dyn KvWrite,
    ) -> Result<(), RestoreError> {
        let account = StoredAccount::decode_value(row)
            .filter(|account| bytes_of(account) == row)
            .ok_or_else(|| invalid(format!("account {hash} does not decode")))?
            .0;
        if account.code_hash != KECCAK_EMPTY && account.code_hash != self.known_code {
            if !CODE.contains(stored, self.scope, &account.code_hash.0)? {
                return Err(invalid(format!("code {} is missing", account.code_hash)));
            }
            self.known_code = account.code_hash;
        }
        self.without_slots += u64::from(account.storage_root != EMPTY_ROOT_HASH);
        let mut leaf = Vec::new();
        self.codec.encode_account(&account, &mut leaf);
        let scope = self.scope;
        let mut node = |path: &_, rlp: &[u8]| NODES.put_bytes(out, scope, &PathKey(*path), rlp);
        match self.accounts.push(hash, &leaf, &mut node) {
            true => Ok(()),
            false => Err(invalid(format!("account {hash} is out of order"))),
        }
    }

    /// Ends the accounts and compares the state root.
    pub fn end_accounts(
        &mut self,
        expected: B256,
        out: &mut dyn KvWrite,
    ) -> Result<(), RestoreError> {
        let scope = self.scope;
        let mut node = |path: &_, rlp: &[u8]| NODES.put_bytes(out, scope, &PathKey(*path), rlp);
        let root = self.accounts.finish(&mut node);
        self.root = Some(root);
        match root == expected {
            true => Ok(()),
            false => {
                Err(invalid(format!("the accounts have the state root {root}, not {expected}")))
            }
        }
    }

    /// Adds a row of [`super::tables::SLOTS`].
    pub fn slot(
        &mut self,
        (account, slot): (B256, B256),
        row: &[u8],
        stored: &dyn KvRead,
        out: &mut dyn KvWrite,
    ) -> Result<(), RestoreError> {
        let value = StoredSlot::decode_value(row)
            .filter(|value| !value.0.is_zero() && bytes_of(value) == row)
            .ok_or_else(|| invalid(format!("slot {slot} of account {account} does not decode")))?
            .0;
        if self.storage.account != Some(account) {
            self.end_slots(stored, out)?;
            self.storage.account = Some(account);
        }
        let mut node = self.storage_node(account, out);
        match self.storage.slots.push(slot, &alloy_rlp::encode(value), &mut node) {
            true => Ok(()),
            false => Err(invalid(format!("slot {slot} of account {account} is out of order"))),
        }
    }

    fn storage_node<'o>(
        &self,
        account: B256,
        out: &'o mut dyn KvWrite,
    ) -> impl FnMut(&alloy_trie::Nibbles, &[u8]) + use<'o> {
        let scope = self.scope;
        move |path, rlp| STORAGE_NODES.put_bytes(out, scope, &(account.0, PathKey(*path)), rlp)
    }

    /// Compares the storage root of the account whose slots are complete.
    fn end_slots(
        &mut self,
        stored: &dyn KvRead,
        out: &mut dyn KvWrite,
    ) -> Result<(), RestoreError> {
        let Some(account) = self.storage.account.take() else { return Ok(()) };
        let mut node = self.storage_node(account, out);
        let root = self.storage.slots.finish(&mut node);
        let expected: StorageResult<_> = ACCOUNTS.get(stored, self.scope, &account.0);
        let expected = expected?.map_or(EMPTY_ROOT_HASH, |account| account.0.storage_root);
        if root != expected {
            let text =
                format!("the slots of account {account} have the root {root}, not {expected}");
            return Err(invalid(text));
        }
        self.without_slots = self.without_slots.saturating_sub(1);
        Ok(())
    }

    /// Ends the restore after all rows.
    pub fn finish(
        mut self,
        stored: &dyn KvRead,
        out: &mut dyn KvWrite,
    ) -> Result<(), RestoreError> {
        self.end_slots(stored, out)?;
        if self.root.is_none() {
            return Err(invalid("the accounts are missing"));
        }
        match self.without_slots {
            0 => Ok(()),
            accounts => Err(invalid(format!("the slots of {accounts} accounts are missing"))),
        }
    }
}
