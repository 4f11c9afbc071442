//! Reading ABI-encoded values, with Go's texts.

use alloy_primitives::{U256, U512};
use thiserror::Error;

/// Bytes of a word.
pub(crate) const WORD: usize = 32;

/// Why arguments are not the encoding of the expected values. The texts are those of Go's package `abi`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum AbiError {
    /// There are no arguments.
    #[error("abi: attempting to unmarshal an empty string while arguments are expected")]
    Empty,
    /// The arguments end within a value.
    #[error("abi: cannot marshal in to go type: length insufficient {length} require {required}")]
    TooShort {
        /// Bytes of the arguments.
        length: usize,
        /// Bytes that the value needs.
        required: U256,
    },
    /// The offset of a value points beyond the arguments.
    #[error(
        "abi: cannot marshal in to go slice: offset {end} would go over slice boundary \
         (len={length})"
    )]
    Offset {
        /// End of the value's length.
        end: U512,
        /// Bytes of the arguments.
        length: usize,
    },
    /// The end of a value has more than 63 bits.
    #[error("abi: length larger than int64: {0}")]
    TooLong(U512),
    /// The number has more than 32 bits.
    #[error("abi: improperly encoded uint32 value")]
    Uint32,
}

/// The first argument, a number.
pub(crate) fn word(arguments: &[u8]) -> Result<U256, AbiError> {
    if arguments.is_empty() {
        return Err(AbiError::Empty);
    }
    let word = arguments
        .first_chunk::<WORD>()
        .ok_or(AbiError::TooShort { length: arguments.len(), required: U256::from(WORD) })?;
    Ok(U256::from_be_bytes(*word))
}

/// The first argument, a number of 32 bits.
pub(crate) fn uint32(arguments: &[u8]) -> Result<u32, AbiError> {
    u32::try_from(word(arguments)?).map_err(|_| AbiError::Uint32)
}

/// The first argument, `bytes` or `string`.
pub(crate) fn bytes(arguments: &[u8]) -> Result<&[u8], AbiError> {
    let length = U256::from(arguments.len());
    let word_bytes = U256::from(WORD);
    // Go's numbers have no limit. A sum beyond 256 bits is also beyond the end of any input.
    let offset = word(arguments)?;
    let start = offset.saturating_add(word_bytes);
    if start > length {
        return Err(AbiError::Offset { end: sum(offset, word_bytes), length: arguments.len() });
    }
    let start = start.saturating_to::<usize>();
    let size = U256::from_be_slice(&arguments[start - WORD..start]);
    let end = size.saturating_add(U256::from(start));
    if end.bit_len() > 63 {
        return Err(AbiError::TooLong(sum(size, U256::from(start))));
    }
    if end > length {
        return Err(AbiError::TooShort { length: arguments.len(), required: end });
    }
    Ok(&arguments[start..end.saturating_to()])
}

/// A sum that can't overflow.
fn sum(a: U256, b: U256) -> U512 {
    U512::from(a) + U512::from(b)
}
