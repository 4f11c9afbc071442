//! States of blocks before the last one, as a file has them (`historical_states`).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes};
use esker_evm::control::MAX_CODE;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::accounts::{EntryBudget, Members, ReadAccount, slots, sorted};
use super::code::RawCode;
use super::form::{Quantity, Text};

/// Most accounts of all these states together, and slots of those that differ. A file with more is loaded without them.
const MAX_KEPT: usize = 2_000_000;

/// The accounts of a state. States share those that are equal.
pub(super) type Accounts = BTreeMap<Address, Arc<ReadAccount>>;

/// States by the heights of their blocks.
pub(super) type States = BTreeMap<u64, Accounts>;

/// Reads the states of these blocks: those of others can't be asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatesSeed<'a>(pub(super) &'a HashMap<B256, u64>);

impl<'de> DeserializeSeed<'de> for StatesSeed<'_> {
    type Value = States;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<States, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StatesSeed<'_> {
    type Value = States;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of states")
    }

    fn visit_unit<E>(self) -> Result<States, E> {
        Ok(States::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<States, A::Error> {
        let mut kept = KeptStates::default();
        while let Some(()) =
            list.next_element_seed(StateSeed { heights: self.0, kept: &mut kept })?
        {}
        if kept.is_over {
            tracing::warn!(
                most = MAX_KEPT,
                "the state has too many accounts and slots of earlier blocks: their states are left out"
            );
        }
        Ok(kept.states)
    }
}

/// The states that were read.
#[derive(Default)]
struct KeptStates {
    states: States,
    accounts: HashSet<Arc<ReadAccount>>,
    codes: HashSet<Bytes>,
    entries: usize,
    /// Whether there were more than are kept. All are dropped then.
    is_over: bool,
}

impl KeptStates {
    fn insert(&mut self, height: u64, state: RawState) {
        let accounts: Accounts = state
            .into_accounts()
            .map(|(address, account)| (address, self.share(account)))
            .collect();
        self.entries += accounts.len();
        self.states.insert(height, accounts);
        if self.entries > MAX_KEPT {
            *self = Self { is_over: true, ..Self::default() };
        }
    }

    /// The same account, held once.
    fn share(&mut self, mut account: ReadAccount) -> Arc<ReadAccount> {
        if let Some(known) = self.accounts.get(&account) {
            return Arc::clone(known);
        }
        match self.codes.get(&account.code) {
            Some(known) => account.code = known.clone(),
            None => drop(self.codes.insert(account.code.clone())),
        }
        self.entries += account.storage.len();
        let account = Arc::new(account);
        self.accounts.insert(Arc::clone(&account));
        account
    }
}

/// Reads the hash of a block and its state.
struct StateSeed<'a> {
    heights: &'a HashMap<B256, u64>,
    kept: &'a mut KeptStates,
}

impl<'de> DeserializeSeed<'de> for StateSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for StateSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the hash of a block and its state")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<(), A::Error> {
        let hash = pair.next_element::<Text<B256>>()?;
        let Text(hash) = hash.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let height = self.heights.get(&hash).filter(|_| !self.kept.is_over);
        let is_there = match height {
            Some(height) => {
                let room = EntryBudget::default();
                let state = pair.next_element_seed(RawStateSeed(&room))?;
                state.map(|state| self.kept.insert(*height, state)).is_some()
            }
            None => pair.next_element::<IgnoredAny>()?.is_some(),
        };
        match is_there {
            true => Ok(()),
            false => Err(A::Error::invalid_length(1, &self)),
        }
    }
}

/// Slots and their values.
type RawSlots = Vec<(Quantity, Quantity)>;

/// A state in the file's form.
#[derive(Default)]
struct RawState {
    accounts: Vec<(Text<Address>, ReadAccount)>,
    storage: Vec<(Text<Address>, RawSlots)>,
}

impl RawState {
    /// The accounts with their slots other than 0. Slots of accounts that the state does not have are left out.
    fn into_accounts(self) -> impl Iterator<Item = (Address, ReadAccount)> {
        let storage = self.storage.into_iter().map(|(Text(address), slots)| (address, slots));
        let mut storage = storage.collect::<HashMap<_, _>>();
        let with_storage = move |(Text(address), mut account): (Text<Address>, ReadAccount)| {
            let slots = storage.remove(&address).unwrap_or_default();
            // An account without other content does not exist.
            let slots = if account == ReadAccount::default() { Vec::new() } else { slots };
            let slots = sorted(slots).into_iter();
            account.storage = slots.filter(|(_, value)| !value.is_zero()).collect();
            (address, account)
        };
        // Of several accounts of one address the last one counts.
        let accounts = self.accounts.into_iter().map(with_storage);
        accounts.collect::<BTreeMap<_, _>>().into_iter()
    }
}

#[derive(Clone, Copy)]
struct RawStateSeed<'a>(&'a EntryBudget);

impl<'de> DeserializeSeed<'de> for RawStateSeed<'_> {
    type Value = RawState;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<RawState, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RawStateSeed<'_> {
    type Value = RawState;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a state")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawState, A::Error> {
        let mut state = RawState::default();
        let (accounts, storage) = ("accounts by their addresses", "slots by their addresses");
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "accounts" => {
                    let members = Members::new(self.0, accounts, InfoSeed);
                    state.accounts = map.next_value_seed(members)?;
                }
                "storage" => {
                    let members = Members::new(self.0, storage, SlotsSeed(self.0));
                    state.storage = map.next_value_seed(members)?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(state)
    }
}

/// An account without its storage.
#[derive(Deserialize)]
struct RawInfo {
    balance: Quantity,
    nonce: Quantity,
    code: Option<RawCode>,
}

#[derive(Clone, Copy)]
struct InfoSeed;

impl<'de> DeserializeSeed<'de> for InfoSeed {
    type Value = ReadAccount;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ReadAccount, D::Error> {
        let RawInfo { balance: Quantity(balance), nonce, code } =
            RawInfo::deserialize(deserializer)?;
        let nonce =
            nonce.to_u64().ok_or_else(|| D::Error::custom("a nonce has more than 64 bits"))?;
        let code = match code {
            Some(code) => code
                .into_bytes()
                .ok_or_else(|| D::Error::custom("a code is shorter than its length"))?,
            None => Bytes::new(),
        };
        if code.len() > MAX_CODE {
            let length = code.len();
            let text = format!("code of {length} bytes: at most {MAX_CODE} can be set");
            return Err(D::Error::custom(text));
        }
        Ok(ReadAccount { nonce, balance, code, storage: Vec::new() })
    }
}

#[derive(Clone, Copy)]
struct SlotsSeed<'a>(&'a EntryBudget);

impl<'de> DeserializeSeed<'de> for SlotsSeed<'_> {
    type Value = RawSlots;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        slots(self.0).deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;
    use serde_json::json;

    use super::*;

    const HASHES: [B256; 2] = [B256::with_last_byte(1), B256::with_last_byte(2)];

    fn read(states: &serde_json::Value) -> Result<States, String> {
        let heights = HASHES.into_iter().zip(1..).collect();
        let bytes = serde_json::to_vec(states).unwrap();
        let mut json = serde_json::Deserializer::from_reader(&bytes[..]);
        StatesSeed(&heights).deserialize(&mut json).map_err(|error| error.to_string())
    }

    fn account(slots: usize) -> ReadAccount {
        let slots = (0..slots).map(|slot| (U256::from(slot), U256::from(1)));
        ReadAccount { nonce: 1, storage: slots.collect(), ..ReadAccount::default() }
    }

    #[test]
    fn states_share_what_is_equal() {
        let [a, b] = [Address::with_last_byte(0xa), Address::with_last_byte(0xb)];
        let code = json!({"LegacyRaw": "0x6001"});
        let info = |balance: u8| json!({"balance": balance, "nonce": "0x1", "code": code});
        let state = |balance: u8| {
            json!({
                "accounts": {a.to_string(): info(1), b.to_string(): info(balance)},
                "storage": {a.to_string(): {"0x5": "0x6", "1": "0x0", "2": "3"}},
                "block_hashes": {"0x0": 7},
            })
        };
        let unknown = json!([B256::ZERO, "anything"]);
        let states = json!([[HASHES[1], state(2)], unknown, [HASHES[0], state(3)]]);
        let states = read(&states).unwrap();
        assert_eq!(states.keys().collect::<Vec<_>>(), [&1, &2]);
        assert!(Arc::ptr_eq(&states[&1][&a], &states[&2][&a]));
        let slots = [(U256::from(2), U256::from(3)), (U256::from(5), U256::from(6))];
        assert_eq!(states[&1][&a].storage, slots);
        let [one, other] = [&states[&1][&b], &states[&2][&b]];
        assert_ne!(one, other);
        assert_eq!(one.code.as_ptr(), other.code.as_ptr());
        assert!(read(&json!(null)).unwrap().is_empty());
    }

    #[test]
    fn an_account_without_content_has_no_slots() {
        let a = Address::with_last_byte(0xa);
        let info = json!({"balance": "0x0", "nonce": 0, "code": null});
        let storage = json!({a.to_string(): {"1": "1"}});
        for accounts in [json!({a.to_string(): info}), json!({})] {
            let state = json!({"accounts": accounts, "storage": storage});
            let states = read(&json!([[HASHES[0], state]])).unwrap();
            assert!(states[&1].values().all(|account| **account == ReadAccount::default()));
        }
    }

    #[test]
    fn too_many_entries_are_left_out() {
        let state = |slots: usize| {
            let storage = account(slots).storage.into_iter();
            let slots = storage.map(|(slot, value)| (Quantity(slot), Quantity(value)));
            let address = || Text(Address::ZERO);
            RawState {
                accounts: vec![(address(), account(0))],
                storage: vec![(address(), slots.collect())],
            }
        };
        // An account and its ten slots, which the second state shares.
        let mut kept = KeptStates { entries: MAX_KEPT - 12, ..KeptStates::default() };
        kept.insert(1, state(10));
        kept.insert(2, state(10));
        assert_eq!((kept.states.len(), kept.entries, kept.is_over), (2, MAX_KEPT, false));
        kept.insert(3, state(10));
        assert_eq!((kept.states.len(), kept.accounts.len(), kept.is_over), (0, 0, true));
    }
}
