//! The methods, over chains whose bundles the test decides on: what recordings can't hold still.

use std::sync::Arc;

use alloy_primitives::U256;
use esker_chain::ChainMachine;
use esker_evm_execution::rules::{Phase, UNSCHEDULED};
use esker_keystore::{HashLimits, Keystore};
use esker_nat::service::NatService;
use esker_primitives::ClientAddress;
use esker_primitives::clock::ManualClock;
use esker_primitives::keys::PrivateKey;
use esker_primitives::{Id, address, hexfmt};
use esker_rpc::{CallError, Dialect, Service};
use esker_storage::Store;
use esker_testkit::chains::world::{ONE, World, account, key};
use esker_transactions::nat::AtomicTx;
use esker_utxo::OutputOwners;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::rules::{asset_balance, before, leave};

const USER: &str = "alice";
pub(crate) const PASSWORD: &str = "Str0ng-Pass-W0rd!";

pub(crate) struct Endpoint {
    service: Service,
    pub(crate) keystore: Arc<Keystore>,
}

impl Endpoint {
    pub(crate) fn new(world: &World) -> Self {
        let fill = Arc::new(|bytes: &mut [u8]| bytes.fill(7));
        let store = Store::memory().unwrap();
        let clock = Arc::new(ManualClock::default());
        Self::with(world, Keystore::new(store, fill, clock, HashLimits::default()))
    }

    fn with(world: &World, keystore: Arc<Keystore>) -> Self {
        let nat = NatService::new(world.nat.clone(), Arc::clone(&keystore), "v0".to_owned());
        let route = nat.routes(None).into_iter().find(|route| route.suffix == "/nat").unwrap();
        let Dialect::Object(service) = route.dialect else { panic!("an object of arguments") };
        Self { service, keystore }
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, String> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let body = body.to_string();
        let json = Some("application/json");
        let caller = esker_rpc::Caller::default();
        let reply =
            esker_rpc::object::handle(&self.service, "POST", json, body.as_bytes(), &caller).await;
        let reply: Value = serde_json::from_slice(&reply.body).unwrap();
        match reply.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(reply["error"]["message"].as_str().unwrap().to_owned()),
        }
    }

    async fn issue(&self, tx: &AtomicTx) -> Result<Value, String> {
        self.call("nat.issueTx", json!({ "tx": hexfmt::encode_checked(tx.bytes()) })).await
    }

    pub(crate) async fn status(&self, tx: &AtomicTx) -> Value {
        let params = json!({ "txID": tx.id(), "includeReason": true });
        self.call("nat.getAtomicTxStatus", params).await.unwrap()
    }

    /// A user with these keys.
    pub(crate) async fn user(&self, keys: &[PrivateKey]) {
        self.keystore
            .create_user(USER, &PASSWORD.to_owned().into(), ClientAddress::IN_PROCESS)
            .await
            .unwrap();
        for key in keys {
            let import = as_user(json!({ "privateKey": key.to_text() }));
            self.call("nat.importKey", import).await.unwrap();
        }
    }
}

pub(crate) fn as_user(mut params: Value) -> Value {
    params["username"] = json!(USER);
    params["password"] = json!(PASSWORD);
    params
}

fn c_address(key: &PrivateKey) -> String {
    address::format("C", "local", &key.address())
}

#[tokio::test]
async fn the_four_states() {
    let world = World::easy();
    let endpoint = Endpoint::new(&world);
    let utxos = world.fund(&key(1), &[5 * ONE]).await;
    let first = world.import(&utxos, &key(1), account(&key(1)), ONE / 100);
    let second = world.import(&utxos, &key(1), account(&key(2)), ONE / 10);
    assert_eq!(endpoint.status(&first).await, json!({ "status": "Unknown" }));
    let unknown = endpoint.call("nat.getAtomicTx", json!({ "txID": first.id() })).await;
    assert_eq!(unknown.unwrap_err(), format!("could not find tx {}", first.id()));

    // In the pool; its ID is returned again.
    for _ in 0..2 {
        assert_eq!(endpoint.issue(&first).await.unwrap(), json!({ "txID": first.id() }));
        assert_eq!(endpoint.status(&first).await, json!({ "status": "Processing" }));
    }
    // Two race for one UTXO: the one that pays more replaces the other.
    endpoint.issue(&second).await.unwrap();
    let reason = format!("replaced by {}, which pays more", second.id());
    let dropped = json!({ "status": "Dropped", "reason": reason });
    assert_eq!(endpoint.status(&first).await, dropped);
    let plain = endpoint.call("nat.getAtomicTxStatus", json!({ "txID": first.id() })).await;
    assert_eq!(plain.unwrap(), json!({ "status": "Dropped" }), "reasons are returned on request");
    let refused = endpoint.issue(&first).await.unwrap_err();
    assert!(refused.starts_with("conflicting atomic tx present: issued tx"), "{refused}");

    // In a block that is being decided on.
    let held = world.propose_on(&world.last()).await.unwrap();
    assert_eq!(endpoint.status(&second).await, json!({ "status": "Processing" }));
    let shown = endpoint.call("nat.getAtomicTx", json!({ "txID": second.id() })).await.unwrap();
    assert_eq!(shown["tx"], hexfmt::encode_checked(second.bytes()));
    assert_eq!(shown.get("blockHeight"), None);
    world.machine.finalize(&held, None).await.unwrap();
    let accepted = json!({ "status": "Accepted", "blockHeight": "1" });
    assert_eq!(endpoint.status(&second).await, accepted);
    assert_eq!(endpoint.status(&first).await, dropped, "still remembered");
    let there = endpoint.call("nat.getAtomicTx", json!({ "txID": first.id() })).await.unwrap();
    assert_eq!((there["encoding"].as_str(), there.get("blockHeight")), (Some("hex"), None));

    let decoded = json!({ "txID": second.id(), "encoding": "JSON" });
    let decoded = endpoint.call("nat.getAtomicTx", decoded).await.unwrap();
    assert_eq!((&decoded["encoding"], &decoded["blockHeight"]), (&json!("json"), &json!("1")));
    assert_eq!(decoded["tx"]["id"], json!(second.id()));
    assert_eq!(decoded["tx"]["unsignedTx"]["importedInputs"][0]["input"]["amount"], 5 * ONE);
}

#[tokio::test]
async fn pages_while_utxos_are_spent() {
    let world = World::easy();
    let endpoint = Endpoint::new(&world);
    let utxos = world.fund(&key(1), &[ONE, 2 * ONE, 3 * ONE, 4 * ONE]).await;
    world.fund(&key(2), &[ONE]).await;
    let page = async |addresses: Value, start: Value| {
        let params = json!({
            "addresses": addresses, "sourceChain": "X", "limit": "2", "startIndex": start,
        });
        endpoint.call("nat.getUTXOs", params).await
    };
    let own = json!(c_address(&key(1)));
    let first = page(own.clone(), Value::Null).await.unwrap();
    assert_eq!(first["numFetched"], "2");
    // The last one of the page is imported; the walk goes on behind it.
    let end = first["endIndex"].clone();
    let spent = utxos.iter().find(|utxo| end["utxo"] == json!(utxo.utxo_id.input_id())).unwrap();
    let import = world.import(std::slice::from_ref(spent), &key(1), account(&key(1)), ONE / 100);
    endpoint.issue(&import).await.unwrap();
    world.settle().await;
    let second = page(own.clone(), end.clone()).await.unwrap();
    assert_eq!(second["numFetched"], "2");
    let mut seen = first["utxos"].as_array().unwrap().clone();
    seen.extend(second["utxos"].as_array().unwrap().iter().cloned());
    seen.sort_by_key(ToString::to_string);
    seen.dedup();
    assert_eq!(seen.len(), 4);
    let third = page(own.clone(), second["endIndex"].clone()).await.unwrap();
    assert_eq!((&third["numFetched"], &third["utxos"]), (&json!("0"), &json!([])));

    // A cursor of another address, and of another chain.
    let other = json!({ "address": c_address(&key(2)), "utxo": end["utxo"] });
    let both = json!([c_address(&key(1)), c_address(&key(2))]);
    let from_other = page(both, other).await.unwrap();
    let greater = key(2).address() > key(1).address();
    assert_eq!(from_other["numFetched"] == "0" || greater, greater, "{from_other}");
    let on_x = address::format("X", "local", &key(1).address());
    let on_x = json!({ "address": on_x, "utxo": end["utxo"] });
    let refused = page(own.clone(), on_x).await.unwrap_err();
    assert!(refused.starts_with("couldn't parse start index address \"X-local1"), "{refused}");
    assert!(refused.contains("expected chainID to be \"2owd"), "{refused}");
    let odd = page(own.clone(), json!({ "utxo": end["utxo"] })).await.unwrap_err();
    assert_eq!(odd, "couldn't parse start index address \"\": no separator found in address");
    let params = json!({ "addresses": own, "sourceChain": "X", "encoding": "json" });
    let refused = endpoint.call("nat.getUTXOs", params).await.unwrap_err();
    assert_eq!(refused, "problem encoding utxo: unsupported encoding in method");
}

#[tokio::test]
async fn who_pays_for_an_export() {
    let world = World::easy();
    let endpoint = Endpoint::new(&world);
    endpoint.user(&[key(1), key(2)]).await;
    for owner in [key(1), key(2)] {
        let utxos = world.fund(&owner, &[5 * ONE]).await;
        let import = world.import(&utxos, &owner, account(&owner), ONE / 100);
        endpoint.issue(&import).await.unwrap();
        world.settle().await;
    }
    let (one, two) = (account(&key(1)), account(&key(2)));
    let before = [world.balance(one), world.balance(two)];
    let to = address::format("X", "local", &key(3).address());
    let export = |from: Value, change: &str| {
        as_user(json!({ "to": to, "amount": "0x3b9aca00", "from": from, "changeAddr": change }))
    };
    let sent = endpoint.call("nat.exportNative", export(json!([two]), &one.to_string())).await;
    assert!(sent.unwrap()["txID"].is_string());
    world.settle().await;
    assert_eq!(world.balance(one), before[0], "there is no change");
    assert!(world.balance(two) < before[1]);
    for (from, change, text) in [
        (json!([account(&key(3))]), "", "from addresses have no keys or funds"),
        (json!(["x"]), "", "couldn't parse 'From' address \"x\": invalid hex address"),
        (json!([]), "x", "couldn't parse changeAddr \"x\": invalid hex address"),
    ] {
        let refused = endpoint.call("nat.exportNative", export(from, change)).await;
        assert_eq!(refused.unwrap_err(), text);
    }
    // All of them, in the order in which they came.
    world.wait_s(2);
    let all = endpoint.call("nat.exportNative", export(Value::Null, "")).await;
    assert!(all.is_ok(), "{all:?}");
    world.settle().await;
    assert!(world.balance(one) < before[0]);
}

#[tokio::test]
async fn base_fees_in_all_their_forms() {
    let world = World::easy();
    let endpoint = Endpoint::new(&world);
    endpoint.user(&[key(1)]).await;
    // Half a gwei is too little, whatever its form; two are plenty.
    for (low, high) in [
        (json!(ONE / 2), json!(2 * ONE)),
        (json!("500000000"), json!("2000000000")),
        (json!("0x1dcd6500"), json!("0x77359400")),
    ] {
        world.fund(&key(1), &[ONE]).await;
        let import =
            |fee| as_user(json!({ "sourceChain": "X", "to": account(&key(1)), "baseFee": fee }));
        let refused = endpoint.call("nat.import", import(low)).await.unwrap_err();
        assert_eq!(refused, "import tx flow check failed due to: insufficient funds");
        let sent = endpoint.call("nat.import", import(high)).await.unwrap();
        let id = sent["txID"].as_str().unwrap().parse().unwrap();
        let (tx, _) = world.nat.find(&id).unwrap().unwrap();
        assert_eq!(tx.burned(&world.native()).unwrap(), 2 * tx.gas());
        world.settle().await;
        world.wait_s(2);
    }
    // Left out, a tenth above the next block's.
    world.fund(&key(1), &[ONE]).await;
    let import = as_user(json!({ "sourceChain": "X", "to": account(&key(1)) }));
    let sent = endpoint.call("nat.import", import).await.unwrap();
    let id = sent["txID"].as_str().unwrap().parse().unwrap();
    let (tx, _) = world.nat.find(&id).unwrap().unwrap();
    assert_eq!(tx.burned(&world.native()).unwrap(), (tx.gas() * 11).div_ceil(10));
    for fee in ["-1", "1.5", "\"0x\"", "[]", "true"] {
        let fee: Value = serde_json::from_str(fee).unwrap();
        let import = as_user(json!({ "sourceChain": "X", "to": account(&key(1)), "baseFee": fee }));
        let refused = endpoint.call("nat.import", import).await.unwrap_err();
        assert_eq!(refused, esker_rpc::object::INVALID_ARGUMENT);
    }
}

#[tokio::test]
async fn a_key_is_imported_in_each_of_its_forms() {
    let world = World::easy();
    let endpoint = Endpoint::new(&world);
    endpoint.user(&[]).await;
    let hex = hexfmt::encode_plain(key(4).as_bytes());
    for form in [key(4).to_text(), hex.clone()] {
        let import = as_user(json!({ "privateKey": form }));
        let imported = endpoint.call("nat.importKey", import).await.unwrap();
        let address = imported["address"].as_str().unwrap();
        assert_eq!(json!(address.to_lowercase()), json!(account(&key(4))));
    }
    for bad in [&hex[2..], &hex[..64], "0x", &hexfmt::encode_plain(&[0; 32])] {
        let import = as_user(json!({ "privateKey": bad }));
        let refused = endpoint.call("nat.importKey", import).await.unwrap_err();
        assert_eq!(refused, esker_rpc::object::INVALID_ARGUMENT, "{bad}");
    }
}

#[tokio::test]
async fn without_a_keystore_no_user_exists() {
    let world = World::easy();
    let endpoint = Endpoint::with(&world, Keystore::disabled());
    let to = address::format("X", "local", &key(3).address());
    let wrong = "incorrect password: user \"alice\"";
    for (method, params, before) in [
        ("importKey", json!({ "privateKey": key(1).to_text() }), "problem retrieving data: "),
        ("exportKey", json!({ "address": account(&key(1)) }), "problem retrieving user 'alice': "),
        (
            "import",
            json!({ "sourceChain": "X", "to": account(&key(1)) }),
            "couldn't get user 'alice': ",
        ),
        (
            "importNative",
            json!({ "sourceChain": "X", "to": account(&key(1)) }),
            "couldn't get user 'alice': ",
        ),
        (
            "export",
            json!({ "to": to, "amount": 1, "assetID": "NAT" }),
            "problem retrieving user 'alice': ",
        ),
        ("exportNative", json!({ "to": to, "amount": 1 }), "problem retrieving user 'alice': "),
    ] {
        let refused = endpoint.call(&format!("nat.{method}"), as_user(params)).await.unwrap_err();
        assert_eq!(refused, format!("{before}{wrong}"), "{method}");
    }
}

#[tokio::test]
async fn other_assets_with_a_user_before_banff() {
    let world = before(Phase::Banff, UNSCHEDULED);
    let endpoint = Endpoint::new(&world);
    endpoint.user(&[key(1)]).await;
    let (own, asset) = (OutputOwners::single(key(1).address()), Id::new([7; 32]));
    leave(&world, asset, 1000, own.clone()).await;
    let import = || as_user(json!({ "sourceChain": "X", "to": account(&key(1)) }));
    let refused = endpoint.call("nat.import", import()).await.unwrap_err();
    assert_eq!(refused, "insufficient AVAX funds to pay transaction fee", "coins alone pay none");
    leave(&world, world.native(), 5 * ONE, own).await;
    endpoint.call("nat.import", import()).await.unwrap();
    world.settle().await;
    assert_eq!(asset_balance(&world, account(&key(1)), asset), U256::from(1000));

    let to = |chain| address::format(chain, "local", &key(3).address());
    let export =
        |to: String, amount| as_user(json!({ "to": to, "amount": amount, "assetID": asset }));
    for (to, amount, text) in [
        (to("P"), 600, "tx has wrong chain ID"),
        (to("X"), 1001, "couldn't generate tx inputs/signers: insufficient funds"),
    ] {
        let refused = endpoint.call("nat.export", export(to, amount)).await.unwrap_err();
        assert_eq!(refused, format!("couldn't create tx: {text}"));
    }
    endpoint.call("nat.export", export(to("X"), 600)).await.unwrap();
    world.settle().await;
    assert_eq!(asset_balance(&world, account(&key(1)), asset), U256::from(400));
    let on_x = world.shared(world.x_id(), world.c_id(), &key(3));
    assert_eq!((on_x[0].asset_id, on_x[0].output.as_transfer().unwrap().amount), (asset, 600));
}

/// Members that the methods have, with values of every kind.
fn arguments() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        prop::sample::select(vec!["", "X", "P", "NAT", "json", "0x", "0x0000", "alice", PASSWORD])
            .prop_map(str::to_owned),
        Just(c_address(&key(1))),
        Just(account(&key(1)).to_string()),
        Just(key(1).to_text()),
        "[0-9a-fx]{0,40}",
        "\\PC{0,12}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            (inner.clone(), inner).prop_map(|(a, u)| json!({ "address": a, "utxo": u })),
        ]
    });
    let member = prop::sample::select(vec![
        "username",
        "password",
        "addresses",
        "sourceChain",
        "startIndex",
        "limit",
        "encoding",
        "tx",
        "txID",
        "to",
        "amount",
        "assetID",
        "baseFee",
        "from",
        "changeAddr",
        "targetChain",
        "address",
        "privateKey",
        "includeReason",
    ]);
    prop::collection::btree_map(member, value, 0..8).prop_map(|members| {
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Whatever the arguments, a method answers with a result or an error of its own.
    #[test]
    fn no_arguments_make_a_method_crash(arguments in arguments()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::easy();
            let endpoint = Endpoint::with(&world, Keystore::disabled());
            let names: Vec<_> = endpoint.service.methods().map(|method| method.name).collect();
            assert_eq!(names.len(), 11);
            for name in names {
                let outcome = endpoint.call(&format!("nat.{name}"), arguments.clone()).await;
                assert_ne!(outcome, Err(CallError::Panicked.to_string()), "{name} {arguments}");
            }
        });
    }
}
