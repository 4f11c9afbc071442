//! The tables of elements. Both belong to the node, since each entry belongs to two chains.
//! Tags 0x20 to 0x2f of the node-wide scope belong to this file.

use esker_primitives::ids::ChainId;
use esker_storage::{KeyCodec, Scope, Table, ValueCodec};

use crate::error::{SharedMemoryError, SharedMemoryResult};

/// Longest key of an element, in bytes (those of UTXOs have 32).
pub const MAX_KEY_LEN: usize = 256;
/// Longest trait of an element, in bytes (those of UTXOs have 20).
pub const MAX_TRAIT_LEN: usize = 128;

pub(crate) const SCOPE: Scope = Scope::NODE;

/// Elements, and removals that came before their put, by space and key.
pub(crate) const ELEMENTS: Table<ElementKey, Slot> = Table::new(0x20, "shared_elements");

/// Tag of the table of the elements, in the node's scope: bundles commit to its rows. The other table follows from it.
pub const ELEMENTS_TAG: u8 = ELEMENTS.tag();

/// Keys of elements by space and trait: space | length of the trait (1 byte) | trait | key.
pub(crate) const BY_TRAIT: Table<[u8], ()> = Table::new(0x21, "shared_traits");

/// The elements that one chain left for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// Who may read and remove.
    pub(crate) destination: ChainId,
    /// Who put.
    pub(crate) source: ChainId,
}

impl Space {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.destination.as_bytes());
        out.extend_from_slice(self.source.as_bytes());
    }

    /// The common prefix of all keys of [`BY_TRAIT`] for this trait.
    pub(crate) fn trait_prefix(&self, name: &[u8]) -> SharedMemoryResult<Vec<u8>> {
        check_len("trait", name, MAX_TRAIT_LEN)?;
        let mut prefix = Vec::with_capacity(2 * ChainId::LEN + 1 + name.len() + ChainId::LEN);
        self.encode(&mut prefix);
        prefix.push(u8::try_from(name.len()).expect("MAX_TRAIT_LEN fits a byte"));
        prefix.extend_from_slice(name);
        Ok(prefix)
    }

    /// The key of [`BY_TRAIT`] for this trait and element key.
    pub(crate) fn trait_key(&self, name: &[u8], key: &[u8]) -> SharedMemoryResult<Vec<u8>> {
        let mut whole = self.trait_prefix(name)?;
        whole.extend_from_slice(key);
        Ok(whole)
    }

    /// The key of [`ELEMENTS`].
    pub(crate) fn key(&self, key: &[u8]) -> SharedMemoryResult<ElementKey> {
        check_len("key", key, MAX_KEY_LEN)?;
        Ok(ElementKey { space: *self, key: key.to_vec() })
    }
}

/// Key of [`ELEMENTS`].
#[derive(Debug)]
pub(crate) struct ElementKey {
    space: Space,
    key: Vec<u8>,
}

impl ElementKey {
    /// The key of [`BY_TRAIT`] for this element and a trait.
    pub(crate) fn trait_key(&self, name: &[u8]) -> SharedMemoryResult<Vec<u8>> {
        self.space.trait_key(name, &self.key)
    }
}

impl KeyCodec for ElementKey {
    fn encode_key(&self, out: &mut Vec<u8>) {
        self.space.encode(out);
        out.extend_from_slice(&self.key);
    }

    fn decode_key(bytes: &mut &[u8]) -> Option<Self> {
        let space = Space {
            destination: KeyCodec::decode_key(bytes)?,
            source: KeyCodec::decode_key(bytes)?,
        };
        Some(Self { space, key: KeyCodec::decode_key(bytes)? })
    }
}

/// Value of [`ELEMENTS`]. An element is the number of its traits (u32), each with its length (u32), and the value;
/// a tombstone is nothing at all.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// It was removed before it was put.
    Tombstone,
    /// It is there.
    Present {
        /// Ascending, each once.
        traits: Vec<Vec<u8>>,
        value: Vec<u8>,
    },
}

impl ValueCodec for Slot {
    fn encode_value(&self, out: &mut Vec<u8>) {
        let Self::Present { traits, value } = self else { return };
        let put_len = |len: usize, out: &mut Vec<u8>| {
            out.extend_from_slice(&u32::try_from(len).expect("fewer than 2^32").to_be_bytes());
        };
        put_len(traits.len(), out);
        for name in traits {
            put_len(name.len(), out);
            out.extend_from_slice(name);
        }
        out.extend_from_slice(value);
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::Tombstone);
        }
        let view = ElementView::parse(bytes)?;
        let traits = view.traits().map(<[u8]>::to_vec).collect();
        Some(Self::Present { traits, value: view.value.to_vec() })
    }
}

/// An element in its stored bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementView<'a> {
    traits: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl<'a> ElementView<'a> {
    /// `None` if the bytes are no element: a tombstone, or damaged.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = bytes;
        let count = take_len(&mut rest)?;
        let traits = rest;
        for _ in 0..count {
            let len = take_len(&mut rest)?;
            rest = rest.get(len..)?;
        }
        Some(Self { traits: &traits[..traits.len() - rest.len()], value: rest })
    }

    /// Traits, ascending.
    pub(crate) fn traits(self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.traits;
        std::iter::from_fn(move || {
            let len = take_len(&mut rest)?;
            let (name, tail) = rest.split_at(len);
            rest = tail;
            Some(name)
        })
    }
}

fn take_len(bytes: &mut &[u8]) -> Option<usize> {
    let (len, tail) = bytes.split_first_chunk()?;
    *bytes = tail;
    usize::try_from(u32::from_be_bytes(*len)).ok()
}

fn check_len(what: &'static str, bytes: &[u8], max: usize) -> SharedMemoryResult<()> {
    if bytes.is_empty() || bytes.len() > max {
        return Err(SharedMemoryError::Length { what, len: bytes.len(), max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(slot: Slot) {
        let mut bytes = Vec::new();
        slot.encode_value(&mut bytes);
        for end in 0..bytes.len() {
            // Any bytes are a slot or none.
            let _ = Slot::decode_value(&bytes[..end]);
        }
        assert_eq!(Slot::decode_value(&bytes), Some(slot));
    }

    #[test]
    fn slots_round_trip() {
        check(Slot::Tombstone);
        check(Slot::Present { traits: vec![], value: vec![] });
        check(Slot::Present { traits: vec![vec![1; 20], vec![2; 20]], value: vec![7; 100] });
        assert_eq!(Slot::decode_value(&[0, 0, 0, 1, 0, 0, 0, 9, 1]), None);
        assert_eq!(Slot::decode_value(&[0xff; 8]), None);
    }
}
