//! `genesisData`: the assets of an asset-VM chain in the JSON format of `xvm.buildGenesis`. It is parsed strictly: an
//! unknown member is an error, because it may be a misspelling.

use std::collections::BTreeMap;

use esker_primitives::{ShortId, bech32};
use esker_rpc::wire::{JsonU8, JsonU32, JsonU64};
use esker_xvm::genesis::define::{self, AssetDefinition, Holder, Minters};
use serde::Deserialize;

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

/// Encodes the data as genesis bytes. The error has the fault and the asset.
pub(super) fn genesis_bytes(network_id: u32, data: GenesisData) -> Result<Vec<u8>, String> {
    let definitions = data
        .into_iter()
        .map(|(alias, asset)| {
            definition(alias.clone(), asset)
                .map_err(|reason| format!("asset \"{alias}\": {reason}"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    if definitions.is_empty() {
        return Err("there must be at least one asset: the first, by alias, pays the fees".into());
    }
    let genesis = define::genesis(network_id, definitions).map_err(|error| error.to_string())?;
    Ok(genesis.to_bytes())
}

fn definition(alias: String, asset: Asset) -> Result<AssetDefinition, String> {
    let state = asset.initial_state;
    Ok(AssetDefinition {
        alias,
        name: asset.name,
        symbol: asset.symbol,
        denomination: asset.denomination.0,
        memo: hex_bytes(&asset.memo).map_err(|reason| format!("memo: {reason}"))?,
        fixed_cap: all(state.fixed_cap, "fixedCap", |holder| {
            Ok(Holder { amount: holder.amount.0, address: bare_address(&holder.address)? })
        })?,
        variable_cap: all(state.variable_cap, "variableCap", minters)?,
        non_fungible: all(state.non_fungible, "nonFungible", minters)?,
        limited_transfer: all(state.limited_transfer, "limitedTransfer", minters)?,
    })
}

/// Parses the entries of an optional list; an error has the entry's position.
fn all<A, B>(
    list: Option<Vec<A>>,
    name: &str,
    read: impl Fn(A) -> Result<B, String>,
) -> Result<Option<Vec<B>>, String> {
    let Some(list) = list else { return Ok(None) };
    let read = |(index, entry)| read(entry).map_err(|reason| format!("{name}[{index}]: {reason}"));
    list.into_iter().enumerate().map(read).collect::<Result<_, _>>().map(Some)
}

fn minters(set: JsonMinters) -> Result<Minters, String> {
    let mut minters =
        set.minters.iter().map(|text| bare_address(text)).collect::<Result<Vec<_>, _>>()?;
    minters.sort_unstable();
    minters.dedup();
    let threshold = set.threshold.0;
    if threshold == 0 || usize::try_from(threshold).is_ok_and(|n| n > minters.len()) {
        return Err(format!("a threshold of {threshold} of {} minters", minters.len()));
    }
    Ok(Minters { threshold, minters })
}

/// An address without a chain prefix, of any network.
fn bare_address(text: &str) -> Result<ShortId, String> {
    let (_, data) = bech32::decode(text).map_err(|error| format!("\"{text}\": {error}"))?;
    short_id(&data).map_err(|reason| format!("\"{text}\": {reason}"))
}

/// The 20 bytes of an address.
pub(super) fn short_id(data: &[u8]) -> Result<ShortId, String> {
    let bytes: [u8; ShortId::LEN] =
        data.try_into().map_err(|_| format!("an address has 20 bytes, not {}", data.len()))?;
    Ok(ShortId::new(bytes))
}

/// Bytes in hex with 0x; an empty text is no bytes.
pub(super) fn hex_bytes(text: &str) -> Result<Vec<u8>, String> {
    match text.strip_prefix("0x") {
        Some(digits) => hex::decode(digits).map_err(|error| error.to_string()),
        None if text.is_empty() => Ok(Vec::new()),
        None => Err("expected 0x and hex digits".to_owned()),
    }
}
