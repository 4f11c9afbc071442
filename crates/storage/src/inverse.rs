//! The inverse of a write: the previous values of the rows that it changes.

use crate::{KvRead, StorageResult, WriteSet};

impl WriteSet {
    /// The changes that undo `sets`, which are written together over `below`: the previous value of each row, or its
    /// deletion. Later sets override earlier ones. Unchanged rows are not part of the result.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn inverse_of<'a>(
        sets: impl IntoIterator<Item = &'a Self>,
        below: &dyn KvRead,
    ) -> StorageResult<Self> {
        let mut inverse = Self::new();
        for (key, value) in sets.into_iter().flat_map(Self::iter) {
            // If several sets change a row, the first lookup has the previous value.
            if let Some(is_old) = inverse.get(key).map(|old| old == value) {
                if is_old {
                    // A later set restores the previous value.
                    inverse.forget(key);
                }
                continue;
            }
            let is_there = below.get_with(key, &mut |old| {
                if value != Some(old) {
                    inverse.put(key, old);
                }
            })?;
            if !is_there && value.is_some() {
                inverse.delete(key);
            }
        }
        Ok(inverse)
    }

    /// The encoding that [`Self::from_bytes`] reads. Each change is the length of the key (u16), the key, and 0 for a
    /// deletion, or 1, the length of the value (u32) and the value. Numbers are big-endian.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size_bytes() + 7 * self.len());
        for (key, value) in self.iter() {
            let len = u16::try_from(key.len()).expect("a key is short");
            out.extend_from_slice(&len.to_be_bytes());
            out.extend_from_slice(key);
            match value {
                None => out.push(0),
                Some(value) => {
                    out.push(1);
                    let len = u32::try_from(value.len()).expect("a value has less than 4 GiB");
                    out.extend_from_slice(&len.to_be_bytes());
                    out.extend_from_slice(value);
                }
            }
        }
        out
    }

    /// Decodes the bytes of [`Self::to_bytes`]; `None` if they are damaged.
    #[must_use]
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut set = Self::new();
        while !bytes.is_empty() {
            let (len, rest) = bytes.split_first_chunk()?;
            let (key, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
            let (kind, rest) = rest.split_first()?;
            bytes = rest;
            match kind {
                0 => set.delete(key),
                1 => {
                    let (len, rest) = rest.split_first_chunk()?;
                    let len = usize::try_from(u32::from_be_bytes(*len)).ok()?;
                    let (value, rest) = rest.split_at_checked(len)?;
                    set.put(key, value);
                    bytes = rest;
                }
                _ => return None,
            }
        }
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use proptest::prelude::*;

    use super::*;
    use crate::{Entry, KvStore, MemoryStore};

    fn set() -> impl Strategy<Value = WriteSet> {
        let change = (0..12u8, proptest::option::of(0..3u8));
        prop::collection::vec(change, 0..8).prop_map(|changes| {
            let mut set = WriteSet::new();
            for (key, value) in changes {
                match value {
                    Some(value) => set.put(&[key], &vec![value; usize::from(value)]),
                    None => set.delete(&[key]),
                }
            }
            set
        })
    }

    fn rows(store: &MemoryStore) -> Vec<Entry> {
        let mut rows = Vec::new();
        let reader = store.snapshot().unwrap();
        reader
            .scan(&[], None, &mut |key, value| {
                rows.push((key.to_vec(), value.to_vec()));
                ControlFlow::Continue(())
            })
            .unwrap();
        rows
    }

    proptest! {
        #[test]
        fn an_inverse_restores_every_row_and_names_only_those_that_change(
            first in set(),
            later in prop::collection::vec(set(), 1..4),
        ) {
            let store = MemoryStore::new();
            store.write(&first).unwrap();
            let before = rows(&store);
            let snapshot = store.snapshot().unwrap();
            let inverse = WriteSet::inverse_of(&later, snapshot.as_ref()).unwrap();
            let sets: Vec<&WriteSet> = later.iter().collect();
            store.write_all(&sets).unwrap();
            let after = rows(&store);
            for (key, old) in inverse.iter() {
                let now = store.snapshot().unwrap().get(key).unwrap();
                prop_assert_ne!(now.as_deref(), old);
            }
            let read = WriteSet::from_bytes(&inverse.to_bytes());
            prop_assert_eq!(read.as_ref(), Some(&inverse));
            store.write(&inverse).unwrap();
            prop_assert_eq!(rows(&store), before);
            store.write_all(&sets).unwrap();
            prop_assert_eq!(rows(&store), after);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(0..4u8, 0..40)) {
            let _read = WriteSet::from_bytes(&bytes);
        }
    }

    #[test]
    fn what_is_cut_off_is_refused() {
        let mut set = WriteSet::new();
        set.put(b"key", b"value");
        set.delete(b"other");
        let bytes = set.to_bytes();
        // After the first change, the remaining bytes are a valid set too.
        let whole = 2 + 3 + 1 + 4 + 5;
        for cut in (1..bytes.len()).filter(|cut| *cut != whole) {
            assert_eq!(WriteSet::from_bytes(&bytes[..cut]), None, "{cut}");
        }
    }
}
