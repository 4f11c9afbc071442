//! Queries as bits of blooms.

use alloy_primitives::{Bloom, keccak256};

/// Bits of a bloom.
pub(super) const BITS: usize = 2048;

/// The bits that a block's bloom must have: for each condition, those of one of its values.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    pub(super) clauses: Vec<Vec<[u16; 3]>>,
}

impl LogQuery {
    /// A query for blocks with any log.
    pub fn any() -> Self {
        Self::default()
    }

    /// Adds a condition: one of these addresses or topics. No values add no condition.
    #[must_use]
    pub fn one_of<V: AsRef<[u8]>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        let clause: Vec<_> = values.into_iter().map(|value| bits_of(value.as_ref())).collect();
        if !clause.is_empty() {
            self.clauses.push(clause);
        }
        self
    }

    /// Whether a block with this bloom may match.
    pub fn may_match(&self, bloom: &Bloom) -> bool {
        let has = |bit: &u16| has_bit(bloom, *bit);
        !bloom.is_zero()
            && self.clauses.iter().all(|one| one.iter().any(|bits| bits.iter().all(has)))
    }
}

/// The three bits that a value sets in a bloom.
fn bits_of(value: &[u8]) -> [u16; 3] {
    let hash = keccak256(value);
    [0, 2, 4].map(|at| u16::from_be_bytes([hash[at], hash[at + 1]]) & (BITS as u16 - 1))
}

/// The bits of a bloom are numbered from its last byte.
fn has_bit(bloom: &Bloom, bit: u16) -> bool {
    let bit = usize::from(bit);
    bloom[bloom.len() - 1 - bit / 8] & 1 << (bit % 8) != 0
}

/// Positions of the set bits.
pub(super) fn set_bits(bloom: &Bloom) -> impl Iterator<Item = usize> + '_ {
    let words = bloom.as_chunks().0.iter().rev().enumerate();
    words.flat_map(|(at, word)| ones(u64::from_be_bytes(*word)).map(move |bit| at * 64 + bit))
}

/// Positions of the set bits, ascending.
pub(super) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(place)
    })
}
