//! Transfers between the chains, as whoever runs a node sees them.

use esker_client::{CallError, RpcClient};
use esker_e2e::funds::FUNDED;
use esker_e2e::until;
use serde_json::{Value, json};

use crate::support::{json_lines as lines, local};

const X: &str = "/ext/bc/X";
const NAT: &str = "/ext/bc/C/nat";
const ACCOUNT: &str = "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc";

fn call(rpc: &mut RpcClient, path: &str, method: &str, params: Value) -> Value {
    rpc.call(path, method, params).unwrap_or_else(|error: CallError| panic!("{method}: {error}"))
}

fn with_user(mut params: Value) -> Value {
    params["username"] = "mover".into();
    params["password"] = "Str0ng-Pass-W0rd!".into();
    params
}

/// With `atomic-transactions` blocks show their atomic transactions; each transfer is logged.
#[test]
fn atomic_transactions_can_be_seen() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.toml");
    std::fs::write(&config, "[chains.C]\natomic-transactions = true\n").unwrap();
    let folder = dir.path().join("data");
    let node =
        local().config(config).data_dir(&folder).arg("--log-format").arg("json").start().unwrap();
    let rpc = &mut node.rpc();
    call(rpc, "/ext/keystore", "keystore.createUser", with_user(json!({})));
    let key = with_user(json!({ "privateKey": FUNDED }));
    let on_x = call(rpc, X, "xvm.importKey", key.clone())["address"].as_str().unwrap().to_owned();
    call(rpc, NAT, "nat.importKey", key);
    let on_c = on_x.replacen("X-", "C-", 1);
    let export = json!({ "to": on_c, "amount": 5_000_000_000u64, "assetID": "NAT" });
    let exported = call(rpc, X, "xvm.export", with_user(export));
    until("X has exported", || {
        let status = call(rpc, X, "xvm.getTxStatus", json!({ "txID": exported["txID"] }));
        (status["status"] == "Accepted").then_some(())
    });
    let import = json!({ "sourceChain": "X", "to": ACCOUNT });
    let id = call(rpc, NAT, "nat.import", with_user(import))["txID"].clone();
    let height: u64 = until("C has imported", || {
        let status = call(rpc, NAT, "nat.getAtomicTxStatus", json!({ "txID": id }));
        status["blockHeight"].as_str().map(|height| height.parse().unwrap())
    });
    let number = json!([format!("{height:#x}"), false]);
    let block = call(rpc, "/ext/bc/C/rpc", "evm_getBlockByNumber", number);
    let shown = &block["atomicTransactions"];
    assert_eq!(shown.as_array().map(Vec::len), Some(1), "{block}");
    let asked = json!({ "txID": id, "encoding": "json" });
    assert_eq!(shown[0], call(rpc, NAT, "nat.getAtomicTx", asked)["tx"]);
    assert_eq!(shown[0]["id"], id);
    assert_eq!(shown[0]["unsignedTx"]["outputs"][0]["address"], ACCOUNT);
    let genesis = call(rpc, "/ext/bc/C/rpc", "evm_getBlockByNumber", json!(["0x0", false]));
    assert_eq!(genesis["atomicTransactions"], json!([]));

    assert!(node.stop().unwrap().success());
    let exported = exported["txID"].as_str().unwrap();
    let imported = id.as_str().unwrap();
    for chain in ["X", "C"] {
        let lines = lines(&folder.join(format!("logs/{chain}.log")));
        let moved = lines.iter().filter(|line| line["message"] == "atomic transaction accepted");
        let moved: Vec<&Value> = moved.collect();
        assert_eq!(moved.len(), 2, "{chain}: {lines:?}");
        for (line, kind, id) in [(moved[0], "export", exported), (moved[1], "import", imported)] {
            assert_eq!(
                (&line["level"], &line["logger"]),
                (&json!("INFO"), &json!(chain)),
                "{line}"
            );
            assert_eq!((&line["kind"], &line["txID"]), (&json!(kind), &json!(id)), "{line}");
            assert_eq!((&line["from"], &line["to"]), (&json!("X"), &json!("C")), "{line}");
            assert_eq!(line["asset"], "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe");
            assert_eq!(line["amount"], 5_000_000_000u64, "{line}");
        }
        assert_eq!(moved[1]["height"], height);
    }
}
