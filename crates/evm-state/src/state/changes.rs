//! What a block does to the state.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256};

use crate::types::Account;

/// All changed accounts of a block.
pub type StateChanges = BTreeMap<Address, AccountChange>;

/// One changed account as it is after the block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountChange {
    /// The account, or `None` if it is gone.
    pub account: Option<AccountParts>,
    /// Code that may be new to the store.
    pub code: Option<(B256, Bytes)>,
    /// Was its storage cleared before `slots` were set? So it is with an account that is gone.
    pub wiped: bool,
    /// Slots set, as the rules map them; zero clears one.
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
    /// Did it ever hold another asset?
    pub is_multi_coin: bool,
}

impl AccountParts {
    /// The account, with the root of its storage.
    pub fn with_storage(self, storage_root: B256) -> Account {
        let Self { nonce, balance, code_hash, is_multi_coin } = self;
        Account { nonce, balance, storage_root, code_hash, is_multi_coin }
    }
}
