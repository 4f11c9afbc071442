//! The forms of numbers that tools for anvil and Hardhat send: the one place that says which.
//!
//! Both nodes take an integer, a text of decimal digits, and hex with leading zeros or without any digit, wherever a method
//! takes a number. Here all networks for development do, and others only what go-ethereum does
//! (docs/from-anvil.md, "Numbers").

use alloy_primitives::U256;
use esker_go_json::{Document, Kind};

use super::data::between_quotes;

/// Decimal digits of the largest number.
const MAX_DIGITS: usize = 78;

/// The number that a value means on a network for development. `None` elsewhere, and if the value means none: then it is for
/// the type's own decoder.
pub(super) fn number_of_any_form(value: Document<'_>) -> Option<U256> {
    if !value.takes_any_number_form() {
        return None;
    }
    match value.kind() {
        Kind::Number => of_literal(str::from_utf8(value.as_bytes()).ok()?),
        Kind::String => match between_quotes(value)? {
            // Also without a digit, as both nodes read it.
            b"0x" | b"0X" => Some(U256::ZERO),
            text => of_text(text),
        },
        Kind::Null | Kind::Bool | Kind::Array | Kind::Object => None,
    }
}

/// [`number_of_any_form`] of at most 64 bits.
pub(super) fn small_number_of_any_form(value: Document<'_>) -> Option<u64> {
    u64::try_from(number_of_any_form(value)?).ok()
}

/// A text of decimal digits, or of `0x` and hex digits.
pub(crate) fn of_text(text: &[u8]) -> Option<U256> {
    let (digits, radix) = match text {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        digits => (digits, 10),
    };
    // The library would accept underscores.
    let is_digit = |digit: &u8| digit.is_ascii_hexdigit();
    if digits.is_empty() || !digits.iter().all(is_digit) {
        return None;
    }
    U256::from_str_radix(str::from_utf8(digits).ok()?, radix).ok()
}

/// A number of JSON, if it is an integer: JavaScript writes large ones as `1e+21`.
fn of_literal(literal: &str) -> Option<U256> {
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent).parse::<usize>().ok()?;
    let zeros = exponent.checked_sub(fraction.len()).filter(|zeros| *zeros < MAX_DIGITS)?;
    of_text(format!("{whole}{fraction}{}", "0".repeat(zeros)).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_numbers() {
        let max = format!("\"0x{}\"", "f".repeat(64));
        let document = |text: &'static str| Document::of_valid(text.as_bytes());
        let read = |text: &str| {
            number_of_any_form(Document::first(text.as_bytes()).unwrap().with_any_number_form())
        };
        for (text, number) in [
            ("0", Some(0)),
            ("12", Some(12)),
            ("12.0", Some(12)),
            ("1.2e1", Some(12)),
            ("1.2E+2", Some(120)),
            ("1.25e1", None),
            ("0.5", None),
            ("1e-1", None),
            ("1e99", None),
            ("-1", None),
            (r#""12""#, Some(12)),
            (r#""012""#, Some(12)),
            (r#""0x0c""#, Some(12)),
            (r#""0X1""#, Some(1)),
            (r#""0x""#, Some(0)),
            (r#""""#, None),
            (r#""-1""#, None),
            (r#""1.0""#, None),
            (r#""1e3""#, None),
            (r#""0x1_0""#, None),
            (r#""a""#, None),
            ("null", None),
            ("{}", None),
        ] {
            assert_eq!(read(text), number.map(U256::from), "{text}");
        }
        assert_eq!(read(&max), Some(U256::MAX));
        assert_eq!(read(&max.replace("0xf", "0xff")), None);
        assert_eq!(read("1e+21"), Some(U256::from(10).pow(U256::from(21))));
        assert_eq!(number_of_any_form(document("12")), None, "only where any form is taken");
    }
}
