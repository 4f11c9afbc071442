//! Typed tables in the one key space: stored key = scope (2 bytes, big-endian) | tag (1 byte) | key.

use std::fmt;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use crate::codec::{KeyCodec, ValueCodec};
use crate::error::{StorageError, StorageResult};
use crate::rows::{KvRead, KvWrite, MAX_KEY_LEN};
use crate::scope::Scope;

/// Bytes before the key of each entry: scope and tag.
const HEAD_LEN: usize = 3;

/// One table: a tag, unique within its scopes, and the types of keys and values.
pub struct Table<K: ?Sized, V> {
    tag: u8,
    name: &'static str,
    types: PhantomData<fn(&K) -> V>,
}

impl<K: KeyCodec + ?Sized, V: ValueCodec> Table<K, V> {
    /// A table; errors include `name`.
    #[must_use]
    pub const fn new(tag: u8, name: &'static str) -> Self {
        Self { tag, name, types: PhantomData }
    }

    /// The table's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The table's tag.
    #[must_use]
    pub const fn tag(&self) -> u8 {
        self.tag
    }

    /// The prefix of all stored keys of the table.
    #[must_use]
    pub const fn prefix(&self, scope: Scope) -> [u8; HEAD_LEN] {
        let [high, low] = scope.0.to_be_bytes();
        [high, low, self.tag]
    }

    /// The stored key of `key`.
    #[must_use]
    pub fn key(&self, scope: Scope, key: &K) -> Vec<u8> {
        let mut stored = Vec::with_capacity(64);
        stored.extend_from_slice(&self.prefix(scope));
        key.encode_key(&mut stored);
        stored
    }

    /// Value of `key`.
    pub fn get(&self, reader: &dyn KvRead, scope: Scope, key: &K) -> StorageResult<Option<V>> {
        let mut value = None;
        reader.get_with(&self.key(scope, key), &mut |bytes| value = Some(self.value(bytes)))?;
        value.transpose()
    }

    /// Calls `f` with the stored bytes of `key`, without copying them; `None` if the key is absent.
    pub fn get_with<R>(
        &self,
        reader: &dyn KvRead,
        scope: Scope,
        key: &K,
        f: impl FnOnce(&[u8]) -> R,
    ) -> StorageResult<Option<R>> {
        let mut f = Some(f);
        let mut result = None;
        reader.get_with(&self.key(scope, key), &mut |bytes| {
            result = f.take().map(|f| f(bytes));
        })?;
        Ok(result)
    }

    /// Whether `key` has a value.
    pub fn contains(&self, reader: &dyn KvRead, scope: Scope, key: &K) -> StorageResult<bool> {
        reader.contains(&self.key(scope, key))
    }

    /// Sets `key` to `value`.
    pub fn put(&self, writes: &mut (impl KvWrite + ?Sized), scope: Scope, key: &K, value: &V) {
        let mut bytes = Vec::new();
        value.encode_value(&mut bytes);
        writes.put(&self.key(scope, key), &bytes);
    }

    /// Sets `key` to an encoded value.
    pub fn put_bytes(
        &self,
        writes: &mut (impl KvWrite + ?Sized),
        scope: Scope,
        key: &K,
        value: &[u8],
    ) {
        writes.put(&self.key(scope, key), value);
    }

    /// Removes `key`.
    pub fn delete(&self, writes: &mut (impl KvWrite + ?Sized), scope: Scope, key: &K) {
        writes.delete(&self.key(scope, key));
    }

    /// Visits the entries whose key begins with `key_prefix`, ascending, from the key `from` on (inclusive) until
    /// `visit` breaks. Keys here are those of the table, without scope and tag; values are the stored bytes.
    pub fn scan(
        &self,
        reader: &dyn KvRead,
        scope: Scope,
        key_prefix: &[u8],
        from: Option<&[u8]>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> StorageResult<()> {
        let prefix = [&self.prefix(scope), key_prefix].concat();
        let from = from.map(|from| [&self.prefix(scope), from].concat());
        reader.scan(&prefix, from.as_deref(), &mut |key, value| visit(&key[HEAD_LEN..], value))
    }

    /// The last entry whose key begins with `key_prefix`.
    pub fn last(
        &self,
        reader: &dyn KvRead,
        scope: Scope,
        key_prefix: &[u8],
    ) -> StorageResult<Option<(K, V)>>
    where
        K: Sized,
    {
        let mut bound = [&self.prefix(scope), key_prefix].concat();
        let head = bound.len();
        bound.resize(MAX_KEY_LEN.max(head), 0xff);
        match reader.seek_back(&bound)? {
            Some((key, value)) if key.starts_with(&bound[..head]) => {
                self.entry(&key[HEAD_LEN..], &value).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The first entry whose key begins with `key_prefix`, from the key `from` on (inclusive).
    pub fn first(
        &self,
        reader: &dyn KvRead,
        scope: Scope,
        key_prefix: &[u8],
        from: Option<&[u8]>,
    ) -> StorageResult<Option<(K, V)>>
    where
        K: Sized,
    {
        let mut found = None;
        self.scan(reader, scope, key_prefix, from, |key, value| {
            found = Some(self.entry(key, value));
            ControlFlow::Break(())
        })?;
        found.transpose()
    }

    /// All entries whose key begins with `key_prefix`, ascending; for tables that are known to be small.
    pub fn collect(
        &self,
        reader: &dyn KvRead,
        scope: Scope,
        key_prefix: &[u8],
    ) -> StorageResult<Vec<(K, V)>>
    where
        K: Sized,
    {
        let mut entries = Ok(Vec::new());
        self.scan(reader, scope, key_prefix, None, |key, value| {
            match (&mut entries, self.entry(key, value)) {
                (Ok(list), Ok(entry)) => list.push(entry),
                (_, Err(error)) => entries = Err(error),
                (Err(_), Ok(_)) => {}
            }
            if entries.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        entries
    }

    /// Decodes an entry of [`Self::scan`].
    pub fn entry(&self, key: &[u8], value: &[u8]) -> StorageResult<(K, V)>
    where
        K: Sized,
    {
        Ok((self.decode_key(key)?, self.value(value)?))
    }

    /// Decodes a key without scope and tag.
    pub fn decode_key(&self, mut key: &[u8]) -> StorageResult<K>
    where
        K: Sized,
    {
        match K::decode_key(&mut key) {
            Some(decoded) if key.is_empty() => Ok(decoded),
            _ => Err(self.damaged("key")),
        }
    }

    /// Decodes a stored value.
    pub fn value(&self, bytes: &[u8]) -> StorageResult<V> {
        V::decode_value(bytes).ok_or_else(|| self.damaged("value"))
    }

    fn damaged(&self, what: &str) -> StorageError {
        StorageError::Corrupted(format!("{what} in table {} does not decode", self.name))
    }
}

impl<K: ?Sized, V> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({} {})", self.tag, self.name)
    }
}
