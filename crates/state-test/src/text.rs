//! Numbers and bytes as text: hexadecimal with or without `0x`, of any width.

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use thiserror::Error;

/// A text is no number, or not the bytes that are expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}: {text:?} is not valid")]
pub struct TextError {
    what: &'static str,
    text: String,
}

/// The error of a text.
pub(crate) fn wrong(what: &'static str, text: &str) -> TextError {
    TextError { what, text: text.to_owned() }
}

/// A number: hexadecimal, or decimal without `0x`. An empty text is 0.
pub(crate) fn number(what: &'static str, text: &str) -> Result<U256, TextError> {
    // Older tests mark numbers beyond the usual range so.
    let plain = text.strip_prefix("0x:bigint ").unwrap_or(text);
    let (digits, radix) = match plain.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (plain, 10),
    };
    if digits.is_empty() {
        return Ok(U256::ZERO);
    }
    U256::from_str_radix(digits, radix).map_err(|_| wrong(what, text))
}

/// A number that may be absent.
pub(crate) fn optional(
    what: &'static str,
    text: &Option<String>,
) -> Result<Option<U256>, TextError> {
    text.as_deref().map(|text| number(what, text)).transpose()
}

/// A number of 64 bits.
pub(crate) fn short(what: &'static str, text: &str) -> Result<u64, TextError> {
    u64::try_from(number(what, text)?).map_err(|_| wrong(what, text))
}

/// Bytes.
pub(crate) fn bytes(what: &'static str, text: &str) -> Result<Bytes, TextError> {
    hex::decode(text).map(Bytes::from).map_err(|_| wrong(what, text))
}

/// A word, with zeros before it.
pub(crate) fn word(what: &'static str, text: &str) -> Result<B256, TextError> {
    padded(what, text).map(B256::new)
}

/// An address, with zeros before it.
pub(crate) fn address(what: &'static str, text: &str) -> Result<Address, TextError> {
    padded(what, text).map(Address::new)
}

fn padded<const N: usize>(what: &'static str, text: &str) -> Result<[u8; N], TextError> {
    let given = bytes(what, text)?;
    let start = N.checked_sub(given.len()).ok_or_else(|| wrong(what, text))?;
    let mut whole = [0; N];
    whole[start..].copy_from_slice(&given);
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_any_width() {
        for (text, want) in [
            ("0x", 0),
            ("", 0),
            ("0x00", 0),
            ("0x0a", 10),
            ("0x000a", 10),
            ("10", 10),
            ("0x:bigint 0x0a", 10),
        ] {
            assert_eq!(number("value", text), Ok(U256::from(want)), "{text}");
        }
        let wide = format!("0x01{}", "0".repeat(64));
        let refused = number("value", &wide).map_err(|error| error.to_string());
        assert_eq!(refused, Err(format!("value: {wide:?} is not valid")));
        assert!(short("nonce", "0x010000000000000000").is_err());
        assert_eq!(address("to", "0x01"), Ok(Address::with_last_byte(1)));
        assert_eq!(word("key", "02"), Ok(B256::with_last_byte(2)));
        assert!(address("to", &"00".repeat(21)).is_err());
        assert!(bytes("data", "0xz").is_err());
    }
}
