//! How much a transaction may pay for gas.

use std::fmt;

use alloy_primitives::{U256, U512};

/// Wei of a coin.
const COIN: u64 = 1_000_000_000_000_000_000;

/// Bits of a float's digits, the leading one aside.
const DIGITS: i32 = 52;

/// Bits by which wei are scaled up before they are divided.
const SCALE: i32 = 128;

/// The fee is above the node's cap. The text is the reference's.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("tx fee ({fee} ether) exceeds the configured cap ({cap} ether)")]
pub(super) struct FeeAboveCap {
    fee: Coins,
    cap: Coins,
}

/// An amount as Go writes it with two decimal places.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Coins(f64);

impl fmt::Display for Coins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.is_infinite() {
            true => f.write_str("+Inf"),
            false => write!(f, "{:.2}", self.0),
        }
    }
}

/// Checks the most that a transaction pays for gas: `price` wei a gas, `cap` coins (0: no cap).
///
/// As in the reference, coins are floating-point numbers, so an excess below their precision passes.
pub(super) fn check_fee(price: U256, gas: u64, cap: f64) -> Result<(), FeeAboveCap> {
    check_wide_fee(&price.to_be_bytes::<32>(), gas, cap)
}

/// Like [`check_fee`], for a price of any width, big-endian: the cap is looked at before the width.
pub(super) fn check_wide_fee(price: &[u8], gas: u64, cap: f64) -> Result<(), FeeAboveCap> {
    if cap == 0.0 {
        return Ok(());
    }
    let (first, rest) = price.split_at(price.len().min(32));
    let fee = coins(U512::from(U256::from_be_slice(first)) * U512::from(gas));
    // The part that is left out is far below a float's digits. 2^1024 is more than any float.
    let fee = match i32::try_from(rest.len()) {
        _ if fee == 0.0 => fee,
        Ok(bytes @ ..128) => fee * 2f64.powi(8 * bytes),
        Ok(_) | Err(_) => f64::INFINITY,
    };
    if fee > cap { Err(FeeAboveCap { fee: Coins(fee), cap: Coins(cap) }) } else { Ok(()) }
}

/// Coins as the nearest floating-point number.
fn coins(wei: U512) -> f64 {
    // So much more than whole coins that even one wei has all digits, and some to round by.
    let scaled: U512 = wei << SCALE;
    let (quotient, rest): (U512, U512) = scaled.div_rem(U512::from(COIN));
    let excess = quotient.bit_len().saturating_sub(64);
    let kept: u64 = U512::to(&(quotient >> excess));
    // The part that was cut off matters only if the rest is exactly half of a digit.
    let cut = !rest.is_zero() || U512::from(kept) << excess != quotient;
    let rounded = (kept | u64::from(cut)) as f64;
    let exponent = i32::try_from(excess).unwrap_or(i32::MAX) - SCALE;
    debug_assert!(exponent < 1023 - DIGITS, "320 bits and the scale fit");
    rounded * 2f64.powi(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(price: U256, gas: u64, cap: f64) -> String {
        check_fee(price, gas, cap).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn fees_are_held_against_the_cap_as_floats() {
        // send-errors-1.io and limits.io of the recorded exchanges.
        let check = |price: u64, gas, cap, expected: &str| {
            assert_eq!(text(U256::from(price), gas, cap), expected);
        };
        let above = |fee: &str, cap: &str| {
            format!("tx fee ({fee} ether) exceeds the configured cap ({cap} ether)")
        };
        check(0x0023_86f2_6fc1_0000, 21_000, 100.0, &above("210.00", "100.00"));
        check(0x0011_c379_37e0_8000, 21_000, 100.0, &above("105.00", "100.00"));
        check(0x0010_eaed_59c9_9e7a, 21_000, 100.0, "");
        check(0x2d79_883d_2000, 21_000, 1.0, &above("1.05", "1.00"));
        check(0x2461_39ca_8000, 25_001, 1.0, &above("1.00", "1.00"));
        check(u64::MAX, u64::MAX, 0.0, "");
        let fee = "2431633873983639973142590050580682732348104564503710242781003776.00";
        assert_eq!(text(U256::MAX, 21_000, 100.0), above(fee, "100.00"));
    }

    #[test]
    fn prices_of_any_width_are_held_against_the_cap() {
        let check = |price: &[u8], gas, expected: Option<&str>| {
            let text = check_wide_fee(price, gas, 100.0).err().map(|error| error.to_string());
            let above =
                |fee| format!("tx fee ({fee} ether) exceeds the configured cap (100.00 ether)");
            assert_eq!(text, expected.map(above), "{} bytes", price.len());
        };
        let power = |bytes: usize| [&[1][..], &vec![0; bytes]].concat();
        let fee = "115792089237316203707617735395386539918674240093853421928448.00";
        check(&power(32), 1, Some(fee));
        check(&[0; 40], 21_000, None);
        check(&power(32), 0, None);
        check(&power(2000), 0, None);
        check(&[], 21_000, None);
        check(&power(136), 1, Some("+Inf"));
        check(&power(100_000), 21_000, Some("+Inf"));
        assert_eq!(check_wide_fee(&power(2000), 21_000, 0.0), Ok(()));
    }

    #[test]
    fn coins_are_the_nearest_float() {
        for (wei, coins_expected) in [
            (0u128, 0.0),
            (1, 1e-18),
            (u128::from(COIN), 1.0),
            (u128::from(COIN) * 3 / 2, 1.5),
            (u128::from(COIN) / 10, 0.1),
            (123_456_789_012_345_678_901, 123.456_789_012_345_68),
            (100_000_000_000_000_002_000, 100.0),
        ] {
            assert_eq!(coins(U512::from(wei)).to_bits(), f64::to_bits(coins_expected), "{wei}");
        }
    }
}
