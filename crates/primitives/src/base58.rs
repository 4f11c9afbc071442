//! Base58 in the Bitcoin alphabet.
//!
//! This is our own code for three reasons: errors of digits have the reference's texts, each step handles five digits
//! (identifiers are rendered by the thousand), and the caller bounds the quadratic cost of a long text.

use std::fmt;

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const NO_DIGIT: u8 = 0xff;
const DIGITS: [u8; 128] = digit_table();
/// Digits of one limb: 58^5 is the largest power below 2^32.
const LIMB_DIGITS: usize = 5;
const LIMB_BASE: u32 = 58u32.pow(LIMB_DIGITS as u32);

const fn digit_table() -> [u8; 128] {
    let mut table = [NO_DIGIT; 128];
    let mut value = 0;
    while value < ALPHABET.len() {
        table[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    table
}

/// The reason why a text is not base58.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DigitError {
    Empty,
    NotAscii,
    NotADigit(char),
}

impl fmt::Display for DigitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("zero length string"),
            Self::NotAscii => f.write_str("High-bit set on invalid digit"),
            Self::NotADigit(c) => write!(f, "Invalid base58 digit ({})", crate::go::quote_char(*c)),
        }
    }
}

/// Most bytes of the text of `len` input bytes.
pub(crate) const fn max_text_len(len: usize) -> usize {
    limbs_for(len) * LIMB_DIGITS + len
}

/// Limbs of base 58^5 that hold `len` bytes: a limb takes 29.28 bits, here 29.
pub(crate) const fn limbs_for(len: usize) -> usize {
    len * 8 / 29 + 2
}

/// Writes the text of `input` to the end of `out` (at least `max_text_len` long) and returns where it starts.
/// `limbs` is scratch space of at least `limbs_for(input.len())`.
pub(crate) fn encode_to(input: &[u8], limbs: &mut [u32], out: &mut [u8]) -> usize {
    let zeros = input.iter().take_while(|b| **b == 0).count();
    let mut used = 0;
    let mut push_word = |mut carry: u64, bits: usize| {
        for limb in &mut limbs[..used] {
            let value = (u64::from(*limb) << bits) + carry;
            *limb = (value % u64::from(LIMB_BASE)) as u32;
            carry = value / u64::from(LIMB_BASE);
        }
        while carry != 0 {
            limbs[used] = (carry % u64::from(LIMB_BASE)) as u32;
            carry /= u64::from(LIMB_BASE);
            used += 1;
        }
    };
    for word in input[zeros..].chunks(4) {
        let value = word.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte));
        push_word(value, word.len() * 8);
    }
    let mut start = out.len();
    for (place, limb) in limbs[..used].iter().enumerate() {
        let mut rest = *limb;
        // The topmost limb has no leading zero digits.
        let mut count = 0;
        while if place + 1 == used { rest != 0 } else { count < LIMB_DIGITS } {
            start -= 1;
            out[start] = ALPHABET[(rest % 58) as usize];
            rest /= 58;
            count += 1;
        }
    }
    out[start - zeros..start].fill(ALPHABET[0]);
    start - zeros
}

/// Fails at the first character that is not a digit.
pub(crate) fn check_digits(text: &str) -> Result<(), DigitError> {
    if text.is_empty() {
        return Err(DigitError::Empty);
    }
    match text.chars().find(|c| !c.is_ascii() || DIGITS[*c as usize] == NO_DIGIT) {
        None => Ok(()),
        Some(c) if c.is_ascii() => Err(DigitError::NotADigit(c)),
        Some(_) => Err(DigitError::NotAscii),
    }
}

/// The bytes of a text. The cost grows with the square of its length.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, DigitError> {
    check_digits(text)?;
    let text = text.as_bytes();
    let zeros = text.iter().take_while(|b| **b == ALPHABET[0]).count();
    let digits = &text[zeros..];
    // Little-endian words of base 2^32; a digit takes under 6 bits.
    let mut words: Vec<u32> = Vec::with_capacity(digits.len() * 6 / 32 + 1);
    for group in digits.chunks(LIMB_DIGITS) {
        let mut carry =
            group.iter().fold(0, |sum, digit| sum * 58 + u64::from(DIGITS[usize::from(*digit)]));
        let factor = 58u64.pow(group.len() as u32);
        for word in &mut words {
            let value = u64::from(*word) * factor + carry;
            *word = value as u32;
            carry = value >> 32;
        }
        if carry != 0 {
            words.push(carry as u32);
        }
    }
    let mut bytes = vec![0; zeros];
    let top = words.last().map_or(0, |word| word.leading_zeros() as usize / 8);
    bytes.extend(words.iter().rev().flat_map(|word| word.to_be_bytes()).skip(top));
    Ok(bytes)
}
