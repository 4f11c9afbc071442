//! What is looked for, as bits of blooms.

use alloy_primitives::{Bloom, keccak256};

/// Bits of a bloom.
pub(super) const BITS: usize = 2048;

/// What a block's bloom has to show for the block to be looked at: each thing that was asked for, in one of the
/// values that were named.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    pub(super) clauses: Vec<Vec<[u16; 3]>>,
}

impl LogQuery {
    /// Blocks with any log.
    pub fn any() -> Self {
        Self::default()
    }

    /// Asks for one of these addresses or topics as well; of none, for nothing.
    #[must_use]
    pub fn one_of<V: AsRef<[u8]>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        let clause: Vec<_> = values.into_iter().map(|value| bits_of(value.as_ref())).collect();
        if !clause.is_empty() {
            self.clauses.push(clause);
        }
        self
    }

    /// May the block of this bloom hold what is looked for?
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

/// The bits that are set.
pub(super) fn set_bits(bloom: &Bloom) -> impl Iterator<Item = usize> + '_ {
    let words = bloom.as_chunks().0.iter().rev().enumerate();
    words.flat_map(|(at, word)| ones(u64::from_be_bytes(*word)).map(move |bit| at * 64 + bit))
}

/// The places of the ones, ascending.
pub(super) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(place)
    })
}
