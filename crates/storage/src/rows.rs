//! How rows are read and changed, whatever holds them: a store, a snapshot, or changes on top of one.

use std::ops::ControlFlow;

use crate::error::{StorageError, StorageResult};

/// Longest key, in bytes: LMDB's limit, which all stores have.
pub const MAX_KEY_LEN: usize = 511;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// Called with each key and value of a scan; breaking ends the scan without an error.
pub type Visitor<'v> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'v;

/// One consistent view of all keys: a snapshot, or changes on top of one.
///
/// Threads may share it, but reads of one snapshot run one at a time. For speed, each thread takes its own snapshot.
/// A visitor may read from the reader that calls it.
pub trait KvRead: Send + Sync {
    /// Calls `f` once with the value of `key`, without copying it. False if there is no such key.
    fn get_with(&self, key: &[u8], f: &mut dyn FnMut(&[u8])) -> StorageResult<bool>;

    /// Value of `key`.
    fn get(&self, key: &[u8]) -> StorageResult<Option<Vec<u8>>> {
        let mut value = None;
        self.get_with(key, &mut |bytes| value = Some(bytes.to_vec()))?;
        Ok(value)
    }

    /// Whether `key` has a value.
    fn contains(&self, key: &[u8]) -> StorageResult<bool> {
        self.get_with(key, &mut |_| {})
    }

    /// First entry whose key is `key` or above.
    fn seek(&self, key: &[u8]) -> StorageResult<Option<Entry>> {
        let mut found = None;
        self.scan(&[], Some(key), &mut |key, value| {
            found = Some((key.to_vec(), value.to_vec()));
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// Last entry whose key is `key` or below.
    fn seek_back(&self, key: &[u8]) -> StorageResult<Option<Entry>>;

    /// Visits the keys that begin with `prefix`, ascending, from `from` on (a whole key, inclusive; `None` is
    /// the prefix's first key) until `visit` breaks.
    fn scan(
        &self,
        prefix: &[u8],
        from: Option<&[u8]>,
        visit: &mut Visitor<'_>,
    ) -> StorageResult<()>;
}

/// A target of writes: a write set, or pending writes over a reader.
pub trait KvWrite {
    /// Sets `key`. A key of a wrong length is refused when the set is committed.
    fn put(&mut self, key: &[u8], value: &[u8]);
    /// Removes `key`; no error if it is absent.
    fn delete(&mut self, key: &[u8]);
}

/// Refuses a key of an invalid length.
pub(crate) fn check_key(key: &[u8]) -> StorageResult<()> {
    if key.is_empty() || key.len() > MAX_KEY_LEN {
        return Err(StorageError::KeyLength { len: key.len() });
    }
    Ok(())
}
