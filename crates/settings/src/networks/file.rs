//! Network files: the reference's genesis format with a section of ours (docs/networks.md). Any bytes give a network
//! or an error that names the invalid member.

use std::collections::BTreeMap;

use esker_evm_execution::rules::FeeOverrides;
use esker_primitives::{AssetId, ChainId, Id, TxId, network};
use esker_rpc::wire::{JsonU32, JsonU64};
use esker_utxo::{FxError, Output, OutputOwners, TransferOutput, Utxo, UtxoId};
use esker_xvm::genesis::primary::{self, Allocation};
use serde::Deserialize;
use serde::de::IgnoredAny;
use thiserror::Error;

use super::assets::{self, GenesisData, GenesisDataError};
use super::coin::{Coin, CoinDeclaration};
use super::parameters::{EvmParameters, Fees};
use super::presets::{Preset, primary_network};
use super::spec::{
    AddChainError, ChainDeclaration, DeclaredFees, ExportedUtxo, GAS_LIMITS, Network, P_CHAIN_ID,
};
use super::text::{AddressTextError, BytesError, address_with_alias, hex_bytes, network_address};
use super::validators::{self, JsonEngine, JsonFollower, JsonValidator};
use super::vm::{C_CHAIN_ONLY, RulesName, UnknownRules, UnknownVm, Vm};

/// The reason why a network file is unusable.
#[derive(Debug, Error)]
pub enum FileError {
    /// It is not JSON, or a member is missing, unknown or of another type.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A member's value is invalid.
    #[error("{member}: {reason}")]
    Value {
        /// Its path: `allocations[0].avaxAddr`.
        member: String,
        /// The fault.
        reason: String,
    },
    /// A chain can't be added.
    #[error("esker.chains: {0}")]
    Chain(#[from] AddChainError),
}

fn fault(member: impl Into<String>, reason: impl Into<String>) -> FileError {
    FileError::Value { member: member.into(), reason: reason.into() }
}

/// The file. Members of the P-Chain are accepted and ignored: this node has no validators or stakes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NetworkFile {
    #[serde(rename = "networkID")]
    network_id: u32,
    allocations: Vec<JsonAllocation>,
    #[serde(default)]
    start_time: u64,
    #[serde(default, rename = "initialStakeDuration")]
    _initial_stake_duration: u64,
    #[serde(default, rename = "initialStakeDurationOffset")]
    _initial_stake_duration_offset: u64,
    #[serde(default, rename = "initialStakedFunds")]
    _initial_staked_funds: Option<Vec<String>>,
    #[serde(default, rename = "initialStakers")]
    _initial_stakers: Option<Vec<BTreeMap<String, IgnoredAny>>>,
    c_chain_genesis: String,
    #[serde(default, rename = "message")]
    _message: String,
    #[serde(default)]
    esker: Section,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct JsonAllocation {
    eth_addr: String,
    avax_addr: String,
    initial_amount: u64,
    #[serde(default, rename = "unlockSchedule")]
    _unlock_schedule: Option<Vec<Unlock>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unlock {
    #[serde(rename = "amount")]
    _amount: u64,
    #[serde(default, rename = "locktime")]
    _locktime: u64,
}

/// The section of this node.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Section {
    fees: JsonFees,
    evm: JsonEvm,
    chains: Vec<JsonChain>,
    #[serde(rename = "exportedFromP")]
    exported_from_p: Vec<JsonExport>,
    validators: Vec<JsonValidator>,
    followers: Vec<JsonFollower>,
    engine: JsonEngine,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct JsonFees {
    tx_fee: Option<JsonU64>,
    create_asset_tx_fee: Option<JsonU64>,
}

impl JsonFees {
    fn over(&self, default: Fees) -> Fees {
        Fees {
            tx_fee: self.tx_fee.map_or(default.tx_fee, |fee| fee.0),
            create_asset_tx_fee: self
                .create_asset_tx_fee
                .map_or(default.create_asset_tx_fee, |fee| fee.0),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct JsonEvm {
    gas_limit: Option<JsonU64>,
    target_gas: Option<JsonU64>,
    min_base_fee: Option<JsonU64>,
    block_gas_cost_step: Option<JsonU64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct JsonChain {
    name: String,
    vm: String,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    genesis: Option<String>,
    #[serde(default)]
    genesis_data: Option<GenesisData>,
    #[serde(default)]
    fees: Option<JsonFees>,
    #[serde(default)]
    evm: Option<JsonEvm>,
    #[serde(default)]
    rules: Option<String>,
    #[serde(default)]
    asset: Option<String>,
    #[serde(default)]
    peers: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct JsonExport {
    to: String,
    amount: JsonU64,
    addresses: Vec<String>,
    #[serde(default = "one")]
    threshold: JsonU32,
    #[serde(default)]
    locktime: JsonU64,
    #[serde(default, rename = "assetID")]
    asset_id: Option<AssetId>,
    #[serde(default, rename = "txID")]
    tx_id: Option<TxId>,
    #[serde(default)]
    output_index: Option<JsonU32>,
}

const fn one() -> JsonU32 {
    JsonU32(1)
}

/// Parses a network file.
pub fn parse(bytes: &[u8]) -> Result<Network, FileError> {
    let file: NetworkFile = serde_json::from_slice(bytes)?;
    let id = file.network_id;
    if matches!(id, 0 | network::MAIN_ID | network::TEST_ID) {
        let reason = format!("{id} is reserved: 1 and 5 are main and test");
        return Err(fault("networkID", reason));
    }
    let allocations = file
        .allocations
        .iter()
        .enumerate()
        .map(|(index, allocation)| {
            read_allocation(allocation)
                .map_err(|(name, reason)| fault(format!("allocations[{index}].{name}"), reason))
        })
        .collect::<Result<Vec<_>, _>>()?;
    check_supply(&allocations)?;
    let c = file.c_chain_genesis.into_bytes();
    let mut c_parameters =
        EvmParameters::of_genesis(&c).map_err(|error| fault("cChainGenesis", error.to_string()))?;
    // The file of a known network gives that network.
    if let Some(preset) = Preset::with_c_chain(id, &c) {
        c_parameters = preset.c_parameters();
    }
    let evm_fees = read_evm(&file.esker.evm, FeeOverrides::default())
        .map_err(|(name, reason)| fault(format!("esker.evm.{name}"), reason))?;
    c_parameters.set_fees(evm_fees);
    let x = primary::x_chain_genesis(id, &allocations)
        .map_err(|error| fault("allocations", error.to_string()))?;
    let fees = file.esker.fees.over(Fees::of_network(id));
    let (x, c) = ((x.to_bytes().into(), fees), (c.into(), c_parameters));
    let mut network = primary_network(&network::name(id), id, x, c)
        .map_err(|error| fault("allocations", error.to_string()))?;
    network.start_time_s = file.start_time;
    let Section { validators, followers, engine, .. } = &file.esker;
    network.validators = validators::read(validators, followers, engine)
        .map_err(|(member, reason)| fault(format!("esker.{member}"), reason))?;
    let mut coins = Vec::new();
    for (index, mut chain) in file.esker.chains.into_iter().enumerate() {
        let coin =
            CoinDeclaration { asset: chain.asset.take(), peers: std::mem::take(&mut chain.peers) };
        let declared = read_chain(chain, id, (fees, evm_fees))
            .map_err(|error| fault(format!("esker.chains[{index}]"), error.to_string()))?;
        coins.push((network.add_chain(declared)?.id, coin));
    }
    network.set_coins(&coins)?;
    for (index, export) in file.esker.exported_from_p.iter().enumerate() {
        let member = format!("esker.exportedFromP[{index}]");
        let exported = read_export(export, index, &network)
            .map_err(|error| fault(&member, error.to_string()))?;
        let id = exported.utxo.utxo_id.input_id();
        if network.exported.iter().any(|other| other.utxo.utxo_id.input_id() == id) {
            return Err(fault(member, "the same txID and outputIndex are there already"));
        }
        network.exported.push(exported);
    }
    Ok(network)
}

/// Genesis bytes of `genesisData`, JSON in the format of `xvm.buildGenesis`.
///
/// # Errors
/// They are no JSON of this format, or an asset can't be used.
pub fn xvm_genesis_bytes(network_id: u32, json: &[u8]) -> Result<Vec<u8>, GenesisDataError> {
    let data: GenesisData = serde_json::from_slice(json)?;
    assets::genesis_bytes(network_id, data)
}

fn read_allocation(json: &JsonAllocation) -> Result<Allocation, (&'static str, String)> {
    let eth = hex_bytes(&json.eth_addr).map_err(|error| ("ethAddr", error.to_string()))?;
    let eth_address = eth
        .as_slice()
        .try_into()
        .map_err(|_| ("ethAddr", format!("expected 20 bytes, found {}", eth.len())))?;
    // The text's chain and network are ignored, as in the reference.
    let address =
        address_with_alias(&json.avax_addr).map_err(|error| ("avaxAddr", error.to_string()))?;
    Ok(Allocation { initial_amount: json.initial_amount, address, eth_address })
}

/// A supply above `u64` could never be transferred at once.
fn check_supply(allocations: &[Allocation]) -> Result<(), FileError> {
    let sum = allocations.iter().try_fold(0_u64, |sum, a| sum.checked_add(a.initial_amount));
    match sum {
        None => Err(fault("allocations", "the amounts sum up to more than 2^64 - 1")),
        Some(0) => Err(fault("allocations", "at least one initialAmount must be above 0")),
        Some(_) => Ok(()),
    }
}

/// The given constants; those that are missing come from `usual`. An error has the member and its fault.
fn read_evm(json: &JsonEvm, usual: FeeOverrides) -> Result<FeeOverrides, (&'static str, String)> {
    let given = |value: Option<JsonU64>, usual| value.map_or(usual, |value| Some(value.0));
    let overrides = FeeOverrides {
        gas_limit: given(json.gas_limit, usual.gas_limit),
        target_gas: given(json.target_gas, usual.target_gas),
        min_base_fee: given(json.min_base_fee, usual.min_base_fee),
        block_gas_cost_step: given(json.block_gas_cost_step, usual.block_gas_cost_step),
    };
    if overrides.gas_limit.is_some_and(|limit| !GAS_LIMITS.contains(&limit)) {
        let (least, most) = (GAS_LIMITS.start(), GAS_LIMITS.end());
        return Err(("gasLimit", format!("expected {least} to {most}")));
    }
    // The change of the base fee is a fraction of the target, so the target can't be 0.
    if overrides.target_gas == Some(0) {
        return Err(("targetGas", "expected at least 1".to_owned()));
    }
    Ok(overrides)
}

/// The reason why a chain's declaration can't be used.
#[derive(Debug, Error)]
enum DeclarationError {
    #[error(transparent)]
    Vm(#[from] UnknownVm),
    #[error("genesis: {0}")]
    GenesisBytes(#[source] BytesError),
    #[error("genesisData: {0}")]
    GenesisData(#[source] GenesisDataError),
    #[error("a chain of the EVM needs genesis, its JSON as a string")]
    NoEvmGenesis,
    #[error("exactly one of genesis and genesisData is needed")]
    NoXvmGenesis,
    #[error("evm.{member}: {reason}")]
    EvmFees { member: &'static str, reason: String },
    #[error("rules: {0}")]
    Rules(#[from] UnknownRules),
    #[error("rules: for chains of the EVM")]
    RulesOfXvm,
    #[error("evm: {C_CHAIN_ONLY}")]
    EvmFeesOfEthereum,
    #[error("evm: for chains of the EVM")]
    EvmFeesOfXvm,
    #[error("fees: for chains of the asset VM")]
    XvmFeesOfEvm,
}

fn read_chain(
    json: JsonChain,
    network_id: u32,
    (fees, evm_fees): (Fees, FeeOverrides),
) -> Result<ChainDeclaration, DeclarationError> {
    let JsonChain { name, vm, aliases, genesis, genesis_data, rules, .. } = json;
    let vm: Vm = vm.parse()?;
    let rules = rules.map(|rules| rules.parse::<RulesName>()).transpose()?;
    let genesis = match (vm, genesis, genesis_data) {
        (Vm::Evm, Some(text), None) if text.starts_with("0x") => {
            hex_bytes(&text).map_err(DeclarationError::GenesisBytes)?
        }
        (Vm::Evm, Some(json), None) => json.into_bytes(),
        (Vm::Evm, ..) => return Err(DeclarationError::NoEvmGenesis),
        (Vm::Xvm, Some(hex), None) => hex_bytes(&hex).map_err(DeclarationError::GenesisBytes)?,
        (Vm::Xvm, None, Some(data)) => {
            assets::genesis_bytes(network_id, data).map_err(DeclarationError::GenesisData)?
        }
        (Vm::Xvm, ..) => return Err(DeclarationError::NoXvmGenesis),
    };
    let fees = match (vm, json.fees, json.evm) {
        (Vm::Xvm, ..) if rules.is_some() => return Err(DeclarationError::RulesOfXvm),
        (Vm::Evm, None, given) if rules == Some(RulesName::Ethereum) => match given {
            Some(_) => return Err(DeclarationError::EvmFeesOfEthereum),
            None => DeclaredFees::Ethereum,
        },
        (Vm::Xvm, given, None) => DeclaredFees::Xvm(given.unwrap_or_default().over(fees)),
        (Vm::Evm, None, given) => DeclaredFees::Evm(
            read_evm(&given.unwrap_or_default(), evm_fees)
                .map_err(|(member, reason)| DeclarationError::EvmFees { member, reason })?,
        ),
        (Vm::Xvm, _, Some(_)) => return Err(DeclarationError::EvmFeesOfXvm),
        (Vm::Evm, Some(_), _) => return Err(DeclarationError::XvmFeesOfEvm),
    };
    Ok(ChainDeclaration { name, aliases, genesis, fees })
}

/// The reason why a declared export from P can't be used.
#[derive(Debug, Error)]
enum ExportError {
    #[error("to: there is no chain \"{0}\"")]
    NoChain(String),
    #[error("\"{text}\": {error}")]
    Address { text: String, error: AddressTextError },
    #[error(transparent)]
    Output(#[from] FxError),
    #[error("too many")]
    TooMany,
    #[error("to: chain \"{0}\" can't import the asset from P")]
    NotImportable(String),
}

fn read_export(
    json: &JsonExport,
    index: usize,
    network: &Network,
) -> Result<ExportedUtxo, ExportError> {
    let destination =
        network.chain(&json.to).ok_or_else(|| ExportError::NoChain(json.to.clone()))?.id;
    let address = |text: &String| {
        network_address(text, network.hrp)
            .map_err(|error| ExportError::Address { text: text.clone(), error })
    };
    let mut addresses = json.addresses.iter().map(address).collect::<Result<Vec<_>, _>>()?;
    addresses.sort_unstable();
    addresses.dedup();
    let (locktime, threshold) = (json.locktime.0, json.threshold.0);
    let owners = OutputOwners { locktime, threshold, addresses };
    let output = Output::SecpTransfer(TransferOutput { amount: json.amount.0, owners });
    output.verify()?;
    let position = u32::try_from(index).map_err(|_| ExportError::TooMany)?;
    let utxo_id = UtxoId {
        tx_id: json.tx_id.unwrap_or_else(|| export_tx_id(network.id, &destination)),
        output_index: json.output_index.map_or(position, |index| index.0),
    };
    let asset_id = json.asset_id.unwrap_or(network.native_asset_id);
    // A UTXO that the chain could never import is a mistake.
    let chain = network.chains.iter().find(|chain| chain.id == destination);
    let takes = chain.is_some_and(|chain| match chain.coin() {
        None | Some(Coin::Native) => true,
        Some(Coin::Own | Coin::Asset { .. }) => {
            network.peers_of(chain).contains(&P_CHAIN_ID) && network.coin_of(chain) == asset_id
        }
    });
    if !takes {
        return Err(ExportError::NotImportable(json.to.clone()));
    }
    Ok(ExportedUtxo { destination, utxo: Utxo { utxo_id, asset_id, output } })
}

/// The ID of the P-Chain transaction of declared UTXOs, if the file has none. No such transaction exists, so it is a
/// hash of its content.
fn export_tx_id(network_id: u32, destination: &ChainId) -> TxId {
    let mut about = b"exported from P at genesis".to_vec();
    about.extend_from_slice(&network_id.to_be_bytes());
    about.extend_from_slice(destination.as_bytes());
    Id::sha256(&about)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::Preset;
    use super::*;

    /// The X and C parts of the reference's file for the local network.
    fn local() -> Value {
        let c = Preset::Local.network().evm_chain().genesis.to_vec();
        json!({
            "networkID": 12345,
            "allocations": [
                {
                    "ethAddr": "0xb3d82b1367d362de99ab59a658165aff520cbd4d",
                    "avaxAddr": "X-local1g65uqn6t77p656w64023nh8nd9updzmxyymev2",
                    "initialAmount": 0,
                    "unlockSchedule": [{"amount": 10000000000000000_u64, "locktime": 1633824000}],
                },
                {
                    "ethAddr": "0xb3d82b1367d362de99ab59a658165aff520cbd4d",
                    "avaxAddr": "X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u",
                    "initialAmount": 300000000000000000_u64,
                    "unlockSchedule": [{"amount": 20000000000000000_u64}],
                },
                {
                    "ethAddr": "0xb3d82b1367d362de99ab59a658165aff520cbd4d",
                    "avaxAddr": "X-local1ur873jhz9qnaqv5qthk5sn3e8nj3e0kmggalnu",
                    "initialAmount": 10000000000000000_u64,
                    "unlockSchedule": [],
                },
            ],
            "startTime": 1690841400,
            "initialStakeDuration": 31536000,
            "initialStakeDurationOffset": 5400,
            "initialStakedFunds": ["X-local1g65uqn6t77p656w64023nh8nd9updzmxyymev2"],
            "initialStakers": [{"nodeID": "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", "delegationFee": 1000000}],
            "cChainGenesis": String::from_utf8(c).unwrap(),
            "message": "hello",
        })
    }

    fn with(change: impl FnOnce(&mut Value)) -> Result<Network, FileError> {
        let mut json = local();
        change(&mut json);
        parse(json.to_string().as_bytes())
    }

    #[test]
    fn the_references_file_gives_the_references_network() {
        let (got, preset) = (with(|_| ()).unwrap(), Preset::Local.network());
        assert_eq!(got.chains, preset.chains);
        assert_eq!(got.native_asset_id, preset.native_asset_id);
        assert_eq!((got.name.as_str(), got.hrp), ("local", "local"));
        assert_eq!(got.evm_parameters().fees(), FeeOverrides::default());
    }

    fn second() -> Value {
        json!({
            "name": "Second", "vm": "xvm", "aliases": ["Y"], "fees": {"txFee": 5},
            "genesisData": {"coin": {
                "name": "Coin", "symbol": "c", "denomination": 2,
                "initialState": {"fixedCap": [
                    {"amount": "18446744073709551615", "address": "local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"}
                ]},
            }},
        })
    }

    #[test]
    fn our_section() {
        let network = with(|json| {
            json["networkID"] = json!(7);
            json["esker"] = json!({
                "fees": {"txFee": 1, "createAssetTxFee": "2"},
                "chains": [second()],
                "exportedFromP": [
                    {"to": "X", "amount": 5, "addresses": ["P-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p"]},
                    {"to": "Y", "amount": "6", "addresses": [], "threshold": 0, "outputIndex": 9,
                     "txID": "11111111111111111111111111111111LpoYY"},
                ],
            });
        })
        .unwrap();
        assert_eq!((network.name.as_str(), network.hrp), ("network-7", "custom"));
        assert_eq!(network.x_fees(), Fees { tx_fee: 1, create_asset_tx_fee: 2 });
        let second = network.chain("Y").unwrap();
        assert_eq!(*second.parameters.xvm().unwrap(), Fees { tx_fee: 5, create_asset_tx_fee: 2 });
        assert_eq!(second.id, primary::xvm_chain_id(7, "Second", &second.genesis));
        let [first, other] = network.exported.as_slice() else { panic!("two UTXOs") };
        assert_eq!(first.destination, network.x_chain().unwrap().id);
        assert_eq!(first.utxo.asset_id, network.native_asset_id);
        assert_eq!(other.destination, second.id);
        assert_eq!(other.utxo.utxo_id, UtxoId { tx_id: Id::ZERO, output_index: 9 });
        assert_ne!(
            network.fingerprint(),
            with(|json| json["networkID"] = json!(7)).unwrap().fingerprint()
        );
    }

    #[test]
    fn constants_of_the_c_chain() {
        let evm = json!({"gasLimit": "30000000", "targetGas": 5, "blockGasCostStep": 0});
        let network = with(|json| json["esker"] = json!({"evm": evm})).unwrap();
        let expected = FeeOverrides {
            gas_limit: Some(30_000_000),
            target_gas: Some(5),
            min_base_fee: None,
            block_gas_cost_step: Some(0),
        };
        assert_eq!(network.evm_parameters().fees(), expected);
        let evm = |evm: Value| move |json: &mut Value| json["esker"] = json!({"evm": evm});
        check(
            evm(json!({"gasLimit": 20999})),
            expect!["esker.evm.gasLimit: expected 21000 to 9223372036854775807"],
        );
        check(
            evm(json!({"gasLimit": 1_u64 << 63})),
            expect!["esker.evm.gasLimit: expected 21000 to 9223372036854775807"],
        );
        check(evm(json!({"targetGas": 0})), expect!["esker.evm.targetGas: expected at least 1"]);
        let error = with(evm(json!({"minBaseFee": -1}))).unwrap_err().to_string();
        assert!(error.contains("at line 1 column"), "{error}");
    }

    fn check(change: impl FnOnce(&mut Value), expected: Expect) {
        expected.assert_eq(&with(change).unwrap_err().to_string());
    }

    #[test]
    fn faults_name_the_member() {
        check(
            |json| json["networkID"] = json!(1),
            expect!["networkID: 1 is reserved: 1 and 5 are main and test"],
        );
        check(
            |json| json["allocations"][1]["avaxAddr"] = json!("local1xyz"),
            expect!["allocations[1].avaxAddr: no separator found in address"],
        );
        check(
            |json| json["allocations"][0]["ethAddr"] = json!("0x12"),
            expect!["allocations[0].ethAddr: expected 20 bytes, found 1"],
        );
        check(
            |json| json["allocations"][0]["initialAmount"] = json!(u64::MAX),
            expect!["allocations: the amounts sum up to more than 2^64 - 1"],
        );
        check(
            |json| json["allocations"] = json!([]),
            expect!["allocations: at least one initialAmount must be above 0"],
        );
        check(
            |json| json["cChainGenesis"] = json!(""),
            expect!["cChainGenesis: unexpected end of JSON input"],
        );
        check(
            |json| json["esker"] = json!({"chains": [{"name": "Second", "vm": "xvm"}]}),
            expect!["esker.chains[0]: exactly one of genesis and genesisData is needed"],
        );
        check(
            |json| {
                json["esker"] =
                    json!({"chains": [{"name": "Second", "vm": "wasm", "genesis": "0x"}]});
            },
            expect![[r#"esker.chains[0]: unknown virtual machine "wasm", expected xvm or evm"#]],
        );
        check(
            |json| json["esker"] = json!({"chains": [second(), second()]}),
            expect![[
                r#"esker.chains: chain "Second": "Second" is the name or alias of another chain"#
            ]],
        );
        check(
            |json| {
                json["esker"] =
                    json!({"exportedFromP": [{"to": "Z", "amount": 1, "addresses": []}]});
            },
            expect![[r#"esker.exportedFromP[0]: to: there is no chain "Z""#]],
        );
        check(
            |json| {
                json["esker"] =
                    json!({"exportedFromP": [{"to": "X", "amount": 1, "addresses": []}]});
            },
            expect!["esker.exportedFromP[0]: output is unspendable"],
        );
        check(
            |json| {
                json["esker"] = json!({"exportedFromP": [
                    {"to": "X", "amount": 1, "addresses": ["X-fuji18jma8ppw3nhx5r4ap8clazz0dps7rv5u6wmu4t"]}
                ]});
            },
            expect![[
                r#"esker.exportedFromP[0]: "X-fuji18jma8ppw3nhx5r4ap8clazz0dps7rv5u6wmu4t": expected hrp "local" but got "fuji""#
            ]],
        );
    }

    #[test]
    fn unknown_members_are_reported_with_their_line() {
        let error = parse(b"{\n  \"networkId\": 7\n}").unwrap_err().to_string();
        assert!(
            error.starts_with("unknown field `networkId`, expected one of `networkID`"),
            "{error}"
        );
        assert!(error.ends_with("at line 2 column 13"), "{error}");
    }

    #[test]
    fn the_example_of_the_documentation() {
        let page = include_str!("../../../../docs/networks.md");
        let (_, rest) = page.split_once("```json\n").unwrap();
        let (example, _) = rest.split_once("```").unwrap();
        let network = parse(example.as_bytes()).unwrap();
        assert_eq!(network.chain("Y").unwrap().name, "Second");
        assert_eq!(network.exported.len(), 1);
    }

    #[test]
    fn the_example_of_wide_limits() {
        let page = include_str!("../../../../docs/networks.md");
        let example = page.split("```json\n").nth(2).unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let network = parse(example.as_bytes()).unwrap();
        assert_eq!(network.evm_parameters().fees().gas_limit, Some(3_000_000_000));
        let config =
            esker_evm_execution::genesis::GenesisConfig::parse(&network.evm_chain().genesis);
        assert_eq!(config.unwrap().chain_id, 1337);
    }

    #[test]
    fn the_example_of_an_evm_chain() {
        let page = include_str!("../../../../docs/networks.md");
        let example = page.split("```json\n").nth(3).unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let network = parse(example.as_bytes()).unwrap();
        let (y, e) = (network.chain("Y").unwrap(), network.chain("E").unwrap());
        assert_eq!(network.peers_of(e), [y.id]);
        assert_eq!(e.parameters.evm().unwrap().chain_id, 43_201);
    }

    #[test]
    fn the_example_of_a_chain_with_ethereums_rules() {
        let page = include_str!("../../../../docs/networks.md");
        let example = page.split("```json\n").nth(4).unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let network = parse(example.as_bytes()).unwrap();
        let chain = network.chain("ETH").unwrap();
        assert_eq!(chain.parameters.evm().unwrap().chain_id, 43_202);
        assert_eq!(chain.coin(), Some(&Coin::Own));
        let refused = |from: &str, to: &str| {
            let changed = example.replacen(from, to, 1);
            assert_ne!(changed, example);
            parse(changed.as_bytes()).unwrap_err().to_string()
        };
        let rules = r#""rules": "ethereum","#;
        for (to, text) in [
            (r#""rules": "mine","#, "esker.chains[0]: rules: unknown rules \"mine\""),
            (
                r#""rules": "ethereum", "evm": {},"#,
                "esker.chains[0]: evm: for chains with the C-Chain's rules",
            ),
            (
                r#""rules": "ethereum", "peers": ["X"],"#,
                "peers: a chain with Ethereum's rules has a coin of its own",
            ),
        ] {
            let error = refused(rules, to);
            assert!(error.contains(text), "{error}");
        }
        let error = refused(r#"\"londonBlock\":0"#, r#"\"londonBlock\":null"#);
        assert!(error.contains("unsupported fork ordering"), "{error}");
    }

    #[test]
    fn faults_of_assets() {
        for (json, text) in [
            (json!({}), "at least one asset"),
            (json!({"a": {"name": "A", "symbol": "TOOLONG"}}), "symbol is too long"),
            (json!({"a": {"name": "A", "memo": "12"}}), "asset \"a\": memo: expected 0x"),
            (
                json!({"a": {"name": "A", "initialState": {"fixedCap": [{"amount": 1, "address": "x"}]}}}),
                "asset \"a\": fixedCap[0]: \"x\": invalid bech32 string length 1",
            ),
            (
                json!({"a": {"name": "A", "initialState": {"variableCap": [{"minters": [], "threshold": 1}]}}}),
                "asset \"a\": variableCap[0]: a threshold of 1 of 0 minters",
            ),
            (json!({"a": {"name": "A", "initialState": {"other": []}}}), "unknown field `other`"),
        ] {
            let error = xvm_genesis_bytes(7, json.to_string().as_bytes()).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _total = parse(&bytes);
            let _total = xvm_genesis_bytes(7, &bytes);
        }

        #[test]
        fn any_change_of_a_file_is_read_or_refused(at in 0_usize..3000, with in any::<u8>()) {
            let mut bytes = local().to_string().into_bytes();
            let at = at % bytes.len();
            bytes[at] = with;
            let _total = parse(&bytes);
        }
    }
}
