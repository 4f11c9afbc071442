//! Bech32 as the reference's library reads and writes it.
//!
//! This is our own code, because the library's decoder has peculiarities: it also accepts a bech32m checksum, its
//! error has both expected checksums (the second one after a copy of the first), and it pads an incomplete last byte
//! instead of refusing it.

use std::fmt;

const CHARSET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const SEPARATOR: u8 = b'1';
const CHECKSUM_LEN: usize = 6;
const MIN_LEN: usize = 8;
/// Longest text that is decoded, in bytes.
pub const MAX_LEN: usize = 90;

/// The two checksum constants.
const BECH32: u32 = 1;
const BECH32M: u32 = 0x2bc8_30a3;

/// The reason why a text is not bech32. The texts are those of the reference's library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bech32Error {
    /// The text is shorter than 8 or longer than 90 bytes.
    InvalidLength(usize),
    /// A byte is not a printable ASCII character.
    InvalidCharacter(u8),
    /// The text has lower and upper case letters.
    MixedCase,
    /// The prefix is empty, or the data is too short for a checksum. The value is the position of the last `1`, if
    /// there is one.
    InvalidSeparator(Option<usize>),
    /// A byte of the data part is not a digit.
    NotInCharset(u8),
    /// The checksum is wrong.
    InvalidChecksum {
        /// Six characters of a checksum.
        bech32: String,
        /// Six characters of a checksum.
        bech32m: String,
        /// Six characters of a checksum.
        got: String,
    },
}

impl std::error::Error for Bech32Error {}

impl fmt::Display for Bech32Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidLength(len) => write!(f, "invalid bech32 string length {len}"),
            Self::InvalidCharacter(byte) => {
                write!(f, "invalid character in string: '{}'", char::from(*byte))
            }
            Self::MixedCase => f.write_str("string not all lowercase or all uppercase"),
            Self::InvalidSeparator(Some(at)) => write!(f, "invalid separator index {at}"),
            Self::InvalidSeparator(None) => f.write_str("invalid separator index -1"),
            Self::NotInCharset(byte) => {
                write!(f, "invalid character not part of charset: {byte}")
            }
            // The library writes both checksums into one buffer, so the second one follows the first.
            Self::InvalidChecksum { bech32, bech32m, got } => write!(
                f,
                "invalid checksum (expected (bech32={bech32}, bech32m={bech32}{bech32m}), got {got})"
            ),
        }
    }
}

/// The bech32 text of `bytes`. A prefix in upper case is lowered.
pub fn encode(hrp: &str, bytes: &[u8]) -> String {
    let hrp = hrp.to_ascii_lowercase();
    let digits = regroup(bytes, 8, 5);
    let check = checksum(&hrp, &digits, BECH32);
    let mut text = String::with_capacity(hrp.len() + 1 + digits.len() + CHECKSUM_LEN);
    text.push_str(&hrp);
    text.push(char::from(SEPARATOR));
    text.extend(digits.iter().map(|digit| char::from(CHARSET[usize::from(*digit)])));
    text.push_str(&check);
    text
}

/// Decodes a text into the prefix in lower case, and the bytes.
pub fn decode(text: &str) -> Result<(String, Vec<u8>), Bech32Error> {
    let bytes = text.as_bytes();
    if !(MIN_LEN..=MAX_LEN).contains(&bytes.len()) {
        return Err(Bech32Error::InvalidLength(bytes.len()));
    }
    check_characters(bytes)?;
    let text = text.to_ascii_lowercase();
    let bytes = text.as_bytes();
    let separator = bytes.iter().rposition(|byte| *byte == SEPARATOR);
    let at = separator
        .filter(|at| *at > 0 && at + 1 + CHECKSUM_LEN <= bytes.len())
        .ok_or(Bech32Error::InvalidSeparator(separator))?;
    let hrp = &text[..at];
    let digits = bytes[at + 1..].iter().copied().map(digit).collect::<Result<Vec<_>, _>>()?;
    let data = &digits[..digits.len() - CHECKSUM_LEN];
    if !matches!(residue(hrp, &digits), BECH32 | BECH32M) {
        return Err(Bech32Error::InvalidChecksum {
            bech32: checksum(hrp, data, BECH32),
            bech32m: checksum(hrp, data, BECH32M),
            got: text[text.len() - CHECKSUM_LEN..].to_owned(),
        });
    }
    Ok((hrp.to_owned(), regroup(data, 5, 8)))
}

/// Errors of both kinds are reported in the order of the characters.
fn check_characters(bytes: &[u8]) -> Result<(), Bech32Error> {
    let (mut lower, mut upper) = (false, false);
    for byte in bytes {
        if !byte.is_ascii_graphic() {
            return Err(Bech32Error::InvalidCharacter(*byte));
        }
        lower |= byte.is_ascii_lowercase();
        upper |= byte.is_ascii_uppercase();
        if lower && upper {
            return Err(Bech32Error::MixedCase);
        }
    }
    Ok(())
}

fn digit(byte: u8) -> Result<u8, Bech32Error> {
    let at = CHARSET.iter().position(|c| *c == byte).ok_or(Bech32Error::NotInCharset(byte))?;
    Ok(at as u8)
}

/// Regroups bits, most significant first. An incomplete last group is padded with zeros in both directions.
fn regroup(groups: &[u8], from: u32, to: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(groups.len() * from as usize / to as usize + 1);
    let (mut pending, mut bits) = (0u32, 0);
    let mask = (1 << to) - 1;
    for group in groups {
        pending = (pending << from) | u32::from(*group);
        bits += from;
        while bits >= to {
            bits -= to;
            out.push(((pending >> bits) & mask) as u8);
        }
        pending &= (1 << bits) - 1;
    }
    if bits > 0 {
        out.push(((pending << (to - bits)) & mask) as u8);
    }
    out
}

fn checksum(hrp: &str, data: &[u8], constant: u32) -> String {
    let mut digits = data.to_vec();
    digits.extend([0; CHECKSUM_LEN]);
    let value = residue(hrp, &digits) ^ constant;
    let places = (0..CHECKSUM_LEN as u32).rev();
    places.map(|place| char::from(CHARSET[(value >> (5 * place)) as usize & 31])).collect()
}

/// The remainder of the prefix and the digits under the code's generator.
fn residue(hrp: &str, digits: &[u8]) -> u32 {
    let high = hrp.bytes().map(|byte| byte >> 5);
    let low = hrp.bytes().map(|byte| byte & 31);
    high.chain([0]).chain(low).chain(digits.iter().copied()).fold(1, |sum, value| {
        let top = sum >> 25;
        let next = ((sum & 0x01ff_ffff) << 5) ^ u32::from(value);
        let generator = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
        (0..5).filter(|bit| (top >> bit) & 1 == 1).fold(next, |sum, bit| sum ^ generator[bit])
    })
}
