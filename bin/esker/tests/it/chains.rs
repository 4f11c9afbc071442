use std::fs;

use serde_json::{Value, json};

use crate::harness::Esker;

const OWNER: &str = "custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p";

const C_GENESIS: &str =
    r#"{"config":{"chainId":7},"gasLimit":"0xe4e1c0","difficulty":"0x0","alloc":{}}"#;

/// A network of one's own with a second chain of the asset VM and UTXOs exported from P.
fn network() -> Value {
    json!({
        "networkID": 7,
        "allocations": [{
            "ethAddr": "0xb3d82b1367d362de99ab59a658165aff520cbd4d",
            "avaxAddr": format!("X-{OWNER}"),
            "initialAmount": 1_000_000_000_u64,
            "unlockSchedule": [],
        }],
        "startTime": 1_700_000_000,
        "cChainGenesis": C_GENESIS,
        "esker": {
            "chains": [{
                "name": "Second", "vm": "xvm", "aliases": ["Y", "second"],
                "fees": {"txFee": 5},
                "genesisData": {"coin": {
                    "name": "Coin", "symbol": "COIN", "denomination": 2,
                    "initialState": {"fixedCap": [{"amount": 77, "address": OWNER}]},
                }},
            }],
            "exportedFromP": [
                {"to": "X", "amount": 11, "addresses": [format!("P-{OWNER}")]},
                {"to": "Y", "amount": 12, "addresses": [OWNER]},
            ],
        },
    })
}

/// All checks that do not change anything.
fn check(node: &Esker) {
    assert_eq!(node.ready["networkID"], 7);
    let second = node.ready["chains"]["Y"].as_str().unwrap();
    for base in [&format!("/ext/bc/{second}")[..], "/ext/bc/Y", "/ext/bc/second", "/ext/Y"] {
        let reply = node.call(base, "xvm.getAssetDescription", json!({"assetID": "coin"}));
        assert_eq!(reply["name"], "Coin", "{base}");
        let fees = node.call(base, "xvm.getTxFee", json!({}));
        assert_eq!(fees, json!({"txFee": "5", "createAssetTxFee": "1000000"}));
    }
    let params = json!({"address": format!("Y-{OWNER}"), "assetID": "coin"});
    let reply = node.call("/ext/bc/Y", "xvm.getBalance", params);
    assert_eq!(reply["balance"], "77");
    for chain in ["X", "Y"] {
        let params = json!({"addresses": [format!("{chain}-{OWNER}")], "sourceChain": "P"});
        let reply = node.call(&format!("/ext/bc/{chain}"), "xvm.getUTXOs", params);
        assert_eq!(reply["numFetched"], "1", "{chain}: {reply}");
    }
    let id = node.call("/ext/info", "info.getBlockchainID", json!({"alias": "second"}));
    assert_eq!(id["blockchainID"], second);
}

#[test]
fn a_network_file_with_a_second_chain() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("network.json");
    fs::write(&file, network().to_string()).unwrap();
    let data = dir.path().join("data");
    let args = ["node", "--network", file.to_str().unwrap(), "--data-dir", data.to_str().unwrap()];
    let node = Esker::start(&args);
    check(&node);
    assert_eq!(node.stop("TERM").0.code(), Some(0));
    check(&Esker::start(&args));
}

#[test]
fn a_chain_declared_in_the_configuration_joins_existing_data() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let args = ["node", "--data-dir", data.to_str().unwrap()];
    Esker::start(&args).stop("TERM");
    let genesis = json!({"coin": {"name": "Coin", "initialState": {"fixedCap": [
        {"amount": 77, "address": "local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"},
    ]}}});
    fs::write(dir.path().join("second.json"), genesis.to_string()).unwrap();
    let config = dir.path().join("esker.toml");
    fs::write(&config, "[chains.Second]\nvm = 'xvm'\ngenesis = 'second.json'\naliases = 'Y'\n")
        .unwrap();
    let node = Esker::start(&[&args[..], &["--config", config.to_str().unwrap()]].concat());
    let params =
        json!({"address": "Y-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u", "assetID": "coin"});
    assert_eq!(node.call("/ext/bc/Y", "xvm.getBalance", params)["balance"], "77");
    assert_eq!(node.height(), "0");
}
