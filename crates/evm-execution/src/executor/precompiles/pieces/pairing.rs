//! Pairings on the curve bn254 (EIP-197).

use alloy_primitives::Bytes;
use ark_bn254::{Bn254, Fq, Fq2, G1Affine, G2Affine};
use ark_ec::AffineRepr;
use ark_ec::pairing::{MillerLoopOutput, Pairing};
use ark_ff::{BigInt, One, PrimeField, Zero};
use revm::precompile::PrecompileHalt;
use revm::precompile::bn254::{pair, run_pair};

use super::{LongCallError, check_stop};
use crate::executor::StopCheck;
use crate::rules::Revision;

/// Pairs between two stop checks: some milliseconds. Calls with more pairs are long.
pub(super) const PAIRS: usize = 4;

/// A point of the first group, then one of the second.
const PAIR: usize = 192;

pub(super) struct LongCall<'i> {
    pairs: &'i [[u8; PAIR]],
    gas: u64,
}

impl<'i> LongCall<'i> {
    pub(super) fn parse(revision: Revision, input: &'i [u8]) -> Option<Self> {
        let (pairs, rest) = input.as_chunks::<PAIR>();
        let (base, each) = match revision >= Revision::Istanbul {
            true => (pair::ISTANBUL_PAIR_BASE, pair::ISTANBUL_PAIR_PER_POINT),
            false => (pair::BYZANTIUM_PAIR_BASE, pair::BYZANTIUM_PAIR_PER_POINT),
        };
        let gas = base + pairs.len() as u64 * each;
        (pairs.len() > PAIRS && rest.is_empty()).then_some(Self { pairs, gas })
    }

    pub(super) fn gas(&self) -> u64 {
        self.gas
    }

    pub(super) fn run(&self, stop: StopCheck<'_>) -> Result<Bytes, LongCallError> {
        let mut product = <Bn254 as Pairing>::TargetField::one();
        for pairs in self.pairs.chunks(PAIRS) {
            check_stop(stop)?;
            let mut points = (Vec::with_capacity(PAIRS), Vec::with_capacity(PAIRS));
            for pair in pairs {
                let (first, second) = read(pair).ok_or_else(|| refusal(pair))?;
                if !first.is_zero() && !second.is_zero() {
                    points.0.push(first);
                    points.1.push(second);
                }
            }
            product *= Bn254::multi_miller_loop(points.0, points.1).0;
        }
        check_stop(stop)?;
        let result = Bn254::final_exponentiation(MillerLoopOutput(product));
        let is_one = result.is_some_and(|result| result.0.is_one());
        let mut word = [0; 32];
        word[31] = is_one.into();
        Ok(Bytes::copy_from_slice(&word))
    }
}

/// revm's error for an invalid pair.
fn refusal(pair: &[u8; PAIR]) -> LongCallError {
    let alone = pair::ISTANBUL_PAIR_BASE + pair::ISTANBUL_PAIR_PER_POINT;
    let ran = run_pair(pair, pair::ISTANBUL_PAIR_PER_POINT, pair::ISTANBUL_PAIR_BASE, alone);
    LongCallError::Halted(ran.err().unwrap_or(PrecompileHalt::Bn254AffineGFailedToCreate))
}

fn read(pair: &[u8; PAIR]) -> Option<(G1Affine, G2Affine)> {
    let (words, _) = pair.as_chunks::<32>();
    let mut numbers = [Fq::zero(); 6];
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = field_element(word)?;
    }
    let [x, y, x_imaginary, x_real, y_imaginary, y_real] = numbers;
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
fn field_element(word: &[u8; 32]) -> Option<Fq> {
    let (limbs, _) = word.as_chunks::<8>();
    let mut limbs: [u64; 4] = std::array::from_fn(|at| u64::from_be_bytes(limbs[at]));
    limbs.reverse();
    Fq::from_bigint(BigInt::new(limbs))
}
