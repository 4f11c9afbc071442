//! The index of the C-Chain's blocks, and what is said of the P-Chain's blocks, validators and transactions.

use esker_client::{CallError, RpcClient, Wallet};
use esker_e2e::funds::funded;
use esker_e2e::until;
use serde_json::{Value, json};

use crate::support::{local, wallet};

const INDEX: &str = "/ext/index/C/block";
const RPC: &str = "/ext/bc/C/rpc";

fn call(rpc: &mut RpcClient, path: &str, method: &str, params: Value) -> Result<Value, String> {
    rpc.call(path, method, params).map_err(|error| match error {
        CallError::Rpc { message, .. } => message,
        other => panic!("{path} {method}: {other}"),
    })
}

#[test]
fn blocks_of_the_c_chain() {
    let node = local().dev().arg("--index-enabled").start().unwrap();
    let rpc = &mut node.rpc();
    let none = call(rpc, INDEX, "index.getLastAccepted", json!({}));
    assert_eq!(none.unwrap_err(), "no containers have been accepted");
    let accounts = call(rpc, RPC, "eth_accounts", json!([])).unwrap();
    for n in 1..=3u64 {
        let tx = json!([{ "from": accounts[0], "to": accounts[1], "value": "0x1" }]);
        let hash = call(rpc, RPC, "eth_sendTransaction", tx).unwrap();
        until(&format!("transaction {n} is mined"), || {
            let receipt = call(rpc, RPC, "eth_getTransactionReceipt", json!([hash])).unwrap();
            receipt.is_object().then_some(())
        });
    }
    let args = json!({ "startIndex": 0, "numToFetch": 1024, "encoding": "hexnc" });
    let range = call(rpc, INDEX, "index.getContainerRange", args).unwrap();
    let containers = range["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 3);
    for (index, container) in containers.iter().enumerate() {
        let number = format!("{:#x}", index + 1);
        let raw = call(rpc, RPC, "eth_getBlockByNumber", json!([number, false])).unwrap();
        assert_eq!(container["index"], index.to_string());
        assert_eq!(container["encoding"], "hexnc");
        // An ID is the hash in cb58, and the bytes are the block's RLP, whose hash is over its header.
        let id: esker_primitives::Id = container["id"].as_str().unwrap().parse().unwrap();
        let hash = esker_primitives::hexfmt::encode_plain(id.as_bytes());
        assert_eq!(raw["hash"], hash);
        assert!(container["bytes"].as_str().unwrap().starts_with("0xf9"), "{container}");
        let size = container["bytes"].as_str().unwrap().len() / 2 - 1;
        assert_eq!(raw["size"], format!("{size:#x}"));
        let by = |rpc: &mut RpcClient, method: &str, args: Value| call(rpc, INDEX, method, args);
        let args = json!({ "index": index, "encoding": "hexnc" });
        assert_eq!(by(rpc, "index.getContainerByIndex", args).unwrap(), *container);
        let args = json!({ "id": container["id"], "encoding": "hexnc" });
        assert_eq!(by(rpc, "index.getContainerByID", args).unwrap(), *container);
        let args = json!({ "id": container["id"] });
        let found = by(rpc, "index.getIndex", args.clone()).unwrap();
        assert_eq!(found, json!({ "index": index.to_string() }));
        assert_eq!(by(rpc, "index.isAccepted", args).unwrap(), json!({ "isAccepted": true }));
    }
    let last = call(rpc, INDEX, "index.getLastAccepted", json!({ "encoding": "hexnc" })).unwrap();
    assert_eq!(last, containers[2]);
    for (method, args, text) in [
        ("index.getContainerByIndex", json!({ "index": 3 }), "no container at index 3"),
        ("index.getIndex", json!({ "id": "11111111111111111111111111111111LpoYY" }), "not found"),
        (
            "index.getContainerRange",
            json!({ "startIndex": 3, "numToFetch": 1 }),
            "start index (3) > last accepted index (2)",
        ),
    ] {
        assert_eq!(call(rpc, INDEX, method, args).unwrap_err(), text, "{method}");
    }
    // Only chains that once were graphs have the other indexes.
    for path in ["/ext/index/C/tx", "/ext/index/P/tx"] {
        assert_eq!(rpc.post(path, b"{}").unwrap().status, 404, "{path}");
    }
}

/// A block that the X-Chain reports as Accepted is in its index at once.
#[test]
fn accepted_blocks_are_listed_at_once() {
    let node = local().dev().arg("--index-enabled").start().unwrap();
    let (mut x, rpc) = (node.x(), &mut node.rpc());
    let mut wallet = wallet(&node, "X", funded());
    for _ in 0..150 {
        let output = Wallet::output(wallet.params().fee_asset_id, 5, wallet.owner());
        let tx = wallet.base_tx(vec![output], b"").unwrap();
        x.issue_tx(&tx).unwrap();
        // Without a pause between two looks: the moment after the commit is short.
        let params = json!({ "txID": tx.id() });
        until("the transaction is accepted", || {
            (0..200).find_map(|_| {
                let status = call(rpc, "/ext/bc/X", "xvm.getTxStatus", params.clone()).unwrap();
                (status["status"] == "Accepted").then_some(())
            })
        });
        let last = call(rpc, "/ext/index/X/block", "index.getLastAccepted", json!({})).unwrap();
        let height = call(rpc, "/ext/bc/X", "xvm.getHeight", json!({})).unwrap();
        let index: u64 = last["index"].as_str().unwrap().parse().unwrap();
        assert_eq!((index + 1).to_string(), height["height"]);
        wallet.apply(&tx);
    }
}

#[test]
fn the_p_chain_is_a_peer() {
    let node = local().arg("--index-enabled").start().unwrap();
    let rpc = &mut node.rpc();
    let index = "/ext/index/P/block";
    let range = json!({ "startIndex": 0, "numToFetch": 1 });
    for (method, args) in [
        ("index.getLastAccepted", json!({})),
        ("index.getContainerByIndex", json!({ "index": 0 })),
        ("index.getContainerRange", range),
    ] {
        let error = call(rpc, index, method, args).unwrap_err();
        assert!(error.contains("the P-Chain is only a peer of this node"), "{method}: {error}");
    }
    let id = json!({ "id": "11111111111111111111111111111111LpoYY" });
    assert_eq!(call(rpc, index, "index.getIndex", id.clone()).unwrap_err(), "not found");
    let accepted = call(rpc, index, "index.isAccepted", id).unwrap();
    assert_eq!(accepted, json!({ "isAccepted": false }));

    let p = "/ext/bc/P";
    let other = json!({ "subnetID": "2MVbntxreU3kpAVPoAMfev3kpiVmSgVN7VMPtrVhNgRMqciAz2" });
    for args in [json!({}), json!({ "nodeIDs": null }), json!({ "nodeIDs": [] }), other.clone()] {
        let validators = call(rpc, p, "platform.getCurrentValidators", args).unwrap();
        assert_eq!(validators, json!({ "validators": [] }));
    }
    let supply = call(rpc, p, "platform.getCurrentSupply", json!({})).unwrap();
    assert_eq!(supply["height"], "0");
    assert!(supply["supply"].as_str().unwrap().parse::<u64>().unwrap() > 300_000_000_000_000_000);
    let error = call(rpc, p, "platform.getCurrentSupply", other).unwrap_err();
    assert_eq!(error, "fetching current supply failed: not found");
    for height in [json!(null), json!(0), json!("0"), json!("proposed")] {
        let at = call(rpc, p, "platform.getValidatorsAt", json!({ "height": height })).unwrap();
        assert_eq!(at, json!({}), "{height}");
    }
    let error = call(rpc, p, "platform.getValidatorsAt", json!({ "height": 1 })).unwrap_err();
    assert!(
        error.ends_with("current P-chain height (0) < requested P-Chain height (1)"),
        "{error}"
    );
    for height in [json!("latest"), json!(-1), json!(u64::MAX)] {
        let error = call(rpc, p, "platform.getValidatorsAt", json!({ "height": height }));
        assert!(error.unwrap_err().starts_with("couldn't unmarshal an argument"), "{height}");
    }
    let error = call(rpc, p, "platform.issueTx", json!({ "tx": "0x00", "encoding": "hexnc" }));
    assert!(error.unwrap_err().contains("takes no transactions"));
    let error = call(rpc, p, "platform.issueTx", json!({ "tx": "00" })).unwrap_err();
    assert!(error.starts_with("problem decoding transaction: "), "{error}");

    // The primary subnet, also where nothing or null is asked for.
    let primary = "11111111111111111111111111111111LpoYY";
    let by = call(rpc, p, "platform.validatedBy", json!({})).unwrap();
    assert_eq!(by, json!({ "subnetID": primary }));
    let subnets = call(rpc, p, "platform.getSubnets", json!({ "ids": [null] })).unwrap();
    assert_eq!(subnets["subnets"][0]["id"], primary);
    // Members that the reference does not know may have any type.
    for include in [json!("yes"), json!(1), json!([]), json!({ "a": 1 }), json!(null)] {
        let args = json!({ "txID": "2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed",
                           "includeReason": include });
        let status = call(rpc, "/ext/bc/X", "xvm.getTxStatus", args).unwrap();
        assert_eq!(status, json!({ "status": "Unknown" }), "{include}");
    }
    // Too long a name is one that nobody has.
    let user = json!({ "username": "u".repeat(1025), "password": "Str0ng-Pass-W0rd!" });
    let error = call(rpc, "/ext/bc/X", "xvm.listAddresses", user.clone()).unwrap_err();
    assert!(error.contains("incorrect password: user"), "{error}");
    for method in ["createUser", "deleteUser", "exportUser"] {
        let method = format!("keystore.{method}");
        let error = call(rpc, "/ext/keystore", &method, user.clone()).unwrap_err();
        assert_eq!(error, "username exceeds maximum length of 1024 chars");
    }
}
