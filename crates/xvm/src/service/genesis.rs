//! buildGenesis: the bytes of a genesis out of its description. Needs no chain, so it has an endpoint of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_primitives::ShortId;
use esker_primitives::bech32::{self, Bech32Error};
use esker_rpc::handler::blocking;
use esker_rpc::wire::{Encoding, EncodingError, JsonU8, JsonU32, JsonU64};
use esker_rpc::{MethodTable, RpcError, Service, cost};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Reply;
use crate::genesis::define::{AssetDefinition, DefinitionError, Holder, Minters, genesis};

mod entry;

pub use entry::EntryError;

/// The service behind the endpoint: it holds nothing.
#[derive(Clone, Copy, Debug)]
pub struct Static;

/// The methods of the static endpoint, `/ext/vm/<name or ID of the VM>`.
pub fn methods() -> MethodTable<Static> {
    let table = MethodTable::new("xvm").alias("avm").on(
        "buildGenesis",
        blocking(|service, args| Ok::<_, RpcError>(build_genesis(service, args)?)),
    );
    table.cost(cost::CALL)
}

/// The static endpoint, ready to be called.
pub fn service() -> Service {
    methods().bind(Arc::new(Static))
}

/// The reason why there are no genesis bytes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildGenesisError {
    #[error("problem formatting asset definition memo due to: {0}")]
    Memo(EncodingError),
    #[error("unknown asset type")]
    UnknownAssetType,
    #[error("problem unmarshaling holder: {0}")]
    Holder(EntryError),
    #[error("problem unmarshaling Owners: {0}")]
    Owners(EntryError),
    #[error("problem parsing holder address: {0}")]
    HolderAddress(GenesisAddressError),
    #[error("problem parsing minters address: {0}")]
    MinterAddress(GenesisAddressError),
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    #[error("couldn't encode genesis as string: {0}")]
    Encode(EncodingError),
}

/// The reason why a text is no address: here it has no chain prefix, and any network's is taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GenesisAddressError {
    #[error(transparent)]
    Bech32(#[from] Bech32Error),
    #[error("invalid hash length: expected 20 bytes but got {0}")]
    Length(usize),
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct GenesisArgs {
    #[serde(rename = "networkID")]
    network_id: JsonU32,
    /// By alias; of several with one alias the last counts.
    genesis_data: BTreeMap<String, Option<Asset>>,
    encoding: Encoding,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
struct Asset {
    name: String,
    symbol: String,
    denomination: JsonU8,
    #[schemars(with = "InitialState")]
    initial_state: BTreeMap<String, Option<Vec<Value>>>,
    /// Bytes in the encoding of the call.
    memo: String,
}

esker_rpc::schema!(InitialState, "InitialState", |generator| {
    "title": "initial state",
    "description": "What exists from the beginning, by its kind.",
    "type": "object",
    "properties": {
        "fixedCap": generator.subschema_for::<Vec<HolderEntry>>(),
        "variableCap": generator.subschema_for::<Vec<OwnersEntry>>(),
        "nonFungible": generator.subschema_for::<Vec<OwnersEntry>>(),
        "limitedTransfer": generator.subschema_for::<Vec<OwnersEntry>>(),
    },
    "additionalProperties": false,
});

/// The initial state of an asset, for documents: entries are read one by one.
struct InitialState;

/// Units that an address owns.
#[derive(Default, JsonSchema)]
#[schemars(rename = "GenesisHolder", default)]
struct HolderEntry {
    amount: JsonU64,
    address: String,
}

/// Who may mint together.
#[derive(JsonSchema)]
#[schemars(rename = "GenesisMinters")]
#[expect(dead_code, reason = "for documents: entries are read one by one")]
struct OwnersEntry {
    /// 1 where it is not given.
    threshold: Option<JsonU32>,
    minters: Option<Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GenesisReply {
    bytes: String,
    encoding: Encoding,
}

/// The bytes of a genesis.
pub(crate) fn build_genesis(_: &Static, args: GenesisArgs) -> Reply<GenesisReply> {
    let GenesisArgs { network_id, genesis_data, encoding } = args;
    let assets = genesis_data
        .into_iter()
        .map(|(alias, asset)| define(alias, asset.unwrap_or_default(), encoding))
        .collect::<Result<Vec<_>, _>>()?;
    let genesis = genesis(network_id.0, assets).map_err(BuildGenesisError::Definition)?;
    let bytes = encoding.encode(&genesis.to_bytes()).map_err(BuildGenesisError::Encode)?;
    Ok(GenesisReply { bytes, encoding })
}

fn define(
    alias: String,
    asset: Asset,
    encoding: Encoding,
) -> Result<AssetDefinition, BuildGenesisError> {
    let mut definition = AssetDefinition {
        alias,
        memo: encoding.decode(&asset.memo).map_err(BuildGenesisError::Memo)?,
        name: asset.name,
        symbol: asset.symbol,
        denomination: asset.denomination.0,
        ..AssetDefinition::default()
    };
    for (kind, entries) in asset.initial_state {
        let entries = entries.unwrap_or_default();
        match kind.as_str() {
            "fixedCap" => definition.fixed_cap = Some(all(entries, holder)?),
            "variableCap" => definition.variable_cap = Some(all(entries, minters)?),
            "nonFungible" => definition.non_fungible = Some(all(entries, minters)?),
            "limitedTransfer" => definition.limited_transfer = Some(all(entries, minters)?),
            _ => return Err(BuildGenesisError::UnknownAssetType),
        }
    }
    Ok(definition)
}

fn all<T>(
    entries: Vec<Value>,
    read: fn(Value) -> Result<T, BuildGenesisError>,
) -> Result<Vec<T>, BuildGenesisError> {
    entries.into_iter().map(read).collect()
}

fn holder(entry: Value) -> Result<Holder, BuildGenesisError> {
    let (amount, address) = entry::holder(&entry).map_err(BuildGenesisError::Holder)?;
    let address = parse_address(&address).map_err(BuildGenesisError::HolderAddress)?;
    Ok(Holder { amount, address })
}

fn minters(entry: Value) -> Result<Minters, BuildGenesisError> {
    let (threshold, minters) = entry::owners(&entry).map_err(BuildGenesisError::Owners)?;
    let minters = minters
        .iter()
        .map(|text| parse_address(text).map_err(BuildGenesisError::MinterAddress))
        .collect::<Result<_, _>>()?;
    Ok(Minters { threshold, minters })
}

fn parse_address(text: &str) -> Result<ShortId, GenesisAddressError> {
    let (_, data) = bech32::decode(text)?;
    let bytes: [u8; ShortId::LEN] =
        data.as_slice().try_into().map_err(|_| GenesisAddressError::Length(data.len()))?;
    Ok(ShortId::new(bytes))
}
