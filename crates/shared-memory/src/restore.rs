//! Elements that come from elsewhere: a state snapshot.

use esker_storage::{KvWrite, ValueCodec};

use crate::tables::{BY_TRAIT, ELEMENTS, MAX_KEY_LEN, MAX_TRAIT_LEN, SCOPE, Slot};

/// Bytes of the shortest and of the longest key of an element's row, without scope and tag: two chains and a name.
pub const ROW_KEY_LEN: std::ops::RangeInclusive<usize> = 65..=64 + MAX_KEY_LEN;

/// Checks the row of an element (its key without scope and tag), and writes the rows that follow from it: those by which
/// it is found. The row itself is the caller's to write.
///
/// # Errors
/// The reason why it is no such row.
pub fn restore_row(key: &[u8], value: &[u8], out: &mut impl KvWrite) -> Result<(), &'static str> {
    let element = ELEMENTS.decode_key(key).map_err(|_| "a key that does not decode")?;
    let slot = Slot::decode_value(value).ok_or("an element that does not decode")?;
    let mut encoded = Vec::with_capacity(value.len());
    slot.encode_value(&mut encoded);
    if encoded != value {
        return Err("an element in another encoding");
    }
    let Slot::Present { traits, .. } = slot else { return Ok(()) };
    if !traits.is_sorted_by(|a, b| a < b) {
        return Err("an element with unordered traits");
    }
    for name in &traits {
        if name.is_empty() || name.len() > MAX_TRAIT_LEN {
            return Err("an element with a trait of another length");
        }
        let listed = element.trait_key(name).map_err(|_| "an element that can't be listed")?;
        BY_TRAIT.put(out, SCOPE, &listed, &());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use esker_primitives::ids::ChainId;
    use esker_storage::{KvStore, MemoryStore, PendingWrites, WriteSet};

    use super::*;
    use crate::{Element, Requests, apply};

    /// The rows that two exports and an early import leave.
    fn written() -> WriteSet {
        let (store, this) = (MemoryStore::new(), ChainId::new([1; 32]));
        let below = store.snapshot().unwrap();
        let element = |key: u8, traits: &[u8]| Element {
            key: vec![key; 32],
            value: vec![9; 40],
            traits: traits.iter().map(|name| vec![*name; 20]).collect(),
        };
        let puts = vec![element(1, &[7, 3, 7]), element(2, &[])];
        let requests = Requests { puts, removes: vec![vec![5; 32]] };
        let mut pending = PendingWrites::new(below.as_ref());
        apply(&mut pending, &this, &BTreeMap::from([(ChainId::new([2; 32]), requests)])).unwrap();
        pending.into_writes()
    }

    #[test]
    fn rows_by_trait_follow_from_the_elements() {
        let (all, head) = (written(), ELEMENTS.prefix(SCOPE));
        let mut restored = WriteSet::new();
        let mut elements = 0;
        for (stored, value) in all.iter().filter(|(key, _)| key.starts_with(&head)) {
            let key = &stored[head.len()..];
            assert!(ROW_KEY_LEN.contains(&key.len()));
            restore_row(key, value.unwrap(), &mut restored).unwrap();
            restored.put(stored, value.unwrap());
            elements += 1;
        }
        assert_eq!(elements, 3);
        assert!(restored == all);
    }

    #[test]
    fn rows_of_another_form_are_refused() {
        let key = [1; 96];
        let with_traits = |traits: Vec<Vec<u8>>| {
            let mut bytes = Vec::new();
            Slot::Present { traits, value: vec![1] }.encode_value(&mut bytes);
            bytes
        };
        for (key, value, reason) in [
            (&key[..40], Vec::new(), "a key that does not decode"),
            (&key, vec![0, 0, 0, 1], "an element that does not decode"),
            (&key, with_traits(vec![vec![2], vec![1]]), "an element with unordered traits"),
            (&key, with_traits(vec![vec![1], vec![1]]), "an element with unordered traits"),
            (&key, with_traits(vec![vec![]]), "an element with a trait of another length"),
            (&key, with_traits(vec![vec![1; 129]]), "an element with a trait of another length"),
        ] {
            assert_eq!(restore_row(key, &value, &mut WriteSet::new()), Err(reason));
        }
    }
}
