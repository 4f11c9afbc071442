//! Rows: the blocks of a section whose bloom has a bit.

use esker_storage::ValueCodec;

use super::query::ones;

/// Blocks of a section.
pub const SECTION: u64 = 4096;

const WORDS: usize = SECTION as usize / 64;
const ROW_BYTES: usize = SECTION as usize / 8;

/// A set of blocks of a section, by their index in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row([u64; WORDS]);

impl Row {
    pub(super) const NONE: Self = Self([0; WORDS]);

    pub(super) fn set(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    pub(super) fn is_none(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(super) fn and(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }

    pub(super) fn or(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// The indexes, ascending.
    pub(super) fn places(&self) -> impl Iterator<Item = u64> + '_ {
        let words = self.0.iter().enumerate();
        words.flat_map(|(at, word)| ones(*word).map(move |bit| (at * 64 + bit) as u64))
    }
}

/// 512 bytes, or the list of indexes if it is shorter.
impl ValueCodec for Row {
    fn encode_value(&self, out: &mut Vec<u8>) {
        let ones: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        if (ones as usize) < ROW_BYTES / 2 {
            self.places().for_each(|place| out.extend_from_slice(&(place as u16).to_be_bytes()));
        } else {
            self.0.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
        }
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        let mut row = Self::NONE;
        if bytes.len() == ROW_BYTES {
            for (word, bytes) in row.0.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_be_bytes(*bytes);
            }
            return Some(row);
        }
        let (places, []) = bytes.as_chunks() else { return None };
        for place in places {
            let place = usize::from(u16::from_be_bytes(*place));
            if place >= SECTION as usize {
                return None;
            }
            row.set(place);
        }
        Some(row)
    }
}
