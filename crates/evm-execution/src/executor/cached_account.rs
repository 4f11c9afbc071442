//! An account during the execution of transactions.

use std::collections::BTreeMap;

use alloy_primitives::map::HashMap;
use alloy_primitives::{B256, Bytes, U256};
use esker_evm_state::state::{AccountChange, AccountParts};

/// An account with its previous and its current value.
#[derive(Clone, Debug, Default)]
pub(super) struct CachedAccount {
    pub(super) before: Option<AccountParts>,
    pub(super) now: Option<AccountParts>,
    /// Whether the storage in the view is still valid. If not, slots that are not listed are zero.
    pub(super) stored: bool,
    /// Whether its storage was cleared.
    pub(super) wiped: bool,
    /// Code that the view may lack.
    pub(super) code: Option<(B256, Bytes)>,
    pub(super) slots: HashMap<U256, CachedSlot>,
    /// Whether [`Self::recent_change`] has shown that its storage was cleared.
    pub(super) wipe_shown: bool,
    /// Slots that were set since the changes were last taken, if changes are tracked.
    pub(super) recent_slots: Vec<U256>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CachedSlot {
    /// The value in the view; zero in a wiped account.
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

    /// Takes the change since the last call. The current value becomes the previous one.
    pub(super) fn take_change(&mut self) -> Option<AccountChange> {
        if self.now.is_none() && self.before.is_none() {
            // Set slots are kept until the account exists.
            return None;
        }
        let account = self.now;
        // A deleted account stays wiped until it is created again. Its slots are taken then.
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

    /// The account as it is now, and its slots that were set since the last call. The previous values stay.
    pub(super) fn recent_change(&mut self) -> AccountChange {
        let wiped = self.now.is_none() || self.wiped && !self.wipe_shown;
        self.wipe_shown = true;
        let slots = match self.now {
            // Set slots are kept until the account exists.
            None => BTreeMap::new(),
            Some(_) => {
                let recent = std::mem::take(&mut self.recent_slots);
                let set = recent.into_iter().filter(|_| !wiped);
                let all = self.slots.keys().copied().filter(|_| wiped);
                let keys = set.chain(all);
                keys.filter_map(|key| Some((key, self.slots.get(&key)?.now))).collect()
            }
        };
        AccountChange { account: self.now, code: None, wiped, slots }
    }
}
