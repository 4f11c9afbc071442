//! The rows of a section.

use std::collections::BTreeMap;

use alloy_primitives::Bloom;
use esker_storage::{KvRead, Scope, StorageResult, ValueCodec};

use super::query::{BITS, LogQuery, ones, set_bits};
use crate::blocks::tables::LOG_ROWS;

/// Blocks of a section.
pub const SECTION: u64 = 4096;

const WORDS: usize = SECTION as usize / 64;
const ROW_BYTES: usize = SECTION as usize / 8;

/// Number of the row of blocks that have logs; those below it are the bits of the blooms.
const ANY: u16 = BITS as u16;

/// Some blocks of a section, by their places in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row([u64; WORDS]);

impl Row {
    const NONE: Self = Self([0; WORDS]);

    fn set(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn is_none(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn and(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }

    fn or(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// The places, ascending.
    pub(super) fn places(&self) -> impl Iterator<Item = u64> + '_ {
        let words = self.0.iter().enumerate();
        words.flat_map(|(at, word)| ones(*word).map(move |bit| (at * 64 + bit) as u64))
    }
}

/// 512 bytes, or the places one by one where that is shorter.
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

/// The rows of these blooms, each with its block's place in the section, without those that are empty.
pub(super) fn rows_of<'a>(
    blooms: impl Iterator<Item = (u64, &'a Bloom)>,
) -> impl Iterator<Item = (u16, Row)> {
    let mut rows = vec![Row::NONE; BITS + 1];
    for (place, bloom) in blooms.filter(|(_, bloom)| !bloom.is_zero()) {
        let place = place as usize % SECTION as usize;
        rows[usize::from(ANY)].set(place);
        for bit in set_bits(bloom) {
            rows[bit].set(place);
        }
    }
    (0..).zip(rows).filter(|(_, row)| !row.is_none())
}

/// Blocks of a section that may hold what is looked for.
pub(super) fn find(
    reader: &dyn KvRead,
    scope: Scope,
    section: u64,
    query: &LogQuery,
) -> StorageResult<Row> {
    let mut rows = Rows { reader, scope, section, read: BTreeMap::new() };
    let mut found = rows.get(ANY)?.clone();
    for clause in &query.clauses {
        if found.is_none() {
            break;
        }
        let mut any = Row::NONE;
        for bits in clause {
            let mut all = found.clone();
            for bit in bits {
                all.and(rows.get(*bit)?);
                if all.is_none() {
                    break;
                }
            }
            any.or(&all);
            if any == found {
                break;
            }
        }
        found = any;
    }
    Ok(found)
}

/// Rows as they are read, each once: many values share them.
struct Rows<'a> {
    reader: &'a dyn KvRead,
    scope: Scope,
    section: u64,
    read: BTreeMap<u16, Row>,
}

impl Rows<'_> {
    fn get(&mut self, bit: u16) -> StorageResult<&Row> {
        use std::collections::btree_map::Entry;
        match self.read.entry(bit) {
            Entry::Occupied(row) => Ok(row.into_mut()),
            Entry::Vacant(place) => {
                let row = LOG_ROWS.get(self.reader, self.scope, &(self.section, bit))?;
                Ok(place.insert(row.unwrap_or(Row::NONE)))
            }
        }
    }
}
