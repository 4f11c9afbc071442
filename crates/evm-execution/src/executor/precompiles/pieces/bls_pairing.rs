//! Pairings on the curve BLS12-381 (EIP-2537).

use alloy_primitives::Bytes;
use ark_bls12_381::{Bls12_381, Fq, Fq2, G1Affine, G2Affine};
use ark_ec::AffineRepr;
use ark_ec::pairing::{MillerLoopOutput, Pairing};
use ark_ff::{BigInt, One, PrimeField, Zero};
use revm::precompile::PrecompileHalt;
use revm::precompile::bls12_381::pairing::pairing;
use revm::precompile::bls12_381_const::{PAIRING_MULTIPLIER_BASE, PAIRING_OFFSET_BASE};

use super::{LongCallError, check_stop};
use crate::executor::StopCheck;

/// Pairs between two stop checks: some milliseconds. Calls with more pairs are long.
pub(super) const PAIRS: usize = 4;

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
        let mut product = <Bls12_381 as Pairing>::TargetField::one();
        for pairs in self.0.chunks(PAIRS) {
            check_stop(stop)?;
            let mut points = (Vec::with_capacity(PAIRS), Vec::with_capacity(PAIRS));
            for pair in pairs {
                let (first, second) = read(pair).ok_or_else(|| refusal(pair))?;
                if !first.is_zero() && !second.is_zero() {
                    points.0.push(first);
                    points.1.push(second);
                }
            }
            product *= Bls12_381::multi_miller_loop(points.0, points.1).0;
        }
        check_stop(stop)?;
        let result = Bls12_381::final_exponentiation(MillerLoopOutput(product));
        let is_one = result.is_some_and(|result| result.0.is_one());
        let mut word = [0; 32];
        word[31] = is_one.into();
        Ok(Bytes::copy_from_slice(&word))
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
    let first = match x.is_zero() && y.is_zero() {
        true => G1Affine::zero(),
        false => G1Affine::new_unchecked(x, y),
    };
    let (x, y) = (Fq2::new(x_real, x_imaginary), Fq2::new(y_real, y_imaginary));
    let second = match x.is_zero() && y.is_zero() {
        true => G2Affine::zero(),
        false => G2Affine::new_unchecked(x, y),
    };
    let is_valid = first.is_on_curve()
        && second.is_on_curve()
        && first.is_in_correct_subgroup_assuming_on_curve()
        && second.is_in_correct_subgroup_assuming_on_curve();
    is_valid.then_some((first, second))
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
