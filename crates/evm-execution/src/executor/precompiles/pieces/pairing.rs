//! Pairings on the curve bn254 (EIP-197).

use alloy_primitives::Bytes;
use ark_bn254::{Bn254, Fq, Fq2, G1Affine, G2Affine};
use ark_ff::{BigInt, PrimeField, Zero};
use revm::precompile::PrecompileHalt;
use revm::precompile::bn254::{pair, run_pair};

use super::LongCallError;
use super::pairing_product::{PAIRS, point, product_is_one};
use crate::executor::StopCheck;
use crate::rules::Revision;

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
        product_is_one::<Bn254, PAIR>(self.pairs, stop, |pair| {
            read(pair).ok_or_else(|| refusal(pair))
        })
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
    let first: G1Affine = point(x, y)?;
    let second: G2Affine = point(Fq2::new(x_real, x_imaginary), Fq2::new(y_real, y_imaginary))?;
    Some((first, second))
}

/// A number below the field's prime, in big-endian order.
fn field_element(word: &[u8; 32]) -> Option<Fq> {
    let (limbs, _) = word.as_chunks::<8>();
    let mut limbs: [u64; 4] = std::array::from_fn(|at| u64::from_be_bytes(limbs[at]));
    limbs.reverse();
    Fq::from_bigint(BigInt::new(limbs))
}
