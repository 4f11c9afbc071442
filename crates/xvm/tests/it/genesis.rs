//! Genesis: bytes, assets, chain IDs, blocks of height 0, and the model behind `buildGenesis`.

use esker_primitives::bech32;
use esker_primitives::hash::sha256;
use esker_primitives::ids::{ChainId, ShortId};
use esker_primitives::network::{LOCAL_ID, MAIN_ID, TEST_ID};
use esker_transactions::xvm::Tx;
use esker_xvm::genesis::define::{AssetDefinition, Holder, Minters, genesis};
use esker_xvm::genesis::{Genesis, GenesisError, primary};
use serde_json::Value;

use crate::goldens::Exchange;
use crate::vectors::{bytes, rendered, test_file, text, vectors};

/// Name in the vectors, in the files, and ID.
const NETWORKS: [(&str, &str, u32); 3] =
    [("mainnet", "main", MAIN_ID), ("fuji", "test", TEST_ID), ("local", "local", LOCAL_ID)];

fn x_genesis(file: &str) -> Vec<u8> {
    test_file(&format!("vectors/genesis/{file}-x.bin"))
}

fn short_id(text: &str) -> ShortId {
    ShortId::from_slice(&bech32::decode(text).unwrap().1).unwrap()
}

#[test]
fn native_assets() {
    for (name, file, network_id) in NETWORKS {
        let (input, expected) = vectors(&format!("native-asset-{name}")).remove(0);
        let encoded = x_genesis(file);
        assert_eq!(encoded.len() as u64, expected["xGenesisLen"]);
        assert_eq!(hex::encode(sha256(&encoded)), text(&expected["xGenesisSha256"]));
        let parsed = Genesis::parse(&encoded).unwrap();
        assert_eq!(parsed.to_bytes(), encoded);
        assert_eq!(parsed.fee_asset_id().unwrap().to_string(), text(&expected["assetID"]));
        assert_eq!(parsed.assets[0].alias, primary::native_alias().as_bytes());
        assert_eq!(parsed.assets[0].tx.base.network_id, network_id);
        // The stored form of a genesis transaction may exceed what the codec takes from outside.
        let tx = parsed.assets[0].to_tx();
        assert_eq!(Tx::parse_stored(tx.bytes()).unwrap(), tx);
        assert_eq!(Tx::parse(tx.bytes()).is_ok(), network_id != MAIN_ID);
        if let Some(allocations) = input.get("allocations") {
            let allocations: Vec<_> =
                allocations.as_array().unwrap().iter().rev().map(allocation).collect();
            let built = primary::x_chain_genesis(network_id, &allocations).unwrap();
            assert_eq!(built.to_bytes(), encoded);
        }
    }
}

fn allocation(value: &Value) -> primary::Allocation {
    primary::Allocation {
        initial_amount: text(&value["amount"]).parse().unwrap(),
        address: short_id(text(&value["address"])),
        eth_address: bytes(&value["ethAddr"]).try_into().unwrap(),
    }
}

#[test]
fn allocations_without_an_amount_are_left_out() {
    let given = |initial_amount| primary::Allocation {
        initial_amount,
        address: ShortId::ZERO,
        eth_address: [7; 20],
    };
    let asset = primary::native_asset(&[given(0), given(3)]);
    assert_eq!(asset.fixed_cap.unwrap().len(), 1);
    assert_eq!(asset.memo, [7; 20]);
}

#[test]
fn chain_ids() {
    for (name, file, network_id) in NETWORKS {
        let (input, expected) = vectors(&format!("x-chain-id-{name}")).remove(0);
        let genesis_data = x_genesis(file);
        let x = primary::x_chain_id(network_id, &genesis_data);
        assert_eq!(x.to_string(), text(&expected["blockchainID"]));
        if let Some(tx) = input.get("createChainTxHex") {
            let chain = primary::ChainDefinition {
                network_id,
                subnet_id: ChainId::ZERO,
                name: "X-Chain",
                vm_id: primary::XVM_ID,
                fx_ids: &esker_utxo::FxKind::ALL.map(esker_utxo::FxKind::id),
                genesis_data: &genesis_data,
            };
            assert_eq!(hex::encode(chain.create_chain_tx()), text(tx));
        }
        let (_, expected) = vectors(&format!("c-chain-id-{name}")).remove(0);
        let json = test_file(&format!("vectors/genesis/{file}-c.json"));
        let c = primary::c_chain_id(network_id, &json);
        assert_eq!(c.to_string(), text(&expected["blockchainID"]));
    }
}

#[test]
fn vm_ids() {
    let ids = [primary::XVM_ID, primary::EVM_ID, primary::PLATFORM_VM_ID].map(|id| id.to_string());
    assert_eq!(ids[0], "jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq");
    assert_eq!(ids[1], "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6");
    assert_eq!(ids[2], "rWhpuQPF1kb72esV2momhMuTYGkEb1oL29pt2EBXWmSy4kxnT");
}

#[test]
fn genesis_blocks() {
    for (name, file, network_id) in NETWORKS {
        let (_, expected) = vectors(&format!("genesis-block-{name}")).remove(0);
        let x = primary::x_chain_id(network_id, &x_genesis(file));
        let block = primary::x_genesis_block(network_id, x);
        assert_eq!(hex::encode(block.bytes()), text(&expected["hex"]));
        assert_eq!(block.id().to_string(), text(&expected["id"]));
        if let Some(json) = expected.get("json") {
            let got: Value = serde_json::from_str(&rendered(&block, "avax")).unwrap();
            assert_eq!(&got, json);
        }
    }
    let (input, _) = vectors("genesis-block-local").remove(0);
    let x = primary::x_chain_id(LOCAL_ID, &x_genesis("local"));
    let block = primary::fresh_genesis_block(x);
    assert_eq!(block.parent_id().to_string(), text(&input["stopVertexID"]));
    assert_eq!(block.time_s(), input["time"]);
}

/// The definitions of a `genesisData` object whose members are all well-formed.
fn definitions(data: &Value, threshold: Option<u32>) -> Vec<AssetDefinition> {
    let list = |asset: &Value, kind: &str| asset["initialState"].get(kind).cloned();
    let minters = |value: &Value| Minters {
        threshold: threshold.unwrap_or_else(|| value["threshold"].as_u64().unwrap() as u32),
        minters: value["minters"].as_array().unwrap().iter().map(|m| short_id(text(m))).collect(),
    };
    let holder = |value: &Value| Holder {
        amount: value["amount"].as_u64().unwrap(),
        address: short_id(text(&value["address"])),
    };
    let sets = |asset: &Value, kind: &str| {
        list(asset, kind).map(|list| list.as_array().unwrap().iter().map(minters).collect())
    };
    let asset = |(alias, asset): (&String, &Value)| AssetDefinition {
        alias: alias.clone(),
        name: text(&asset["name"]).to_owned(),
        symbol: text(&asset["symbol"]).to_owned(),
        fixed_cap: list(asset, "fixedCap")
            .map(|list| list.as_array().unwrap().iter().map(holder).collect()),
        variable_cap: sets(asset, "variableCap"),
        non_fungible: sets(asset, "nonFungible"),
        limited_transfer: sets(asset, "limitedTransfer"),
        ..AssetDefinition::default()
    };
    data.as_object().unwrap().iter().map(asset).collect()
}

/// The reference writes threshold 1 whatever is given, so that is what is given here.
#[test]
fn the_documented_definition() {
    let (input, expected) = vectors("build-genesis-default").remove(0);
    let mut assets = definitions(&input["genesisData"], Some(1));
    assets.reverse();
    let built = genesis(0, assets).unwrap();
    let encoded = esker_primitives::hexfmt::encode_checked(&built.to_bytes());
    assert_eq!(encoded, text(&expected["bytes"]));
    for asset in &built.assets {
        let alias = str::from_utf8(&asset.alias).unwrap();
        if let Some(id) = expected["assetIDs"].get(alias) {
            assert_eq!(asset.asset_id().to_string(), text(id), "{alias}");
        }
    }
}

/// Thresholds, NFTs, properties, exact amounts, symbols: what is decided otherwise than by the reference.
#[test]
fn decided_definitions() {
    let exchanges = Exchange::read("x/buildGenesis-decisions.io");
    assert_eq!(exchanges.len(), 10);
    for exchange in exchanges {
        let params = &exchange.request["params"];
        let assets = definitions(&params["genesisData"], None);
        let built = genesis(LOCAL_ID, assets);
        match exchange.reply["result"].get("bytes") {
            Some(expected) => {
                let encoded = built.unwrap().to_bytes();
                let encoded = esker_primitives::hexfmt::encode_checked(&encoded);
                assert_eq!(encoded, text(expected));
            }
            None => {
                let error = built.unwrap_err().to_string();
                assert_eq!(error, "symbol is too long, maximum size is 4");
            }
        }
    }
}

fn named(alias: &str, name: &str) -> AssetDefinition {
    let (alias, name) = (alias.to_owned(), name.to_owned());
    AssetDefinition { alias, name, ..AssetDefinition::default() }
}

#[test]
fn the_last_of_several_definitions_counts() {
    let assets = [named("b", "first"), named("a", "other"), named("b", "second")];
    let built = genesis(LOCAL_ID, assets).unwrap();
    let names: Vec<_> = built.assets.iter().map(|asset| asset.tx.name.as_slice()).collect();
    assert_eq!(names, [b"other".as_slice(), b"second"]);
}

#[test]
fn empty_lists_let_the_asset_have_the_kind() {
    let asset = AssetDefinition {
        fixed_cap: Some(vec![]),
        limited_transfer: Some(vec![]),
        ..named("a", "a")
    };
    let built = genesis(LOCAL_ID, [asset, named("b", "b")]).unwrap();
    let indices: Vec<_> = built.assets[0].tx.states.iter().map(|state| state.fx_index).collect();
    assert_eq!(indices, [0, 2]);
    assert!(built.assets[0].tx.states.iter().all(|state| state.outputs.is_empty()));
    assert!(built.assets[1].tx.states.is_empty());
}

#[test]
fn definitions_that_do_not_fit() {
    let long = "x".repeat(65_536);
    for asset in [named(&long, ""), named("", &long)] {
        assert!(genesis(LOCAL_ID, [asset]).is_err());
    }
}

/// A genesis symbol is measured in characters.
#[test]
fn symbols() {
    let symbol = |symbol: &str| {
        let asset = AssetDefinition { symbol: symbol.to_owned(), ..named("a", "a") };
        genesis(LOCAL_ID, [asset]).is_ok()
    };
    assert!(symbol("") && symbol("abcd") && symbol("éééé"));
    assert!(!symbol("abcde") && !symbol("ééééé"));
}

#[test]
fn invalid_genesis_bytes() {
    let none = Genesis::default().to_bytes();
    assert_eq!(Genesis::parse(&none), Err(GenesisError::NoAssets));
    let mut built = primary::x_chain_genesis(LOCAL_ID, &[]).unwrap();
    built.assets[0].tx.base.outputs.push(esker_utxo::TransferableOutput::default());
    let error = Genesis::parse(&built.to_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "genesis asset must have non-empty state");
    let error = Genesis::parse(&[0]).unwrap_err();
    assert_eq!(error.to_string(), "couldn't unpack codec version");
}
