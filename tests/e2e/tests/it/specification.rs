//! Rules of the specification that need a node of another kind or much data, so that no other test shows them
//! (docs/specification.md).

use std::collections::BTreeSet;

use esker_client::{RpcClient, Wallet};
use esker_e2e::files::{profile, tests_path};
use esker_e2e::funds::{FUNDED, funded, key};
use esker_e2e::{Node, until};
use esker_primitives::address;
use serde_json::{Value, json};

use crate::support::{accept, local, wait_accepted, wallet};

const X: &str = "/ext/bc/X";
const NAT: &str = "/ext/bc/C/nat";
const RPC: &str = "/ext/bc/C/rpc";
const KEYSTORE: &str = "/ext/keystore";
const PASSWORD: &str = "Str0ng-Pass-W0rd!";
/// Most items of a page, and what a page has where nothing is asked for.
const PAGE: usize = 1024;

/// Calls; the error is the message.
fn call(rpc: &mut RpcClient, path: &str, method: &str, params: Value) -> Result<Value, String> {
    rpc.call(path, method, params)
        .map_err(|error| error.rpc_message().unwrap_or_else(|| panic!("{error}")).to_owned())
}

#[test]
fn public_networks_have_network_1_and_chain_ids_and_native_assets_of_their_own() {
    let mut assets = BTreeSet::new();
    for (network, version, chain_id) in
        [("main", "1", 43_114_u64), ("test", "1", 43_113), ("local", "43112", 43_112)]
    {
        let node = local().network(network).start().unwrap();
        let mut rpc = node.rpc();
        let mut evm = |method: &str| call(&mut rpc, RPC, method, json!([])).unwrap();
        assert_eq!(evm("net_version"), version, "{network}");
        assert_eq!(evm("evm_chainId"), format!("{chain_id:#x}"), "{network}");
        assert_eq!(evm("evm_getChainConfig")["chainId"], chain_id, "{network}");
        let native = node.x().get_asset_description("NAT").unwrap();
        assert_eq!(native.denomination, 9, "{network}");
        assert!(assets.insert(native.asset_id.to_string()), "{network}: {}", native.asset_id);
    }
}

fn user(name: &str, password: &str) -> Value {
    json!({ "username": name, "password": password })
}

fn with(mut params: Value, name: &str, value: &Value) -> Value {
    params[name] = value.clone();
    params
}

#[test]
fn a_user_is_one_nodes_until_it_is_exported_and_imported() {
    let nodes = [local().start().unwrap(), local().start().unwrap()];
    let [mut here, mut there] = nodes.each_ref().map(Node::rpc);
    let alice = user("alice", PASSWORD);
    call(&mut here, KEYSTORE, "keystore.createUser", alice.clone()).unwrap();
    let import = with(alice.clone(), "privateKey", &json!(FUNDED));
    let owned = call(&mut here, X, "xvm.importKey", import).unwrap()["address"].clone();
    let exported = call(&mut here, KEYSTORE, "keystore.exportUser", alice.clone()).unwrap();
    assert_eq!(exported["encoding"], "hex");
    let blob = exported["user"].clone();
    let hex = blob.as_str().unwrap();
    let plain: String = PASSWORD.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(hex.starts_with("0x") && !hex.contains(&plain), "the password is not in it");
    for (params, text) in [
        (user("alice", "wrong"), "incorrect password: user \"alice\""),
        (user("nobody", PASSWORD), "incorrect password: user \"nobody\""),
        (
            with(alice.clone(), "encoding", &json!("json")),
            "couldn't encode user to string: unsupported encoding in method",
        ),
    ] {
        let refused = call(&mut here, KEYSTORE, "keystore.exportUser", params);
        assert_eq!(refused.unwrap_err(), text);
    }

    // The other node knows nothing of the user.
    let listed = call(&mut there, KEYSTORE, "keystore.listUsers", json!({})).unwrap();
    assert_eq!(listed, json!({ "users": [] }));
    let unknown = call(&mut there, X, "xvm.listAddresses", alice.clone()).unwrap_err();
    assert!(unknown.ends_with("incorrect password: user \"alice\""), "{unknown}");
    let bob = |password: &str| with(user("bob", password), "user", &blob);
    let changed = json!(format!("{}00", &hex[..hex.len() - 2]));
    for (params, text) in [
        (bob("0ther_Long?Secret9"), "incorrect password: user \"bob\""),
        (with(bob(PASSWORD), "user", &changed), "couldn't decode 'user' to bytes: invalid"),
        (with(bob(PASSWORD), "encoding", &json!("json")), "couldn't decode 'user' to bytes: "),
        (user("bob", PASSWORD), "couldn't unpack"),
    ] {
        let refused = call(&mut there, KEYSTORE, "keystore.importUser", params).unwrap_err();
        assert!(refused.starts_with(text), "{refused}");
    }
    call(&mut there, KEYSTORE, "keystore.importUser", bob(PASSWORD)).unwrap();
    let taken = call(&mut there, KEYSTORE, "keystore.importUser", bob(PASSWORD)).unwrap_err();
    assert_eq!(taken, "user already exists: bob");
    let listed = call(&mut there, X, "xvm.listAddresses", user("bob", PASSWORD)).unwrap();
    assert_eq!(listed["addresses"], json!([owned]));
    let export = with(user("bob", PASSWORD), "address", &owned);
    let key = call(&mut there, X, "xvm.exportKey", export).unwrap();
    assert_eq!(key["privateKey"], FUNDED);
}

#[test]
fn weak_passwords_make_no_user() {
    let node = local().start().unwrap();
    let mut rpc = node.rpc();
    for weak in ["Aa1!Aa1", "aa1!aa1!", "AA1!AA1!", "Aaa!Aaa!", "Aa11Aa11", "password"] {
        let refused = call(&mut rpc, KEYSTORE, "keystore.createUser", user("alice", weak));
        assert_eq!(refused.unwrap_err(), "password is too weak", "{weak}");
    }
    let none = call(&mut rpc, KEYSTORE, "keystore.listUsers", json!({})).unwrap();
    assert_eq!(none, json!({ "users": [] }));
    call(&mut rpc, KEYSTORE, "keystore.createUser", user("alice", "Aa1!Aa1!")).unwrap();
}

#[test]
fn the_native_asset_crosses_by_the_older_names() {
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    let alice = user("alice", PASSWORD);
    call(&mut rpc, KEYSTORE, "keystore.createUser", alice.clone()).unwrap();
    let import = with(alice.clone(), "privateKey", &json!(FUNDED));
    let account = call(&mut rpc, NAT, "nat.importKey", import).unwrap()["address"].clone();
    let account_balance =
        |rpc: &mut RpcClient| call(rpc, RPC, "evm_getBalance", json!([account, "latest"])).unwrap();
    let mut owner = wallet(&node, "X", funded());
    let c_chain = call(&mut rpc, "/ext/info", "info.getBlockchainID", json!({ "alias": "C" }));
    let c_chain = c_chain.unwrap()["blockchainID"].as_str().unwrap().parse().unwrap();
    let output = Wallet::output(owner.params().fee_asset_id, 1_000_000_000, owner.owner());
    let export = owner.export(c_chain, vec![output]).unwrap();
    owner.apply(&export);
    accept(&mut node.x(), &export);

    let import = with(alice.clone(), "sourceChain", &json!("X"));
    let refused = call(&mut rpc, NAT, "nat.importNative", import.clone()).unwrap_err();
    assert_eq!(refused, "argument 'to' not given");
    let before = account_balance(&mut rpc);
    let import = with(import, "to", &account);
    let imported = call(&mut rpc, NAT, "nat.importNative", import.clone()).unwrap();
    wait_atomic(&mut rpc, &imported["txID"]);
    assert_ne!(account_balance(&mut rpc), before);
    let refused = call(&mut rpc, NAT, "nat.importNative", import).unwrap_err();
    assert_eq!(refused, "insufficient AVAX funds to pay transaction fee");

    let to = address::format("X", "local", &key(8).address());
    let export = with(with(alice, "to", &json!(to)), "amount", &json!(1_000_000));
    let export = with(with(export, "from", &json!([account])), "changeAddr", &account);
    let foreign = with(export.clone(), "from", &json!([format!("0x{}", "11".repeat(20))]));
    let refused = call(&mut rpc, NAT, "nat.exportNative", foreign).unwrap_err();
    assert_eq!(refused, "from addresses have no keys or funds");
    let exported = call(&mut rpc, NAT, "nat.exportNative", export).unwrap();
    wait_atomic(&mut rpc, &exported["txID"]);
    let there = json!({ "addresses": [to], "sourceChain": "C" });
    let there = call(&mut rpc, X, "xvm.getUTXOs", there).unwrap();
    assert_eq!((&there["numFetched"], &there["sourceChain"]), (&json!("1"), &json!("C")));
}

#[test]
fn what_p_exported_to_c_is_imported_and_goes_back() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("network.json");
    let text = std::fs::read_to_string(tests_path("networks/two-chains.json")).unwrap();
    let mut declared: Value = serde_json::from_str(&text).unwrap();
    let owner = address::format("P", "local", &funded().address());
    let exported = json!({ "to": "C", "amount": 5_000_000_000_u64, "addresses": [owner] });
    declared["esker"]["exportedFromP"].as_array_mut().unwrap().push(exported);
    std::fs::write(&network, declared.to_string()).unwrap();
    let node = local().network(network).config(profile("default")).start().unwrap();
    let mut rpc = node.rpc();
    let alice = user("alice", PASSWORD);
    call(&mut rpc, KEYSTORE, "keystore.createUser", alice.clone()).unwrap();
    let key = with(alice.clone(), "privateKey", &json!(FUNDED));
    let account = call(&mut rpc, NAT, "nat.importKey", key).unwrap()["address"].clone();
    let of = json!({ "addresses": address::format("C", "local", &funded().address()) });
    let of = with(of, "sourceChain", &json!("P"));
    let waiting = |rpc: &mut RpcClient| call(rpc, NAT, "nat.getUTXOs", of.clone()).unwrap();
    assert_eq!(waiting(&mut rpc)["numFetched"], "1");

    let import = with(with(alice.clone(), "to", &account), "sourceChain", &json!("P"));
    let imported = call(&mut rpc, NAT, "nat.import", import.clone()).unwrap();
    wait_atomic(&mut rpc, &imported["txID"]);
    assert_eq!(waiting(&mut rpc)["numFetched"], "0");
    let refused = call(&mut rpc, NAT, "nat.import", import).unwrap_err();
    assert_eq!(refused, "insufficient AVAX funds to pay transaction fee");

    let export = with(with(alice, "to", &json!(owner)), "assetID", &json!("NAT"));
    let too_much = with(export.clone(), "amount", &json!(u64::MAX));
    assert!(call(&mut rpc, NAT, "nat.export", too_much).is_err());
    let back = with(export, "amount", &json!(1_000_000_000));
    let back = call(&mut rpc, NAT, "nat.export", back).unwrap();
    wait_atomic(&mut rpc, &back["txID"]);
    let there = json!({ "addresses": [owner], "sourceChain": "C" });
    let there = call(&mut rpc, "/ext/bc/P", "platform.getUTXOs", there).unwrap();
    assert_eq!(there["numFetched"], "1");
}

/// Waits until an atomic transaction is accepted.
fn wait_atomic(rpc: &mut RpcClient, id: &Value) {
    until(&format!("{id} is accepted"), || {
        let status = call(rpc, NAT, "nat.getAtomicTxStatus", json!({ "txID": id })).unwrap();
        status["blockHeight"].is_string().then_some(())
    });
}

#[test]
fn profiles_of_a_chain_need_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    std::fs::write(
        &config,
        "[chains.C]\ncoreth-admin-api-enabled = true\nadmin-api-dir = 'profiles/a'\n",
    )
    .unwrap();
    let node = local().dev().config(config).start().unwrap();
    let mut rpc = node.rpc();
    // A file is where the folder would be.
    std::fs::write(folder.path().join("profiles"), "").unwrap();
    for method in ["admin.memoryProfile", "admin.lockProfile", "admin.startCPUProfiler"] {
        let refused = call(&mut rpc, "/ext/bc/C/admin", method, json!({}));
        let refused = refused.expect_err(method);
        assert!(refused.contains("profiles"), "{method}: {refused}");
    }
    std::fs::remove_file(folder.path().join("profiles")).unwrap();
    for method in ["admin.memoryProfile", "admin.lockProfile"] {
        let done = call(&mut rpc, "/ext/bc/C/admin", method, json!({})).unwrap();
        assert_eq!(done, json!({}), "{method}");
    }
}

/// The UTXOs of a page, and where the next one begins.
fn page(rpc: &mut RpcClient, limit: Value, start: Value) -> (Vec<Value>, Value) {
    let owner = address::format("C", "local", &key(5).address());
    let params = json!({
        "addresses": [owner], "sourceChain": "X", "limit": limit, "startIndex": start,
    });
    let page = call(rpc, NAT, "nat.getUTXOs", params).unwrap();
    let utxos = page["utxos"].as_array().unwrap().clone();
    assert_eq!(page["numFetched"], utxos.len().to_string());
    (utxos, page["endIndex"].clone())
}

#[test]
fn a_page_of_exported_utxos_has_at_most_1024() {
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    let c_chain = call(&mut rpc, "/ext/info", "info.getBlockchainID", json!({ "alias": "C" }));
    let c_chain = c_chain.unwrap()["blockchainID"].as_str().unwrap().parse().unwrap();
    let mut owner = wallet(&node, "X", funded());
    let output = Wallet::output(owner.params().fee_asset_id, 1000, key(5).address());
    for _ in 0..4 {
        let export = owner.export(c_chain, vec![output.clone(); 260]).unwrap();
        owner.apply(&export);
        accept(&mut node.x(), &export);
    }
    for limit in [Value::Null, json!(0), json!(PAGE), json!(PAGE + 1), json!(u32::MAX)] {
        assert_eq!(page(&mut rpc, limit.clone(), Value::Null).0.len(), PAGE, "{limit}");
    }
    let (below, _) = page(&mut rpc, json!(PAGE - 1), Value::Null);
    assert_eq!(below.len(), PAGE - 1);
    let (mut all, end) = page(&mut rpc, Value::Null, Value::Null);
    let (rest, _) = page(&mut rpc, Value::Null, end);
    assert_eq!(rest.len(), 4 * 260 - PAGE, "less than asked for: that was all");
    all.extend(rest);
    let distinct: BTreeSet<String> = all.iter().map(Value::to_string).collect();
    assert_eq!(distinct.len(), 4 * 260);
}

#[test]
fn a_page_of_transactions_has_1024_by_default() {
    let node = local().start().unwrap();
    let mut owner = wallet(&node, "X", funded());
    let native = owner.params().fee_asset_id;
    let mut x = node.x();
    let mut ids = Vec::new();
    for number in 1..=PAGE + 6 {
        let tx = owner.base_tx(vec![Wallet::output(native, 1, key(7).address())], b"").unwrap();
        owner.apply(&tx);
        x.wallet_issue_tx(&tx).unwrap();
        ids.push(json!(tx.id()));
        // Well below what may wait.
        if number % 100 == 0 || number > PAGE {
            wait_accepted(&mut x, &tx.id());
        }
    }
    let params =
        json!({ "address": address::format("X", "local", &key(7).address()), "assetID": "NAT" });
    let mut rpc = node.rpc();
    let mut listed = |more: &[(&str, Value)]| {
        let params =
            more.iter().fold(params.clone(), |params, (name, value)| with(params, name, value));
        call(&mut rpc, X, "xvm.getAddressTxs", params).unwrap()
    };
    let first = listed(&[]);
    assert_eq!((&first["txIDs"], &first["cursor"]), (&json!(ids[..PAGE]), &json!("1024")));
    let second = listed(&[("cursor", first["cursor"].clone())]);
    assert_eq!((&second["txIDs"], &second["cursor"]), (&json!(ids[PAGE..]), &json!("1030")));
    assert_eq!(listed(&[("pageSize", json!(PAGE))]), first);
    assert_eq!(listed(&[("pageSize", json!(7))])["txIDs"], json!(ids[..7]));
}
