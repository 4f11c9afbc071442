//! Hex text as go-ethereum reads and writes it: two forms, and a text for everything that is neither.
//!
//! A *quantity* is a number without leading zeros, *data* are bytes, two digits each. Functions take the bytes
//! between the quotes of a JSON string, as they were written: go-ethereum does not resolve escapes there.

use std::fmt::{self, Write as _};

use alloy_primitives::U256;

/// The error of a hex text; the texts are go-ethereum's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HexError {
    /// The text is empty, but must not be.
    #[error("empty hex string")]
    Empty,
    /// A character is not a digit.
    #[error("invalid hex string")]
    Syntax,
    /// It does not begin with `0x`.
    #[error("hex string without 0x prefix")]
    MissingPrefix,
    /// Half a byte is left.
    #[error("hex string of odd length")]
    OddLength,
    /// A prefix without a number.
    #[error("hex string \"0x\"")]
    EmptyNumber,
    /// A number that begins with a zero.
    #[error("hex number with leading zero digits")]
    LeadingZero,
    /// A number of more than 64 bits.
    #[error("hex number > 64 bits")]
    Range64,
    /// A number of more than 256 bits.
    #[error("hex number > 256 bits")]
    Range256,
}

impl HexError {
    /// The text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty hex string",
            Self::Syntax => "invalid hex string",
            Self::MissingPrefix => "hex string without 0x prefix",
            Self::OddLength => "hex string of odd length",
            Self::EmptyNumber => "hex string \"0x\"",
            Self::LeadingZero => "hex number with leading zero digits",
            Self::Range64 => "hex number > 64 bits",
            Self::Range256 => "hex number > 256 bits",
        }
    }
}

/// Reads a quantity of 64 bits; an empty text is 0.
pub fn uint64(text: &[u8]) -> Result<u64, HexError> {
    let digits = quantity_digits(text)?;
    // Length before syntax.
    if digits.len() > 16 {
        return Err(HexError::Range64);
    }
    digits.iter().try_fold(0, |number, digit| Ok(number << 4 | u64::from(nibble(*digit)?)))
}

/// Reads a quantity of 256 bits; an empty text is 0.
pub fn big(text: &[u8]) -> Result<U256, HexError> {
    let digits = quantity_digits(text)?;
    if digits.len() > 64 {
        return Err(HexError::Range256);
    }
    let mut bytes = [0; 32];
    for (place, digit) in digits.iter().rev().enumerate() {
        bytes[31 - place / 2] |= nibble(*digit)? << (4 * (place % 2));
    }
    Ok(U256::from_be_bytes(bytes))
}

/// Reads a quantity of 64 bits where there has to be one: block numbers.
pub fn decode_uint64(text: &[u8]) -> Result<u64, HexError> {
    if text.is_empty() {
        return Err(HexError::Empty);
    }
    let mut number: u64 = 0;
    // Digit by digit, so that the first error is returned.
    for digit in quantity_digits(text)? {
        let digit = nibble(*digit)?;
        if number >> 60 != 0 {
            return Err(HexError::Range64);
        }
        number = number << 4 | u64::from(digit);
    }
    Ok(number)
}

/// Reads data; an empty text is no bytes.
pub fn bytes(text: &[u8]) -> Result<Vec<u8>, HexError> {
    plain_bytes(data_digits(text)?)
}

/// Reads data where there has to be some; a letter that is no digit is reported before a missing one.
pub fn decode(text: &[u8]) -> Result<Vec<u8>, HexError> {
    if text.is_empty() {
        return Err(HexError::Empty);
    }
    let digits = without_prefix(text).ok_or(HexError::MissingPrefix)?;
    let pairs = digits.chunks_exact(2);
    let rest = pairs.remainder();
    let bytes = pairs.map(byte).collect::<Result<_, _>>()?;
    match rest.first() {
        None => Ok(bytes),
        Some(digit) => Err(nibble(*digit).map_or(HexError::Syntax, |_| HexError::OddLength)),
    }
}

/// Reads an even number of digits without a prefix.
pub fn plain_bytes(digits: &[u8]) -> Result<Vec<u8>, HexError> {
    if digits.len() % 2 == 1 {
        return Err(HexError::OddLength);
    }
    digits.chunks_exact(2).map(byte).collect()
}

/// The reason why a text is not data of a fixed length.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FixedBytesError {
    /// It is no data.
    #[error(transparent)]
    Hex(#[from] HexError),
    /// It has another length.
    #[error("hex string has length {have}, want {want} for {name}")]
    Length {
        /// Digits.
        have: usize,
        /// Digits.
        want: usize,
        /// Go's name of the type.
        name: &'static str,
    },
}

/// Reads data of `N` bytes; `name` is what the text about another length calls the type.
pub fn fixed<const N: usize>(text: &[u8], name: &'static str) -> Result<[u8; N], FixedBytesError> {
    let digits = data_digits(text)?;
    if digits.len() / 2 != N {
        return Err(FixedBytesError::Length { have: digits.len(), want: 2 * N, name });
    }
    let mut read = [0; N];
    for (place, pair) in read.iter_mut().zip(digits.chunks_exact(2)) {
        *place = byte(pair)?;
    }
    Ok(read)
}

/// The digits of a quantity.
fn quantity_digits(text: &[u8]) -> Result<&[u8], HexError> {
    if text.is_empty() {
        return Ok(text);
    }
    match without_prefix(text) {
        None => Err(HexError::MissingPrefix),
        Some([]) => Err(HexError::EmptyNumber),
        Some([b'0', _, ..]) => Err(HexError::LeadingZero),
        Some(digits) => Ok(digits),
    }
}

/// The digits of data.
fn data_digits(text: &[u8]) -> Result<&[u8], HexError> {
    if text.is_empty() {
        return Ok(text);
    }
    let digits = without_prefix(text).ok_or(HexError::MissingPrefix)?;
    if digits.len() % 2 == 0 { Ok(digits) } else { Err(HexError::OddLength) }
}

/// The text after `0x` or `0X`.
pub fn without_prefix(text: &[u8]) -> Option<&[u8]> {
    match text {
        [b'0', b'x' | b'X', digits @ ..] => Some(digits),
        _ => None,
    }
}

fn byte(pair: &[u8]) -> Result<u8, HexError> {
    let [high, low] = pair else { return Err(HexError::Syntax) };
    Ok(nibble(*high)? << 4 | nibble(*low)?)
}

fn nibble(digit: u8) -> Result<u8, HexError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(HexError::Syntax),
    }
}

/// A short text on the stack.
pub(super) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    /// The text of `value`, which must fit into `N` bytes.
    pub(super) fn format(value: fmt::Arguments<'_>) -> Self {
        let mut text = Self { bytes: [0; N], len: 0 };
        text.write_fmt(value).expect("the longest value fits");
        text
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).expect("only text was written")
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
