//! A set of changes that is applied atomically.

use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::ops::Bound;

use crate::error::StorageResult;
use crate::rows::{KvWrite, check_key};

/// Changes by key, in key order: a new value, or a deletion. A later change of a key replaces an earlier one.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct WriteSet {
    changes: BTreeMap<Box<[u8]>, Option<Box<[u8]>>>,
    bytes: usize,
}

impl WriteSet {
    /// A set without changes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `key` to `value`.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.change(key.into(), Some(value.into()));
    }

    /// Deletes `key`.
    pub fn delete(&mut self, key: &[u8]) {
        self.change(key.into(), None);
    }

    /// The change of `key`: `None` for no change, `Some(None)` for a deletion, `Some(Some(value))` for a new value.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.changes.get(key).map(Option::as_deref)
    }

    /// Adds the changes of a newer set, which replace earlier ones.
    pub fn merge(&mut self, newer: &Self) {
        for (key, value) in &newer.changes {
            self.change(key.clone(), value.clone());
        }
    }

    /// Changes in ascending key order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.changes.iter().map(|(key, value)| (&**key, value.as_deref()))
    }

    /// Changes of the keys that begin with `prefix`, in ascending order.
    pub fn with_prefix<'a>(
        &'a self,
        prefix: &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let changes = self.changes.range::<[u8], _>(from);
        changes
            .map(|(key, value)| (&**key, value.as_deref()))
            .take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// Number of changed keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Bytes of all keys and values.
    #[must_use]
    pub const fn size_bytes(&self) -> usize {
        self.bytes
    }

    /// Refuses a set with an invalid key.
    pub fn check(&self) -> StorageResult<()> {
        self.changes.keys().try_for_each(|key| check_key(key))
    }

    /// The changes as a map, for ranges.
    pub(crate) const fn map(&self) -> &BTreeMap<Box<[u8]>, Option<Box<[u8]>>> {
        &self.changes
    }

    fn change(&mut self, key: Box<[u8]>, value: Option<Box<[u8]>>) {
        let added = value.as_ref().map_or(0, |value| value.len());
        match self.changes.entry(key) {
            btree_map::Entry::Vacant(slot) => {
                self.bytes += slot.key().len() + added;
                slot.insert(value);
            }
            btree_map::Entry::Occupied(mut slot) => {
                let old = slot.insert(value).map_or(0, |value| value.len());
                self.bytes = self.bytes - old + added;
            }
        }
    }
}

impl KvWrite for WriteSet {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        Self::put(self, key, value);
    }

    fn delete(&mut self, key: &[u8]) {
        Self::delete(self, key);
    }
}

impl fmt::Debug for WriteSet {
    /// One line with number and size, because a block has many changes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriteSet({} keys, {} bytes)", self.len(), self.bytes)
    }
}
