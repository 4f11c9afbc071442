//! Hexadecimal texts with the prefix `0x`: with a checksum (encodings `hex` and `hexc`) and without (`hexnc`).

use crate::go;
use crate::hash::{CHECKSUM_LEN, checksum};

const PREFIX: &str = "0x";

/// The reason why a text is not hexadecimal of the expected kind. The texts are the reference's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HexError {
    /// The text does not start with `0x`. The prefix `0X` is refused too.
    #[error("missing 0x prefix to hex encoding")]
    MissingPrefix,
    /// A byte is not a digit. The value is the first such byte.
    #[error("encoding/hex: invalid byte: {}", go::unicode(char::from(*.0)))]
    InvalidByte(u8),
    /// The number of digits is odd.
    #[error("encoding/hex: odd length hex string")]
    OddLength,
    /// There are fewer bytes than a checksum has.
    #[error("input string is smaller than the checksum size")]
    MissingChecksum,
    /// The checksum is wrong.
    #[error("invalid input checksum")]
    BadChecksum,
}

/// `0x`, the bytes and their checksum in lower case.
pub fn encode_checked(bytes: &[u8]) -> String {
    encode(bytes, &checksum(bytes))
}

/// `0x` and the bytes in lower case.
pub fn encode_plain(bytes: &[u8]) -> String {
    encode(bytes, &[])
}

/// The bytes of a text with a checksum. The empty text has none and means no bytes.
pub fn decode_checked(text: &str) -> Result<Vec<u8>, HexError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut bytes = decode_plain(text)?;
    let Some(len) = bytes.len().checked_sub(CHECKSUM_LEN) else {
        return Err(HexError::MissingChecksum);
    };
    if bytes[len..] != checksum(&bytes[..len]) {
        return Err(HexError::BadChecksum);
    }
    bytes.truncate(len);
    Ok(bytes)
}

/// The bytes of a text without a checksum. The empty text needs no prefix.
pub fn decode_plain(text: &str) -> Result<Vec<u8>, HexError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let digits = text.strip_prefix(PREFIX).ok_or(HexError::MissingPrefix)?.as_bytes();
    let mut bytes = vec![0; digits.len() / 2];
    hex::decode_to_slice(&digits[..bytes.len() * 2], &mut bytes)
        .ok()
        .filter(|()| digits.len().is_multiple_of(2))
        .ok_or_else(|| fault(digits))?;
    Ok(bytes)
}

/// The error of the digits. A byte that is not a digit is reported before an odd length.
fn fault(digits: &[u8]) -> HexError {
    let bad = digits.iter().find(|digit| !digit.is_ascii_hexdigit());
    bad.map_or(HexError::OddLength, |byte| HexError::InvalidByte(*byte))
}

fn encode(bytes: &[u8], tail: &[u8]) -> String {
    let body = PREFIX.len() + bytes.len() * 2;
    let mut text = vec![0; body + tail.len() * 2];
    text[..PREFIX.len()].copy_from_slice(PREFIX.as_bytes());
    hex::encode_to_slice(bytes, &mut text[PREFIX.len()..body]).expect("two digits a byte");
    hex::encode_to_slice(tail, &mut text[body..]).expect("two digits a byte");
    String::from_utf8(text).expect("hex digits are ASCII")
}
