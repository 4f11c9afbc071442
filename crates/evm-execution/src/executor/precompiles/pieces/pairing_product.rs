//! Pairings on any curve, in pieces.

use alloy_primitives::Bytes;
use ark_ec::AffineRepr;
use ark_ec::pairing::{MillerLoopOutput, Pairing};
use ark_ec::short_weierstrass::{Affine, SWCurveConfig};
use ark_ff::{One, Zero};

use super::{LongCallError, check_stop};
use crate::executor::StopCheck;

/// Pairs between two stop checks: some milliseconds. Calls with more pairs are long.
pub(super) const PAIRS: usize = 4;

/// The word 1 if the product of all pairings is 1, else 0. `read` returns the points of a pair, or revm's error.
pub(super) fn product_is_one<E: Pairing, const N: usize>(
    pairs: &[[u8; N]],
    stop: StopCheck<'_>,
    read: impl Fn(&[u8; N]) -> Result<(E::G1Affine, E::G2Affine), LongCallError>,
) -> Result<Bytes, LongCallError> {
    let mut product = E::TargetField::one();
    for pairs in pairs.chunks(PAIRS) {
        check_stop(stop)?;
        let mut points = (Vec::with_capacity(PAIRS), Vec::with_capacity(PAIRS));
        for pair in pairs {
            let (first, second) = read(pair)?;
            if !first.is_zero() && !second.is_zero() {
                points.0.push(first);
                points.1.push(second);
            }
        }
        product *= E::multi_miller_loop(points.0, points.1).0;
    }
    check_stop(stop)?;
    let result = E::final_exponentiation(MillerLoopOutput(product));
    let is_one = result.is_some_and(|result| result.0.is_one());
    let mut word = [0; 32];
    word[31] = is_one.into();
    Ok(Bytes::copy_from_slice(&word))
}

/// The point with these coordinates; both are 0 for the point at infinity. `None` if it is not one of the group.
pub(super) fn point<P: SWCurveConfig>(x: P::BaseField, y: P::BaseField) -> Option<Affine<P>> {
    let point = match x.is_zero() && y.is_zero() {
        true => Affine::<P>::identity(),
        false => Affine::new_unchecked(x, y),
    };
    let is_valid = point.is_on_curve() && point.is_in_correct_subgroup_assuming_on_curve();
    is_valid.then_some(point)
}
