//! Private keys in hex, as `importRawKey` takes them.

use alloy_primitives::hex;
use esker_primitives::{Password, PrivateKey};
use thiserror::Error;
use zeroize::Zeroizing;

/// The reason why a text is no private key. The texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum RawKeyError {
    #[error("invalid hex character {0} in private key")]
    Character(String),
    #[error("invalid hex data for private key")]
    OddLength,
    #[error("invalid length, need 256 bits")]
    Length,
    #[error("invalid private key, >=N")]
    TooLarge,
    #[error("invalid private key, zero or negative")]
    Zero,
}

/// Reads 64 hex digits, without `0x`.
pub(super) fn parse(text: &Password) -> Result<PrivateKey, RawKeyError> {
    let text = text.text();
    if let Some(wrong) = text.bytes().find(|byte| !byte.is_ascii_hexdigit()) {
        return Err(RawKeyError::Character(quote_byte(wrong)));
    }
    if text.len() % 2 == 1 {
        return Err(RawKeyError::OddLength);
    }
    let mut bytes = Zeroizing::new([0; PrivateKey::LEN]);
    hex::decode_to_slice(text, bytes.as_mut_slice()).map_err(|_| RawKeyError::Length)?;
    PrivateKey::from_slice(bytes.as_slice()).map_err(|_| {
        match bytes.iter().all(|byte| *byte == 0) {
            true => RawKeyError::Zero,
            false => RawKeyError::TooLarge,
        }
    })
}

/// A byte as Go's `%q` shows it: the character of that number.
fn quote_byte(byte: u8) -> String {
    match byte {
        7 => r"'\a'".to_owned(),
        8 => r"'\b'".to_owned(),
        9 => r"'\t'".to_owned(),
        10 => r"'\n'".to_owned(),
        11 => r"'\v'".to_owned(),
        12 => r"'\f'".to_owned(),
        13 => r"'\r'".to_owned(),
        b'\'' => r"'\''".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        0..0x20 | 0x7f => format!("'\\x{byte:02x}'"),
        // Control characters, the space that does not break, and the soft hyphen are not shown.
        0x80..=0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        shown => format!("'{}'", char::from(shown)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_what_is_no_key() {
        let check = |text: &str, expected: &str| {
            let found = parse(&text.to_owned().into()).err().map(|error| error.to_string());
            assert_eq!(found.as_deref().unwrap_or(""), expected, "{text:?}");
        };
        let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
        let last = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140";
        check(last, "");
        check(&last.to_uppercase(), "");
        check(order, "invalid private key, >=N");
        check(&"0".repeat(64), "invalid private key, zero or negative");
        check("", "invalid length, need 256 bits");
        check("12", "invalid length, need 256 bits");
        check(&"1".repeat(66), "invalid length, need 256 bits");
        check("123", "invalid hex data for private key");
        check("0x1", "invalid hex character 'x' in private key");
        // A wrong character goes before the length.
        check("12g", "invalid hex character 'g' in private key");
        check("é", "invalid hex character 'Ã' in private key");
        check("\u{80}", "invalid hex character 'Â' in private key");
        check("\n", r"invalid hex character '\n' in private key");
        check("'", r"invalid hex character '\'' in private key");
        check("\\", r"invalid hex character '\\' in private key");
        check("\0", r"invalid hex character '\x00' in private key");
    }

    #[test]
    fn bytes_as_go_quotes_them() {
        for (byte, expected) in
            [(0x80, r"'\u0080'"), (0xa0, r"'\u00a0'"), (0xad, r"'\u00ad'"), (0xff, "'ÿ'")]
        {
            assert_eq!(quote_byte(byte), expected);
        }
    }
}
