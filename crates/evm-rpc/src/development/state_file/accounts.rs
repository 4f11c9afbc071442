//! Accounts of a state as a file has them, and the count of its entries.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use alloy_primitives::{Address, Bytes, U256};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::form::{Quantity, Text};

/// Most accounts, slots, blocks and transactions of a state together.
pub(super) const MAX_ENTRIES: usize = 500_000;

/// An account of the state.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ReadAccount {
    pub(super) nonce: u64,
    pub(super) balance: U256,
    pub(super) code: Bytes,
    /// In the order of the slots.
    pub(super) storage: Vec<(U256, U256)>,
}

/// The number of further entries that a state may have.
pub(super) struct EntryBudget(Cell<usize>);

impl Default for EntryBudget {
    fn default() -> Self {
        Self(Cell::new(MAX_ENTRIES))
    }
}

impl EntryBudget {
    /// Takes one of them.
    pub(super) fn take<E: serde::de::Error>(&self) -> Result<(), E> {
        let left = self.0.get().checked_sub(1);
        let too_many =
            || E::custom(format!("more than {MAX_ENTRIES} accounts, slots, blocks and receipts"));
        self.0.set(left.ok_or_else(too_many)?);
        Ok(())
    }
}

/// An object whose members are counted, in its order. The seed reads a member's value.
pub(super) struct Members<'a, K, S> {
    room: &'a EntryBudget,
    expected: &'static str,
    seed: S,
    key: PhantomData<K>,
}

impl<'a, K, S> Members<'a, K, S> {
    pub(super) fn new(room: &'a EntryBudget, expected: &'static str, seed: S) -> Self {
        Self { room, expected, seed, key: PhantomData }
    }
}

impl<'de, K: Deserialize<'de>, S: DeserializeSeed<'de> + Copy> DeserializeSeed<'de>
    for Members<'_, K, S>
{
    type Value = Vec<(K, S::Value)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, K: Deserialize<'de>, S: DeserializeSeed<'de> + Copy> Visitor<'de> for Members<'_, K, S> {
    type Value = Vec<(K, S::Value)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key()? {
            self.room.take()?;
            members.push((key, map.next_value_seed(self.seed)?));
        }
        Ok(members)
    }
}

/// The member `accounts` of a state.
pub(super) fn accounts(room: &EntryBudget) -> Members<'_, Text<Address>, AccountSeed<'_>> {
    Members::new(room, "accounts by their addresses", AccountSeed(room))
}

/// The member `storage` of an account.
pub(super) fn slots(room: &EntryBudget) -> Members<'_, Quantity, PhantomData<Quantity>> {
    Members::new(room, "values by their slots", PhantomData)
}

/// The values by their slots, of which the last one counts.
pub(super) fn sorted(slots: Vec<(Quantity, Quantity)>) -> BTreeMap<U256, U256> {
    slots.into_iter().map(|(slot, value)| (slot.0, value.0)).collect()
}

#[derive(Clone, Copy)]
pub(super) struct AccountSeed<'a>(&'a EntryBudget);

impl<'de> DeserializeSeed<'de> for AccountSeed<'_> {
    type Value = ReadAccount;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for AccountSeed<'_> {
    type Value = ReadAccount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an account")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ReadAccount, A::Error> {
        let (mut nonce, mut balance, mut code, mut storage) = (None, None, None, Vec::new());
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "nonce" => nonce = map.next_value::<Quantity>()?.to_u64(),
                "balance" => balance = Some(map.next_value::<Quantity>()?.0),
                "code" => code = Some(map.next_value::<Text<Bytes>>()?.0),
                "storage" => storage = map.next_value_seed(slots(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let missing = |name| A::Error::missing_field(name);
        Ok(ReadAccount {
            nonce: nonce.ok_or_else(|| missing("nonce"))?,
            balance: balance.ok_or_else(|| missing("balance"))?,
            code: code.ok_or_else(|| missing("code"))?,
            storage: sorted(storage).into_iter().collect(),
        })
    }
}
