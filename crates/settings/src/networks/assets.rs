//! `genesisData`: the assets of an asset-VM chain in the JSON format of `xvm.buildGenesis`. It is parsed strictly: an
//! unknown member is an error, because it may be a misspelling.

use std::collections::BTreeMap;

use esker_primitives::ShortId;
use esker_rpc::wire::{JsonU8, JsonU32, JsonU64};
use esker_xvm::genesis::define::{self, AssetDefinition, DefinitionError, Holder, Minters};
use serde::Deserialize;
use thiserror::Error;

use super::text::{AddressTextError, BytesError, bare_address, hex_bytes};

/// Genesis data by alias.
pub(super) type GenesisData = BTreeMap<String, Asset>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Asset {
    name: String,
    #[serde(default)]
    symbol: String,
    #[serde(default)]
    denomination: JsonU8,
    #[serde(default)]
    initial_state: InitialState,
    /// 0x and hex, without a checksum.
    #[serde(default)]
    memo: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct InitialState {
    fixed_cap: Option<Vec<JsonHolder>>,
    variable_cap: Option<Vec<JsonMinters>>,
    non_fungible: Option<Vec<JsonMinters>>,
    limited_transfer: Option<Vec<JsonMinters>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonHolder {
    amount: JsonU64,
    address: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonMinters {
    minters: Vec<String>,
    threshold: JsonU32,
}

/// The reason why genesis data give no genesis.
#[derive(Debug, Error)]
pub enum GenesisDataError {
    /// They are not JSON, or a member is missing, unknown or of another type.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// An asset can't be used.
    #[error("asset \"{alias}\": {error}")]
    Asset {
        /// Alias of the asset.
        alias: String,
        /// The fault.
        error: AssetError,
    },
    /// There is no asset.
    #[error("there must be at least one asset: the first, by alias, pays the fees")]
    NoAsset,
    /// The assets give no genesis.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

/// The reason why an asset can't be used.
#[derive(Debug, Error)]
pub enum AssetError {
    /// The memo is not bytes.
    #[error("memo: {0}")]
    Memo(#[source] BytesError),
    /// An entry of the initial state can't be used.
    #[error("{list}[{index}]: {error}")]
    Entry {
        /// The member.
        list: &'static str,
        /// Position of the entry.
        index: usize,
        /// The fault.
        error: EntryError,
    },
}

/// The reason why an entry of the initial state can't be used.
#[derive(Debug, Error)]
pub enum EntryError {
    /// An address is none.
    #[error("\"{text}\": {error}")]
    Address {
        /// The text.
        text: String,
        /// The fault.
        error: Box<AddressTextError>,
    },
    /// The threshold is zero, or above the number of minters.
    #[error("a threshold of {threshold} of {minters} minters")]
    Threshold {
        /// The threshold.
        threshold: u32,
        /// Number of minters.
        minters: usize,
    },
}

/// Encodes the data as genesis bytes.
pub(super) fn genesis_bytes(
    network_id: u32,
    data: GenesisData,
) -> Result<Vec<u8>, GenesisDataError> {
    let definitions = data
        .into_iter()
        .map(|(alias, asset)| {
            definition(alias.clone(), asset)
                .map_err(|error| GenesisDataError::Asset { alias, error })
        })
        .collect::<Result<Vec<_>, _>>()?;
    if definitions.is_empty() {
        return Err(GenesisDataError::NoAsset);
    }
    Ok(define::genesis(network_id, definitions)?.to_bytes())
}

fn definition(alias: String, asset: Asset) -> Result<AssetDefinition, AssetError> {
    let state = asset.initial_state;
    Ok(AssetDefinition {
        alias,
        name: asset.name,
        symbol: asset.symbol,
        denomination: asset.denomination.0,
        memo: hex_bytes(&asset.memo).map_err(AssetError::Memo)?,
        fixed_cap: all(state.fixed_cap, "fixedCap", |holder| {
            Ok(Holder { amount: holder.amount.0, address: address(&holder.address)? })
        })?,
        variable_cap: all(state.variable_cap, "variableCap", minters)?,
        non_fungible: all(state.non_fungible, "nonFungible", minters)?,
        limited_transfer: all(state.limited_transfer, "limitedTransfer", minters)?,
    })
}

/// Parses the entries of an optional list.
fn all<A, B>(
    list: Option<Vec<A>>,
    name: &'static str,
    read: impl Fn(A) -> Result<B, EntryError>,
) -> Result<Option<Vec<B>>, AssetError> {
    let Some(list) = list else { return Ok(None) };
    let read = |(index, entry)| {
        read(entry).map_err(|error| AssetError::Entry { list: name, index, error })
    };
    list.into_iter().enumerate().map(read).collect::<Result<_, _>>().map(Some)
}

fn minters(set: JsonMinters) -> Result<Minters, EntryError> {
    let mut minters =
        set.minters.iter().map(|text| address(text)).collect::<Result<Vec<_>, _>>()?;
    minters.sort_unstable();
    minters.dedup();
    let threshold = set.threshold.0;
    if threshold == 0 || usize::try_from(threshold).is_ok_and(|n| n > minters.len()) {
        return Err(EntryError::Threshold { threshold, minters: minters.len() });
    }
    Ok(Minters { threshold, minters })
}

fn address(text: &str) -> Result<ShortId, EntryError> {
    bare_address(text)
        .map_err(|error| EntryError::Address { text: text.to_owned(), error: error.into() })
}
