//! The state as revm's database: reads of revm, and commits of transactions.

use alloy_primitives::{Address, B256, U256, U512};
use alloy_trie::KECCAK_EMPTY;
use esker_evm_state::state::{AccountParts, StateError};
use revm::bytecode::Bytecode;
use revm::database_interface::{DBErrorMarker, Database};
use revm::state::{Account, AccountExtension, AccountInfo, EvmState};
use thiserror::Error;

use super::StateOverlay;
use super::cached_account::CachedSlot;

/// A [`StateError`] for revm. revm requires its own trait of errors, which a type of another crate can't implement
/// here.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct DatabaseError(#[from] pub(super) StateError);

impl DBErrorMarker for DatabaseError {}

impl From<DatabaseError> for StateError {
    fn from(error: DatabaseError) -> Self {
        error.0
    }
}

/// Marks an account with other assets in revm's account type.
pub(super) const MULTI_COIN: &[u8] = &[1];

/// The balance of an account below this can't overflow in a transaction.
const HUGE: U256 = U256::from_limbs([u64::MAX, u64::MAX, u64::MAX, u64::MAX >> 1]);

impl StateOverlay<'_> {
    /// Wei that all accounts together lost in a transaction.
    fn lost_in(&mut self, state: &EvmState) -> Result<U512, StateError> {
        let (mut before, mut after) = (U512::ZERO, U512::ZERO);
        for (address, account) in state.iter().filter(|(_, account)| account.is_touched()) {
            before = before.saturating_add(U512::from(self.balance(*address)?));
            if !account.is_selfdestructed() {
                after = after.saturating_add(U512::from(account.info.balance));
            }
        }
        Ok(before.saturating_sub(after))
    }

    /// Applies the changes of a transaction. `burnt` is the part of its fee that nobody received.
    pub(super) fn commit(&mut self, state: EvmState, burnt: U256) -> Result<(), StateError> {
        self.forget_checkpoints();
        // Wei beyond 256 bits of a balance are lost too. Accounts of a development network may have so much.
        let may_lose =
            |account: &Account| account.is_selfdestructed() || account.info.balance > HUGE;
        if state.values().any(|account| account.is_touched() && may_lose(account)) {
            let lost = self.lost_in(&state)?.saturating_sub(U512::from(burnt));
            self.destroyed = self.destroyed.saturating_add(lost);
        }
        let is_tracked = self.recent.is_some();
        for (address, account) in state {
            if !account.is_touched() {
                continue;
            }
            self.track(address);
            let (created, destroyed) = (account.is_created(), account.is_selfdestructed());
            let info = account.info;
            // Before EIP-161 empty accounts stay. revm marks those that a transaction made as created.
            let stays_empty = created && self.keeps_empty_accounts();
            if destroyed || (info.is_empty() && !stays_empty) {
                if self.account(address)?.is_some() {
                    self.remove(address)?;
                }
                continue;
            }
            let held = self.cached(address)?;
            if created {
                (held.wiped, held.wipe_shown, held.stored) = (true, false, false);
                held.slots.clear();
            }
            let mut assets = false;
            for (key, slot) in account.storage {
                if !slot.is_changed() {
                    continue;
                }
                assets |= key.bit(248);
                if is_tracked {
                    held.recent_slots.push(key);
                }
                let held = held.slots.entry(key);
                let original = slot.original_value();
                held.or_insert(CachedSlot { before: original, now: original }).now =
                    slot.present_value();
            }
            let code_hash = if info.code_hash.is_zero() { KECCAK_EMPTY } else { info.code_hash };
            let code_is_new = held.now.is_none_or(|before| before.code_hash != code_hash);
            held.now = Some(AccountParts {
                nonce: info.nonce,
                balance: info.balance,
                code_hash,
                // A contract that is created at an account with other assets starts without them.
                is_multi_coin: !info.extension.is_empty() && (!created || assets),
            });
            if code_is_new
                && code_hash != KECCAK_EMPTY
                && let Some(code) = info.code
            {
                held.code = Some((code_hash, code.original_bytes()));
                self.new_codes.insert(code_hash, code);
            }
        }
        self.forget_checkpoints();
        Ok(())
    }
}

impl Database for StateOverlay<'_> {
    type Error = DatabaseError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, DatabaseError> {
        let account = self.account(address)?;
        Ok(account.map(|account| AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash,
            account_id: None,
            code: None,
            extension: match account.is_multi_coin {
                true => AccountExtension::copy_from_slice(MULTI_COIN),
                false => AccountExtension::new(),
            },
        }))
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, DatabaseError> {
        Ok(self.code_of(code_hash)?)
    }

    fn storage(&mut self, address: Address, index: U256) -> Result<U256, DatabaseError> {
        Ok(self.slot(address, index)?)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, DatabaseError> {
        match self.hashes.block_hash(number) {
            Ok(hash) => Ok(hash.unwrap_or_default()),
            Err(error) => Ok(self.assume(error).map(|()| B256::ZERO)?),
        }
    }
}
