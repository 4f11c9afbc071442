//! What the getUTXOs of all chains have in common: how many addresses, who exported, a place in a walk.

use esker_primitives::ids::IdError;
use esker_primitives::{ChainId, Id, go};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Aliases;

/// Most addresses of one call, counted as given.
pub const MAX_ADDRESSES: usize = 1024;

/// Most UTXOs of one reply; larger limits become this.
pub const MAX_UTXO_PAGE: usize = 1024;

/// Why UTXOs can't be listed, with the reference's texts.
#[derive(Clone, Debug, Error)]
pub enum ListingError {
    /// No address was given.
    #[error("no addresses provided")]
    NoAddresses,
    /// More than [`MAX_ADDRESSES`].
    #[error("number of addresses given, {0}, exceeds maximum, {MAX_ADDRESSES}")]
    TooManyAddresses(usize),
    /// The source is no chain that the node knows.
    #[error("problem parsing source chainID {quoted}: there is no ID with alias: {0}", quoted = go::quote(.0))]
    SourceChain(String),
    /// The UTXO that a page starts after is no ID.
    #[error("couldn't parse start index utxo: {0}")]
    StartUtxo(IdError),
}

/// A place in a walk over UTXOs, as arguments and replies have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct UtxoIndex {
    /// An address in the form of the chain.
    pub address: String,
    /// The ID of a UTXO of that address.
    pub utxo: String,
}

impl UtxoIndex {
    /// Is there a place? One member is enough.
    pub fn is_given(&self) -> bool {
        !(self.address.is_empty() && self.utxo.is_empty())
    }

    /// The UTXO.
    pub fn utxo_id(&self) -> Result<Id, ListingError> {
        self.utxo.parse().map_err(ListingError::StartUtxo)
    }
}

/// Refuses no addresses, and too many.
pub fn check_number(given: usize) -> Result<(), ListingError> {
    match given {
        0 => Err(ListingError::NoAddresses),
        1..=MAX_ADDRESSES => Ok(()),
        _ => Err(ListingError::TooManyAddresses(given)),
    }
}

/// The chain that exported, by alias or ID.
pub fn source_chain(aliases: &dyn Aliases, text: &str) -> Result<ChainId, ListingError> {
    aliases.lookup(text).ok_or_else(|| ListingError::SourceChain(text.to_owned()))
}
