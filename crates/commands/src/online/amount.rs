//! Amounts as people write them: decimal digits, exact.

use alloy_primitives::U256;
use thiserror::Error;

use super::connection::WEI_DECIMALS;

/// Most characters of an amount: 2^256 has 78 digits.
const MAX_CHARS: usize = 100;

/// Units of the native asset, and the decimal places by which each is smaller. `gwei` stands before `wei`, with which it
/// ends.
const UNITS: [(&str, usize); 4] = [("gwei", 9), ("wei", 18), ("nano", 9), ("ether", 0)];

/// The reason why a text is no amount.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum AmountError {
    /// Not digits with at most one point between them.
    #[error("expected digits with at most one point between them, as in 1.5")]
    Syntax,
    /// More decimal places than the asset has.
    #[error("more decimal places than the asset has, {0}")]
    TooPrecise(u8),
    /// Above what the chain can hold.
    #[error("too large")]
    TooLarge,
    /// Nothing to pay.
    #[error("the amount is zero")]
    Zero,
    /// A unit of the native asset with another asset.
    #[error("wei, gwei, nano and ether are units of the native asset")]
    Unit,
}

/// The units of an asset with `decimals` places that a text means. `12wei`, `12gwei`, `12nano` and `1.5ether`, which
/// is a whole one, are amounts of the native asset.
pub(super) fn parse(text: &str, decimals: u8, is_native: bool) -> Result<U256, AmountError> {
    let unit = UNITS.iter().find_map(|(name, places)| Some((text.strip_suffix(name)?, *places)));
    let (number, places) = unit.unwrap_or((text, 0));
    if unit.is_some() && !is_native {
        return Err(AmountError::Unit);
    }
    let number = if unit.is_some() { number.trim_end_matches(' ') } else { number };
    let (whole, fraction) = match number.split_once('.') {
        Some((_, "")) => return Err(AmountError::Syntax),
        Some(parts) => parts,
        None => (number, ""),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty()
        || number.len() > MAX_CHARS
        || !is_digits(whole)
        || !is_digits(fraction)
        // There is nothing smaller.
        || (unit.is_some_and(|(_, places)| places == usize::from(WEI_DECIMALS)) && !fraction.is_empty())
    {
        return Err(AmountError::Syntax);
    }
    // The value is `digits` divided by ten to the power of `scale`.
    let mut digits = format!("{whole}{fraction}");
    let mut scale = fraction.len().saturating_add(places);
    while scale > 0 && digits.ends_with('0') {
        digits.pop();
        scale = scale.saturating_sub(1);
    }
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Err(AmountError::Zero);
    }
    let Some(missing) = usize::from(decimals).checked_sub(scale) else {
        return Err(AmountError::TooPrecise(decimals));
    };
    let padded = format!("{digits}{}", "0".repeat(missing));
    U256::from_str_radix(&padded, 10).map_err(|_| AmountError::TooLarge)
}

/// The text of an amount, without zeros at its end.
pub(super) fn format(units: U256, decimals: u8) -> String {
    let decimals = usize::from(decimals);
    let digits = units.to_string();
    let padded = format!("{digits:0>width$}", width = decimals.saturating_add(1));
    let (whole, fraction) = padded.split_at(padded.len().saturating_sub(decimals));
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts() {
        let units = |n: u64| Ok(U256::from(n));
        for (text, decimals, expected) in [
            ("1.5", 9, units(1_500_000_000)),
            ("1", 0, units(1)),
            ("0.000000001", 9, units(1)),
            ("0.0000000010", 9, units(1)),
            ("007", 0, units(7)),
            ("1.0", 0, units(1)),
            ("18446744073709551616", 0, Ok(U256::from(1u128 << 64))),
            ("12wei", 18, units(12)),
            ("12 wei", 18, units(12)),
            ("2000000000wei", 9, units(2)),
            ("3nano", 9, units(3)),
            ("1.5ether", 9, units(1_500_000_000)),
            ("1.5 ether", 18, units(1_500_000_000_000_000_000)),
            ("2ether", 9, units(2_000_000_000)),
            ("1.5gwei", 18, units(1_500_000_000)),
            ("3gwei", 9, units(3)),
            ("1.5gwei", 9, Err(AmountError::TooPrecise(9))),
            ("3nano", 18, units(3_000_000_000)),
            ("1wei", 9, Err(AmountError::TooPrecise(9))),
            ("1.5", 0, Err(AmountError::TooPrecise(0))),
            ("0.0000000001", 9, Err(AmountError::TooPrecise(9))),
            ("0", 9, Err(AmountError::Zero)),
            ("0.0", 9, Err(AmountError::Zero)),
            ("0wei", 18, Err(AmountError::Zero)),
        ] {
            assert_eq!(parse(text, decimals, true), expected, "{text} with {decimals} places");
        }
        assert_eq!(parse("1wei", 18, false), Err(AmountError::Unit));
        assert_eq!(parse("1ether", 18, false), Err(AmountError::Unit));
        let most = U256::MAX.to_string();
        assert_eq!(parse(&most, 0, true), Ok(U256::MAX));
        for text in [format!("{most}0"), most.clone() + ".5", "9".repeat(MAX_CHARS)] {
            assert_eq!(parse(&text, 1, true), Err(AmountError::TooLarge), "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_amounts() {
        for text in [
            "",
            " ",
            ".",
            ".5",
            "5.",
            "1.2.3",
            "-1",
            "+1",
            "1e9",
            "0x10",
            "1,5",
            "1_000",
            " 1",
            "1 ",
            "1.5wei",
            "wei",
            "nano",
            "NaN",
            "inf",
            "١",
            "１",
            "1\0",
            "1\n",
            "1weiwei",
            "-0",
            "1 nano ",
            "ether",
            "gwei",
            "1eth",
            "1.5.5ether",
            "1gweiwei",
        ] {
            assert_eq!(parse(text, 18, true), Err(AmountError::Syntax), "{text:?}");
        }
        assert_eq!(parse(&"1".repeat(MAX_CHARS + 1), 0, true), Err(AmountError::Syntax));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(limbs: [u64; 4], decimals in 0u8..=32) {
            let units = U256::from_limbs(limbs);
            prop_assume!(!units.is_zero());
            prop_assert_eq!(parse(&format(units, decimals), decimals, true), Ok(units));
        }

        #[test]
        fn what_is_read_is_written_exactly(whole in 0u64.., fraction in "[0-9]{0,18}") {
            let text = if fraction.is_empty() { whole.to_string() } else { std::format!("{whole}.{fraction}") };
            if let Ok(units) = parse(&text, 18, true) {
                let expected = if text.contains('.') {
                    text.trim_end_matches('0').trim_end_matches('.')
                } else {
                    &text
                };
                prop_assert_eq!(format(units, 18), expected);
            }
        }

        #[test]
        fn any_text_is_an_amount_or_an_error(text in ".{0,120}", decimals: u8) {
            let _result = parse(&text, decimals, true);
        }
    }
}
