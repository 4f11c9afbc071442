//! The JSON form of a genesis.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};
use esker_go_json::{Document, Kind};

use super::forms::{self, FieldPath};
use super::json_error::JsonError;
use super::{Genesis, GenesisAccount, GenesisError};
use crate::rules::{ForkSchedule, Phase};

/// The used part of a genesis' `config`: chain ID and times of forks. On known networks the node's own values replace
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenesisConfig {
    /// EIP-155 number.
    pub chain_id: u64,
    /// Start times of Apricot 1 to 4, Unix s.
    pub history: [Option<u64>; 4],
    /// Start times of [`Phase::ALL`], Unix s.
    pub phases: [Option<u64>; Phase::COUNT],
}

/// Names of the start times in a genesis: Apricot 1 to 4, then [`Phase::ALL`].
pub const FORK_NAMES: [&str; 4 + Phase::COUNT] = [
    "apricotPhase1BlockTimestamp",
    "apricotPhase2BlockTimestamp",
    "apricotPhase3BlockTimestamp",
    "apricotPhase4BlockTimestamp",
    "apricotPhase5BlockTimestamp",
    "apricotPhasePre6BlockTimestamp",
    "apricotPhase6BlockTimestamp",
    "apricotPhasePost6BlockTimestamp",
    "banffBlockTimestamp",
    "cortinaBlockTimestamp",
    "durangoBlockTimestamp",
    "etnaTimestamp",
    "fortunaTimestamp",
];

impl GenesisConfig {
    /// Reads only the `config` of a genesis.
    ///
    /// # Errors
    /// The JSON is not an object with a valid `config`.
    pub fn parse(json: &[u8]) -> Result<Self, GenesisError> {
        let mut found = None;
        members(document(json)?, |name, value| {
            if name.eq_ignore_ascii_case("config") {
                found = Some(config(value)?);
            }
            Ok(())
        })?;
        found.ok_or(GenesisError::NoConfig)
    }

    /// The schedule of an unknown network: the times of the config, or those of the local network if the config has
    /// none.
    pub fn schedule(&self) -> Result<ForkSchedule, GenesisError> {
        let default = ForkSchedule::LOCAL;
        let mut schedule = default;
        for (time, given) in schedule.history.iter_mut().zip(self.history) {
            *time = given.unwrap_or(*time);
        }
        for (time, given) in schedule.phases.iter_mut().zip(self.phases) {
            *time = given.unwrap_or(*time);
        }
        let phases = Phase::ALL.map(|phase| format!("{phase:?}"));
        let names = (1..=4).map(|n| format!("Apricot{n}")).chain(phases);
        let times = schedule.history.into_iter().chain(schedule.phases);
        let all: Vec<_> = names.zip(times).collect();
        for pair in all.windows(2) {
            let ([(earlier, earlier_at), (later, later_at)], true) = (pair, pair[1].1 < pair[0].1)
            else {
                continue;
            };
            return Err(GenesisError::Order {
                earlier: earlier.clone(),
                earlier_at: *earlier_at,
                later: later.clone(),
                later_at: *later_at,
            });
        }
        Ok(schedule)
    }
}

const STRUCT: &str = "Genesis";

/// The JSON object of a genesis.
fn document(json: &[u8]) -> Result<Document<'_>, JsonError> {
    let document = Document::whole(json)?;
    match document.kind() {
        Kind::Object => Ok(document),
        kind => Err(JsonError::NotAnObject { kind: forms::kind_name(kind) }),
    }
}

pub(super) fn parse(json: &[u8]) -> Result<Genesis, GenesisError> {
    let fields = Fields::read(document(json)?)?;
    let missing = |field| JsonError::Missing { field, struct_name: STRUCT };
    let gas_limit = fields.gas_limit.ok_or_else(|| missing("gasLimit"))?;
    let difficulty = fields.difficulty.ok_or_else(|| missing("difficulty"))?;
    let alloc = fields.alloc.ok_or_else(|| missing("alloc"))?;
    if fields.config.is_none() {
        return Err(GenesisError::NoConfig);
    }
    Ok(Genesis {
        gas_limit,
        difficulty,
        alloc,
        nonce: fields.nonce,
        timestamp: fields.timestamp,
        extra_data: fields.extra_data,
        mix_hash: fields.mix_hash,
        coinbase: fields.coinbase,
        number: fields.number,
        gas_used: fields.gas_used,
        parent_hash: fields.parent_hash,
        base_fee: fields.base_fee,
        excess_blob_gas: fields.excess_blob_gas,
        blob_gas_used: fields.blob_gas_used,
        parent_beacon_root: None,
    })
}

#[derive(Default)]
struct Fields {
    config: Option<GenesisConfig>,
    nonce: u64,
    timestamp: u64,
    extra_data: alloy_primitives::Bytes,
    gas_limit: Option<u64>,
    difficulty: Option<U256>,
    mix_hash: B256,
    coinbase: Address,
    alloc: Option<BTreeMap<Address, GenesisAccount>>,
    number: u64,
    gas_used: u64,
    parent_hash: B256,
    base_fee: Option<U256>,
    excess_blob_gas: Option<u64>,
    blob_gas_used: Option<u64>,
}

/// Reads the members of an object. `null` counts as absent, and the last of duplicate members counts.
fn members<'a>(
    object: Document<'a>,
    mut read: impl FnMut(&str, Document<'a>) -> Result<(), JsonError>,
) -> Result<(), JsonError> {
    let mut result = Ok(());
    Document::first_with_members(object.as_bytes(), |name, value| {
        if result.is_ok() && value.kind() != Kind::Null {
            result = read(&name.text(), value);
        }
    })?;
    result
}

impl Fields {
    fn read(document: Document<'_>) -> Result<Self, JsonError> {
        let mut fields = Self::default();
        members(document, |name, value| {
            let place = |field| FieldPath { struct_name: STRUCT, field };
            match name.to_ascii_lowercase().as_str() {
                "config" => fields.config = Some(config(value)?),
                "nonce" => fields.nonce = forms::number(value)?,
                "timestamp" => fields.timestamp = forms::number(value)?,
                "extradata" => fields.extra_data = forms::bytes(value, place("extraData"))?,
                "gaslimit" => fields.gas_limit = Some(forms::number(value)?),
                "difficulty" => fields.difficulty = Some(forms::big_number(value)?),
                "mixhash" => fields.mix_hash = forms::hash(value, place("mixHash"))?,
                "coinbase" => fields.coinbase = forms::address(value, place("coinbase"))?,
                "alloc" => fields.alloc = Some(alloc(value)?),
                "number" => fields.number = forms::number(value)?,
                "gasused" => fields.gas_used = forms::number(value)?,
                "parenthash" => fields.parent_hash = forms::hash(value, place("parentHash"))?,
                "basefeepergas" => fields.base_fee = Some(forms::big_number(value)?),
                "excessblobgas" => fields.excess_blob_gas = Some(forms::number(value)?),
                "blobgasused" => fields.blob_gas_used = Some(forms::number(value)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(fields)
    }
}

fn object(value: Document<'_>, place: FieldPath, go_type: &'static str) -> Result<(), JsonError> {
    match value.kind() {
        Kind::Object => Ok(()),
        kind => Err(place.mismatch(forms::kind_name(kind), go_type)),
    }
}

fn config(value: Document<'_>) -> Result<GenesisConfig, JsonError> {
    const CONFIG: &str = "ChainConfig";
    object(value, FieldPath { struct_name: STRUCT, field: "config" }, "params.ChainConfig")?;
    let mut config = GenesisConfig::default();
    members(value, |name, value| {
        let place = |field| FieldPath { struct_name: CONFIG, field };
        if name.eq_ignore_ascii_case("chainId") {
            let place = place("chainId");
            let id = forms::integer(value, place)?;
            config.chain_id =
                u64::try_from(id).map_err(|_| place.mismatch(format!("number {id}"), "uint64"))?;
        }
        let times = config.history.iter_mut().chain(&mut config.phases);
        for (time, field) in times.zip(FORK_NAMES) {
            if name.eq_ignore_ascii_case(field) {
                *time = Some(forms::time(value, place(field))?);
            }
        }
        Ok(())
    })?;
    Ok(config)
}

fn alloc(value: Document<'_>) -> Result<BTreeMap<Address, GenesisAccount>, JsonError> {
    let go_type = "map[common.UnprefixedAddress]core.GenesisAccount";
    object(value, FieldPath { struct_name: STRUCT, field: "alloc" }, go_type)?;
    let mut accounts = BTreeMap::new();
    members(value, |name, value| {
        let address = forms::key(name, "UnprefixedAddress", false).map(Address::new)?;
        accounts.insert(address, account(value)?);
        Ok(())
    })?;
    Ok(accounts)
}

fn account(value: Document<'_>) -> Result<GenesisAccount, JsonError> {
    const ACCOUNT: &str = "GenesisAccount";
    object(value, FieldPath { struct_name: STRUCT, field: "alloc" }, "core.GenesisAccount")?;
    let (mut account, mut balance) = (GenesisAccount::default(), None);
    members(value, |name, value| {
        let place = |field| FieldPath { struct_name: ACCOUNT, field };
        match name.to_ascii_lowercase().as_str() {
            "balance" => balance = Some(forms::big_number(value)?),
            "nonce" => account.nonce = forms::number(value)?,
            "code" => account.code = forms::bytes(value, place("code"))?,
            "storage" => {
                object(value, place("storage"), "map[core.storageJSON]core.storageJSON")?;
                members(value, |key, value| {
                    let Some(text) = value.as_str() else {
                        let kind = forms::kind_name(value.kind());
                        return Err(place("storage").mismatch(kind, "core.storageJSON"));
                    };
                    let word = forms::storage_word(&text)?;
                    account.storage.insert(forms::storage_word(key)?, word);
                    Ok(())
                })?;
            }
            "mcbalance" => {
                object(value, place("mcbalance"), "core.GenesisMultiCoinBalance")?;
                members(value, |key, value| {
                    let asset = forms::key(key, "common.Hash", true).map(B256::new)?;
                    account.assets.insert(asset, forms::integer(value, place("mcbalance"))?);
                    Ok(())
                })?;
            }
            _ => {}
        }
        Ok(())
    })?;
    account.balance =
        balance.ok_or(JsonError::Missing { field: "balance", struct_name: ACCOUNT })?;
    Ok(account)
}
