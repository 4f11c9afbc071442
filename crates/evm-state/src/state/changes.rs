//! A block's changes of the state.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256};

use crate::types::Account;

/// All changed accounts of a block.
pub type StateChanges = BTreeMap<Address, AccountChange>;

/// One changed account as it is after the block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountChange {
    /// The account; `None` if it was deleted.
    pub account: Option<AccountParts>,
    /// Code that may be new to the store.
    pub code: Option<(B256, Bytes)>,
    /// Whether its storage was cleared before `slots` were set. It is true for a deleted account.
    pub wiped: bool,
    /// Changed slots, as the rules map them. Zero clears a slot.
    pub slots: BTreeMap<U256, U256>,
}

/// An account without the root of its storage, which follows from its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountParts {
    /// Nonce.
    pub nonce: u64,
    /// Wei.
    pub balance: U256,
    /// Hash of its code.
    pub code_hash: B256,
    /// Whether it ever held another asset.
    pub is_multi_coin: bool,
}

impl AccountParts {
    /// The account, with the root of its storage.
    pub fn with_storage(self, storage_root: B256) -> Account {
        let Self { nonce, balance, code_hash, is_multi_coin } = self;
        Account { nonce, balance, storage_root, code_hash, is_multi_coin }
    }
}
