//! `esker call`, `tx` and `address`.

use alloy_primitives::hex;
use esker_client::Wallet;
use esker_e2e::files::{tests_path, write_secret};
use esker_e2e::funds::{funded, key};
use esker_e2e::tables::every_chain_api;
use esker_e2e::{Node, until};
use serde_json::{Value, json};

use super::{
    FIRST_X, NOBODY, Ran, WELL_KNOWN_C, WELL_KNOWN_EVM, WELL_KNOWN_KEY, WELL_KNOWN_X,
    assert_failures, document, failure, run, run_with, text,
};
use crate::controls::{FIRST, result};
use crate::support::{accept, local, wallet};

/// The output of `esker address`.
fn address(variables: &[(&str, &str)], args: &[&str]) -> Ran {
    run(variables, &[&["address"], args].concat())
}

fn forms(args: &[&str]) -> Value {
    let (code, out, errors) = address(&[], &[args, &["--json"]].concat());
    assert_eq!((code, &*errors), (Some(0), ""), "{args:?}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn methods_are_called() {
    let node = local().dev().config(every_chain_api()).arg("--api-admin-enabled").start().unwrap();
    for (method, result) in [
        ("evm_chainId", json!("0xa868")),
        ("eth_blockNumber", json!("0x0")),
        ("xvm.getHeight", json!({"height": "1"})),
        ("avm.getHeight", json!({"height": "1"})),
        ("info.getNetworkID", json!({"networkID": "12345"})),
        ("dev.snapshot", json!({"id": "1"})),
    ] {
        assert_eq!(document(&node, &["call", method]), result, "{method}");
    }
    for method in ["health.health", "admin.getConfig", "nat.version", "keystore.listUsers"] {
        assert!(document(&node, &["call", method]).is_object(), "{method}");
    }
    let params = format!(r#"{{"address":"{FIRST_X}","assetID":"NAT"}}"#);
    let found = document(&node, &["call", "xvm.getBalance", &params]);
    assert_eq!(found["balance"], "10000000000000");
    let params = format!(r#"["{NOBODY}","latest"]"#);
    assert_eq!(text(&node, &["call", "evm_getBalance", &params]), "\"0x0\"\n");
    // As words, which `cast rpc` takes too.
    assert_eq!(text(&node, &["call", "evm_getBalance", NOBODY, "latest"]), "\"0x0\"\n");
    let transfer = format!(r#"{{"to":"{NOBODY}"}}"#);
    assert_eq!(text(&node, &["call", "eth_estimateGas", &transfer]), "\"0x5208\"\n");
    let address = format!("address={FIRST_X}");
    let found = document(&node, &["call", "xvm.getBalance", &address, "assetID=NAT"]);
    assert_eq!(found["balance"], "10000000000000");
    let found = document(&node, &["call", "xvm.getBlockByHeight", "height=1", "encoding=json"]);
    assert_eq!(found["block"]["height"], 1);
    assert_eq!(text(&node, &["call", "xvm.getHeight"]), "{\n  \"height\": \"1\"\n}\n");
    let found = document(&node, &["call", "rpc.discover", "--path", "/ext/info"]);
    assert!(found["openrpc"].is_string(), "{found}");
    let found = document(&node, &["call", "admin.getVMConfig", "--chain", "C"]);
    assert!(found.is_object(), "{found}");
    let url = node.url();
    assert_failures(
        &node,
        &[
            (&["call", "xvm.getTx", r#"{"txID":"nothing"}"#], 1, "esker: xvm.getTx: "),
            (&["call", "evm_nothing"], 1, "evm_nothing: the method evm_nothing does not exist"),
            (
                &["call", "xvm.getHeight", "--chain", "Y"],
                1,
                &format!("{url} does not serve /ext/bc/Y"),
            ),
            (&["call", "xvm.getHeight", "{"], 2, "PARAMS {: not JSON"),
            (&["call", "xvm.getHeight", "1"], 2, "words such as height=7"),
            (&["call", "getHeight"], 2, "give --path"),
            (&["call", "info.uptime", "--path", "ext/info"], 2, "expected a path"),
            (&["call"], 2, "<METHOD>"),
        ],
    );
}

#[test]
fn transactions_of_each_kind_are_shown() {
    let node = local().dev().start().unwrap();
    let to = wallet(&node, "X", key(7)).address();
    let paid = document(&node, &["transfer", "1.5", &to]);
    let id = paid["id"].as_str().unwrap();
    let shown = document(&node, &["tx", id]);
    assert_eq!((&shown["chain"], &shown["type"]), (&json!("X"), &json!("BaseTx")));
    assert_eq!((&shown["status"], &shown["block"]), (&json!("Accepted"), &paid["block"]));
    assert_eq!((&shown["reason"], &shown["tx"]["id"]), (&Value::Null, &json!(id)));
    let outputs = shown["outputs"].as_array().unwrap();
    let output = outputs.iter().find(|output| output["addresses"] == json!([to])).unwrap();
    assert_eq!((&output["amount"], &output["units"]), (&json!("1.5"), &json!("1500000000")));
    assert_eq!(shown["inputs"][0]["amount"], "10000");
    let lines = text(&node, &["tx", id]);
    assert!(
        lines.starts_with(&format!("transaction  {id}\nchain        X\nstatus       Accepted\n"))
    );
    assert!(lines.contains(&format!("to           1.5 NAT  {to}\n")), "{lines}");

    let paid = document(&node, &["transfer", "3", NOBODY]);
    let id = paid["id"].as_str().unwrap();
    let shown = document(&node, &["tx", id]);
    assert_eq!((&shown["chain"], &shown["type"]), (&json!("C"), &json!("0x2")));
    assert_eq!((&shown["status"], &shown["block"]), (&json!("Accepted"), &paid["block"]));
    assert_eq!(shown["outputs"][0]["addresses"], json!([NOBODY]));
    assert_eq!(shown["outputs"][0]["amount"], "3");
    assert_eq!(shown["tx"]["receipt"]["status"], "0x1");

    // One that fails, and one that waits.
    let failing = json!([{"from": FIRST, "data": "0xfe", "gas": "0x20000"}]);
    let failed = result(&node, "evm_sendTransaction", failing);
    let failed = failed.as_str().unwrap();
    until("the transaction is in a block", || {
        let receipt = result(&node, "evm_getTransactionReceipt", json!([failed]));
        (!receipt.is_null()).then_some(())
    });
    assert_eq!(document(&node, &["tx", failed])["status"], "Failed");
    result(&node, "evm_setAutomine", json!([false]));
    let waiting = result(&node, "evm_sendTransaction", json!([{"from": FIRST, "to": NOBODY}]));
    let shown = document(&node, &["tx", waiting.as_str().unwrap()]);
    assert_eq!((&shown["status"], &shown["block"]), (&json!("Processing"), &Value::Null));
    assert!(!text(&node, &["tx", waiting.as_str().unwrap()]).contains("block"));

    let none = format!("0x{}", "00".repeat(32));
    let asset = paid["assetID"].as_str().unwrap();
    let unknown = "2chs8mfBmjYSzp9mdJsPeioqdojYo2uoes1Adu8oHQ7GSwptYF";
    assert_eq!(document(&node, &["tx", asset])["type"], "CreateAssetTx");
    assert_failures(
        &node,
        &[
            (&["tx", &none], 1, "the node knows no transaction 0x00"),
            (&["tx", "0x12"], 2, "64 hex digits"),
            (&["tx", unknown], 2, "ID of a transaction"),
            (&["tx", id, "--chain", "D"], 1, "does not serve"),
        ],
    );
}

#[test]
fn transactions_between_the_chains_are_shown() {
    let node = local().dev().start().unwrap();
    let rpc = &mut node.rpc();
    let user = json!({"username": "mover", "password": "Str0ng-Pass-W0rd!"});
    let with_user = |mut params: Value| {
        params["username"] = user["username"].clone();
        params["password"] = user["password"].clone();
        params
    };
    let _created: Value =
        rpc.call("/ext/keystore", "keystore.createUser", with_user(json!({}))).unwrap();
    let imported = with_user(json!({"privateKey": funded().to_text()}));
    let _imported: Value = rpc.call("/ext/bc/C/nat", "nat.importKey", imported).unwrap();
    let exported = export(&node);
    let shown = document(&node, &["tx", &exported]);
    assert_eq!((&shown["chain"], &shown["type"]), (&json!("X"), &json!("ExportTx")));
    let outputs = shown["outputs"].as_array().unwrap();
    let output = outputs.iter().find(|output| output["kind"] == "exported").unwrap();
    assert_eq!(output["amount"], "2.5");
    let line = format!("to           2.5 NAT  {WELL_KNOWN_X} (exported)\n");
    assert!(text(&node, &["tx", &exported]).contains(&line), "{shown}");

    let import = with_user(json!({"sourceChain": "X", "to": NOBODY}));
    let reply: Value = rpc.call("/ext/bc/C/nat", "nat.import", import).unwrap();
    let id = reply["txID"].as_str().unwrap();
    until("C has imported", || {
        (document(&node, &["tx", id])["status"] == "Accepted").then_some(())
    });
    let shown = document(&node, &["tx", id]);
    assert_eq!((&shown["chain"], &shown["type"]), (&json!("C"), &json!("ImportTx")));
    let block = result(&node, "evm_getBlockByNumber", json!(["latest", false]));
    assert_eq!(shown["block"], json!({"height": "1", "id": block["hash"]}));
    assert_eq!(
        (&shown["inputs"][0]["kind"], &shown["inputs"][0]["amount"]),
        (&json!("imported"), &json!("2.5"))
    );
    assert_eq!(shown["inputs"][0]["txID"], exported.as_str());
    assert_eq!(shown["outputs"][0]["addresses"], json!([NOBODY]));
    assert_eq!(document(&node, &["tx", id, "--chain", "C"]), shown);
    let errors = failure(&node.url(), 1, &["tx", id, "--chain", "X"]);
    assert!(errors.contains("--chain"), "{errors}");
}

/// Exports 2.5 units to C; the transaction.
fn export(node: &Node) -> String {
    let wallet = wallet(node, "X", funded());
    let c: Value =
        node.rpc().call("/ext/info", "info.getBlockchainID", json!({"alias": "C"})).unwrap();
    let c = c["blockchainID"].as_str().unwrap().parse().unwrap();
    let native = wallet.params().fee_asset_id;
    let output = Wallet::output(native, 2_500_000_000, wallet.owner());
    accept(&mut node.x(), &wallet.export(c, vec![output]).unwrap()).to_string()
}

#[test]
fn addresses_are_converted() {
    let bytes = "0x3cb7d3842e8cee6a0ebd09f1fe884f6861e1b29c";
    let without_key = json!({"x": WELL_KNOWN_X, "c": WELL_KNOWN_C, "bytes": bytes, "evm": null});
    assert_eq!(forms(&[WELL_KNOWN_X]), without_key);
    assert_eq!(forms(&[WELL_KNOWN_C]), without_key);
    assert_eq!(forms(&["--bytes", bytes]), without_key);
    let evm_only = json!({"x": null, "c": null, "bytes": null, "evm": WELL_KNOWN_EVM});
    assert_eq!(forms(&[&WELL_KNOWN_EVM.to_lowercase()]), evm_only);

    let all = json!({"x": WELL_KNOWN_X, "c": WELL_KNOWN_C, "bytes": bytes, "evm": WELL_KNOWN_EVM});
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    write_secret(&file, WELL_KNOWN_KEY).unwrap();
    assert_eq!(forms(&["--private-key-file", file.to_str().unwrap()]), all);
    let public_key = hex::encode(funded().public_key().as_bytes());
    assert_eq!(forms(&["--public-key", &public_key]), all);
    let (code, out, _) = address(&[("ESKER_PRIVATE_KEY", WELL_KNOWN_KEY)], &["--json"]);
    assert_eq!((code, serde_json::from_str::<Value>(&out).unwrap()), (Some(0), all));
    let fuji = forms(&["--network", "test", "--public-key", &public_key]);
    assert!(fuji["x"].as_str().unwrap().starts_with("X-fuji1"), "{fuji}");

    let (_, out, _) = address(&[], &[WELL_KNOWN_X]);
    let expected = format!("X      {WELL_KNOWN_X}\nC      {WELL_KNOWN_C}\nbytes  {bytes}\n");
    assert!(out.starts_with(&expected) && out.contains("another hash"), "{out}");
    let (_, out, _) = address(&[], &[WELL_KNOWN_EVM]);
    assert!(out.starts_with(&format!("EVM    {WELL_KNOWN_EVM}\n")) && out.contains("another hash"));
    for (args, expected) in [
        (&[][..], "give an address, --public-key, --private-key-file or ESKER_PRIVATE_KEY"),
        (&["nobody"], "not an address"),
        (&["0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52Fc"], "checksum"),
        (&["--public-key", "00"], "33 or 65 bytes"),
        (&["--private-key-file", "/nowhere/key"], "/nowhere/key"),
        (&[WELL_KNOWN_X, "--public-key", &public_key], "cannot be used with"),
        (&[WELL_KNOWN_X, "--network", "moon"], "--network moon"),
        (&["--bytes"], "required"),
    ] {
        let (code, out, errors) = address(&[], args);
        assert_eq!((code, &*out), (Some(2), ""), "{args:?}");
        assert!(errors.contains(expected), "{args:?}: {errors}");
    }
    // It calls no node.
    let (code, _, errors) = run_with("http://127.0.0.1:1", &[], &["address", WELL_KNOWN_X]);
    assert!(code == Some(2) && errors.contains("--url"), "{errors}");
}

#[test]
fn coins_of_further_evm_chains_are_paid() {
    let node = local().network(tests_path("networks/evm-chains.json")).start().unwrap();
    // Only the user knows the chain of a network of their own.
    let file = tests_path("networks/evm-chains.json");
    let file = file.to_str().unwrap();
    let args = ["transfer", "1.5", NOBODY, "--chain", "G", "--network", file, "--json"];
    let (code, out, errors) =
        run_with(&node.url(), &[("ESKER_PRIVATE_KEY", WELL_KNOWN_KEY)], &args);
    assert_eq!((code, &*errors), (Some(0), ""));
    let paid: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&paid["chain"], &paid["assetID"]), (&json!("G"), &Value::Null));
    let id = paid["id"].as_str().unwrap();
    let params = format!(r#"["{NOBODY}","latest"]"#);
    let found = document(&node, &["call", "evm_getBalance", &params, "--chain", "G"]);
    assert_eq!(found, "0x14d1120d7b160000");
    let shown = document(&node, &["tx", id, "--chain", "G"]);
    assert_eq!((&shown["status"], &shown["block"]), (&json!("Accepted"), &paid["block"]));
    assert_eq!(shown["outputs"][0]["amount"], "1.5");
    assert_failures(&node, &[(&["tx", id], 1, "the node knows no transaction")]);
}
