//! The set hash of the rows of one part of the state.

use esker_primitives::{ChainId, Id};
use esker_set_hash::SetHash;
use esker_storage::ValueCodec;

/// The set hash of a part's rows. The stored form are the lanes of the hash; the [`StateSummary`] has its checksum.
///
/// [`StateSummary`]: super::StateSummary
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatePart(SetHash);

impl StatePart {
    /// Adds a row: the tag of its table, its key without scope and tag, and the stored value.
    pub fn insert(&mut self, part: &ChainId, tag: u8, key: &[u8], value: &[u8]) {
        let head = head(tag, key, value);
        self.0.insert(&[part.as_bytes(), &head.0, key, &head.1, value]);
    }

    /// Removes a row that is in the part; the arguments are those of [`Self::insert`].
    pub fn remove(&mut self, part: &ChainId, tag: u8, key: &[u8], value: &[u8]) {
        let head = head(tag, key, value);
        self.0.remove(&[part.as_bytes(), &head.0, key, &head.1, value]);
    }

    /// Adds all rows of another hash of the same part, which has none of this one's: rows may be hashed by several
    /// threads.
    pub fn merge(&mut self, other: &Self) {
        self.0.union(&other.0);
    }

    /// 32 bytes that stand for the rows.
    #[must_use]
    pub fn checksum(&self) -> Id {
        Id::new(self.0.checksum())
    }
}

/// The fixed bytes of an element: tag and length of the key (u16) before the key, length of the value (u32) before the
/// value.
fn head(tag: u8, key: &[u8], value: &[u8]) -> ([u8; 3], [u8; 4]) {
    // Longer ones can't be stored.
    let [high, low] = u16::try_from(key.len()).unwrap_or(u16::MAX).to_be_bytes();
    ([tag, high, low], u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes())
}

impl ValueCodec for StatePart {
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_bytes());
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        Some(Self(SetHash::from_bytes(bytes.try_into().ok()?)))
    }
}
