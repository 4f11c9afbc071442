//! The state during the execution of transactions: their changes so far, over the state before them.

use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::sync::Arc;

use alloy_primitives::map::{AddressMap, AddressSet, B256Map};
use alloy_primitives::{Address, B256, Bytes, U256, U512, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, KECCAK_EMPTY};
use esker_evm_state::not_fetched::NotFetched;
use esker_evm_state::state::{
    AccountChange, AccountParts, StateChanges, StateError, StateView, asset_slot,
};
use revm::bytecode::Bytecode;

use super::cached_account::{CachedAccount, CachedSlot};
use super::control_values::{CONTROL_VALUES, control_value};
use super::{BlockHashes, CodeCache};
use crate::rules::Revision;

/// A point to which [`StateOverlay::revert_to`] reverts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint(usize);

/// The reverse of a change.
#[derive(Debug)]
enum Undo {
    Account(Address, Option<AccountParts>, Option<(B256, Bytes)>),
    Slot(Address, U256, Option<CachedSlot>),
    Whole(Address, Box<CachedAccount>),
}

/// A state in another process, which asked this process to execute something.
pub trait RemoteState {
    /// An account; `None` if it does not exist.
    fn account(&self, address: Address) -> Result<Option<AccountParts>, StateError>;

    /// The value of a slot.
    fn slot(&self, address: Address, slot: U256) -> Result<U256, StateError>;

    /// Code by its hash.
    fn code(&self, hash: B256) -> Result<Bytes, StateError>;
}

/// The state below the changes.
#[derive(Clone, Copy)]
enum Base<'a> {
    View(StateView<'a>),
    Remote(&'a dyn RemoteState),
}

impl std::fmt::Debug for Base<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::View(view) => view.fmt(f),
            Self::Remote(_) => f.write_str("Remote"),
        }
    }
}

impl Base<'_> {
    /// An account, and whether it has storage.
    fn account(&self, address: Address) -> Result<(Option<AccountParts>, bool), StateError> {
        let view = match self {
            Self::View(view) => view,
            Self::Remote(remote) => {
                let account = remote.account(address)?;
                return Ok((account, account.is_some()));
            }
        };
        let account = view.account(&address)?;
        let parts = account.map(|account| AccountParts {
            nonce: account.nonce,
            balance: account.balance,
            code_hash: account.code_hash,
            is_multi_coin: account.is_multi_coin,
        });
        Ok((parts, account.is_some_and(|a| a.storage_root != EMPTY_ROOT_HASH)))
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, StateError> {
        match self {
            Self::View(view) => view.storage(&address, slot),
            Self::Remote(remote) => remote.slot(address, slot),
        }
    }

    fn code(&self, hash: B256) -> Result<Bytes, StateError> {
        match self {
            Self::View(view) => view.code(hash),
            Self::Remote(remote) => remote.code(hash),
        }
    }
}

/// Changes over a view of the state. The rules map storage keys to slots ([`crate::rules::StorageKeys`]).
pub struct StateOverlay<'a> {
    base: Base<'a>,
    pub(super) hashes: &'a dyn BlockHashes,
    codes: Arc<CodeCache>,
    /// The accounts are boxed, since a growing table holds its entries twice.
    accounts: AddressMap<Box<CachedAccount>>,
    pub(super) new_codes: B256Map<Bytecode>,
    undo: Vec<Undo>,
    pub(super) destroyed: U512,
    /// Accounts that may have changed since the changes were last taken, if changes are tracked.
    pub(super) recent: Option<AddressSet>,
    /// Decides about empty accounts and delegations.
    revision: Revision,
    /// `None` in all runs whose result counts.
    look_ahead: Option<LookAhead>,
}

/// A run that finds out what else it lacks.
struct LookAhead {
    lacking: NotFetched,
    /// Accounts that are assumed not to exist.
    assumed: Vec<Address>,
}

impl LookAhead {
    /// Notes what is not fetched yet.
    fn note(&mut self, error: StateError) -> Result<(), StateError> {
        match error.not_fetched() {
            Some(more) => self.lacking.add(more),
            None => return Err(error),
        }
        Ok(())
    }

    /// Assumes that an account does not exist that is not fetched yet.
    fn assume_absent(
        &mut self,
        address: Address,
        error: StateError,
    ) -> Result<(Option<AccountParts>, bool), StateError> {
        self.note(error)?;
        self.assumed.push(address);
        Ok((None, false))
    }
}

impl std::fmt::Debug for StateOverlay<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateOverlay")
            .field("base", &self.base)
            .field("accounts", &self.accounts.len())
            .finish_non_exhaustive()
    }
}

impl<'a> StateOverlay<'a> {
    /// An overlay without changes.
    pub fn new(view: StateView<'a>, hashes: &'a dyn BlockHashes, codes: Arc<CodeCache>) -> Self {
        Self::over(Base::View(view), hashes, codes)
    }

    /// An overlay without changes over a state in another process.
    pub fn remote(
        state: &'a dyn RemoteState,
        hashes: &'a dyn BlockHashes,
        codes: Arc<CodeCache>,
    ) -> Self {
        Self::over(Base::Remote(state), hashes, codes)
    }

    fn over(base: Base<'a>, hashes: &'a dyn BlockHashes, codes: Arc<CodeCache>) -> Self {
        Self {
            base,
            hashes,
            codes,
            accounts: AddressMap::default(),
            new_codes: B256Map::default(),
            undo: Vec::new(),
            destroyed: U512::ZERO,
            recent: None,
            revision: Revision::London,
            look_ahead: None,
        }
    }

    /// Assumes from now on that accounts and slots are empty that are not fetched yet, so that a run finds what else it
    /// lacks. Its result is wrong.
    pub(super) fn begin_look_ahead(&mut self, lacking: NotFetched) {
        self.look_ahead = Some(LookAhead { lacking, assumed: Vec::new() });
    }

    /// Forgets all that was assumed. Returns what is lacking.
    pub(super) fn end_look_ahead(&mut self) -> Option<NotFetched> {
        let LookAhead { lacking, assumed } = self.look_ahead.take()?;
        for address in assumed {
            self.accounts.remove(&address);
        }
        Some(lacking)
    }

    /// In a run that looks ahead: notes what is not fetched yet, which is then assumed to be empty.
    pub(super) fn assume(&mut self, error: StateError) -> Result<(), StateError> {
        match &mut self.look_ahead {
            Some(run) => run.note(error),
            None => Err(error),
        }
    }

    /// Tracks changes, for callers that take them step by step ([`Self::take_changes`]).
    pub fn tracking(mut self) -> Self {
        self.recent.get_or_insert_default();
        self
    }

    /// Sets the revision of the transactions that follow.
    pub(super) fn set_revision(&mut self, revision: Revision) {
        self.revision = revision;
    }

    /// Whether touched empty accounts stay.
    pub(super) fn keeps_empty_accounts(&self) -> bool {
        self.revision < Revision::SpuriousDragon
    }

    /// Lost wei: wei that self-destructed contracts kept or received afterwards, and wei beyond the largest balance.
    /// Burnt fees follow from the header.
    pub fn destroyed(&self) -> U512 {
        self.destroyed
    }

    /// Counts wei that no account holds any more.
    pub fn add_lost(&mut self, wei: U256) {
        self.destroyed = self.destroyed.saturating_add(U512::from(wei));
    }

    /// A value of [`CONTROL_VALUES`](super::CONTROL_VALUES) as it is before the changes: a block changes none before its
    /// transactions have run.
    pub fn control_value(&self, slot: U256) -> Result<U256, StateError> {
        match self.base {
            Base::View(view) => control_value(view, slot),
            Base::Remote(remote) => remote.slot(CONTROL_VALUES, slot),
        }
    }

    /// The changes so far.
    pub fn changes(&self) -> StateChanges {
        let changes = self.accounts.iter().map(|(address, held)| (*address, held.change()));
        changes.filter_map(|(address, change)| Some((address, change?))).collect()
    }

    /// The changes since the last call. They can no longer be reverted. Requires [`Self::tracking`].
    pub fn take_changes(&mut self) -> StateChanges {
        let mut changes = StateChanges::new();
        let Ok(()) = self.drain_changes(|address, change| {
            changes.insert(address, change);
            Ok::<_, Infallible>(())
        });
        changes
    }

    /// What changed since the last call, as it is now, for tries with the values of the last call. It stays in
    /// [`Self::changes`], but can no longer be reverted. Requires [`Self::tracking`].
    pub fn recent_changes(&mut self) -> StateChanges {
        self.undo = Vec::new();
        let recent = self.recent.as_mut().map(std::mem::take).unwrap_or_default();
        let change = |address: Address| {
            let account = self.accounts.get_mut(&address)?;
            Some((address, account.recent_change()))
        };
        recent.into_iter().filter_map(change).collect()
    }

    /// As [`Self::take_changes`], one account after the other in any order. After an error the remaining changes are
    /// lost.
    pub fn drain_changes<E>(
        &mut self,
        mut take: impl FnMut(Address, AccountChange) -> Result<(), E>,
    ) -> Result<(), E> {
        self.undo = Vec::new();
        let recent = self.recent.as_mut().map(std::mem::take).unwrap_or_default();
        for address in recent {
            let held = self.accounts.get_mut(&address);
            if let Some(change) = held.and_then(|held| held.take_change()) {
                take(address, change)?;
            }
        }
        Ok(())
    }

    pub(super) fn track(&mut self, address: Address) {
        if let Some(recent) = &mut self.recent {
            recent.insert(address);
        }
    }

    pub(super) fn cached(&mut self, address: Address) -> Result<&mut CachedAccount, StateError> {
        match self.accounts.entry(address) {
            Entry::Occupied(held) => Ok(held.into_mut()),
            Entry::Vacant(vacant) => {
                let found = self.base.account(address);
                let (before, stored) = match (found, &mut self.look_ahead) {
                    (Err(error), Some(run)) => run.assume_absent(address, error)?,
                    (found, _) => found?,
                };
                let cached =
                    CachedAccount { before, now: before, stored, ..CachedAccount::default() };
                Ok(vacant.insert(Box::new(cached)))
            }
        }
    }

    /// An account; `None` if it does not exist.
    pub fn account(&mut self, address: Address) -> Result<Option<AccountParts>, StateError> {
        Ok(self.cached(address)?.now)
    }

    /// An account's balance, wei.
    pub fn balance(&mut self, address: Address) -> Result<U256, StateError> {
        Ok(self.account(address)?.map(|account| account.balance).unwrap_or_default())
    }

    /// An account's nonce.
    pub fn nonce(&mut self, address: Address) -> Result<u64, StateError> {
        Ok(self.account(address)?.map(|account| account.nonce).unwrap_or_default())
    }

    /// The value of a slot.
    pub fn slot(&mut self, address: Address, slot: U256) -> Result<U256, StateError> {
        let base = self.base;
        let held = self.cached(address)?;
        if let Some(found) = held.slots.get(&slot) {
            return Ok(found.now);
        }
        if !held.stored {
            return Ok(U256::ZERO);
        }
        let before = match base.slot(address, slot) {
            Ok(before) => before,
            Err(error) => return self.assume(error).map(|()| U256::ZERO),
        };
        held.slots.insert(slot, CachedSlot { before, now: before });
        Ok(before)
    }

    /// The code of an account.
    pub fn code(&mut self, address: Address) -> Result<Bytes, StateError> {
        let hash = self.account(address)?.map_or(KECCAK_EMPTY, |account| account.code_hash);
        Ok(self.code_of(hash)?.original_bytes())
    }

    /// Code by its hash.
    pub fn code_of_hash(&mut self, hash: B256) -> Result<Bytes, StateError> {
        Ok(self.code_of(hash)?.original_bytes())
    }

    /// The hash of an ancestor of the executed block; `None` if it is not known.
    pub fn ancestor_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        self.hashes.block_hash(number)
    }

    pub(super) fn code_of(&mut self, hash: B256) -> Result<Bytecode, StateError> {
        if hash == KECCAK_EMPTY || hash.is_zero() {
            return Ok(Bytecode::default());
        }
        let code = match self.new_codes.get(&hash) {
            Some(code) => code.clone(),
            None => self.codes.get_or_load(hash, || self.base.code(hash))?,
        };
        Ok(if self.revision >= Revision::Prague { with_delegation(code) } else { code })
    }

    /// The length of an account's code that is no delegation to a contract; 0 if there is none.
    pub(super) fn contract_length(&mut self, code_hash: B256) -> Result<usize, StateError> {
        let code = self.code_of(code_hash)?;
        Ok(if code.is_eip7702() { 0 } else { code.len() })
    }

    /// Whether an account has slots that are not zero. It is not known of a state in another process.
    pub(super) fn has_storage(&mut self, address: Address) -> Result<bool, StateError> {
        let is_known = matches!(self.base, Base::View(_));
        let held = self.cached(address)?;
        Ok(is_known && held.stored || held.slots.values().any(|slot| !slot.now.is_zero()))
    }

    /// Sets an account without its storage. Creates the account if it does not exist.
    pub fn set_account(&mut self, address: Address, parts: AccountParts) -> Result<(), StateError> {
        self.track(address);
        let held = self.cached(address)?;
        let undo = Undo::Account(address, held.now, held.code.clone());
        held.now = Some(parts);
        self.undo.push(undo);
        Ok(())
    }

    fn edit(
        &mut self,
        address: Address,
        edit: impl FnOnce(&mut AccountParts),
    ) -> Result<(), StateError> {
        let mut parts = self.account(address)?.unwrap_or(EMPTY);
        edit(&mut parts);
        self.set_account(address, parts)
    }

    /// Sets a balance, wei.
    pub fn set_balance(&mut self, address: Address, balance: U256) -> Result<(), StateError> {
        self.edit(address, |account| account.balance = balance)
    }

    /// Sets a nonce.
    pub fn set_nonce(&mut self, address: Address, nonce: u64) -> Result<(), StateError> {
        self.edit(address, |account| account.nonce = nonce)
    }

    /// Sets an account's code.
    pub fn set_code(&mut self, address: Address, code: Bytes) -> Result<(), StateError> {
        let hash = if code.is_empty() { KECCAK_EMPTY } else { keccak256(&code) };
        self.edit(address, |account| account.code_hash = hash)?;
        if !code.is_empty() {
            self.cached(address)?.code = Some((hash, code.clone()));
            self.new_codes.insert(hash, Bytecode::new_legacy(code));
        }
        Ok(())
    }

    /// Sets a slot. It does not create the account.
    pub fn set_slot(
        &mut self,
        address: Address,
        slot: U256,
        value: U256,
    ) -> Result<(), StateError> {
        let before = self.slot(address, slot)?;
        self.track(address);
        let is_tracked = self.recent.is_some();
        let held = self.cached(address)?;
        if is_tracked {
            held.recent_slots.push(slot);
        }
        let was = held.slots.get(&slot).copied();
        held.slots.entry(slot).or_insert(CachedSlot { before, now: value }).now = value;
        self.undo.push(Undo::Slot(address, slot, was));
        Ok(())
    }

    /// Clears the whole storage of an account.
    pub fn wipe(&mut self, address: Address) -> Result<(), StateError> {
        self.track(address);
        let held = self.cached(address)?;
        let (before, now, code) = (held.before, held.now, held.code.clone());
        let wiped = CachedAccount { before, now, code, wiped: true, ..CachedAccount::default() };
        let whole = std::mem::replace(held, wiped);
        self.undo.push(Undo::Whole(address, Box::new(whole)));
        Ok(())
    }

    /// The balance of another asset of an account.
    pub fn asset_balance(&mut self, address: Address, asset: B256) -> Result<U256, StateError> {
        self.slot(address, asset_slot(asset))
    }

    /// Sets the balance of another asset of an account, and marks it as an account with other assets.
    pub fn set_asset_balance(
        &mut self,
        address: Address,
        asset: B256,
        amount: U256,
    ) -> Result<(), StateError> {
        self.edit(address, |account| account.is_multi_coin = true)?;
        self.set_slot(address, asset_slot(asset), amount)
    }

    /// Removes an account if it is empty (EIP-161), as the end of a transaction does with touched accounts.
    pub fn clear_if_empty(&mut self, address: Address) -> Result<(), StateError> {
        let held = self.cached(address)?;
        if held.now.is_some_and(|account| is_empty(&account)) {
            self.remove(address)?;
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, address: Address) -> Result<(), StateError> {
        self.wipe(address)?;
        self.cached(address)?.now = None;
        Ok(())
    }

    /// A checkpoint. Only changes through the methods of this type can be reverted, not those of transactions.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.undo.len())
    }

    /// Drops all checkpoints: the changes so far can no longer be reverted.
    pub fn forget_checkpoints(&mut self) {
        self.undo.clear();
    }

    /// Reverts all changes since a checkpoint.
    pub fn revert_to(&mut self, checkpoint: Checkpoint) {
        for undo in self.undo.drain(checkpoint.0..).rev() {
            match undo {
                Undo::Account(address, now, code) => {
                    let held = self.accounts.entry(address).or_default();
                    (held.now, held.code) = (now, code);
                }
                Undo::Slot(address, slot, was) => {
                    let slots = &mut self.accounts.entry(address).or_default().slots;
                    match was {
                        Some(was) => slots.insert(slot, was),
                        None => slots.remove(&slot),
                    };
                }
                Undo::Whole(address, held) => drop(self.accounts.insert(address, held)),
            }
        }
    }
}

/// The code as a delegation to a contract, if it is one (EIP-7702).
fn with_delegation(code: Bytecode) -> Bytecode {
    match code.len() {
        DELEGATION_LENGTH => Bytecode::new_eip7702_raw(code.original_bytes()).unwrap_or(code),
        _ => code,
    }
}

/// Bytes of a delegation: `0xef0100 | address 20`.
const DELEGATION_LENGTH: usize = 23;

const EMPTY: AccountParts =
    AccountParts { nonce: 0, balance: U256::ZERO, code_hash: KECCAK_EMPTY, is_multi_coin: false };

fn is_empty(account: &AccountParts) -> bool {
    *account == EMPTY
}
