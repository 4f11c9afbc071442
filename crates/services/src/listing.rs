//! Shared code of the chains' getUTXOs: limits on addresses, the source chain, page positions, and the texts of a
//! page.

use esker_chain::Aliases;
use esker_primitives::ids::IdError;
use esker_primitives::{ChainId, Id, ShortId, excerpt, go};
use esker_rpc::RpcError;
use esker_rpc::wire::{Encoding, EncodingError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Most addresses of one call, duplicates included.
pub const MAX_ADDRESSES: usize = 1024;

/// The reason why UTXOs can't be listed, with the reference's texts.
#[derive(Clone, Debug, Error)]
pub enum ListingError {
    /// No address was given.
    #[error("no addresses provided")]
    NoAddresses,
    /// There are more than [`MAX_ADDRESSES`].
    #[error("number of addresses given, {0}, exceeds maximum, {MAX_ADDRESSES}")]
    TooManyAddresses(usize),
    /// The source is not a known chain.
    #[error("problem parsing source chainID {quoted}: there is no ID with alias: {alias}", quoted = go::quote(.0), alias = excerpt(.0))]
    SourceChain(String),
    /// The UTXO ID at the start of the page is invalid.
    #[error("couldn't parse start index utxo: {0}")]
    StartUtxo(IdError),
}

impl From<ListingError> for RpcError {
    fn from(error: ListingError) -> Self {
        Self::new(error.to_string())
    }
}

/// A position in a list of UTXOs, in arguments and replies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct UtxoIndex {
    /// An address, formatted by the chain.
    pub address: String,
    /// ID of a UTXO that the address owns.
    pub utxo: String,
}

impl UtxoIndex {
    /// The position of a UTXO; the chain has formatted the address.
    pub fn new(address: String, utxo_id: &Id) -> Self {
        Self { address, utxo: utxo_id.to_string() }
    }

    /// The start of a page: after this UTXO of this address. `None` if both members are empty.
    ///
    /// # Errors
    /// The address is invalid, or the UTXO's ID is.
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

/// The UTXO texts of a page under construction.
#[derive(Debug)]
pub struct PageTexts {
    encoding: Encoding,
    texts: Vec<String>,
    refused: Option<(Id, EncodingError)>,
}

impl PageTexts {
    /// An empty page.
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
    /// The first UTXO that can't be encoded, and why.
    pub fn finish(self) -> Result<Vec<String>, (Id, EncodingError)> {
        self.refused.map_or(Ok(self.texts), Err)
    }
}

/// Refuses an empty list of addresses, and a list with too many.
pub fn check_number(given: usize) -> Result<(), ListingError> {
    match given {
        0 => Err(ListingError::NoAddresses),
        1..=MAX_ADDRESSES => Ok(()),
        _ => Err(ListingError::TooManyAddresses(given)),
    }
}

/// The exporting chain, by alias or ID.
///
/// # Errors
/// There is no such chain.
pub fn source_chain(aliases: &dyn Aliases, text: &str) -> Result<ChainId, ListingError> {
    aliases.lookup(text).ok_or_else(|| ListingError::SourceChain(text.to_owned()))
}
