//! The base state under the state of a chain.

use std::collections::BTreeSet;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_trie::Nibbles;
use esker_evm_state::not_fetched::{
    FetchState, Fetching, LackingCall, NotFetched, OnFetched, Want,
};
use esker_evm_state::state::{StateBase, StateError};
use esker_evm_state::trie::TrieError;
use esker_evm_state::types::Account;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::error::ForkError;
use crate::fetch::{Fork, Trust};
use crate::misses::Misses;
use crate::state::{BaseAccount, BaseView, Lookup};

/// The state of a fork as the base of a chain's state.
#[derive(Clone, Debug)]
pub struct ForkBase {
    fork: Fork,
    runtime: Handle,
}

impl ForkBase {
    /// The base of a chain. Its reads run on `runtime`, whoever waits for them.
    pub fn new(fork: Fork, runtime: Handle) -> Self {
        Self { fork, runtime }
    }

    /// The fork.
    pub fn fork(&self) -> &Fork {
        &self.fork
    }

    /// Looks something up. What is missing becomes an error that knows how to fetch it.
    fn look_up<T>(&self, look_up: impl FnOnce(BaseView<'_>) -> Lookup<T>) -> Result<T, NotFetched> {
        let misses = Misses::default();
        if let Lookup::Known(found) = look_up(self.fork.view(&misses)) {
            return Ok(found);
        }
        let want = misses.take().pop_first().expect("what is missing is noted");
        Err(NotFetched::new(want, Arc::new(self.clone())))
    }

    /// The address of a hash is known only if its account was read before.
    fn address_of(&self, hash: B256) -> Option<Address> {
        self.fork.view(&Misses::default()).address_of(hash)
    }
}

impl FetchState for ForkBase {
    fn fetch(&self, wants: BTreeSet<Want>, call: Option<Arc<LackingCall>>) -> Fetching {
        let (sent, fetched) = oneshot::channel();
        let fork = self.fork.clone();
        self.runtime.spawn(async move {
            let outcome = fork.fetch_for(&Misses::from(wants), call.as_deref()).await;
            // Who has left needs no outcome.
            let _left = sent.send(outcome.map_err(|error| error.to_string()));
        });
        Box::pin(
            async move { fetched.await.unwrap_or_else(|_| Err(ForkError::Cancelled.to_string())) },
        )
    }

    fn begin(&self, wants: BTreeSet<Want>, then: OnFetched) {
        let fork = self.fork.clone();
        self.runtime.spawn(async move {
            let fetched = fork.fetch(&Misses::from(wants)).await;
            then(fetched.map_err(|error| error.to_string()));
        });
    }

    fn is_closed(&self) -> bool {
        !self.fork.has_source()
    }
}

impl StateBase for ForkBase {
    fn height(&self) -> u64 {
        self.fork.pin().header.number
    }

    fn has_nodes(&self) -> bool {
        *self.fork.trust() == Trust::Proven
    }

    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        let account = self.look_up(|view| view.account(address))?;
        Ok(account.as_ref().map(BaseAccount::to_account))
    }

    fn account_by_hash(&self, hash: B256) -> Result<Option<Account>, StateError> {
        self.account(&self.address_of(hash).ok_or(StateError::MissingPreimage(hash))?)
    }

    fn storage(&self, address: &Address, slot: U256) -> Result<U256, StateError> {
        Ok(self.look_up(|view| view.slot(address, slot))?)
    }

    fn storage_by_hash(&self, account: B256, slot: B256) -> Result<U256, StateError> {
        let address = self.address_of(account).ok_or(StateError::MissingPreimage(account))?;
        let key = self.fork.view(&Misses::default()).slot_key_of(slot);
        self.storage(&address, key.ok_or(StateError::MissingPreimage(slot))?)
    }

    fn code(&self, hash: B256) -> Result<Bytes, StateError> {
        Ok(self.look_up(|view| view.code(hash))?)
    }

    fn block_hash(&self, number: u64) -> Result<B256, StateError> {
        Ok(self.look_up(|view| view.block_hash(number))?)
    }

    fn account_node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        Ok(Some(self.look_up(|view| view.account_node(path))?))
    }

    fn storage_node(&self, account: B256, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        // The account was read before its storage.
        let Some(address) = self.address_of(account) else { return Ok(None) };
        Ok(Some(self.look_up(|view| view.storage_node(address, path))?))
    }
}
