//! Addresses as clients write them: `<chain>-<bech32>`. Resolving the chain part is left to callers that know chains.

use crate::bech32::{self, Bech32Error};
use crate::ids::ShortId;

const SEPARATOR: char = '-';

/// The reason why a text is not an address. The texts are the reference's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The text has no `-`.
    #[error("no separator found in address")]
    NoSeparator,
    /// The part after the first `-` is not bech32.
    #[error(transparent)]
    Bech32(#[from] Bech32Error),
}

/// The text of an address, e.g. `X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u`.
pub fn format(alias: &str, hrp: &str, address: &ShortId) -> String {
    let bech32 = bech32::encode(hrp, address.as_bytes());
    let mut text = String::with_capacity(alias.len() + 1 + bech32.len());
    text.push_str(alias);
    text.push(SEPARATOR);
    text.push_str(&bech32);
    text
}

/// Chain part, bech32 prefix and data of an address; none of them is checked further.
pub fn split(text: &str) -> Result<(String, String, Vec<u8>), AddressError> {
    let (alias, rest) = text.split_once(SEPARATOR).ok_or(AddressError::NoSeparator)?;
    let (hrp, data) = bech32::decode(rest)?;
    Ok((alias.to_owned(), hrp, data))
}
