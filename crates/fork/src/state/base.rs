//! The base state under the state of a chain.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_trie::Nibbles;
use esker_evm_state::state::{StateBase, StateError};
use esker_evm_state::trie::{NodeSource as _, TrieError};
use esker_evm_state::types::Account;

use super::facts::BaseAccount;
use super::view::{BaseView, Lookup};
use crate::misses::Want;

/// A view of the base as the port of `StateView`. What is missing is noted in the view's misses, except by hash: the
/// address or slot of a hash is known only if it was read before.
#[derive(Clone, Copy, Debug)]
pub struct ForkBase<'a>(
    /// The view.
    pub BaseView<'a>,
);

fn fetched<T>(found: Lookup<T>, want: impl FnOnce() -> Want) -> Result<T, StateError> {
    found.known().ok_or_else(|| StateError::NotFetched(want().to_string()))
}

impl ForkBase<'_> {
    fn address_of(&self, hash: B256) -> Result<Address, StateError> {
        let found = self.0.known.address_of(hash);
        found.ok_or_else(|| StateError::NotFetched(format!("the account of hash {hash}")))
    }
}

impl StateBase for ForkBase<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        let account = fetched(self.0.account(address), || Want::Account(*address))?;
        Ok(account.as_ref().map(BaseAccount::to_account))
    }

    fn account_by_hash(&self, hash: B256) -> Result<Option<Account>, StateError> {
        self.account(&self.address_of(hash)?)
    }

    fn storage(&self, address: &Address, slot: U256) -> Result<U256, StateError> {
        fetched(self.0.slot(address, slot), || Want::Slot(*address, slot))
    }

    fn storage_by_hash(&self, account: B256, slot: B256) -> Result<U256, StateError> {
        let address = self.address_of(account)?;
        let key = self.0.known.slot_key_of(slot);
        let key = key.ok_or_else(|| StateError::NotFetched(format!("the slot of hash {slot}")))?;
        self.storage(&address, key)
    }

    fn code(&self, hash: B256) -> Result<Bytes, StateError> {
        fetched(self.0.code(hash), || Want::Code(hash))
    }

    fn account_node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        self.0.account_nodes().node(path)
    }

    fn storage_node(&self, account: B256, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        match self.0.known.address_of(account) {
            Some(address) => self.0.storage_nodes(address).node(path),
            None => Ok(None),
        }
    }
}
