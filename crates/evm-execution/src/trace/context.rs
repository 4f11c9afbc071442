//! The state that a tracer may read.

use std::fmt;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_trie::KECCAK_EMPTY;
use esker_evm_state::state::{AccountParts, StateError};
use revm::database_interface::Database;
use revm::state::AccountInfo;

use super::{TraceError, TraceOutput};
use crate::executor::{EvmContext, TxError};

/// Bytes of memory or stack that take as long to write as code takes for one gas.
const BYTES_PER_GAS: u64 = 8;
/// Bytes that a changed account counts besides its slots.
const CHANGE_BYTES: usize = 300;
/// Bytes that a changed slot counts.
const SLOT_BYTES: usize = 100;

/// What a transaction has changed of an account so far.
#[derive(Clone, Debug)]
pub(super) struct AccountChange {
    pub(super) address: Address,
    /// `None`: it did not exist.
    pub(super) before: Option<AccountParts>,
    pub(super) after: AccountParts,
    /// Whether the transaction created a contract there.
    pub(super) is_created: bool,
    /// Whether SELFDESTRUCT removes it.
    pub(super) is_destroyed: bool,
    /// Changed slots with their values before and after, ascending.
    pub(super) slots: Vec<(U256, U256, U256)>,
}

/// The current state during a hook, and the output. Reads change nothing: no account or slot becomes warm.
pub struct TraceContext<'c, 'a> {
    pub(crate) evm: &'c mut EvmContext<'a>,
    /// The output for the JSON.
    pub out: &'c mut dyn TraceOutput,
}

impl fmt::Debug for TraceContext<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceContext").finish_non_exhaustive()
    }
}

impl TraceContext<'_, '_> {
    /// Counts bytes that a tracer writes, which code does not pay for. The next stop check comes sooner.
    pub fn count_written(&mut self, bytes: usize) {
        self.evm.chain.count_in_frame(bytes as u64 / BYTES_PER_GAS);
    }

    /// An account; `None` if it does not exist. A touched empty account exists.
    pub fn account(&mut self, address: Address) -> Result<Option<AccountParts>, TraceError> {
        account(self.evm, address)
    }

    /// Whether the account exists.
    pub fn exists(&mut self, address: Address) -> Result<bool, TraceError> {
        Ok(self.account(address)?.is_some())
    }

    /// A balance, wei.
    pub fn balance(&mut self, address: Address) -> Result<U256, TraceError> {
        Ok(self.account(address)?.map(|account| account.balance).unwrap_or_default())
    }

    /// A nonce.
    pub fn nonce(&mut self, address: Address) -> Result<u64, TraceError> {
        Ok(self.account(address)?.map(|account| account.nonce).unwrap_or_default())
    }

    /// The code of an account.
    pub fn code(&mut self, address: Address) -> Result<Bytes, TraceError> {
        let Some(account) = self.account(address)? else { return Ok(Bytes::new()) };
        let journal = &mut self.evm.journaled_state;
        if let Some(loaded) = journal.inner.state.get(&address)
            && let Some(code) = &loaded.info.code
        {
            return Ok(code.original_bytes());
        }
        let code = journal.database.code_by_hash(account.code_hash);
        Ok(code.map_err(|error| unreadable(error.into()))?.original_bytes())
    }

    /// The code of a hash.
    pub(super) fn code_of(&mut self, hash: B256) -> Result<Bytes, TraceError> {
        let code = self.evm.journaled_state.database.code_by_hash(hash);
        Ok(code.map_err(|error| unreadable(error.into()))?.original_bytes())
    }

    /// What the transaction has changed so far, by address. Accounts that it only touched are among them.
    pub(super) fn changes(&mut self) -> Result<Vec<AccountChange>, TraceError> {
        let journal = &mut self.evm.journaled_state;
        let touched = journal.inner.state.iter().filter(|(_, account)| account.is_touched());
        let mut changes = Vec::new();
        for (address, account) in touched {
            let mut slots: Vec<_> = account
                .storage
                .iter()
                .filter(|(_, slot)| slot.is_changed())
                .map(|(key, slot)| (*key, slot.original_value, slot.present_value))
                .collect();
            slots.sort_unstable();
            self.out.hold(CHANGE_BYTES + slots.len() * SLOT_BYTES)?;
            changes.push(AccountChange {
                address: *address,
                before: journal.database.account(*address).map_err(unreadable)?,
                after: parts(&account.info),
                is_created: account.is_created(),
                is_destroyed: account.is_selfdestructed(),
                slots,
            });
        }
        changes.sort_unstable_by_key(|change| change.address);
        Ok(changes)
    }

    /// The value of a storage key of a contract, as SLOAD would return it.
    pub fn storage(&mut self, address: Address, key: U256) -> Result<U256, TraceError> {
        storage(self.evm, address, key)
    }

    /// Geth's refund counter, with the refund of the shown instruction; 0 where gas is not refunded.
    pub const fn refund(&self) -> u64 {
        self.evm.chain.refund_shown
    }
}

fn unreadable(error: StateError) -> TraceError {
    TraceError::Refused(TxError::State(error))
}

/// An account as code sees it now. Nothing becomes warm.
pub(crate) fn account(
    evm: &mut EvmContext<'_>,
    address: Address,
) -> Result<Option<AccountParts>, TraceError> {
    let journal = &mut evm.journaled_state;
    if let Some(account) = journal.inner.state.get(&address) {
        if account.is_loaded_as_not_existing() && !account.is_touched() {
            return Ok(None);
        }
        return Ok(Some(parts(&account.info)));
    }
    journal.database.account(address).map_err(unreadable)
}

fn parts(info: &AccountInfo) -> AccountParts {
    AccountParts {
        nonce: info.nonce,
        balance: info.balance,
        code_hash: if info.code_hash.is_zero() { KECCAK_EMPTY } else { info.code_hash },
        is_multi_coin: !info.extension.is_empty(),
    }
}

/// The value of a storage key of a contract. Nothing becomes warm.
pub(crate) fn storage(
    evm: &mut EvmContext<'_>,
    address: Address,
    key: U256,
) -> Result<U256, TraceError> {
    let slot = evm.chain.storage_slot(key);
    let journal = &mut evm.journaled_state;
    if let Some(account) = journal.inner.state.get(&address) {
        if let Some(found) = account.storage.get(&slot) {
            return Ok(found.present_value());
        }
        if account.is_created() {
            return Ok(U256::ZERO);
        }
    }
    journal.database.slot(address, slot).map_err(unreadable)
}
