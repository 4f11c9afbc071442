//! Reading ABI-encoded values, with Go's texts.

use alloy_primitives::{U256, U512};

/// Bytes of a word.
pub(crate) const WORD: usize = 32;

const EMPTY: &str = "abi: attempting to unmarshal an empty string while arguments are expected";

/// The first argument, a number.
pub(crate) fn word(arguments: &[u8]) -> Result<U256, String> {
    if arguments.is_empty() {
        return Err(EMPTY.into());
    }
    let word = arguments.first_chunk::<WORD>().ok_or_else(|| {
        let length = arguments.len();
        format!("abi: cannot marshal in to go type: length insufficient {length} require {WORD}")
    })?;
    Ok(U256::from_be_bytes(*word))
}

/// The first argument, `bytes` or `string`.
pub(crate) fn bytes(arguments: &[u8]) -> Result<&[u8], String> {
    let length = U256::from(arguments.len());
    let word_bytes = U256::from(WORD);
    // Go's numbers have no limit; a sum beyond 256 bits is beyond any input too.
    let offset = word(arguments)?;
    let start = offset.saturating_add(word_bytes);
    if start > length {
        let offset = sum(offset, word_bytes);
        return Err(format!(
            "abi: cannot marshal in to go slice: offset {offset} would go over slice boundary \
             (len={length})"
        ));
    }
    let start = start.saturating_to::<usize>();
    let size = U256::from_be_slice(&arguments[start - WORD..start]);
    let end = size.saturating_add(U256::from(start));
    if end.bit_len() > 63 {
        return Err(format!("abi: length larger than int64: {}", sum(size, U256::from(start))));
    }
    if end > length {
        return Err(format!(
            "abi: cannot marshal in to go type: length insufficient {length} require {end}"
        ));
    }
    Ok(&arguments[start..end.saturating_to()])
}

/// The decimal text of a sum of any size.
fn sum(a: U256, b: U256) -> String {
    (U512::from(a) + U512::from(b)).to_string()
}
