//! What the getUTXOs of all chains have in common: how many addresses, who exported, a place in a walk, a page's
//! texts.

use esker_primitives::ids::IdError;
use esker_primitives::{ChainId, Id, ShortId, excerpt, go};
use esker_rpc::RpcError;
use esker_rpc::wire::{Encoding, EncodingError};
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
    #[error("problem parsing source chainID {quoted}: there is no ID with alias: {alias}", quoted = go::quote(.0), alias = excerpt(.0))]
    SourceChain(String),
    /// The UTXO that a page starts after is no ID.
    #[error("couldn't parse start index utxo: {0}")]
    StartUtxo(IdError),
}

impl From<ListingError> for RpcError {
    fn from(error: ListingError) -> Self {
        Self::new(error.to_string())
    }
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
    /// The place of a UTXO, of an address in the form of the chain.
    pub fn new(address: String, utxo_id: &Id) -> Self {
        Self { address, utxo: utxo_id.to_string() }
    }

    /// Where to start: after this UTXO of this address. It is given if either member is.
    ///
    /// # Errors
    /// The address is none, or else the UTXO's ID is none.
    pub fn start<E: From<ListingError>>(
        &self,
        parse_address: impl FnOnce(&str) -> Result<ShortId, E>,
    ) -> Result<Option<(ShortId, Id)>, E> {
        if self.address.is_empty() && self.utxo.is_empty() {
            return Ok(None);
        }
        let address = parse_address(&self.address)?;
        Ok(Some((address, self.utxo.parse().map_err(ListingError::StartUtxo)?)))
    }
}

/// The texts of a page's UTXOs, as it is walked.
#[derive(Debug)]
pub struct PageTexts {
    encoding: Encoding,
    texts: Vec<String>,
    refused: Option<(Id, EncodingError)>,
}

impl PageTexts {
    /// None yet.
    pub const fn new(encoding: Encoding) -> Self {
        Self { encoding, texts: Vec::new(), refused: None }
    }

    /// Adds the text of a UTXO.
    pub fn add(&mut self, id: &Id, bytes: &[u8]) {
        if self.refused.is_none() {
            match self.encoding.encode(bytes) {
                Ok(text) => self.texts.push(text),
                Err(cause) => self.refused = Some((*id, cause)),
            }
        }
    }

    /// All texts.
    ///
    /// # Errors
    /// The first UTXO that has none in this encoding, and why.
    pub fn finish(self) -> Result<Vec<String>, (Id, EncodingError)> {
        self.refused.map_or(Ok(self.texts), Err)
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
