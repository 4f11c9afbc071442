//! BLAKE2b's compression function with any number of rounds (EIP-152).

use std::array;

use alloy_primitives::Bytes;

use super::{LongCallError, check_stop};
use crate::executor::StopCheck;

/// Rounds between two stop checks, about a millisecond. A call with more rounds is long.
pub(super) const ROUNDS: u32 = 100_000;

/// The initial values of RFC 7693.
const IV: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

/// The message schedule of RFC 7693, a hexadecimal digit a word.
const SCHEDULE: [u64; 10] = [
    0x0123_4567_89ab_cdef,
    0xea48_9fd6_1c02_b753,
    0xb8c0_52fd_ae36_7194,
    0x7931_dcbe_265a_40f8,
    0x9057_24af_e1bc_683d,
    0x2c6a_0b83_4d75_fe19,
    0xc51f_ed4a_0763_928b,
    0xdb7e_c139_50f4_862a,
    0x6fe9_b308_c2d7_14a5,
    0xa284_7615_fb9e_3cd0,
];

pub(super) struct LongCall {
    rounds: u32,
    state: [u64; 8],
    message: [u64; 16],
    offset: [u64; 2],
    is_last: bool,
}

impl LongCall {
    /// `rounds 4 | state 64 | message 128 | offset 16 | is last 1`, numbers but the first in little-endian order.
    pub(super) fn parse(input: &[u8]) -> Option<Self> {
        let input: &[u8; 213] = input.try_into().ok()?;
        let (rounds, words) = input.split_first_chunk::<4>()?;
        let rounds = u32::from_be_bytes(*rounds);
        let (words, [is_last]) = words.as_chunks::<8>() else { return None };
        let word = |at: usize| u64::from_le_bytes(words[at]);
        (rounds >= ROUNDS && *is_last <= 1).then(|| Self {
            rounds,
            state: array::from_fn(word),
            message: array::from_fn(|at| word(8 + at)),
            offset: array::from_fn(|at| word(24 + at)),
            is_last: *is_last == 1,
        })
    }

    pub(super) fn gas(&self) -> u64 {
        self.rounds.into()
    }

    pub(super) fn run(&self, stop: StopCheck<'_>) -> Result<Bytes, LongCallError> {
        let mut work = [0; 16];
        work[..8].copy_from_slice(&self.state);
        work[8..].copy_from_slice(&IV);
        work[12] ^= self.offset[0];
        work[13] ^= self.offset[1];
        if self.is_last {
            work[14] = !work[14];
        }
        let mut done = 0;
        while done < self.rounds {
            check_stop(stop)?;
            let until = done.saturating_add(ROUNDS).min(self.rounds);
            (done..until).for_each(|round| mix(&mut work, &self.message, round));
            done = until;
        }
        let output = (0..8).flat_map(|at| (self.state[at] ^ work[at] ^ work[at + 8]).to_le_bytes());
        Ok(output.collect())
    }
}

/// One round: columns, then diagonals.
fn mix(work: &mut [u64; 16], message: &[u64; 16], round: u32) {
    let order = SCHEDULE[(round % 10) as usize];
    let word = |at: u32| message[(order >> (60 - 4 * at) & 15) as usize];
    let mut half = |at: u32, a: usize, b: usize, c: usize, d: usize| {
        work[a] = work[a].wrapping_add(work[b]).wrapping_add(word(at));
        work[d] = (work[d] ^ work[a]).rotate_right(32);
        work[c] = work[c].wrapping_add(work[d]);
        work[b] = (work[b] ^ work[c]).rotate_right(24);
        work[a] = work[a].wrapping_add(work[b]).wrapping_add(word(at + 1));
        work[d] = (work[d] ^ work[a]).rotate_right(16);
        work[c] = work[c].wrapping_add(work[d]);
        work[b] = (work[b] ^ work[c]).rotate_right(63);
    };
    half(0, 0, 4, 8, 12);
    half(2, 1, 5, 9, 13);
    half(4, 2, 6, 10, 14);
    half(6, 3, 7, 11, 15);
    half(8, 0, 5, 10, 15);
    half(10, 1, 6, 11, 12);
    half(12, 2, 7, 8, 13);
    half(14, 3, 4, 9, 14);
}
