//! Service addresses: `<chain alias>-<hrp>1<data>` (docs/protocol/encodings.md, "Service addresses").

use esker_primitives::address::{self, AddressError};
use esker_primitives::cb58;
use esker_primitives::go;
use esker_primitives::ids::IdError;
use esker_primitives::{ChainId, ShortId, excerpt};
use thiserror::Error;

use crate::context::Aliases;

/// The reason why a service address was refused, with the reference's text.
#[derive(Debug, Error)]
#[error("couldn't parse address {quoted}: {cause}")]
pub struct ServiceAddressError {
    quoted: String,
    /// The cause.
    pub cause: ServiceAddressCause,
}

/// The part of [`ServiceAddressError`] that follows the address.
#[derive(Debug, Error)]
pub enum ServiceAddressCause {
    /// The text has no separator, or the part after it is not bech32.
    #[error(transparent)]
    Text(#[from] AddressError),
    /// The prefix is not the name of a chain.
    #[error("there is no ID with alias: {}", excerpt(.0))]
    UnknownAlias(String),
    /// The address belongs to another network.
    #[error("expected hrp {expected} but got {got}")]
    Hrp {
        /// The node's prefix, quoted.
        expected: String,
        /// The address's prefix, quoted.
        got: String,
    },
    /// The data does not have the length of an address.
    #[error("invalid hash length: expected 20 bytes but got {0}")]
    Length(usize),
    /// The address belongs to another chain.
    #[error("mismatched chainIDs: expected \"{expected}\" but got \"{got}\"")]
    OtherChain {
        /// The chain that serves the request.
        expected: ChainId,
        /// The chain that the prefix names.
        got: ChainId,
    },
}

/// Parses an address argument of a method of `this_chain`: bech32, or the cb58 text of 20 bytes. Chain and network of
/// a cb58 text are not checked.
pub fn parse_service_address(
    aliases: &dyn Aliases,
    this_chain: &ChainId,
    hrp: &str,
    text: &str,
) -> Result<ShortId, ServiceAddressError> {
    if let Ok(raw) = cb58::decode(text)
        && let Ok(bytes) = <[u8; ShortId::LEN]>::try_from(raw.as_slice())
    {
        return Ok(ShortId::new(bytes));
    }
    let fail = |cause| ServiceAddressError { quoted: go::quote(text), cause };
    let (chain, short) = parse_any_chain(aliases, hrp, text).map_err(fail)?;
    if chain != *this_chain {
        return Err(fail(ServiceAddressCause::OtherChain { expected: *this_chain, got: chain }));
    }
    Ok(short)
}

/// The reason why a text is not a valid export destination. The texts are the reference's.
#[derive(Debug, Error)]
pub enum DestinationError {
    /// The name of the chain is unknown.
    #[error("there is no ID with alias: {}", excerpt(.0))]
    Chain(String),
    /// The text is not 20 bytes in cb58.
    #[error(transparent)]
    Address(#[from] IdError),
}

/// Parses the destination of an export. A prefix of `to` determines the chain. Without a prefix, `target` determines
/// it, and `to` is the cb58 text of 20 bytes.
pub fn parse_destination(
    aliases: &dyn Aliases,
    hrp: &str,
    to: &str,
    target: &str,
) -> Result<(ChainId, ShortId), DestinationError> {
    if let Ok(found) = parse_any_chain(aliases, hrp, to) {
        return Ok(found);
    }
    let chain = aliases.lookup(target);
    let chain = chain.ok_or_else(|| DestinationError::Chain(target.to_owned()))?;
    Ok((chain, to.parse()?))
}

/// Parses an address with the prefix of any known chain; also returns that chain.
pub fn parse_any_chain(
    aliases: &dyn Aliases,
    hrp: &str,
    text: &str,
) -> Result<(ChainId, ShortId), ServiceAddressCause> {
    let (alias, got_hrp, data) = address::split(text)?;
    let chain =
        aliases.lookup(&alias).ok_or_else(|| ServiceAddressCause::UnknownAlias(alias.clone()))?;
    if got_hrp != hrp {
        return Err(ServiceAddressCause::Hrp {
            expected: go::quote(hrp),
            got: go::quote(&got_hrp),
        });
    }
    let bytes: [u8; ShortId::LEN] =
        data.as_slice().try_into().map_err(|_| ServiceAddressCause::Length(data.len()))?;
    Ok((chain, ShortId::new(bytes)))
}
