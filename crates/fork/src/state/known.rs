//! The known part of the base state.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::{KECCAK_EMPTY, Nibbles};
use esker_primitives::sync::RwLock;

use super::facts::{BaseAccount, Fact, Trie};
use crate::misses::Want;
use crate::pin::Pin;

/// What is known of the base state. It only grows, since the base never changes.
#[derive(Debug)]
pub(crate) struct KnownState {
    tables: RwLock<Tables>,
    hits: AtomicU64,
    misses: AtomicU64,
    max_bytes: usize,
    /// Height of the pinned block, and the hash of its parent.
    begin: (u64, B256),
    state_root: B256,
}

#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) accounts: HashMap<Address, (Option<BaseAccount>, bool)>,
    pub(super) slots: HashMap<(Address, U256), (U256, bool)>,
    pub(super) codes: HashMap<B256, Bytes>,
    /// An account for each known hash of code.
    code_owners: HashMap<B256, Address>,
    pub(super) nodes: HashMap<(Trie, Nibbles), Bytes>,
    /// The addresses of known accounts and slots, by their hashes.
    pub(super) addresses: HashMap<B256, Address>,
    /// The keys of known slots, by their hashes.
    pub(super) slot_keys: HashMap<B256, U256>,
    /// The headers before the pinned one, by height, without gaps; each with the hash of its parent.
    pub(super) ancestors: BTreeMap<u64, (B256, Arc<str>)>,
    texts: BTreeMap<Arc<str>, Arc<str>>,
    bytes: usize,
}

impl KnownState {
    pub(crate) fn new(max_bytes: usize, pin: &Pin) -> Self {
        Self {
            tables: RwLock::new_named("fork state", Tables::default()),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            max_bytes,
            begin: (pin.header.number, pin.header.parent_hash),
            state_root: pin.header.state_root,
        }
    }

    /// The hash of a block before the pinned one.
    pub(crate) fn block_hash(&self, number: u64) -> Option<B256> {
        let above = number.checked_add(1)?;
        if above == self.begin.0 {
            return Some(self.begin.1);
        }
        self.counted(self.tables.read().ancestors.get(&above).map(|(parent, _)| *parent))
    }

    /// The highest block before the pinned one whose header is not known, and its hash; `None` if there is none.
    pub(crate) fn next_ancestor(&self) -> Option<(u64, B256)> {
        let tables = self.tables.read();
        let lowest = tables.ancestors.first_key_value();
        let (above, hash) = lowest.map_or(self.begin, |(number, (parent, _))| (*number, *parent));
        Some((above.checked_sub(1)?, hash))
    }

    /// Counts a look-up.
    fn counted<T>(&self, found: Option<T>) -> Option<T> {
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    pub(crate) fn account(&self, address: &Address) -> Option<Option<BaseAccount>> {
        let found = self.peek_account(address).or_else(|| {
            self.add_implied(&Want::Account(*address));
            self.peek_account(address)
        });
        self.counted(found)
    }

    /// An account, without counting the look-up.
    pub(crate) fn peek_account(&self, address: &Address) -> Option<Option<BaseAccount>> {
        self.tables.read().accounts.get(address).map(|(account, _)| *account)
    }

    pub(crate) fn slot(&self, address: &Address, slot: U256) -> Option<U256> {
        let peek = || self.tables.read().slot(address, slot);
        let found = peek().or_else(|| {
            self.add_implied(&Want::Slot(*address, slot));
            peek()
        });
        self.counted(found)
    }

    pub(crate) fn code(&self, hash: B256) -> Option<Bytes> {
        if hash == KECCAK_EMPTY || hash.is_zero() {
            return Some(Bytes::new());
        }
        let found = self.tables.read().codes.get(&hash).cloned();
        self.counted(found)
    }

    pub(crate) fn node(&self, trie: Trie, path: &Nibbles) -> Option<Bytes> {
        let found = self.tables.read().nodes.get(&(trie, *path)).cloned();
        self.counted(found)
    }

    /// An account that is known to have this code.
    pub(crate) fn code_owner(&self, hash: B256) -> Option<Address> {
        self.tables.read().code_owners.get(&hash).copied()
    }

    /// The address of a hash, if its account or a slot of it is known.
    pub(crate) fn address_of(&self, hash: B256) -> Option<Address> {
        self.tables.read().addresses.get(&hash).copied()
    }

    /// The key of a hashed slot, if such a slot of any account is known.
    pub(crate) fn slot_key_of(&self, hash: B256) -> Option<U256> {
        self.tables.read().slot_keys.get(&hash).copied()
    }

    pub(crate) fn is_known(&self, want: &Want) -> bool {
        let tables = self.tables.read();
        match want {
            Want::Account(address) => tables.accounts.contains_key(address),
            Want::Slot(address, slot) => tables.slot(address, *slot).is_some(),
            Want::Code(hash) => *hash == KECCAK_EMPTY || tables.codes.contains_key(hash),
            Want::BlockHash(number) => {
                let above = number.saturating_add(1);
                above == self.begin.0 || tables.ancestors.contains_key(&above)
            }
            Want::AccountNode(path) => tables.nodes.contains_key(&(Trie::Accounts, *path)),
            Want::StorageNode(address, path) => {
                tables.nodes.contains_key(&(Trie::Storage(keccak256(address)), *path))
            }
        }
    }

    /// Adds facts, all or none. Returns those that are new, or `None` if there is no room.
    pub(crate) fn insert(&self, facts: Vec<Fact>) -> Option<Vec<Fact>> {
        let mut tables = self.tables.write();
        let size: usize = facts.iter().map(Fact::size).sum();
        if tables.bytes.saturating_add(size) > self.max_bytes {
            return None;
        }
        Some(facts.into_iter().filter(|fact| tables.insert(fact)).collect())
    }

    /// Whether a part is known, or the known nodes prove it, so that it is known now.
    pub(crate) fn is_known_or_implied(&self, want: &Want) -> bool {
        self.is_known(want) || self.add_implied(want)
    }

    /// Adds a part if the known nodes prove it and there is room. It is in no file, since it follows from the nodes there.
    fn add_implied(&self, want: &Want) -> bool {
        let implied = self.tables.read().implied(self.state_root, want);
        implied.and_then(|fact| self.insert(vec![fact])).is_some()
    }

    /// What is known of a part, after the nodes that prove it; `None` if it is not known.
    pub(crate) fn facts_about(&self, want: &Want) -> Option<Vec<Fact>> {
        self.tables.read().facts_about(want)
    }

    /// What the node has noted under a name.
    pub(crate) fn text(&self, name: &str) -> Option<Arc<str>> {
        self.tables.read().texts.get(name).cloned()
    }

    /// Everything, nodes first, in a fixed order.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let tables = self.tables.read();
        let mut facts = Vec::new();
        let nodes = sorted(&tables.nodes).into_iter();
        facts.extend(nodes.map(|((trie, path), rlp)| Fact::Node { trie, path, rlp }));
        let accounts = sorted(&tables.accounts).into_iter();
        facts.extend(accounts.map(|(address, (account, is_proven))| Fact::Account {
            address,
            account,
            is_proven,
        }));
        let slots = sorted(&tables.slots).into_iter();
        facts.extend(slots.map(|((address, slot), (value, is_proven))| Fact::Slot {
            address,
            slot,
            value,
            is_proven,
        }));
        let codes = sorted(&tables.codes).into_iter();
        facts.extend(codes.map(|(hash, code)| Fact::Code { hash, code }));
        let ancestors = tables.ancestors.iter().rev();
        facts.extend(ancestors.map(|(number, (parent, json))| Fact::Ancestor {
            number: *number,
            parent: *parent,
            json: Arc::clone(json),
        }));
        let texts = tables.texts.iter();
        facts.extend(
            texts.map(|(name, text)| Fact::Text { name: name.clone(), text: text.clone() }),
        );
        facts
    }

    pub(crate) fn counts(&self) -> StateCounts {
        let tables = self.tables.read();
        StateCounts {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            accounts: tables.accounts.len(),
            slots: tables.slots.len(),
            codes: tables.codes.len(),
            nodes: tables.nodes.len(),
            bytes: tables.bytes,
        }
    }
}

impl Tables {
    /// A slot of an account that is proved to have no storage is zero.
    fn slot(&self, address: &Address, slot: U256) -> Option<U256> {
        if let Some((value, _)) = self.slots.get(&(*address, slot)) {
            return Some(*value);
        }
        let (account, is_proven) = self.accounts.get(address)?;
        let is_empty = account.is_none_or(|account| account.is_without_storage());
        (*is_proven && is_empty).then_some(U256::ZERO)
    }

    /// Adds a fact. Returns whether it is new. What is proved replaces what is only claimed.
    fn insert(&mut self, fact: &Fact) -> bool {
        let is_new = match fact {
            Fact::Node { trie, path, rlp } => put(&mut self.nodes, (*trie, *path), rlp.clone()),
            Fact::Account { address, account, is_proven } => {
                self.addresses.insert(keccak256(address), *address);
                if let Some(account) = account
                    && account.has_code()
                {
                    self.code_owners.insert(account.parts.code_hash, *address);
                }
                put_flagged(&mut self.accounts, *address, (*account, *is_proven))
            }
            Fact::Slot { address, slot, value, is_proven } => {
                self.addresses.insert(keccak256(address), *address);
                self.slot_keys.insert(keccak256(B256::from(*slot)), *slot);
                put_flagged(&mut self.slots, (*address, *slot), (*value, *is_proven))
            }
            Fact::Code { hash, code } => put(&mut self.codes, *hash, code.clone()),
            Fact::Ancestor { number, parent, json } => {
                self.ancestors.insert(*number, (*parent, Arc::clone(json))).is_none()
            }
            Fact::Text { name, text } => {
                self.texts.insert(name.clone(), text.clone()).is_none_or(|before| before != *text)
            }
        };
        if is_new {
            self.bytes += fact.size();
        }
        is_new
    }
}

fn put<K: Eq + Hash, V>(table: &mut HashMap<K, V>, key: K, value: V) -> bool {
    match table.entry(key) {
        Entry::Occupied(_) => false,
        Entry::Vacant(vacant) => {
            vacant.insert(value);
            true
        }
    }
}

fn put_flagged<K: Eq + Hash, V>(
    table: &mut HashMap<K, (V, bool)>,
    key: K,
    value: (V, bool),
) -> bool {
    match table.entry(key) {
        Entry::Occupied(old) if old.get().1 >= value.1 => false,
        Entry::Occupied(mut old) => {
            old.insert(value);
            true
        }
        Entry::Vacant(vacant) => {
            vacant.insert(value);
            true
        }
    }
}

fn sorted<K: Ord + Clone, V: Clone>(table: &HashMap<K, V>) -> Vec<(K, V)> {
    let mut rows: Vec<_> = table.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    rows
}

/// What a fork knows, and how often that was enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Look-ups of known parts.
    pub hits: u64,
    /// Look-ups of parts that had to be fetched.
    pub misses: u64,
    /// Known accounts, those that do not exist included.
    pub accounts: usize,
    /// Known slots.
    pub slots: usize,
    /// Known codes.
    pub codes: usize,
    /// Known trie nodes.
    pub nodes: usize,
    /// Approximate bytes of memory.
    pub bytes: usize,
}
