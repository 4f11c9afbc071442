//! Pairings on the curve BLS12-381 (EIP-2537).

use alloy_primitives::Bytes;
use ark_bls12_381::{Bls12_381, Fq, Fq2, G1Affine, G2Affine};
use ark_ff::{BigInt, PrimeField, Zero};
use revm::precompile::PrecompileHalt;
use revm::precompile::bls12_381::pairing::pairing;
use revm::precompile::bls12_381_const::{PAIRING_MULTIPLIER_BASE, PAIRING_OFFSET_BASE};

use super::LongCallError;
use super::pairing_product::{PAIRS, point, product_is_one};
use crate::executor::StopCheck;

/// Bytes of a number: 16 zeros, then a number of 381 bits.
const NUMBER: usize = 64;
/// Two numbers of a point of the first group, then four of one of the second.
const PAIR: usize = 6 * NUMBER;

pub(super) struct LongCall<'i>(&'i [[u8; PAIR]]);

impl<'i> LongCall<'i> {
    pub(super) fn parse(input: &'i [u8]) -> Option<Self> {
        let (pairs, rest) = input.as_chunks::<PAIR>();
        (pairs.len() > PAIRS && rest.is_empty()).then_some(Self(pairs))
    }

    pub(super) fn gas(&self) -> u64 {
        PAIRING_OFFSET_BASE + self.0.len() as u64 * PAIRING_MULTIPLIER_BASE
    }

    pub(super) fn run(&self, stop: StopCheck<'_>) -> Result<Bytes, LongCallError> {
        product_is_one::<Bls12_381, PAIR>(self.0, stop, |pair| {
            read(pair).ok_or_else(|| refusal(pair))
        })
    }
}

/// revm's error for an invalid pair.
fn refusal(pair: &[u8; PAIR]) -> LongCallError {
    let ran = pairing(pair, u64::MAX);
    LongCallError::Halted(ran.err().unwrap_or(PrecompileHalt::NonCanonicalFp))
}

fn read(pair: &[u8; PAIR]) -> Option<(G1Affine, G2Affine)> {
    let (words, _) = pair.as_chunks::<NUMBER>();
    let mut numbers = [Fq::zero(); 6];
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = field_element(word)?;
    }
    let [x, y, x_real, x_imaginary, y_real, y_imaginary] = numbers;
    let first: G1Affine = point(x, y)?;
    let second: G2Affine = point(Fq2::new(x_real, x_imaginary), Fq2::new(y_real, y_imaginary))?;
    Some((first, second))
}

/// A number below the field's prime, in big-endian order.
fn field_element(word: &[u8; NUMBER]) -> Option<Fq> {
    let (limbs, _) = word.as_chunks::<8>();
    let (zeros, limbs) = limbs.split_at(2);
    if zeros.iter().flatten().any(|byte| *byte != 0) {
        return None;
    }
    let mut limbs: [u64; 6] = std::array::from_fn(|at| u64::from_be_bytes(limbs[at]));
    limbs.reverse();
    Fq::from_bigint(BigInt::new(limbs))
}
