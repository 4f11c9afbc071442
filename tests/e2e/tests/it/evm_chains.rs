//! Two asset-VM chains and five EVM chains in one node (tests/networks/evm-chains.json): C, then E and F, whose coin is
//! the asset `fuel` of Y, G with a coin of its own, and N, whose coin is the native asset.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use alloy_primitives::{Address, U256};
use esker_client::{RpcClient, Wallet};
use esker_e2e::files::tests_path;
use esker_e2e::funds::{FUNDED, funded, key};
use esker_e2e::{Node, Socket, until};
use esker_evm::accounts::address_of_key;
use esker_primitives::TxId;
use esker_primitives::address;
use esker_primitives::keys::PrivateKey;
use serde_json::{Value, json};

use crate::legacy_tx::LegacyTx;
use crate::support::{PROGRAM, local, wait_accepted, wallet};

const PASSWORD: &str = "Str0ng-Pass-W0rd!";
/// A coin, in the smallest unit of its asset.
const ONE: u64 = 1_000_000_000;
/// EVM chains whose genesis gives coins to the funded key, with their EVM chain IDs.
const FUNDED_CHAINS: [(&str, u64); 3] = [("C", 43_112), ("E", 43_201), ("G", 43_203)];
/// Transactions on each chain at the same time.
const TRAFFIC: u64 = 12;
/// Wei that each of them moves.
const VALUE: u64 = 1_000_007;

fn network() -> String {
    tests_path("networks/evm-chains.json").display().to_string()
}

fn start(folder: &Path) -> Node {
    local().network(network()).data_dir(folder).arg("--rewind-depth=1000").start().unwrap()
}

fn call(node: &Node, path: &str, method: &str, params: Value) -> Result<Value, String> {
    let result: Result<Option<Value>, _> = node.rpc().call(path, method, params);
    result
        .map(Option::unwrap_or_default)
        .map_err(|error| error.rpc_message().unwrap_or_else(|| panic!("{error}")).to_owned())
}

/// A method of an EVM chain, by any of its names.
fn evm(node: &Node, chain: &str, method: &str, params: Value) -> Result<Value, String> {
    call(node, &format!("/ext/bc/{chain}/rpc"), method, params)
}

fn nat(node: &Node, chain: &str, method: &str, params: Value) -> Result<Value, String> {
    call(node, &format!("/ext/bc/{chain}/nat"), method, params)
}

/// With the credentials of the test's user.
fn user(mut params: Value) -> Value {
    params["username"] = json!("alice");
    params["password"] = json!(PASSWORD);
    params
}

fn owner(chain: &str) -> String {
    address::format(chain, "local", &funded().address())
}

fn account(key: &PrivateKey) -> Address {
    address_of_key(&key.public_key())
}

fn number(value: &Value) -> U256 {
    value.as_str().unwrap().parse().unwrap()
}

fn balance(node: &Node, chain: &str, of: Address) -> U256 {
    number(&evm(node, chain, "eth_getBalance", json!([of, "latest"])).unwrap())
}

fn is_xvm(chain: &str) -> bool {
    matches!(chain, "X" | "Y")
}

/// A user with the funded key on all chains.
fn create_user(node: &Node) {
    call(node, "/ext/keystore", "keystore.createUser", user(json!({}))).unwrap();
    let key = json!({ "privateKey": FUNDED });
    for chain in ["X", "Y"] {
        call(node, &format!("/ext/bc/{chain}"), "xvm.importKey", user(key.clone())).unwrap();
    }
    for chain in ["C", "E", "F", "G", "N"] {
        let imported = nat(node, chain, "nat.importKey", user(key.clone())).unwrap();
        assert_eq!(imported["address"], account(&funded()).to_checksum(None));
    }
}

/// Exports for the user.
fn export(node: &Node, from: &str, to: &str, asset: &str, amount: u64) -> Result<(), String> {
    let args = user(json!({"to": owner(to), "amount": amount, "assetID": asset}));
    if is_xvm(from) {
        let sent = call(node, &format!("/ext/bc/{from}"), "xvm.export", args)?;
        wait_accepted(&mut node.chain(from), &id_of(&sent));
    } else {
        let sent = nat(node, from, "nat.export", args)?;
        wait_atomic(node, from, &sent);
    }
    Ok(())
}

/// Imports for the user.
fn import(node: &Node, to: &str, source: &str) -> Result<(), String> {
    if is_xvm(to) {
        let args = user(json!({"to": owner(to), "sourceChain": source}));
        let sent = call(node, &format!("/ext/bc/{to}"), "xvm.import", args)?;
        wait_accepted(&mut node.chain(to), &id_of(&sent));
    } else {
        let args = user(json!({"to": account(&funded()), "sourceChain": source}));
        let sent = nat(node, to, "nat.import", args)?;
        wait_atomic(node, to, &sent);
    }
    Ok(())
}

fn id_of(sent: &Value) -> TxId {
    sent["txID"].as_str().unwrap().parse().unwrap()
}

fn wait_atomic(node: &Node, chain: &str, sent: &Value) {
    until(&format!("{sent} is accepted on {chain}"), || {
        let args = json!({"txID": sent["txID"]});
        let status = nat(node, chain, "nat.getAtomicTxStatus", args).unwrap();
        assert_ne!(status["status"], "Dropped", "{status}");
        (status["status"] == "Accepted").then_some(())
    });
}

/// A transfer of [`VALUE`] from the funded key's account, signed for a chain ID (EIP-155).
fn signed(chain_id: u64, nonce: u64, to: Address) -> String {
    let (to, value) = (to.as_slice(), U256::from(VALUE));
    LegacyTx { nonce, gas: 21_000, to, value, data: &[] }.signed(chain_id)
}

/// Transfers on all funded EVM chains and on both asset-VM chains at once; until all are accepted.
fn traffic(node: &Node) {
    thread::scope(|scope| {
        for (chain, chain_id) in FUNDED_CHAINS {
            scope.spawn(move || {
                let from = account(&funded());
                let nonce = number(
                    &evm(node, chain, "eth_getTransactionCount", json!([from, "latest"])).unwrap(),
                );
                let mut last = Value::Null;
                for n in 0..TRAFFIC {
                    let raw = signed(chain_id, nonce.to::<u64>() + n, account(&key(7)));
                    last = evm(node, chain, "eth_sendRawTransaction", json!([raw])).unwrap();
                }
                until(&format!("{chain}: {last} is mined"), || {
                    let receipt = evm(node, chain, "eth_getTransactionReceipt", json!([last]));
                    (!receipt.unwrap().is_null()).then_some(())
                });
            });
        }
        for chain in ["X", "Y"] {
            scope.spawn(move || {
                let mut wallet = wallet(node, chain, funded());
                let asset = wallet.params().fee_asset_id;
                for n in 1..=TRAFFIC {
                    let output = Wallet::output(asset, n, key(7).address());
                    let tx = wallet.base_tx(vec![output], b"traffic").unwrap();
                    wallet.apply(&tx);
                    let id = node.chain(chain).issue_tx(&tx).unwrap();
                    wait_accepted(&mut node.chain(chain), &id);
                }
            });
        }
    });
}

/// Moves the coin of E and F between Y and both, and the native asset between X, N and C.
fn transfers(node: &Node) {
    export(node, "Y", "E", "fuel", 5 * ONE).unwrap();
    import(node, "E", "Y").unwrap();
    export(node, "E", "F", "fuel", 3 * ONE).unwrap();
    import(node, "F", "E").unwrap();
    export(node, "F", "E", "fuel", ONE).unwrap();
    import(node, "E", "F").unwrap();
    export(node, "F", "Y", "fuel", ONE).unwrap();
    import(node, "Y", "F").unwrap();
    export(node, "X", "N", "AVAX", 5 * ONE).unwrap();
    import(node, "N", "X").unwrap();
    export(node, "N", "C", "AVAX", ONE).unwrap();
    import(node, "C", "N").unwrap();
}

/// The last block of each chain.
fn tips(node: &Node) -> Vec<Value> {
    let mut tips: Vec<Value> = ["C", "E", "F", "G", "N"]
        .map(|chain| evm(node, chain, "eth_getBlockByNumber", json!(["latest", false])).unwrap())
        .map(|block| json!([block["number"], block["hash"], block["stateRoot"]]))
        .into();
    for chain in ["X", "Y"] {
        let mut chain = node.chain(chain);
        let height = chain.get_height().unwrap();
        tips.push(json!(chain.get_block_by_height(height).unwrap().id().to_string()));
    }
    tips
}

/// Runs a command of the program over a folder; its exit code and what it printed.
fn command(folder: &Path, network: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(PROGRAM);
    command
        .args(args)
        .args(["--network", network, "--rewind-depth=1000", "--data-dir"])
        .arg(folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// `esker db verify` finds nothing; what it says of the supplies.
fn verify(folder: &Path) -> String {
    let (code, printed, errors) = command(folder, &network(), &["db", "verify"]);
    assert_eq!(code, Some(0), "{printed}{errors}");
    assert!(printed.ends_with("\nnothing is wrong\n"), "{printed}");
    printed
}

#[test]
fn traffic_and_transfers_over_kills_exports_and_rewinds() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    create_user(&node);
    traffic(&node);
    transfers(&node);
    // In the middle of the next ones.
    thread::scope(|scope| {
        let address = node.address();
        scope.spawn(move || {
            let mut rpc = RpcClient::new(address);
            for n in 0.. {
                let raw = signed(43_203, TRAFFIC + n, account(&key(7)));
                let sent: Result<Value, _> =
                    rpc.call("/ext/bc/G/rpc", "eth_sendRawTransaction", json!([raw]));
                if sent.is_err() {
                    break;
                }
            }
        });
        export(&node, "E", "Y", "fuel", ONE).unwrap();
        export(&node, "Y", "F", "fuel", ONE).unwrap();
        node.kill().unwrap();
    });
    let waiting = verify(folder.path());
    assert!(waiting.contains("; 2 in shared memory;"), "{waiting}");

    let node = start(folder.path());
    import(&node, "Y", "E").unwrap();
    import(&node, "F", "Y").unwrap();
    traffic(&node);
    let before = tips(&node);
    let sent = U256::from(VALUE * TRAFFIC * 2);
    for chain in ["C", "E"] {
        assert_eq!(balance(&node, chain, account(&key(7))), sent, "{chain}");
    }
    assert!(balance(&node, "G", account(&key(7))) >= sent);
    for chain in ["F", "N"] {
        assert_eq!(balance(&node, chain, account(&key(7))), U256::ZERO, "{chain}");
    }
    assert!(node.stop().unwrap().success());
    let supplies = verify(folder.path());
    assert!(supplies.contains("\nsupply of fuel ("), "{supplies}");
    assert!(supplies.contains("\nsupply of the coin of G: 1000 in genesis; "), "{supplies}");

    // The blocks of all chains make the same state elsewhere.
    let scratch = tempfile::tempdir().unwrap();
    let (file, copy) = (scratch.path().join("blocks"), scratch.path().join("copy"));
    let file = file.to_str().unwrap();
    let (code, _, errors) = command(folder.path(), &network(), &["export", file]);
    assert_eq!(code, Some(0), "{errors}");
    let (code, _, errors) = command(&copy, &network(), &["import", file]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(verify(&copy), supplies);
    let node = start(&copy);
    assert_eq!(tips(&node), before);
    assert!(node.stop().unwrap().success());

    // And here again, after all of them were taken back.
    let (code, printed, errors) =
        command(folder.path(), &network(), &["db", "rewind", "--to-height", "0", "--yes"]);
    assert_eq!(code, Some(0), "{printed}{errors}");
    let genesis = verify(folder.path());
    assert!(
        genesis.contains("1001000 in genesis; 1000 on E; 1000000 on Y; 0 in shared memory"),
        "{genesis}"
    );
    let (code, _, errors) = command(folder.path(), &network(), &["import", file]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(verify(folder.path()), supplies);
    let node = start(folder.path());
    assert_eq!(tips(&node), before);
}

#[test]
fn no_chain_sees_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    let from = account(&funded());
    // All names lead to the chain.
    let id = |alias: &str| {
        let found =
            call(&node, "/ext/info", "info.getBlockchainID", json!({"alias": alias})).unwrap();
        found["blockchainID"].as_str().unwrap().to_owned()
    };
    for name in ["E", "third", &id("third")] {
        assert_eq!(evm(&node, name, "eth_chainId", json!([])).unwrap(), "0xa8c1", "{name}");
        assert_eq!(evm(&node, name, "net_version", json!([])).unwrap(), "43201", "{name}");
        let known =
            call(&node, "/ext/info", "info.isBootstrapped", json!({"chain": name})).unwrap();
        assert_eq!(known["isBootstrapped"], true);
        assert!(nat(&node, name, "nat.version", json!({})).is_ok());
    }
    let mut heads = ["E", "G"].map(|chain| {
        let mut socket = Socket::open(node.address(), &format!("/ext/bc/{chain}/ws")).unwrap();
        let subscribe =
            json!({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]});
        socket.send(&subscribe.to_string()).unwrap();
        assert!(socket.read().unwrap().contains("result"));
        socket
    });
    let raw = signed(43_201, 0, account(&key(7)));
    let refused = evm(&node, "G", "eth_sendRawTransaction", json!([raw])).unwrap_err();
    assert_eq!(refused, "invalid sender");
    let hash = evm(&node, "E", "eth_sendRawTransaction", json!([raw])).unwrap();
    until("it is mined", || {
        let receipt = evm(&node, "E", "eth_getTransactionReceipt", json!([hash])).unwrap();
        (!receipt.is_null()).then_some(())
    });
    let other = signed(43_203, 0, account(&key(8)));
    evm(&node, "G", "eth_sendRawTransaction", json!([other])).unwrap();
    let parents = ["E", "G"].map(|chain| {
        evm(&node, chain, "eth_getBlockByNumber", json!(["0x0", false])).unwrap()["hash"].clone()
    });
    for (head, parent) in heads.iter_mut().zip(parents) {
        let news: Value = serde_json::from_str(&head.read().unwrap()).unwrap();
        assert_eq!(news["params"]["result"]["parentHash"], parent);
    }
    for chain in ["C", "F", "G", "N"] {
        let found = evm(&node, chain, "eth_getTransactionByHash", json!([hash])).unwrap();
        assert!(found.is_null(), "{chain}: {found}");
        assert_eq!(balance(&node, chain, account(&key(7))), U256::ZERO, "{chain}");
    }
    assert_eq!(balance(&node, "E", account(&key(7))), U256::from(VALUE));
    for chain in ["C", "F", "N"] {
        let count = evm(&node, chain, "eth_getTransactionCount", json!([from, "latest"])).unwrap();
        assert_eq!(count, "0x0", "{chain}");
    }
    let metrics = node.rpc().http().request("GET", "/ext/metrics", &[], b"").unwrap().text();
    for line in ["esker_chain_height{chain=\"E\"} 1", "esker_chain_height{chain=\"F\"} 0"] {
        assert!(metrics.contains(line), "{line}");
    }
}

#[test]
fn coins_go_only_where_that_is_declared() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    create_user(&node);
    let wrong = "couldn't create tx: tx has wrong chain ID";
    for (from, to) in [("E", "X"), ("E", "P"), ("E", "C"), ("E", "E")] {
        let refused = export(&node, from, to, "fuel", ONE).unwrap_err();
        assert_eq!(refused, wrong, "{from} to {to}");
    }
    // A name of the asset holds where it is the coin.
    let refused = export(&node, "E", "Y", "AVAX", ONE).unwrap_err();
    assert_eq!(refused, "input string is smaller than the checksum size");
    let own = call(&node, "/ext/info", "info.getBlockchainID", json!({"alias": "G"})).unwrap();
    let refused = export(&node, "G", "X", own["blockchainID"].as_str().unwrap(), ONE).unwrap_err();
    assert_eq!(refused, wrong);
    for (from, to, asset) in [("X", "E", "AVAX"), ("Y", "G", "fuel"), ("X", "F", "AVAX")] {
        let refused = export(&node, from, to, asset, ONE).unwrap_err();
        assert!(refused.contains("problem retrieving blockchain"), "{from} to {to}: {refused}");
    }
    let unknown =
        nat(&node, "E", "nat.import", user(json!({"sourceChain": "Q", "to": account(&funded())})));
    assert_eq!(unknown.unwrap_err(), "problem parsing chainID \"Q\": there is no ID with alias: Q");
    // Nothing moved.
    for chain in ["C", "E", "F", "G", "N"] {
        assert_eq!(evm(&node, chain, "eth_blockNumber", json!([])).unwrap(), "0x0", "{chain}");
    }
}

/// A network file that differs from the tests' in what `change` does to its chains.
fn changed(folder: &Path, change: impl FnOnce(&mut Vec<Value>)) -> String {
    let mut json: Value =
        serde_json::from_slice(&std::fs::read(tests_path("networks/evm-chains.json")).unwrap())
            .unwrap();
    change(json["esker"]["chains"].as_array_mut().unwrap());
    let path = folder.join("changed.json");
    std::fs::write(&path, json.to_string()).unwrap();
    path.display().to_string()
}

#[test]
fn a_folder_keeps_its_chains() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    assert!(start(folder.path()).stop().unwrap().success());
    let refused = |change: &dyn Fn(&mut Vec<Value>), text: &str| {
        let network = changed(scratch.path(), change);
        let Err(error) = local().network(&network).data_dir(folder.path()).start() else {
            panic!("the start was not refused");
        };
        let error = error.to_string();
        assert!(error.contains("exit status: 2") && error.contains(text), "{error}");
        for args in [&["db", "verify"][..], &["export", "-"]] {
            let (code, printed, errors) = command(folder.path(), &network, args);
            assert_eq!(code, Some(2), "{printed}{errors}");
            assert!(errors.contains(text), "{errors}");
        }
    };
    refused(&|chains| drop(chains.remove(3)), "the data folder has chain \"Fifth\" (");
    refused(
        &|chains| chains[1]["peers"] = json!(["Y"]),
        "peers of chain E: the data folder was made",
    );
    refused(
        &|chains| chains[4]["evm"] = json!({}),
        "gas-limit of chain N: the data folder was made",
    );
    let own = |chains: &mut Vec<Value>| {
        let chain = chains[1].as_object_mut().unwrap();
        chain.remove("asset");
        chain.remove("peers");
    };
    refused(&own, "asset of chain E: the data folder was made");
    // One more may join, and another name be given.
    let network = changed(scratch.path(), |chains| {
        let mut joined = chains[2].clone();
        joined["name"] = json!("Seventh");
        joined["aliases"] = json!(["H"]);
        joined["peers"] = json!(["F", "Y"]);
        let genesis = joined["genesis"].as_str().unwrap().replace("43202", "43299");
        joined["genesis"] = json!(genesis);
        chains.push(joined);
        chains[1]["aliases"] = json!(["Z"]);
    });
    let node = local().network(network).data_dir(folder.path()).start().unwrap();
    assert_eq!(evm(&node, "H", "eth_chainId", json!([])).unwrap(), "0xa923");
    assert_eq!(evm(&node, "Z", "eth_chainId", json!([])).unwrap(), "0xa8c1");
    create_user_on_h(&node);
}

/// The chain that joined takes what an older one exports to it.
fn create_user_on_h(node: &Node) {
    call(node, "/ext/keystore", "keystore.createUser", user(json!({}))).unwrap();
    let key = json!({ "privateKey": FUNDED });
    call(node, "/ext/bc/Y", "xvm.importKey", user(key.clone())).unwrap();
    nat(node, "H", "nat.importKey", user(key)).unwrap();
    export(node, "Y", "H", "fuel", 2 * ONE).unwrap();
    import(node, "H", "Y").unwrap();
    assert!(balance(node, "H", account(&funded())) > U256::from(ONE));
}
