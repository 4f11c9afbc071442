//! A state in which names of contracts are found.

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY};
use esker_artifacts::ContractState;
use esker_evm_state::state::{StateError, StateView};

/// A state in which names are found.
pub(crate) struct Contracts<'a>(StateView<'a>);

impl<'a> Contracts<'a> {
    /// Names in this state.
    pub(crate) fn new(state: StateView<'a>) -> Self {
        Self(state)
    }
}

impl ContractState for Contracts<'_> {
    type Error = StateError;

    fn code_hash(&mut self, address: Address) -> Result<Option<B256>, StateError> {
        let account = self.0.account(&address)?;
        Ok(account.map(|account| account.code_hash).filter(|hash| *hash != KECCAK256_EMPTY))
    }

    fn code(&mut self, _: Address, hash: B256) -> Result<Bytes, StateError> {
        self.0.code(hash)
    }

    fn slot(&mut self, address: Address, slot: B256) -> Result<B256, StateError> {
        self.0.storage(&address, slot.into()).map(B256::from)
    }
}
