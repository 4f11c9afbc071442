//! Bytes and addresses in the texts of files.

use esker_primitives::ShortId;
use esker_primitives::address::{self, AddressError};
use esker_primitives::bech32::{self, Bech32Error};
use hex::FromHexError;
use thiserror::Error;

/// The reason why a text is not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum BytesError {
    /// It does not begin with 0x.
    #[error("expected 0x and hex digits")]
    NoPrefix,
    /// It is not hexadecimal.
    #[error(transparent)]
    Hex(#[from] FromHexError),
}

/// The reason why a text is not an address that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressTextError {
    /// It has no chain, or the rest is not bech32.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// It is not bech32.
    #[error(transparent)]
    Bech32(#[from] Bech32Error),
    /// It is an address of another network.
    #[error("expected hrp \"{expected}\" but got \"{found}\"")]
    Hrp {
        /// Prefix of the network.
        expected: String,
        /// Prefix of the address.
        found: String,
    },
    /// It has another number of bytes.
    #[error("an address has 20 bytes, not {0}")]
    Length(usize),
}

/// Bytes in hex with 0x; an empty text is no bytes.
pub(super) fn hex_bytes(text: &str) -> Result<Vec<u8>, BytesError> {
    match text.strip_prefix("0x") {
        Some(digits) => Ok(hex::decode(digits)?),
        None if text.is_empty() => Ok(Vec::new()),
        None => Err(BytesError::NoPrefix),
    }
}

/// An address with a chain's alias; alias and network are ignored.
pub(super) fn address_with_alias(text: &str) -> Result<ShortId, AddressTextError> {
    let (_, _, data) = address::split(text)?;
    short_id(&data)
}

/// An address without a chain's alias, of any network.
pub(super) fn bare_address(text: &str) -> Result<ShortId, AddressTextError> {
    let (_, data) = bech32::decode(text)?;
    short_id(&data)
}

/// An address of a network with this prefix, with or without a chain's alias.
pub(crate) fn network_address(text: &str, hrp: &str) -> Result<ShortId, AddressTextError> {
    let bare = text.split_once('-').map_or(text, |(_, bare)| bare);
    let (found, data) = bech32::decode(bare)?;
    if found != hrp {
        return Err(AddressTextError::Hrp { expected: hrp.to_owned(), found });
    }
    short_id(&data)
}

fn short_id(data: &[u8]) -> Result<ShortId, AddressTextError> {
    let bytes = data.try_into().map_err(|_| AddressTextError::Length(data.len()))?;
    Ok(ShortId::new(bytes))
}
