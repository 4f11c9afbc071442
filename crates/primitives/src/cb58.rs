//! cb58: base58 of the bytes followed by their checksum. The text form of identifiers and keys.

use crate::base58::{self, DigitError};
use crate::hash::{CHECKSUM_LEN, checksum};

/// Longest text that is decoded, in bytes. The cost of decoding is quadratic in the length. Identifiers and keys have
/// about 50 characters.
pub const MAX_TEXT_LEN: usize = 8192;

/// The reason why a text is not cb58. The texts are the reference's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Cb58Error {
    /// The text is empty.
    #[error("base58 decoding error: {}", DigitError::Empty)]
    Empty,
    /// A character is not ASCII.
    #[error("base58 decoding error: {}", DigitError::NotAscii)]
    NotAscii,
    /// A character is not in the alphabet. The value is the first such character.
    #[error("base58 decoding error: {}", DigitError::NotADigit(*.0))]
    InvalidDigit(char),
    /// There are fewer bytes than a checksum has.
    #[error("input string is smaller than the checksum size")]
    MissingChecksum,
    /// The checksum is wrong.
    #[error("invalid input checksum")]
    BadChecksum,
    /// The text is longer than [`MAX_TEXT_LEN`]. The value is its length in bytes.
    #[error("cb58 text of {0} characters is longer than {MAX_TEXT_LEN}")]
    TooLong(usize),
}

impl From<DigitError> for Cb58Error {
    fn from(error: DigitError) -> Self {
        match error {
            DigitError::Empty => Self::Empty,
            DigitError::NotAscii => Self::NotAscii,
            DigitError::NotADigit(c) => Self::InvalidDigit(c),
        }
    }
}

/// The text of `bytes`. The cost is quadratic in their number, so use it for identifiers and keys.
pub fn encode(bytes: &[u8]) -> String {
    let len = bytes.len() + CHECKSUM_LEN;
    let mut checked = Vec::with_capacity(len);
    checked.extend_from_slice(bytes);
    checked.extend_from_slice(&checksum(bytes));
    let mut out = vec![0; base58::max_text_len(len)];
    let start = base58::encode_to(&checked, &mut vec![0; base58::limbs_for(len)], &mut out);
    out.drain(..start);
    String::from_utf8(out).expect("the alphabet is ASCII")
}

/// The bytes of a text, without their checksum.
pub fn decode(text: &str) -> Result<Vec<u8>, Cb58Error> {
    if text.len() > MAX_TEXT_LEN {
        base58::check_digits(text)?;
        return Err(Cb58Error::TooLong(text.len()));
    }
    let mut bytes = base58::decode(text)?;
    let Some(len) = bytes.len().checked_sub(CHECKSUM_LEN) else {
        return Err(Cb58Error::MissingChecksum);
    };
    if bytes[len..] != checksum(&bytes[..len]) {
        return Err(Cb58Error::BadChecksum);
    }
    bytes.truncate(len);
    Ok(bytes)
}

/// Shows the text of an identifier without allocating.
pub(crate) fn with_text<const N: usize, R>(bytes: &[u8; N], show: impl FnOnce(&str) -> R) -> R {
    const MAX: usize = 32 + CHECKSUM_LEN;
    const { assert!(N + CHECKSUM_LEN <= MAX) }
    let mut checked = [0; MAX];
    checked[..N].copy_from_slice(bytes);
    checked[N..N + CHECKSUM_LEN].copy_from_slice(&checksum(bytes));
    let mut limbs = [0; base58::limbs_for(MAX)];
    let mut out = [0; base58::max_text_len(MAX)];
    let start = base58::encode_to(&checked[..N + CHECKSUM_LEN], &mut limbs, &mut out);
    show(str::from_utf8(&out[start..]).expect("the alphabet is ASCII"))
}
