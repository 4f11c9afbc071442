//! A homomorphic hash of a set of byte strings: a lattice hash (LtHash) of 1,024 lanes of 16 bits over BLAKE3.
//!
//! [`SetHash`] changes with each insertion and removal, in any order, at the cost of one element: no tree and no sorted
//! list of the elements is needed. Two sets with the same hash are the same set (docs/decisions.md, "Hash of the
//! state"). The caller ensures that an element is inserted once, and removed only while it is in the set.
//!
//! It does not depend on rows and tables: `esker_chain::commitment` defines the elements.

use std::fmt;

/// Lanes of the hash.
const LANES: usize = 1024;
/// Bytes of a lane.
const LANE_LEN: usize = 2;

/// The hash of a set.
#[derive(Clone, PartialEq, Eq)]
pub struct SetHash {
    lanes: [u16; LANES],
}

impl SetHash {
    /// Bytes of [`Self::to_bytes`].
    pub const LEN: usize = LANES * LANE_LEN;

    /// The hash of the empty set.
    pub const EMPTY: Self = Self { lanes: [0; LANES] };

    /// Adds an element: the concatenation of `parts`.
    pub fn insert(&mut self, parts: &[&[u8]]) {
        self.combine(&expand(parts), u16::wrapping_add);
    }

    /// Removes an element: the concatenation of `parts`.
    pub fn remove(&mut self, parts: &[&[u8]]) {
        self.combine(&expand(parts), u16::wrapping_sub);
    }

    /// Adds all elements of a set that is disjoint from this one.
    pub fn union(&mut self, other: &Self) {
        for (lane, added) in self.lanes.iter_mut().zip(&other.lanes) {
            *lane = lane.wrapping_add(*added);
        }
    }

    /// A hash of the set with 32 bytes.
    #[must_use]
    pub fn checksum(&self) -> [u8; 32] {
        *blake3::hash(&self.to_bytes()).as_bytes()
    }

    /// The lanes, each little-endian.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        for (out, lane) in bytes.as_chunks_mut().0.iter_mut().zip(&self.lanes) {
            *out = lane.to_le_bytes();
        }
        bytes
    }

    /// The hash with these bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let mut lanes = [0; LANES];
        for (lane, bytes) in lanes.iter_mut().zip(bytes.as_chunks().0) {
            *lane = u16::from_le_bytes(*bytes);
        }
        Self { lanes }
    }

    fn combine(&mut self, element: &[u8; Self::LEN], with: impl Fn(u16, u16) -> u16) {
        for (lane, bytes) in self.lanes.iter_mut().zip(element.as_chunks().0) {
            *lane = with(*lane, u16::from_le_bytes(*bytes));
        }
    }
}

impl Default for SetHash {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl fmt::Debug for SetHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SetHash({})", blake3::Hash::from_bytes(self.checksum()))
    }
}

/// The lanes of one element: the extended output of BLAKE3.
fn expand(parts: &[&[u8]]) -> [u8; SetHash::LEN] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let mut lanes = [0; SetHash::LEN];
    hasher.finalize_xof().fill(&mut lanes);
    lanes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn hash_of<'a>(elements: impl IntoIterator<Item = &'a Vec<u8>>) -> SetHash {
        let mut hash = SetHash::EMPTY;
        elements.into_iter().for_each(|element| hash.insert(&[element]));
        hash
    }

    proptest! {
        #[test]
        fn any_order_of_changes_gives_the_hash_of_the_set(
            changes in prop::collection::vec(prop::collection::vec(0..3u8, 0..4), 0..40),
        ) {
            let (mut hash, mut set) = (SetHash::EMPTY, BTreeSet::new());
            for element in changes {
                // The second change of an element removes it.
                match set.remove(&element) {
                    true => hash.remove(&[&element]),
                    false => {
                        hash.insert(&[&element]);
                        set.insert(element);
                    }
                }
            }
            prop_assert_eq!(&hash, &hash_of(&set));
            prop_assert_eq!(&hash, &hash_of(set.iter().rev()));
            prop_assert_eq!(SetHash::from_bytes(&hash.to_bytes()), hash.clone());
            let (left, right): (Vec<_>, Vec<_>) =
                set.into_iter().partition(|element| element.len() % 2 == 0);
            let mut both = hash_of(&left);
            both.union(&hash_of(&right));
            prop_assert_eq!(both, hash);
        }

        #[test]
        fn other_sets_have_other_hashes(
            one in prop::collection::btree_set(prop::collection::vec(0..3u8, 0..3), 0..5),
            other in prop::collection::btree_set(prop::collection::vec(0..3u8, 0..3), 0..5),
        ) {
            prop_assert_eq!(hash_of(&one).checksum() == hash_of(&other).checksum(), one == other);
        }
    }

    #[test]
    fn parts_are_one_element() {
        let (mut one, mut parts) = (SetHash::EMPTY, SetHash::EMPTY);
        one.insert(&[b"abc"]);
        parts.insert(&[b"a", b"", b"bc"]);
        assert_eq!(one, parts);
    }

    /// The encoding is part of the bundles' bytes and must never change.
    #[test]
    fn known_vectors() {
        let mut hash = SetHash::EMPTY;
        hash.insert(&[b"hello"]);
        assert_eq!(
            hash.to_bytes()[..4],
            *blake3::hash(b"hello").as_bytes().first_chunk::<4>().unwrap()
        );
        let hex = |hash: &SetHash| blake3::Hash::from_bytes(hash.checksum()).to_hex().to_string();
        assert_eq!(
            hex(&SetHash::EMPTY),
            "be2a8de3dcf46c94ce85cdc8e07ac308f4d8a95490d956c38d780fd610db0813"
        );
        assert_eq!(hex(&hash), "4f9c1ab89ccd5ed0b6eb21936f99e598cf854b6db6c6773d0b51294618576455");
        hash.insert(&[b"world"]);
        assert_eq!(hex(&hash), "7d3790d32bba3ea1a17b9ff814c5aba238576404012fd4c03f6def65d1792712");
    }
}
