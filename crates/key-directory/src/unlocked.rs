//! Keys that are unlocked for a time.

use std::collections::BTreeMap;
use std::time::Duration;

use alloy_primitives::Address;
use esker_evm::accounts::AccountKey;
use esker_primitives::sync::Mutex;
use tokio::task::AbortHandle;

/// How far the clock may be set back before what it has unlocked is locked.
const MAX_SET_BACK_MS: u64 = 60_000;

/// Keys by account. They are wiped when their time ends.
#[derive(Debug)]
pub(crate) struct UnlockedKeys(Mutex<BTreeMap<Address, Unlocked>>);

#[derive(Debug)]
struct Unlocked {
    key: AccountKey,
    /// `None`: until the node stops.
    period: Option<Period>,
}

/// From when until when, Unix time in ms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Period {
    from_ms: u64,
    pub(crate) until_ms: u64,
}

impl Period {
    /// This time from now; zero has no end.
    pub(crate) fn new(now_ms: u64, time: Duration) -> Option<Self> {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        (ms > 0).then_some(Self { from_ms: now_ms, until_ms: now_ms.saturating_add(ms) })
    }

    /// A clock that is set back far makes it no longer.
    fn contains(self, now_ms: u64) -> bool {
        now_ms < self.until_ms && self.from_ms <= now_ms.saturating_add(MAX_SET_BACK_MS)
    }
}

impl Unlocked {
    fn is_over(&self, now_ms: u64) -> bool {
        self.period.is_some_and(|period| !period.contains(now_ms))
    }
}

impl Default for UnlockedKeys {
    fn default() -> Self {
        Self(Mutex::new_named("key_directory.unlocked", BTreeMap::new()))
    }
}

impl UnlockedKeys {
    /// Unlocks a key. As in the reference, a key that is unlocked without an end stays so. True: the period counts.
    pub(crate) fn insert(&self, key: AccountKey, period: Option<Period>) -> bool {
        let mut keys = self.0.lock();
        let account = key.address();
        if keys.get(&account).is_some_and(|unlocked| unlocked.period.is_none()) {
            return false;
        }
        keys.insert(account, Unlocked { key, period });
        true
    }

    /// The account's key, if it is unlocked.
    pub(crate) fn get(&self, account: &Address, now_ms: u64) -> Option<AccountKey> {
        self.remove_over(now_ms);
        self.0.lock().get(account).map(|unlocked| unlocked.key.clone())
    }

    pub(crate) fn contains(&self, account: &Address, now_ms: u64) -> bool {
        self.remove_over(now_ms);
        self.0.lock().contains_key(account)
    }

    pub(crate) fn remove(&self, account: &Address) {
        self.0.lock().remove(account);
    }

    /// Wipes the keys whose time is over.
    pub(crate) fn remove_over(&self, now_ms: u64) {
        self.0.lock().retain(|_, unlocked| !unlocked.is_over(now_ms));
    }
}

/// The tasks that wipe keys at their time, one an account.
#[derive(Debug)]
pub(crate) struct Timers(Mutex<BTreeMap<Address, AbortHandle>>);

impl Default for Timers {
    fn default() -> Self {
        Self(Mutex::new_named("key_directory.timers", BTreeMap::new()))
    }
}

impl Timers {
    /// Puts a task in the place of the account's earlier one.
    pub(crate) fn replace(&self, account: Address, task: AbortHandle) {
        if let Some(earlier) = self.0.lock().insert(account, task) {
            earlier.abort();
        }
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        for task in self.0.lock().values() {
            task.abort();
        }
    }
}
