//! Text of values, written while they are read.

use alloy_primitives::{Address, I256, U256, hex};
use esker_primitives::plain_text;

use crate::types::{AbiType, Param};

/// Most bytes of a `bytes` value that are shown.
const MAX_BYTES: usize = 64;
/// Most characters of a `string` value that are shown.
const MAX_STRING: usize = 400;

/// Why no more is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The text is long enough.
    Full,
    /// The data is not that of the type.
    Malformed,
}

/// A text of bounded length.
#[derive(Debug)]
pub(crate) struct Text {
    out: String,
    max: usize,
}

impl Text {
    pub(crate) fn new(max: usize) -> Self {
        Self { out: String::new(), max }
    }

    pub(crate) fn into_string(self) -> String {
        self.out
    }

    fn push(&mut self, text: &str) -> Result<(), Stop> {
        let room = self.max.saturating_sub(self.out.len());
        self.out.push_str(&text[..text.floor_char_boundary(room)]);
        if text.len() > room { Err(Stop::Full) } else { Ok(()) }
    }

    /// Writes the value of a type whose place is at `at`; offsets in it count from the beginning of `data`.
    pub(crate) fn value(&mut self, ty: &AbiType, data: &[u8], at: usize) -> Result<(), Stop> {
        if ty.is_dynamic() {
            let start = length(word(data, at)?)?;
            let data = data.get(start..).ok_or(Stop::Malformed)?;
            return self.content(ty, data);
        }
        self.in_place(ty, data, at)
    }

    /// Writes a value of static type.
    fn in_place(&mut self, ty: &AbiType, data: &[u8], at: usize) -> Result<(), Stop> {
        match ty {
            AbiType::FixedArray(of, length) => self.sequence(*length, |text, index| {
                let at = index.checked_mul(of.head()).and_then(|skip| at.checked_add(skip));
                text.in_place(of, data, at.ok_or(Stop::Malformed)?)
            }),
            AbiType::Tuple(members) => self.members(members, data, at),
            ty => {
                let text = static_text(ty, word(data, at)?)?;
                self.push(&text)
            }
        }
    }

    /// Writes a value of dynamic type that is at the beginning of `data`.
    fn content(&mut self, ty: &AbiType, data: &[u8]) -> Result<(), Stop> {
        match ty {
            AbiType::Bytes => self.push(&bytes_text(bytes(data)?)),
            AbiType::String => self.push(&string_text(bytes(data)?)),
            AbiType::Array(of) => {
                let count = length(word(data, 0)?)?;
                self.elements(of, count, &data[32..])
            }
            AbiType::FixedArray(of, count) => self.elements(of, *count, data),
            AbiType::Tuple(members) => self.members(members, data, 0),
            _ => Err(Stop::Malformed),
        }
    }

    fn elements(&mut self, of: &AbiType, count: usize, data: &[u8]) -> Result<(), Stop> {
        // Also so that nobody waits for a text that ends in an error.
        let size = count.checked_mul(of.head()).ok_or(Stop::Malformed)?;
        if size > data.len() {
            return Err(Stop::Malformed);
        }
        self.sequence(count, |text, index| text.value(of, data, index * of.head()))
    }

    fn sequence(
        &mut self,
        count: usize,
        mut element: impl FnMut(&mut Self, usize) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.push("[")?;
        for index in 0..count {
            if index > 0 {
                self.push(", ")?;
            }
            element(self, index)?;
        }
        self.push("]")
    }

    fn members(&mut self, members: &[Param], data: &[u8], at: usize) -> Result<(), Stop> {
        self.push("(")?;
        let mut at = at;
        for (index, Param { name, ty, .. }) in members.iter().enumerate() {
            if index > 0 {
                self.push(", ")?;
            }
            if !name.is_empty() {
                self.push(name)?;
                self.push(": ")?;
            }
            self.value(ty, data, at)?;
            at = at.checked_add(ty.head()).ok_or(Stop::Malformed)?;
        }
        self.push(")")
    }
}

pub(crate) fn word(data: &[u8], at: usize) -> Result<&[u8; 32], Stop> {
    data.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Stop::Malformed)
}

fn length(word: &[u8; 32]) -> Result<usize, Stop> {
    U256::from_be_slice(word).try_into().map_err(|_| Stop::Malformed)
}

/// Bytes after their length.
fn bytes(data: &[u8]) -> Result<&[u8], Stop> {
    let length = length(word(data, 0)?)?;
    data[32..].get(..length).ok_or(Stop::Malformed)
}

/// The text of a value of one word.
fn static_text(ty: &AbiType, word: &[u8; 32]) -> Result<String, Stop> {
    let fits = |is_it: bool| is_it.then_some(()).ok_or(Stop::Malformed);
    let number = U256::from_be_slice(word);
    Ok(match ty {
        AbiType::Uint(bits) => {
            fits(number.bit_len() <= *bits)?;
            number.to_string()
        }
        AbiType::Int(bits) => {
            let number = I256::from_raw(number);
            fits(number.bits() <= u32::try_from(*bits).unwrap_or(256))?;
            number.to_string()
        }
        AbiType::Address => {
            fits(number.bit_len() <= 160)?;
            Address::from_slice(&word[12..]).to_string()
        }
        AbiType::Bool => {
            fits(number.bit_len() <= 1)?;
            (!number.is_zero()).to_string()
        }
        AbiType::FixedBytes(length) => {
            fits(word[*length..].iter().all(|byte| *byte == 0))?;
            hex::encode_prefixed(&word[..*length])
        }
        _ => return Err(Stop::Malformed),
    })
}

/// `0x` and digits, of a long value the first ones.
pub(crate) fn bytes_text(bytes: &[u8]) -> String {
    match bytes.get(..MAX_BYTES).filter(|_| bytes.len() > MAX_BYTES) {
        None => hex::encode_prefixed(bytes),
        Some(first) => format!("{}... ({} bytes)", hex::encode_prefixed(first), bytes.len()),
    }
}

/// The text in quotes and without control characters, of a long value the first characters.
fn string_text(bytes: &[u8]) -> String {
    // A character has at most four bytes.
    let first = &bytes[..bytes.len().min(4 * MAX_STRING + 4)];
    let text = String::from_utf8_lossy(first).replace('"', "\\\"");
    format!("\"{}\"", plain_text(&text, MAX_STRING))
}
