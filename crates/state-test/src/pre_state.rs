//! The state before the transaction, in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{B256, Bytes, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, KECCAK_EMPTY};
use esker_evm_state::state::{
    AccountChange, AccountParts, ApplyOptions, BlockState, StateChanges, StateError,
};
use esker_storage::{KvRead, KvStore, MemoryStore, Overlay, Scope, WriteSet};

use crate::account::FourFields;
use crate::json::PreAccount;
use crate::outcome::Failure;
use crate::text::{TextError, address, bytes, number, short};

/// The scope of the state in the store.
pub(crate) const SCOPE: Scope = Scope(0);

/// An account that exists and is empty.
pub(crate) const EMPTY: AccountParts =
    AccountParts { nonce: 0, balance: U256::ZERO, code_hash: KECCAK_EMPTY, is_multi_coin: false };

/// A state with its root.
pub(crate) struct PreState {
    rows: Arc<WriteSet>,
    root: B256,
}

impl PreState {
    /// The state of these accounts. Empty accounts exist.
    pub(crate) fn new(accounts: &BTreeMap<String, PreAccount>) -> Result<Self, Failure> {
        let mut changes = StateChanges::new();
        for (at, account) in accounts {
            changes.insert(address("pre", at)?, change(account)?);
        }
        let mut rows = WriteSet::default();
        let root = apply(&*nothing()?, EMPTY_ROOT_HASH, 0, &changes, &mut rows)?;
        Ok(Self { rows: Arc::new(rows), root })
    }

    /// Reads the state.
    pub(crate) fn reader(&self) -> Result<Box<dyn KvRead>, StateError> {
        Ok(Box::new(Overlay::new(nothing()?, vec![Arc::clone(&self.rows)])))
    }

    /// The root after changes, which are not kept.
    pub(crate) fn root_after(&self, changes: &StateChanges) -> Result<B256, StateError> {
        apply(&*self.reader()?, self.root, 1, changes, &mut WriteSet::default())
    }
}

/// A reader of an empty store.
fn nothing() -> Result<Box<dyn KvRead>, StateError> {
    Ok(MemoryStore::new().snapshot()?)
}

fn apply(
    below: &dyn KvRead,
    root: B256,
    height: u64,
    changes: &StateChanges,
    out: &mut WriteSet,
) -> Result<B256, StateError> {
    let options = ApplyOptions::default();
    BlockState { codec: &FourFields, below, scope: SCOPE, root, height, options, base: None }
        .apply(changes, out)
}

fn change(account: &PreAccount) -> Result<AccountChange, TextError> {
    let mut slots = BTreeMap::new();
    for (key, value) in &account.storage {
        let value = number("storage", value)?;
        if !value.is_zero() {
            slots.insert(number("storage", key)?, value);
        }
    }
    let code = bytes("code", &account.code)?;
    let code = (!code.is_empty()).then(|| (keccak256(&code), code));
    let parts = AccountParts {
        nonce: short("nonce", &account.nonce)?,
        balance: number("balance", &account.balance)?,
        code_hash: code.as_ref().map_or(KECCAK_EMPTY, |(hash, _): &(B256, Bytes)| *hash),
        is_multi_coin: false,
    };
    Ok(AccountChange { account: Some(parts), code, wiped: false, slots })
}
