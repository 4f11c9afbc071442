//! The methods of the X-Chain, of atomic transactions and of the keystore, those that use keys among them: every
//! method is served, under both names, at its endpoint and at no other.

use esker_client::CallError;
use esker_e2e::Node;
use serde_json::{Value, json};

use crate::support::local;

const ON_X: &[&str] = &[
    "buildGenesis",
    "getAddressTxs",
    "getAllBalances",
    "getAssetDescription",
    "getBalance",
    "getBlock",
    "getBlockByHeight",
    "getHeight",
    "getTx",
    "getTxFee",
    "getTxStatus",
    "getUTXOs",
    "issueTx",
    "createAddress",
    "createAsset",
    "createFixedCapAsset",
    "createNFTAsset",
    "createVariableCapAsset",
    "export",
    "exportKey",
    "import",
    "importKey",
    "listAddresses",
    "mint",
    "mintNFT",
    "send",
    "sendMultiple",
    "sendNFT",
    "subscribe",
    "unsubscribe",
];

const OF_WALLET: &[&str] = &["issueTx", "send", "sendMultiple"];

const OF_KEYSTORE: &[&str] = &["createUser", "deleteUser", "exportUser", "importUser", "listUsers"];

const OF_NAT: &[&str] = &[
    "export",
    "exportKey",
    "exportNative",
    "getAtomicTx",
    "getAtomicTxStatus",
    "getUTXOs",
    "import",
    "importKey",
    "importNative",
    "issueTx",
    "version",
];

#[test]
fn every_specified_method_is_served() {
    let node = local().start().unwrap();
    for path in ["/ext/bc/X", "/ext/X", "/ext/bc/avm", "/ext/avm"] {
        for method in ON_X {
            assert!(is_served(&node, path, &format!("xvm.{method}")), "{path} {method}");
            assert!(is_served(&node, path, &format!("avm.{method}")), "{path} avm.{method}");
        }
    }
    for method in OF_WALLET.iter().map(|method| format!("wallet.{method}")) {
        assert!(is_served(&node, "/ext/bc/X/wallet", &method), "{method}");
        assert!(!is_served(&node, "/ext/bc/X", &method), "{method}");
    }
    for method in OF_KEYSTORE.iter().map(|method| format!("keystore.{method}")) {
        assert!(is_served(&node, "/ext/keystore", &method), "{method}");
        assert!(!is_served(&node, "/ext/bc/X", &method), "{method}");
    }
    let c_chain = "/ext/bc/2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC";
    for chain in ["/ext/bc/C", "/ext/C", "/ext/bc/evm", c_chain] {
        for path in [format!("{chain}/nat"), format!("{chain}/avax")] {
            for method in OF_NAT {
                assert!(is_served(&node, &path, &format!("nat.{method}")), "{path} {method}");
            }
            for method in ["importAVAX", "exportAVAX", "issueTx"] {
                assert!(is_served(&node, &path, &format!("avax.{method}")), "{path} {method}");
            }
        }
    }
    for path in ["/ext/vm/xvm", "/ext/vm/avm"] {
        assert!(is_served(&node, path, "xvm.buildGenesis"), "{path}");
        assert!(!is_served(&node, path, "xvm.getHeight"), "{path}");
    }
}

/// Methods, and the release since which they are deprecated.
const DEPRECATED: &[(&str, &str, &[&str], Option<&str>)] = &[
    ("/ext/bc/X", "xvm", &["getAddressTxs", "getAllBalances", "getBalance"], Some("v1.9.12")),
    ("/ext/bc/X", "xvm", &["getTxStatus"], Some("v1.10.0")),
    ("/ext/bc/X", "xvm", &["createAddress", "send", "mint", "import", "export"], Some("v1.9.12")),
    ("/ext/bc/X/wallet", "wallet", OF_WALLET, Some("v1.9.12")),
    ("/ext/keystore", "keystore", OF_KEYSTORE, Some("v1.9.12")),
    ("/ext/bc/C/nat", "nat", &["exportNative", "importNative"], Some("v1.9.12")),
    ("/ext/bc/C/nat", "nat", &["export", "import", "getUTXOs"], None),
    ("/ext/bc/X", "xvm", &["getHeight", "getUTXOs", "issueTx"], None),
];

#[test]
fn deprecated_methods_are_named_in_the_reply_and_once_in_the_log() {
    let node = local().start().unwrap();
    let mut rows = Vec::new();
    for (path, namespace, methods, since) in DEPRECATED {
        rows.extend(methods.iter().map(|method| (*path, format!("{namespace}.{method}"), *since)));
    }
    for (path, name, since) in &rows {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": name, "params": {} }).to_string();
        let expected = since.map(|since| format!("{name} since {since}"));
        for _ in 0..2 {
            let reply = node.rpc().post(path, body.as_bytes()).unwrap();
            assert_eq!(reply.header("Deprecation"), expected, "{name}");
        }
    }
    let log = std::fs::read_to_string(node.data_dir().join("logs/main.log")).unwrap();
    for (_, name, since) in &rows {
        let (namespace, method) = name.split_once('.').unwrap();
        let warning =
            format!("deprecated method called namespace={namespace} method={method} since=");
        let said = log.lines().filter(|line| line.contains(&warning));
        assert_eq!(said.count(), usize::from(since.is_some()), "{name}\n{log}");
    }
}

#[test]
fn the_native_asset_by_each_of_its_names() {
    let node = local().start().unwrap();
    let mut x = node.x();
    let id = x.get_asset_description("NAT").unwrap().asset_id;
    for name in ["NAT", "AVAX", &id.to_string()] {
        let asset = x.get_asset_description(name).unwrap();
        assert_eq!((asset.asset_id, asset.denomination), (id, 9), "{name}");
        let owner = "X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u";
        assert_eq!(x.get_balance(owner, name).unwrap().balance, 300_000_000_000_000_000, "{name}");
    }
    // The genesis' own alias is what replies show.
    let balances = x.get_all_balances("X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u").unwrap();
    assert_eq!(balances.balances[0].asset, "AVAX");
}

/// Whether the endpoint knows the method: any answer but that it cannot find it.
fn is_served(node: &Node, path: &str, method: &str) -> bool {
    match node.rpc().call::<Value>(path, method, json!({})) {
        Ok(_) => true,
        Err(CallError::Rpc { message, .. }) => !message.starts_with("rpc: can't find "),
        Err(e) => panic!("{path} {method}: {e}"),
    }
}
