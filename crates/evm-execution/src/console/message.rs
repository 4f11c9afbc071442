//! Decodes the data of a call.

use alloy_primitives::{Address, I256, U256, hex};
use thiserror::Error;

use super::format;
use super::signature::{Kind, Signature};
use super::value::Value;

/// Bytes of a word.
const WORD: usize = 32;
/// Most bytes of call data that a text shows, if they can't be decoded.
const MAX_SHOWN: usize = 1024;

/// A decoded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The called function.
    pub signature: &'static Signature,
    /// Its arguments.
    pub values: Vec<Value>,
}

/// Why call data are not those of a function of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// There is no selector.
    #[error("shorter than a selector")]
    NoSelector,
    /// The selector is that of no function.
    #[error("not a function of the console")]
    Unknown,
    /// An argument is not the encoding of a value of its type.
    #[error("argument {} of {} is malformed", .index + 1, .signature.text)]
    Argument {
        /// The function.
        signature: &'static Signature,
        /// Index of the argument.
        index: usize,
    },
}

impl Message {
    /// Decodes call data. Bytes after the arguments are ignored.
    pub fn decode(input: &[u8]) -> Result<Self, Malformed> {
        let (selector, arguments) = input.split_first_chunk().ok_or(Malformed::NoSelector)?;
        let signature = Signature::by_selector(*selector).ok_or(Malformed::Unknown)?;
        let kinds = signature.kinds.iter().enumerate();
        let values = kinds.map(|(index, kind)| {
            argument(*kind, arguments, index).ok_or(Malformed::Argument { signature, index })
        });
        Ok(Self { signature, values: values.collect::<Result<_, _>>()? })
    }

    /// The printed text. It may have any characters.
    pub fn text(&self) -> String {
        format::text(&self.values)
    }

    /// The text of a call, also of one that can't be decoded: its first bytes and the reason.
    pub fn text_of(input: &[u8]) -> String {
        let error = match Self::decode(input) {
            Ok(message) => return message.text(),
            Err(error) => error,
        };
        let shown = hex::encode_prefixed(&input[..input.len().min(MAX_SHOWN)]);
        let more = if input.len() > MAX_SHOWN { "..." } else { "" };
        format!("{shown}{more} ({} bytes, {error})", input.len())
    }
}

/// The argument with this index; `None` if it is not the encoding of a value.
fn argument(kind: Kind, arguments: &[u8], index: usize) -> Option<Value> {
    let (word, _) = arguments.get(index * WORD..)?.split_first_chunk::<WORD>()?;
    let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    Some(match kind {
        Kind::Uint => Value::Uint(U256::from_be_bytes(*word)),
        Kind::Int => Value::Int(I256::from_be_bytes(*word)),
        Kind::String => Value::String(dynamic(arguments, word)?.to_vec()),
        Kind::Bytes => Value::Bytes(dynamic(arguments, word)?.to_vec()),
        Kind::Bool => match (is_zero(&word[..WORD - 1]), word[WORD - 1]) {
            (true, byte @ (0 | 1)) => Value::Bool(byte == 1),
            _ => return None,
        },
        Kind::Address => {
            let (high, address) = word.split_at(WORD - Address::len_bytes());
            is_zero(high).then(|| Value::Address(Address::from_slice(address)))?
        }
        Kind::FixedBytes(length) => {
            let (bytes, rest) = word.split_at(length);
            is_zero(rest).then(|| Value::Bytes(bytes.to_vec()))?
        }
    })
}

/// The bytes at an offset, after their length.
fn dynamic<'i>(arguments: &'i [u8], offset: &[u8; WORD]) -> Option<&'i [u8]> {
    let number = |word: &[u8; WORD]| usize::try_from(U256::from_be_bytes(*word)).ok();
    let (length, bytes) = arguments.get(number(offset)?..)?.split_first_chunk::<WORD>()?;
    bytes.get(..number(length)?)
}
