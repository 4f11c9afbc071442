//! Modular exponentiation of long numbers (EIP-198).

use std::borrow::Cow;

use alloy_primitives::{Bytes, U256};
use num_bigint::BigUint;

use super::super::modexp::price;
use super::{LongCallError, check_stop};
use crate::executor::{Stop, StopCheck};
use crate::rules::Revision;

/// Longest number since Osaka (EIP-7823), bytes.
const MAX_LENGTH: usize = 1024;
/// Lowest price of a long call.
pub(super) const LONG: u64 = 100_000;
/// Products of 32-bit digits between two stop checks: about a millisecond.
const PRODUCTS: usize = 1_000_000;
/// Cost of a step besides its products, as products.
const STEP: usize = 200;
/// Bits of an exponent that one multiplication handles.
const WINDOW: usize = 4;
/// Exponents of fewer bytes are faster without a window.
const MIN_WINDOWED: usize = 8;

pub(super) struct LongCall<'i> {
    gas: u64,
    base: Cow<'i, [u8]>,
    exponent: Cow<'i, [u8]>,
    modulus: Cow<'i, [u8]>,
}

impl<'i> LongCall<'i> {
    /// `length of base 32 | of exponent 32 | of modulus 32 | base | exponent | modulus`; missing bytes at the end are
    /// zero. [`super::super::modexp`] has checked the lengths.
    pub(super) fn parse(revision: Revision, input: &'i [u8]) -> Option<Self> {
        let length = |at: usize| usize::try_from(U256::from_be_slice(&padded(input, at, 32))).ok();
        let [base, exponent, modulus] = [length(0)?, length(32)?, length(64)?];
        let exponent_at = base.checked_add(96)?;
        let modulus_at = exponent_at.checked_add(exponent)?;
        modulus_at.checked_add(modulus)?;
        let head = U256::from_be_slice(&padded(input, exponent_at, exponent.min(32)));
        if revision >= Revision::Osaka && base.max(exponent).max(modulus) > MAX_LENGTH {
            return None;
        }
        let gas = price(revision, base as u64, exponent as u64, modulus as u64, &head);
        (gas >= LONG).then(|| Self {
            gas,
            base: padded(input, 96, base),
            exponent: padded(input, exponent_at, exponent),
            modulus: padded(input, modulus_at, modulus),
        })
    }

    pub(super) fn gas(&self) -> u64 {
        self.gas
    }

    pub(super) fn run(&self, stop: StopCheck<'_>) -> Result<Bytes, LongCallError> {
        check_stop(stop)?;
        let mut output = vec![0; self.modulus.len()];
        let modulus = BigUint::from_bytes_be(&self.modulus);
        if modulus > BigUint::ZERO {
            let mut ring = Ring { digits: digits(&modulus), modulus, products: 0, stop };
            let power = ring.power(&BigUint::from_bytes_be(&self.base), &self.exponent)?;
            let bytes = power.to_bytes_be();
            let start = output.len() - bytes.len();
            output[start..].copy_from_slice(&bytes);
        }
        Ok(output.into())
    }
}

/// Bytes of an input, with zeros after its end.
fn padded(input: &[u8], at: usize, length: usize) -> Cow<'_, [u8]> {
    let given = input.get(at..).unwrap_or_default();
    match given.get(..length) {
        Some(whole) => Cow::Borrowed(whole),
        None => {
            let mut bytes = given.to_vec();
            bytes.resize(length, 0);
            Cow::Owned(bytes)
        }
    }
}

/// Digits of 32 bits.
fn digits(number: &BigUint) -> usize {
    usize::try_from(number.bits().div_ceil(32)).unwrap_or(usize::MAX)
}

/// Arithmetic modulo a number.
struct Ring<'s> {
    modulus: BigUint,
    digits: usize,
    /// Products since the last stop check.
    products: usize,
    stop: StopCheck<'s>,
}

impl Ring<'_> {
    fn spend(&mut self, products: usize) -> Result<(), Stop> {
        self.products = self.products.saturating_add(products).saturating_add(STEP);
        if self.products >= PRODUCTS {
            self.products = 0;
            check_stop(self.stop)?;
        }
        Ok(())
    }

    /// The product of two numbers. A long factor is taken a few digits at a time.
    fn multiply(&mut self, left: &BigUint, right: &BigUint) -> Result<BigUint, Stop> {
        let width = digits(right).max(self.digits).max(1);
        let step = (PRODUCTS / width).max(1);
        if digits(left) <= step {
            self.spend(2 * width * digits(left))?;
            return Ok(left * right % &self.modulus);
        }
        let mut sum = BigUint::ZERO;
        for part in left.to_u32_digits().chunks(step).rev() {
            self.spend(2 * width * part.len())?;
            sum <<= 32 * part.len();
            sum = (sum + BigUint::from_slice(part) * right) % &self.modulus;
        }
        Ok(sum)
    }

    fn power(&mut self, base: &BigUint, exponent: &[u8]) -> Result<BigUint, Stop> {
        let one = BigUint::from(1_u8);
        let base = self.multiply(base, &one)?;
        let start = exponent.iter().position(|byte| *byte != 0).unwrap_or(exponent.len());
        let exponent = &exponent[start..];
        let window = if exponent.len() < MIN_WINDOWED { 1 } else { WINDOW };
        let mut powers = vec![&one % &self.modulus];
        for at in 1..1 << window {
            let next = self.multiply(&powers[at - 1], &base)?;
            powers.push(next);
        }
        let mut power = powers[0].clone();
        for byte in exponent {
            for shift in (0..8).step_by(window).rev() {
                for _ in 0..window {
                    power = self.multiply(&power, &power)?;
                }
                let digit = usize::from(byte >> shift) % powers.len();
                if digit > 0 {
                    power = self.multiply(&power, &powers[digit])?;
                }
            }
        }
        Ok(power)
    }
}
