//! Walks over the state in the order of hashes, a bounded number of steps at a time.
//!
//! A walk holds no cursor: the caller gets the hash at which to continue, and may use another view of the same state
//! for the next part.

use std::ops::ControlFlow;

use alloy_primitives::{Address, B256, U256};
use esker_storage::{KeyCodec, StorageResult, Table, ValueCodec};

use super::StateError;
use super::rows::{StoredAccount, StoredSlot};
use super::tables::{
    ACCOUNT_UNDO, ACCOUNTS, HashKey, PREIMAGES, SLOT_UNDO, SLOTS, UNDO_KEYS, key_of,
};
use super::view::{StateVersion, StateView};
use crate::types::Account;

/// Bytes of a hash in a key.
const HASH_LEN: usize = 32;

/// A part of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkPart<T> {
    /// Found values by hash, ascending.
    pub found: Vec<(B256, T)>,
    /// The hash at which the walk continues; `None` at its end.
    pub next: Option<B256>,
}

impl StateView<'_> {
    /// Accounts by the hashes of their addresses, from a hash on, inclusive. It reads at least one and at most
    /// `steps` hashes, including those of accounts that exist only at other heights.
    ///
    /// # Errors
    /// The store fails, or the view has a base, whose accounts are not here.
    pub fn walk_accounts(&self, from: B256, steps: usize) -> Result<WalkPart<Account>, StateError> {
        self.check_whole()?;
        self.walk_own_accounts(from, steps)
    }

    /// As [`Self::walk_accounts`]; over a base those that changed here alone.
    ///
    /// # Errors
    /// The store fails.
    pub fn walk_own_accounts(
        &self,
        from: B256,
        steps: usize,
    ) -> Result<WalkPart<Account>, StateError> {
        let part = self.walk(&ACCOUNTS, &ACCOUNT_UNDO, &[], from, steps, |hash, view| {
            view.read(&ACCOUNTS, &hash, &ACCOUNT_UNDO, |height| (hash, height))
        })?;
        let account = |(hash, StoredAccount(account))| (hash, account);
        Ok(WalkPart { found: part.found.into_iter().map(account).collect(), next: part.next })
    }

    /// Non-empty slots of the account of a hashed address, by the hashes of the slots. Otherwise as
    /// [`Self::walk_accounts`].
    pub fn walk_slots(
        &self,
        account: B256,
        from: B256,
        steps: usize,
    ) -> Result<WalkPart<U256>, StateError> {
        self.check_whole()?;
        self.walk_own_slots(account, from, steps)
    }

    /// As [`Self::walk_slots`]; over a base those that changed here alone.
    ///
    /// # Errors
    /// The store fails.
    pub fn walk_own_slots(
        &self,
        account: B256,
        from: B256,
        steps: usize,
    ) -> Result<WalkPart<U256>, StateError> {
        let of = key_of(account);
        let part = self.walk(&SLOTS, &SLOT_UNDO, &of, from, steps, |slot, view| {
            view.read(&SLOTS, &(of, slot), &SLOT_UNDO, |height| (of, slot, height))
        })?;
        let value = |(hash, StoredSlot(value))| (hash, value);
        Ok(WalkPart { found: part.found.into_iter().map(value).collect(), next: part.next })
    }

    fn check_whole(&self) -> Result<(), StateError> {
        if self.has_base() { Err(StateError::NotWhole) } else { Ok(()) }
    }

    /// The preimage of a hash, if preimages are kept ([`super::ApplyOptions::preimages`]).
    pub fn preimage(&self, hash: B256) -> StorageResult<Option<Vec<u8>>> {
        PREIMAGES.get(self.reader, self.scope, &key_of(hash))
    }

    /// The address of a hash, if preimages are kept.
    pub fn address_of(&self, hash: B256) -> StorageResult<Option<Address>> {
        let found = self.preimage(hash)?;
        Ok(found.and_then(|bytes| Address::try_from(bytes.as_slice()).ok()))
    }

    /// The slot of a hash, if preimages are kept.
    pub fn slot_of(&self, hash: B256) -> StorageResult<Option<B256>> {
        let found = self.preimage(hash)?;
        Ok(found.and_then(|bytes| B256::try_from(bytes.as_slice()).ok()))
    }

    /// Calls `visit` with the hashed addresses of the accounts whose rows the block at a height changed. The undo
    /// rows of the block must be kept.
    pub fn changed_accounts(&self, height: u64, mut visit: impl FnMut(B256)) -> StorageResult<()> {
        let prefix = ACCOUNT_UNDO.prefix(self.scope);
        let Some(keys) = UNDO_KEYS.get(self.reader, self.scope, &height)? else { return Ok(()) };
        for key in keys.0 {
            if let Some(rest) = key.strip_prefix(prefix.as_slice())
                && let Some(hash) = rest.first_chunk::<HASH_LEN>()
            {
                visit(B256::from(*hash));
            }
        }
        Ok(())
    }

    /// Walks over rows whose keys are `prefix` and a hash, and over undo rows whose keys also have a height.
    fn walk<K: KeyCodec, V: ValueCodec, U: KeyCodec>(
        &self,
        latest: &Table<K, V>,
        undo: &Table<U, Vec<u8>>,
        prefix: &[u8],
        from: B256,
        steps: usize,
        read: impl Fn(HashKey, &Self) -> StorageResult<Option<V>>,
    ) -> StorageResult<WalkPart<V>> {
        let mut found = Vec::new();
        let mut at = from;
        // The next hash of each table. The outer `None` means that it was not read yet.
        let (mut in_latest, mut in_undo) = (None::<Option<B256>>, None::<Option<B256>>);
        for _ in 0..steps.max(1) {
            let next_latest = match in_latest {
                Some(next) if next.is_none_or(|next| next >= at) => next,
                _ => self.first_hash(latest, prefix, at)?,
            };
            in_latest = Some(next_latest);
            let next_undo = match (self.at, in_undo) {
                (StateVersion::Latest, _) => None,
                (StateVersion::AtHeight(_), Some(next)) if next.is_none_or(|next| next >= at) => {
                    next
                }
                (StateVersion::AtHeight(_), _) => self.first_hash(undo, prefix, at)?,
            };
            in_undo = Some(next_undo);
            let nearest = match (next_latest, next_undo) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (one, other) => one.or(other),
            };
            let Some(hash) = nearest else { return Ok(WalkPart { found, next: None }) };
            if let Some(value) = read(hash.0, self)? {
                found.push((hash, value));
            }
            match after(hash) {
                Some(next) => at = next,
                None => return Ok(WalkPart { found, next: None }),
            }
        }
        Ok(WalkPart { found, next: Some(at) })
    }

    /// The hash in the first key of a table from `prefix` and a hash on.
    fn first_hash<K: KeyCodec, V: ValueCodec>(
        &self,
        table: &Table<K, V>,
        prefix: &[u8],
        from: B256,
    ) -> StorageResult<Option<B256>> {
        let from = [prefix, from.as_slice()].concat();
        let mut first = None;
        table.scan(self.reader, self.scope, prefix, Some(&from), |key, _| {
            first = key.get(prefix.len()..prefix.len() + HASH_LEN).map(B256::from_slice);
            ControlFlow::Break(())
        })?;
        Ok(first)
    }
}

/// The hash after this one; `None` after the last.
fn after(hash: B256) -> Option<B256> {
    U256::from_be_bytes(hash.0).checked_add(U256::ONE).map(B256::from)
}
