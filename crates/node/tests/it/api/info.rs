//! `info` (docs/api/info.md, "Node: info").

use serde_json::{Value, json};

use super::{INVALID_ARGUMENT, NOBODY, Node};

#[tokio::test]
async fn replies() {
    let node = Node::start().await;
    let x = node.network.x_chain().unwrap().id.to_string();
    let hex = |bytes: &[u8]| format!("0x{}", hex::encode(bytes));
    for (method, params, want) in [
        ("getNetworkID", json!({}), json!({"networkID": "12345"})),
        ("getNetworkName", json!({}), json!({"networkName": "local"})),
        ("getBlockchainID", json!({"alias": "X"}), json!({"blockchainID": x})),
        ("getBlockchainID", json!({"alias": "avm"}), json!({"blockchainID": x})),
        ("getBlockchainID", json!({"alias": x}), json!({"blockchainID": x})),
        ("getBlockchainID", json!([{"alias": "X"}]), json!({"blockchainID": x})),
        (
            "getBlockchainID",
            json!({"alias": "P"}),
            json!({"blockchainID": "11111111111111111111111111111111LpoYY"}),
        ),
        (
            "getNodeID",
            json!({}),
            json!({"nodeID": node.identity.node_id().to_string(), "nodePOP": {
                "publicKey": hex(&node.identity.bls_public_key()),
                "proofOfPossession": hex(&node.identity.proof_of_possession()),
            }}),
        ),
        ("getNodeIP", json!({}), json!({"ip": "127.0.0.1:9651"})),
        (
            "getNodeVersion",
            json!({}),
            json!({"version": "esker/0.1.0", "databaseVersion": "v1", "rpcProtocolVersion": "0",
                "gitCommit": "", "vmVersions": {"avm": "v0.1.0"}}),
        ),
        ("isBootstrapped", json!({"chain": "X"}), json!({"isBootstrapped": true})),
        ("isBootstrapped", json!({"chain": x}), json!({"isBootstrapped": true})),
        ("isBootstrapped", json!({"chain": "P"}), json!({"isBootstrapped": true})),
        // A chain that the network has and this node does not run.
        ("isBootstrapped", json!({"chain": "C"}), json!({"isBootstrapped": false})),
        ("peers", json!({}), json!({"numPeers": "0", "peers": []})),
        ("peers", json!({"nodeIDs": null}), json!({"numPeers": "0", "peers": []})),
        (
            "peers",
            json!({"nodeIDs": ["NodeID-111111111111111111116DBWJs"]}),
            json!({"numPeers": "0", "peers": []}),
        ),
        (
            "uptime",
            json!({"subnetID": "11111111111111111111111111111111LpoYY"}),
            json!({"rewardingStakePercentage": "100.0000", "weightedAveragePercentage": "100.0000"}),
        ),
        (
            "getTxFee",
            json!({}),
            json!({"txFee": "1000000", "createAssetTxFee": "1000000", "createSubnetTxFee": "100000000",
                "transformSubnetTxFee": "100000000", "createBlockchainTxFee": "100000000",
                "addPrimaryNetworkValidatorFee": "0", "addPrimaryNetworkDelegatorFee": "0",
                "addSubnetValidatorFee": "1000000", "addSubnetDelegatorFee": "1000000"}),
        ),
        ("acps", json!({}), json!({"acps": {}})),
    ] {
        let got = node.result("/ext/info", &format!("info.{method}"), params.clone()).await;
        assert_eq!(got, want, "{method} {params}");
    }
}

#[tokio::test]
async fn upgrades_and_vms() {
    let node = Node::start().await;
    let upgrades = node.result("/ext/info", "info.upgrades", json!({})).await;
    let time = json!("2020-12-05T05:00:00Z");
    let zero = json!("11111111111111111111111111111111LpoYY");
    let want: Value = [
        "apricotPhase1Time",
        "apricotPhase2Time",
        "apricotPhase3Time",
        "apricotPhase4Time",
        "apricotPhase5Time",
        "apricotPhasePre6Time",
        "apricotPhase6Time",
        "apricotPhasePost6Time",
        "banffTime",
        "cortinaTime",
        "durangoTime",
        "etnaTime",
    ]
    .into_iter()
    .map(|name| (name.to_owned(), time.clone()))
    .chain([
        ("apricotPhase4MinPChainHeight".to_owned(), json!(0)),
        ("cortinaXChainStopVertexID".to_owned(), zero),
    ])
    .collect::<serde_json::Map<_, _>>()
    .into();
    assert_eq!(upgrades, want);
    let vms = node.result("/ext/info", "info.getVMs", json!({})).await;
    assert_eq!(
        vms["vms"],
        json!({"jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq": ["xvm"],
            "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6": ["evm"]})
    );
}

#[tokio::test]
async fn refused() {
    let node = Node::start().await;
    let no_alias = |name: &str| format!("there is no ID with alias: {name}");
    for (method, params, want) in [
        ("getBlockchainID", json!({"alias": ""}), no_alias("")),
        ("getBlockchainID", json!({}), no_alias("")),
        ("getBlockchainID", json!({"alias": null}), no_alias("")),
        ("getBlockchainID", json!({"alias": "x"}), no_alias("x")),
        ("getBlockchainID", json!({"alias": NOBODY}), no_alias(NOBODY)),
        ("getBlockchainID", json!({"alias": 5}), INVALID_ARGUMENT.to_owned()),
        ("isBootstrapped", json!({"chain": ""}), "argument 'chain' not given".to_owned()),
        ("isBootstrapped", json!({"chain": null}), "argument 'chain' not given".to_owned()),
        ("isBootstrapped", json!({"chain": "Y"}), "there is no chain with alias/ID 'Y'".to_owned()),
        ("peers", json!({"nodeIDs": ["x"]}), INVALID_ARGUMENT.to_owned()),
        ("peers", json!({"nodeIDs": "x"}), INVALID_ARGUMENT.to_owned()),
        ("uptime", json!({"subnetID": NOBODY}), "subnet is not tracked".to_owned()),
        ("nothing", json!({}), "rpc: can't find method \"info.Nothing\"".to_owned()),
    ] {
        let got = node.error("/ext/info", &format!("info.{method}"), params.clone()).await;
        assert_eq!(got, want, "{method} {params}");
    }
}

#[tokio::test]
async fn a_chain_that_is_not_ready() {
    let node = Node::start().await;
    node.ready.set(false);
    let reply = node.result("/ext/info", "info.isBootstrapped", json!({"chain": "X"})).await;
    assert_eq!(reply, json!({"isBootstrapped": false}));
}
