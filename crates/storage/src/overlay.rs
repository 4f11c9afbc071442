//! Reads through uncommitted changes.

use std::fmt;
use std::sync::Arc;

use crate::error::StorageResult;
use crate::merge::Layered;
use crate::rows::{Entry, KvRead, KvWrite, Visitor};
use crate::write_set::WriteSet;

/// Undecided write sets over a snapshot.
pub struct Overlay {
    layers: Vec<Arc<WriteSet>>,
    base: Box<dyn KvRead>,
}

impl Overlay {
    /// `layers` over `base`, the newest first.
    #[must_use]
    pub fn new(base: Box<dyn KvRead>, layers: Vec<Arc<WriteSet>>) -> Self {
        Self { layers, base }
    }

    /// Adds a newer layer on top.
    pub fn push(&mut self, newer: Arc<WriteSet>) {
        self.layers.insert(0, newer);
    }

    fn layered(&self) -> Layered<'_, impl Iterator<Item = &WriteSet> + Clone> {
        Layered { layers: self.layers.iter().map(|layer| &**layer), base: &*self.base }
    }
}

impl fmt::Debug for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlay").field("layers", &self.layers).finish_non_exhaustive()
    }
}

/// A write set under construction over a reader. Its reads include its own writes.
pub struct PendingWrites<'a> {
    below: &'a dyn KvRead,
    /// The changes so far.
    pub writes: WriteSet,
}

impl<'a> PendingWrites<'a> {
    /// No changes yet over `below`.
    #[must_use]
    pub fn new(below: &'a dyn KvRead) -> Self {
        Self { below, writes: WriteSet::new() }
    }

    /// Sets `key` to `value`.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.writes.put(key, value);
    }

    /// Deletes `key`.
    pub fn delete(&mut self, key: &[u8]) {
        self.writes.delete(key);
    }

    /// The changes, to be committed or kept as a layer.
    #[must_use]
    pub fn into_writes(self) -> WriteSet {
        self.writes
    }

    /// The reader below, without the changes.
    #[must_use]
    pub fn below(&self) -> &'a dyn KvRead {
        self.below
    }

    fn layered(&self) -> Layered<'_, std::iter::Once<&WriteSet>> {
        Layered { layers: std::iter::once(&self.writes), base: self.below }
    }
}

impl fmt::Debug for PendingWrites<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingWrites").field("writes", &self.writes).finish_non_exhaustive()
    }
}

impl KvWrite for PendingWrites<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.writes.put(key, value);
    }

    fn delete(&mut self, key: &[u8]) {
        self.writes.delete(key);
    }
}

macro_rules! read_through_layers {
    ($reader:ty) => {
        impl KvRead for $reader {
            fn get_with(&self, key: &[u8], f: &mut dyn FnMut(&[u8])) -> StorageResult<bool> {
                self.layered().get_with(key, f)
            }

            fn seek_back(&self, key: &[u8]) -> StorageResult<Option<Entry>> {
                self.layered().seek_back(key)
            }

            fn scan(
                &self,
                prefix: &[u8],
                from: Option<&[u8]>,
                visit: &mut Visitor<'_>,
            ) -> StorageResult<()> {
                self.layered().scan(prefix, from, visit)
            }
        }
    };
}

read_through_layers!(Overlay);
read_through_layers!(PendingWrites<'_>);
