//! A store in memory, for tests and for chains without a data folder.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;

use esker_primitives::sync::RwLock;

use crate::error::{StorageError, StorageResult};
use crate::kv::{CopyProgress, KvStore};
use crate::rows::{Entry, KvRead, Visitor};
use crate::write_set::WriteSet;

type Map = BTreeMap<Box<[u8]>, Box<[u8]>>;

/// An ordered map. A snapshot shares it; a write while snapshots are open copies it first.
pub struct MemoryStore {
    map: RwLock<Arc<Map>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self { map: RwLock::new(Arc::default()) }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} keys)", self.map.read().len())
    }
}

impl KvStore for MemoryStore {
    fn snapshot(&self) -> StorageResult<Box<dyn KvRead>> {
        Ok(Box::new(MemorySnapshot(Arc::clone(&self.map.read()))))
    }

    fn write_all(&self, sets: &[&WriteSet]) -> StorageResult<()> {
        sets.iter().try_for_each(|set| set.check())?;
        let mut shared = self.map.write();
        let map = Arc::make_mut(&mut shared);
        for (key, value) in sets.iter().flat_map(|set| set.iter()) {
            match value {
                Some(value) => map.insert(key.into(), value.into()),
                None => map.remove(key),
            };
        }
        Ok(())
    }

    fn backup(&self, _to: &Path, _progress: &mut CopyProgress<'_>) -> StorageResult<()> {
        Err(StorageError::Backend("a store in memory has no backup".to_owned()))
    }

    fn size_on_disk(&self) -> StorageResult<u64> {
        Ok(0)
    }
}

struct MemorySnapshot(Arc<Map>);

impl KvRead for MemorySnapshot {
    fn get_with(&self, key: &[u8], f: &mut dyn FnMut(&[u8])) -> StorageResult<bool> {
        Ok(self.0.get(key).map(|value| f(value)).is_some())
    }

    fn seek_back(&self, key: &[u8]) -> StorageResult<Option<Entry>> {
        let below = (Bound::Unbounded, Bound::Included(key));
        let last = self.0.range::<[u8], _>(below).next_back();
        Ok(last.map(|(key, value)| (key.to_vec(), value.to_vec())))
    }

    fn scan(
        &self,
        prefix: &[u8],
        from: Option<&[u8]>,
        visit: &mut Visitor<'_>,
    ) -> StorageResult<()> {
        let start = from.map_or(prefix, |from| from.max(prefix));
        let above = (Bound::Included(start), Bound::Unbounded);
        for (key, value) in self.0.range::<[u8], _>(above) {
            if !key.starts_with(prefix) || visit(key, value) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }
}
