//! An account while transactions run.

use std::collections::BTreeMap;

use alloy_primitives::map::HashMap;
use alloy_primitives::{B256, Bytes, U256};
use esker_evm_state::state::{AccountChange, AccountParts};

/// An account as it was before and as it is now.
#[derive(Clone, Debug, Default)]
pub(super) struct CachedAccount {
    pub(super) before: Option<AccountParts>,
    pub(super) now: Option<AccountParts>,
    /// Is there storage in the view that still counts? Else slots not listed are zero.
    pub(super) stored: bool,
    /// Was its storage cleared?
    pub(super) wiped: bool,
    /// Code that the view may not have.
    pub(super) code: Option<(B256, Bytes)>,
    pub(super) slots: HashMap<U256, CachedSlot>,
    /// Slots set since the changes were taken last, where they are tracked.
    pub(super) recent_slots: Vec<U256>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CachedSlot {
    /// What the view holds; zero in a wiped account.
    pub(super) before: U256,
    pub(super) now: U256,
}

impl CachedAccount {
    pub(super) fn change(&self) -> Option<AccountChange> {
        if self.now.is_none() && self.before.is_none() {
            return None;
        }
        let changed = |slot: &CachedSlot| match self.wiped {
            true => !slot.now.is_zero(),
            false => slot.now != slot.before,
        };
        let slots = self.slots.iter().filter(|(_, slot)| self.now.is_some() && changed(slot));
        let change = AccountChange {
            account: self.now,
            code: self.now.and(self.code.clone()),
            wiped: self.wiped || self.now.is_none(),
            slots: slots.map(|(key, slot)| (*key, slot.now)).collect(),
        };
        let same = self.now == self.before && !change.wiped && change.slots.is_empty();
        (!same).then_some(change)
    }

    /// What changed since the last time; it becomes what was before.
    pub(super) fn take_change(&mut self) -> Option<AccountChange> {
        if self.now.is_none() && self.before.is_none() {
            // Slots that were set wait for the account.
            return None;
        }
        let account = self.now;
        // An account that is gone stays wiped until it comes back: its slots are taken then, with it.
        let was_wiped = std::mem::replace(&mut self.wiped, account.is_none()) || account.is_none();
        let recent = match (account, was_wiped) {
            (None, _) => Vec::new(),
            (Some(_), true) => self.slots.keys().copied().collect(),
            (Some(_), false) => self.recent_slots.clone(),
        };
        self.recent_slots.clear();
        let mut slots = BTreeMap::new();
        for key in recent {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            let before = if was_wiped { U256::ZERO } else { slot.before };
            if slot.now != before {
                slots.insert(key, slot.now);
            }
            slot.before = slot.now;
        }
        let same = account == self.before && !was_wiped && slots.is_empty();
        self.before = account;
        let code = account.and(self.code.clone());
        (!same).then_some(AccountChange { account, code, wiped: was_wiped, slots })
    }
}
