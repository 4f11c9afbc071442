//! The inverse of a write: the previous values of the rows that it changes.

use crate::error::StorageResult;
use crate::rows::KvRead;
use crate::write_set::WriteSet;

impl WriteSet {
    /// Appends the changes that undo `sets`, which are written together over `below`: the previous value of each row, or its
    /// deletion, in the encoding of [`Self::to_bytes`]. Later sets override earlier ones. Unchanged rows are left out.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn encode_inverse_of<'a>(
        sets: impl IntoIterator<Item = &'a Self>,
        below: &dyn KvRead,
        out: &mut Vec<u8>,
    ) -> StorageResult<()> {
        let mut changes: Vec<_> = sets.into_iter().flat_map(Self::iter).collect();
        // Of several changes of a row the last one stays the last.
        changes.sort_by_key(|(key, _)| *key);
        for of_row in changes.chunk_by(|(a, _), (b, _)| a == b) {
            let Some(&(key, value)) = of_row.last() else { continue };
            let is_there = below.get_with(key, &mut |old| {
                if value != Some(old) {
                    encode(key, Some(old), out);
                }
            })?;
            if !is_there && value.is_some() {
                encode(key, None, out);
            }
        }
        Ok(())
    }

    /// The encoding that [`Self::from_bytes`] reads. Each change is the length of the key (u16), the key, and 0 for a
    /// deletion, or 1, the length of the value (u32) and the value. Numbers are big-endian.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size_bytes() + 7 * self.len());
        self.iter().for_each(|(key, value)| encode(key, value, &mut out));
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

/// Appends one change.
fn encode(key: &[u8], value: Option<&[u8]>, out: &mut Vec<u8>) {
    let len = u16::try_from(key.len()).expect("a key is short");
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(key);
    let Some(value) = value else { return out.push(0) };
    out.push(1);
    let len = u32::try_from(value.len()).expect("a value has less than 4 GiB");
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(value);
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
            let mut encoded = Vec::new();
            WriteSet::encode_inverse_of(&later, snapshot.as_ref(), &mut encoded).unwrap();
            let inverse = WriteSet::from_bytes(&encoded).unwrap();
            let sets: Vec<&WriteSet> = later.iter().collect();
            store.write_all(&sets).unwrap();
            let after = rows(&store);
            for (key, old) in inverse.iter() {
                let now = store.snapshot().unwrap().get(key).unwrap();
                prop_assert_ne!(now.as_deref(), old);
            }
            prop_assert_eq!(&inverse.to_bytes(), &encoded);
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
