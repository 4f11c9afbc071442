//! Users of the keystore who call every method that builds a transaction, back to back.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

use esker_client::RpcClient;
use esker_e2e::funds::{FUNDED, funded, key};
use esker_e2e::{Node, until};
use esker_primitives::address;
use serde_json::{Value, json};

use crate::support::{C, CLIENTS, NAT, X, call, check_distinct, number, start, stop_and_verify};

const WALLET: &str = "/ext/bc/X/wallet";
const KEYSTORE: &str = "/ext/keystore";
const PASSWORD: &str = "Str0ng-Pass-W0rd!";
/// One unit of the native asset, in billionths.
pub(crate) const ONE: u64 = 1_000_000_000;
/// The fee of a transaction on the X-Chain, in billionths.
const FEE: u64 = 1_000_000;
/// Who gets what is imported to the C-Chain: an account that does nothing else.
const IMPORTER: &str = "0x00000000000000000000000000000000000000aa";

/// A call, and its effect when it is accepted: the amounts of assets that addresses get on the X-Chain.
pub(crate) struct Order {
    path: &'static str,
    pub(crate) method: &'static str,
    params: Value,
    arrives: Vec<(String, String, u64)>,
}

/// A transaction whose ID was returned.
pub(crate) struct Promise {
    pub(crate) method: &'static str,
    path: &'static str,
    pub(crate) id: String,
    arrives: Vec<(String, String, u64)>,
}

/// The user's funded address, and addresses that nobody has coins at, on a chain.
fn own(chain: &str) -> String {
    address::format(chain, "local", &funded().address())
}

fn other(number: u8) -> String {
    address::format("X", "local", &key(number).address())
}

fn alice(mut params: Value) -> Value {
    params["username"] = json!("alice");
    params["password"] = json!(PASSWORD);
    params
}

/// Assets that the user may mint.
struct Assets {
    coin: String,
    /// To be minted.
    pictures: String,
    /// Minted, one of each group, to be given away.
    stamps: String,
}

/// A user with the funded key on both chains.
pub(crate) fn create_user(rpc: &mut RpcClient) {
    call(rpc, KEYSTORE, "keystore.createUser", alice(json!({}))).unwrap();
    for (path, method) in [(X, "xvm.importKey"), (NAT, "nat.importKey")] {
        call(rpc, path, method, alice(json!({ "privateKey": FUNDED }))).unwrap();
    }
}

/// The user, and assets to mint and to give away so often.
fn begin(node: &Node, many: usize) -> Assets {
    let mut rpc = node.rpc();
    create_user(&mut rpc);
    let mut create = |method: &str, name: &str, minter_sets: usize| {
        let minters = vec![json!({ "minters": [own("X")], "threshold": 1 }); minter_sets];
        let params = alice(json!({ "name": name, "symbol": "ABC", "minterSets": minters }));
        let reply = call(&mut rpc, X, method, params).unwrap();
        reply["assetID"].as_str().unwrap().to_owned()
    };
    let coin = create("xvm.createVariableCapAsset", "Coin", 1);
    // Each set of minters mints once.
    let pictures = create("xvm.createNFTAsset", "Pictures", many);
    let stamps = create("xvm.createNFTAsset", "Stamps", many);
    let mint = mint_nft(&stamps);
    let minted: Vec<_> = (0..many).map(|_| mint.give(&mut rpc).unwrap()).collect();
    check(node, &minted);
    Assets { coin, pictures, stamps }
}

/// One call of each method; `tag` makes receivers and amounts unique.
fn orders(assets: &Assets, tag: u8) -> Vec<Order> {
    let amount = 1_000 + u64::from(tag);
    let native = || "NAT".to_owned();
    let to = other(tag);
    let minters = json!([{ "minters": [own("X")], "threshold": 1 }]);
    let order = |path, method, params, arrives: &[(&String, u64)]| Order {
        path,
        method,
        params: alice(params),
        arrives: arrives.iter().map(|(asset, n)| (to.clone(), (*asset).clone(), *n)).collect(),
    };
    let nat = &native();
    let send = || json!({ "amount": amount, "assetID": "NAT", "to": to });
    let outputs = || json!({ "outputs": [send(), send()] });
    let create = || json!({ "name": "Asset", "symbol": "ABC" });
    let with = |mut params: Value, name: &str, value: Value| {
        params[name] = value;
        params
    };
    vec![
        order(X, "xvm.send", send(), &[(nat, amount)]),
        order(X, "xvm.sendMultiple", outputs(), &[(nat, 2 * amount)]),
        order(WALLET, "wallet.send", send(), &[(nat, amount)]),
        order(WALLET, "wallet.sendMultiple", outputs(), &[(nat, 2 * amount)]),
        order(
            X,
            "xvm.createFixedCapAsset",
            with(create(), "initialHolders", json!([{ "amount": 5, "address": other(200) }])),
            &[],
        ),
        order(X, "xvm.createVariableCapAsset", with(create(), "minterSets", minters.clone()), &[]),
        order(X, "xvm.createNFTAsset", with(create(), "minterSets", minters), &[]),
        order(
            X,
            "xvm.mint",
            json!({ "amount": amount, "assetID": assets.coin, "to": to }),
            &[(&assets.coin, amount)],
        ),
        mint_nft(&assets.pictures),
        export_to_c(),
        export_to_x("nat.export"),
        export_to_x("nat.exportNative"),
    ]
}

pub(crate) fn export_to_c() -> Order {
    let params = json!({ "amount": ONE, "assetID": "NAT", "to": own("C") });
    Order { path: X, method: "xvm.export", params: alice(params), arrives: Vec::new() }
}

/// `nat.export`, or its older name for the native asset alone.
pub(crate) fn export_to_x(method: &'static str) -> Order {
    let params = json!({ "amount": ONE, "assetID": "NAT", "to": own("X") });
    Order { path: NAT, method, params: alice(params), arrives: Vec::new() }
}

/// Takes in all that lies there for the user, on either chain.
pub(crate) fn import(method: &'static str) -> Order {
    let (path, source, to) = match method {
        "xvm.import" => (X, "C", other(150)),
        _ => (NAT, "X", IMPORTER.to_owned()),
    };
    let params = json!({ "sourceChain": source, "to": to });
    Order { path, method, params: alice(params), arrives: Vec::new() }
}

/// The imports, and how each says that nothing lies there.
pub(crate) const IMPORTS: [(&str, &str); 3] = [
    ("xvm.import", "problem issuing transaction: no import inputs"),
    ("nat.import", "insufficient AVAX funds to pay transaction fee"),
    ("nat.importNative", "insufficient AVAX funds to pay transaction fee"),
];

/// Imports what is left, and compares what arrived in all with what was exported.
pub(crate) fn check_transfers(node: &Node, mut promises: Vec<Promise>) {
    let mut rpc = node.rpc();
    // An export can be imported once it is accepted.
    for Promise { method, path, id, .. } in &promises {
        wait_decided(&mut rpc, path, id).unwrap_or_else(|why| panic!("{method} {id}: {why}"));
    }
    for (method, nothing) in IMPORTS {
        let refused = loop {
            match import(method).give(&mut rpc) {
                Ok(promise) => {
                    wait_decided(&mut rpc, promise.path, &promise.id).unwrap();
                    promises.push(promise);
                }
                Err(refused) => break refused,
            }
        };
        assert_eq!(refused, nothing, "{method}");
    }
    let count = |methods: &[&str]| {
        let found = promises.iter().filter(|promise| methods.contains(&promise.method));
        u64::try_from(found.count()).unwrap()
    };
    let to_x = count(&["nat.export", "nat.exportNative"]) * ONE - count(&["xvm.import"]) * FEE;
    assert_eq!(node.x().get_balance(&other(150), "NAT").unwrap().balance, to_x);
    let to_c = u128::from(count(&["xvm.export"]) * ONE) * u128::from(ONE);
    let arrived =
        number(&call(&mut rpc, C, "eth_getBalance", json!([IMPORTER, "latest"])).unwrap());
    // The fee of an import depends on its size and on the base fee.
    let fees = u128::from(count(&["nat.import", "nat.importNative"])) * 10_u128.pow(17);
    assert!(arrived <= to_c && arrived + fees >= to_c, "{arrived} of {to_c}");
    check(node, &promises);
}

/// Makes an NFT for the user.
fn mint_nft(asset: &str) -> Order {
    let params = json!({
        "assetID": asset, "payload": "0x01", "encoding": "hexnc", "to": own("X"),
    });
    Order { path: X, method: "xvm.mintNFT", params: alice(params), arrives: Vec::new() }
}

/// Gives one away.
fn send_stamp(assets: &Assets, group: usize) -> Order {
    let params = json!({ "assetID": assets.stamps, "groupID": group, "to": other(99) });
    Order { path: X, method: "xvm.sendNFT", params: alice(params), arrives: Vec::new() }
}

impl Order {
    pub(crate) fn give(&self, rpc: &mut RpcClient) -> Result<Promise, String> {
        let reply = call(rpc, self.path, self.method, self.params.clone())?;
        let id = reply.get("txID").or_else(|| reply.get("assetID"));
        let id = id.and_then(Value::as_str).unwrap_or_else(|| panic!("{}: {reply}", self.method));
        let arrives = self.arrives.clone();
        Ok(Promise { method: self.method, path: self.path, id: id.to_owned(), arrives })
    }
}

/// Waits until a transaction is accepted, or given up for a reason.
pub(crate) fn wait_decided(rpc: &mut RpcClient, path: &str, id: &str) -> Result<(), String> {
    let (path, method) = match path {
        NAT => (NAT, "nat.getAtomicTxStatus"),
        _ => (X, "xvm.getTxStatus"),
    };
    until(&format!("{id} is decided on"), || {
        let params = json!({ "txID": id, "includeReason": true });
        let status = call(rpc, path, method, params).unwrap();
        match status["status"].as_str() {
            Some("Accepted") => Some(Ok(())),
            Some("Processing") => None,
            Some("Rejected" | "Dropped") if status["reason"].is_string() => {
                Some(Err(status.to_string()))
            }
            _ => panic!("{id} is nowhere, and nothing says why: {status}"),
        }
    })
}

/// Every answer is another transaction; all are accepted; what they say has arrived, and nothing else.
fn check(node: &Node, promises: &[Promise]) {
    let mut rpc = node.rpc();
    check_distinct(promises.iter().map(|promise| &promise.id));
    let mut expected = BTreeMap::<(&str, &str), u64>::new();
    for Promise { method, path, id, arrives } in promises {
        wait_decided(&mut rpc, path, id).unwrap_or_else(|why| panic!("{method} {id}: {why}"));
        for (to, asset, amount) in arrives {
            *expected.entry((to, asset)).or_default() += amount;
        }
    }
    for ((to, asset), amount) in expected {
        assert_eq!(node.x().get_balance(to, asset).unwrap().balance, amount, "{asset} of {to}");
    }
    // A pool follows a block a moment after it is shown.
    for chain in ["X", "C"] {
        let line = format!("esker_chain_mempool_transactions{{chain=\"{chain}\"}} 0");
        until(&format!("nothing waits on {chain}"), || {
            let metrics = rpc.http().request("GET", "/ext/metrics", &[], b"").unwrap().text();
            metrics.lines().any(|found| found == line).then_some(())
        });
    }
}

/// One client that calls each method so often, one method after the other.
fn one_method_after_the_other(folder: &Path, many: usize) {
    let node = start(folder);
    let assets = begin(&node, many);
    let mut rpc = node.rpc();
    let mut exports = Vec::new();
    for order in orders(&assets, 100) {
        let promises = (0..many)
            .map(|n| {
                let given = order.give(&mut rpc);
                given.unwrap_or_else(|why| panic!("{} {n}: {why}", order.method))
            })
            .collect::<Vec<_>>();
        let sole = |mut promise: Promise| {
            // Receivers have what earlier methods sent, too.
            promise.arrives.clear();
            promise
        };
        let promises: Vec<_> = promises.into_iter().map(sole).collect();
        check(&node, &promises);
        exports.extend(promises);
    }
    let sent: Vec<_> =
        (0..many).map(|group| send_stamp(&assets, group).give(&mut rpc).unwrap()).collect();
    check(&node, &sent);
    send_stamp(&assets, 0).give(&mut rpc).err().expect("it is given away");
    let all = u64::try_from(many).unwrap();
    let paid = node.x().get_balance(&other(100), "NAT").unwrap().balance;
    assert_eq!(paid, all * 6 * 1_100);
    let minted = node.x().get_balance(&other(100), &assets.coin).unwrap().balance;
    assert_eq!(minted, all * 1_100);
    check_transfers(&node, exports);
    stop_and_verify(node, folder);
}

/// Four clients of one user, each with all methods in an order of its own.
fn all_methods_at_once(folder: &Path, rounds: usize) {
    let node = start(folder);
    let assets = begin(&node, CLIENTS * rounds);
    let client = |number: usize| {
        let mut rpc = node.rpc();
        let tag = u8::try_from(10 + number).unwrap();
        let mut promises = Vec::new();
        for round in 0..rounds {
            let mut orders = orders(&assets, tag);
            orders.push(send_stamp(&assets, number * rounds + round));
            for step in 0..orders.len() {
                // Another order for each client.
                let order = &orders[(step + 3 * number + round) % orders.len()];
                let given = order.give(&mut rpc);
                promises.push(given.unwrap_or_else(|why| panic!("{}: {why}", order.method)));
            }
            let (method, nothing) = IMPORTS[(number + round) % IMPORTS.len()];
            match import(method).give(&mut rpc) {
                Ok(promise) => promises.push(promise),
                Err(refused) => assert_eq!(refused, nothing, "{method}"),
            }
        }
        promises
    };
    let promises = thread::scope(|scope| {
        let client = &client;
        let clients: Vec<_> =
            (0..CLIENTS).map(|number| scope.spawn(move || client(number))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(promises.len() >= CLIENTS * rounds * 13, "{} answers", promises.len());
    check_transfers(&node, promises);
    stop_and_verify(node, folder);
}

#[test]
fn every_method_back_to_back() {
    let folder = tempfile::tempdir().unwrap();
    one_method_after_the_other(folder.path(), 10);
}

#[test]
fn every_method_of_four_clients_at_once() {
    let folder = tempfile::tempdir().unwrap();
    all_methods_at_once(folder.path(), 6);
}

#[test]
#[ignore = "takes minutes"]
fn slow_every_method_five_hundred_times() {
    let folder = tempfile::tempdir().unwrap();
    one_method_after_the_other(folder.path(), 500);
}

#[test]
#[ignore = "takes minutes"]
fn slow_every_method_of_four_clients_a_hundred_times() {
    let folder = tempfile::tempdir().unwrap();
    all_methods_at_once(folder.path(), 100);
}
