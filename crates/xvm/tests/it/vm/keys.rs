//! The methods that sign with keys of the keystore, over two chains and without HTTP.

use std::sync::Arc;

use esker_go_json::Document;
use esker_keystore::{HashLimits, Keystore};
use esker_primitives::ClientAddress;
use esker_primitives::address::format;
use esker_primitives::clock::ManualClock;
use esker_primitives::{AssetId, Randomness, TxId, hexfmt};
use esker_rpc::{CallContext, Dialect, Lookup, Params, Service};
use esker_storage::{MemoryStore, Store};
use esker_transactions::xvm::UnsignedTx;
use esker_utxo::Output;
use esker_xvm::{TxStatus, Xvm, XvmConfig};
use serde_json::{Value, json};

use super::shared::export;
use super::world::{FEE, SUPPLY, Setup, World, address, balance, key, native_id, status, utxos_of};

pub(super) const PASSWORD: &str = "Str0ng-Pass-W0rd!";

/// The endpoints of a chain.
#[derive(Clone)]
pub(super) struct Api {
    xvm: Service,
    wallet: Service,
}

/// A world whose chains share a keystore with the user `alice`, who has keys 1 and 2.
pub(super) async fn world() -> (World, Api) {
    let (world, api, _) = world_with_keystore().await;
    (world, api)
}

/// Like [`world`], with the keystore.
pub(super) async fn world_with_keystore() -> (World, Api, Arc<Keystore>) {
    world_over(Setup::default()).await
}

/// Like [`world_with_keystore`], for that setup but for its keystore.
pub(super) async fn world_over(setup: Setup) -> (World, Api, Arc<Keystore>) {
    let random = std::sync::atomic::AtomicU64::new(1);
    let randomness: Randomness = Arc::new(move |bytes: &mut [u8]| {
        for chunk in bytes.chunks_mut(8) {
            let n = random.fetch_add(0x9e37_79b9_7f4a_7c15, std::sync::atomic::Ordering::Relaxed);
            chunk.copy_from_slice(&n.to_le_bytes()[..chunk.len()]);
        }
    });
    let store = Store::new(Arc::new(MemoryStore::new())).unwrap();
    let clock = Arc::new(ManualClock::default());
    let keystore = Keystore::new(store, randomness, clock, HashLimits::default());
    keystore
        .create_user("alice", &PASSWORD.to_owned().into(), ClientAddress::IN_PROCESS)
        .await
        .unwrap();
    let config = XvmConfig { keystore: Arc::clone(&keystore), ..setup.config };
    let world = World::with(Setup { config, ..setup });
    let api = api(&world.x);
    for number in [1, 2] {
        let arguments = json!({ "privateKey": key(number).to_text() });
        let imported = api.call("importKey", &as_alice(arguments)).await.unwrap();
        assert_eq!(imported, json!({ "address": text(&world.x, number) }));
    }
    (world, api, keystore)
}

pub(super) fn api(vm: &Arc<Xvm>) -> Api {
    let mut routes =
        esker_xvm::service::routes(Arc::clone(vm)).into_iter().map(|route| match route.dialect {
            Dialect::Object(service) => service,
            Dialect::Positional(_) => panic!("{} is no endpoint of the X-Chain", route.suffix),
        });
    Api { xvm: routes.next().unwrap(), wallet: routes.next().unwrap() }
}

/// An address as the chain shows it.
pub(super) fn text(vm: &Xvm, number: u8) -> String {
    format(&vm.context().primary_alias(), "local", &address(number))
}

pub(super) fn as_alice(arguments: Value) -> Value {
    with(json!({ "username": "alice", "password": PASSWORD }), arguments)
}

/// The first object with the members of the second.
pub(super) fn with(mut base: Value, more: Value) -> Value {
    let more: serde_json::Map<String, Value> = serde_json::from_value(more).unwrap();
    base.as_object_mut().unwrap().extend(more);
    base
}

impl Api {
    pub(super) async fn call(&self, method: &str, arguments: &Value) -> Result<Value, String> {
        call(&self.xvm, "xvm", method, arguments).await
    }

    pub(super) async fn wallet(&self, method: &str, arguments: &Value) -> Result<Value, String> {
        call(&self.wallet, "wallet", method, arguments).await
    }

    /// Calls and lets blocks be made until nothing waits; the transaction must be accepted.
    pub(super) async fn accepted(&self, world: &mut World, method: &str, arguments: Value) -> TxId {
        let reply = self.call(method, &as_alice(arguments)).await.unwrap();
        let id = id_of(&reply);
        world.settle().await;
        assert_eq!(status(&world.x, id), TxStatus::Accepted, "{method}");
        id
    }
}

pub(super) fn id_of(reply: &Value) -> TxId {
    let id = reply.get("txID").or_else(|| reply.get("assetID")).unwrap();
    id.as_str().unwrap().parse().unwrap()
}

async fn call(
    service: &Service,
    namespace: &str,
    method: &str,
    arguments: &Value,
) -> Result<Value, String> {
    let Lookup::Found(found) = service.find(namespace, method) else {
        panic!("{namespace}.{method} is not there")
    };
    let bytes = serde_json::to_vec(arguments).unwrap();
    let params = Params::Named(Document::first(&bytes).unwrap());
    let context = CallContext::default();
    let reply = found.call(params, &context, Vec::new()).await;
    reply.map(|bytes| serde_json::from_slice(&bytes).unwrap()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn addresses_come_and_are_listed_in_order() {
    let (world, api) = world().await;
    let created = api.call("createAddress", &as_alice(json!({}))).await.unwrap();
    let created = created["address"].as_str().unwrap();
    let listed = api.call("listAddresses", &as_alice(json!({}))).await.unwrap();
    let own = [1, 2].map(|n| text(&world.x, n));
    assert_eq!(listed, json!({ "addresses": [own[0], own[1], created] }));
    // Its key is the one that is exported, and imports again without a second entry.
    let exported = api.call("exportKey", &as_alice(json!({ "address": created }))).await.unwrap();
    let again = api.call("importKey", &as_alice(exported)).await.unwrap();
    assert_eq!(again, json!({ "address": created }));
    // So does its hex.
    let hex = hexfmt::encode_plain(key(1).as_bytes());
    let again = api.call("importKey", &as_alice(json!({ "privateKey": hex }))).await.unwrap();
    assert_eq!(again, json!({ "address": own[0] }));
    assert_eq!(api.call("listAddresses", &as_alice(json!({}))).await.unwrap(), listed);
    // The other chain's keys are others.
    let there = self::api(&world.y);
    let listed = there.call("listAddresses", &as_alice(json!({}))).await.unwrap();
    assert_eq!(listed, json!({ "addresses": [] }));
}

#[tokio::test]
async fn keys_are_refused_with_the_texts_of_the_reference() {
    let (world, api) = world().await;
    let nine = text(&world.x, 9);
    let zero = format!("PrivateKey-{}", esker_primitives::cb58::encode(&[0; 32]));
    for (method, arguments, expected) in [
        ("importKey", json!({}), "argument 'privateKey' not given".to_owned()),
        ("importKey", json!({ "privateKey": null }), "argument 'privateKey' not given".into()),
        (
            "exportKey",
            json!({ "address": "x" }),
            "problem parsing address \"x\": couldn't parse address \"x\": no separator found in address"
                .into(),
        ),
        ("exportKey", json!({ "address": nine }), "problem retrieving private key: not found".into()),
    ] {
        let refused = api.call(method, &as_alice(arguments)).await.unwrap_err();
        assert_eq!(refused, expected, "{method}");
    }
    let zero_hex = hexfmt::encode_plain(&[0; 32]);
    let texts = ["PrivateKey-x", "", "x", "0x", "0x01", &zero, &zero_hex];
    for bad in texts.map(|text| json!(text)).into_iter().chain([json!(5)]) {
        let refused = api.call("importKey", &as_alice(json!({ "privateKey": bad }))).await;
        assert!(refused.is_err(), "{bad}");
    }
    for (user, expected) in [
        (json!({}), "problem retrieving user \"\": empty username"),
        (
            json!({ "username": "bob", "password": PASSWORD }),
            "problem retrieving user \"bob\": incorrect password: user \"bob\"",
        ),
        (
            json!({ "username": "alice", "password": "x" }),
            "problem retrieving user \"alice\": incorrect password: user \"alice\"",
        ),
    ] {
        for method in ["createAddress", "listAddresses"] {
            assert_eq!(api.call(method, &user).await.unwrap_err(), expected, "{method}");
        }
    }
}

/// Calls with arguments that are completed one by one: the last missing one is reported last.
async fn check_order(api: &Api, method: &str, steps: &[(Value, &str)]) {
    let mut arguments = json!({ "from": ["f"], "changeAddr": "c" });
    for (step, expected) in steps {
        arguments = with(arguments, step.clone());
        let refused = api.call(method, &arguments).await.unwrap_err();
        assert_eq!(refused, *expected, "{method} {arguments}");
    }
}

const NO_SEPARATOR: &str = "no separator found in address";

#[tokio::test]
async fn arguments_are_checked_in_the_order_of_the_reference() {
    let (world, api) = world().await;
    let (own, foreign) = (text(&world.x, 1), text(&world.x, 9));
    let native = native_id(&world.x);
    let from = format!("couldn't parse address \"f\": {NO_SEPARATOR}");
    let to = |text: &str| {
        format!(
            "problem parsing to address \"{text}\": couldn't parse address \"{text}\": {NO_SEPARATOR}"
        )
    };
    let change = format!("couldn't parse changeAddr: couldn't parse address \"c\": {NO_SEPARATOR}");
    let no_funds = |wanted: u64, had: u64| {
        format!("want to spend {wanted} of asset {native} but only have {had}")
    };
    // From the user on, all are alike.
    let from_here = |steps: Vec<(Value, String)>| {
        let mut all = vec![
            (json!({ "from": ["f"] }), from.clone()),
            (
                json!({ "from": [foreign] }),
                "problem retrieving user \"\": empty username".to_owned(),
            ),
            (as_alice(json!({})), "from addresses have no keys or funds".to_owned()),
            (json!({ "from": [own, foreign, own] }), change.clone()),
        ];
        all.extend(steps);
        all
    };
    let run = async |method: &str, before: Vec<(Value, String)>, after: Vec<(Value, String)>| {
        let steps = before.into_iter().chain(from_here(after)).collect::<Vec<_>>();
        let steps: Vec<_> =
            steps.iter().map(|(step, text)| (step.clone(), text.as_str())).collect();
        check_order(&api, method, &steps).await;
    };
    let text = |text: &str| text.to_owned();
    let good_change = || json!({ "changeAddr": foreign });
    // More than key 1 holds.
    let too_much = SUPPLY / 2 - FEE + 1;
    run(
        "sendMultiple",
        vec![
            (
                json!({ "memo": "é".repeat(129) }),
                text("max memo length is 256 but provided memo field is length 258"),
            ),
            (json!({ "memo": "é".repeat(128) }), text("no outputs to send")),
        ]
        .into_iter()
        .chain([(json!({ "outputs": [{}] }), from.clone())])
        .collect(),
        vec![
            (good_change(), text("amount must be positive")),
            (json!({ "outputs": [{ "amount": 1 }] }), text("couldn't find asset ")),
            (json!({ "outputs": [{ "amount": 1, "assetID": "AVAX", "to": "t" }] }), to("t")),
            (
                json!({ "outputs": [
                    { "amount": u64::MAX, "assetID": "AVAX", "to": foreign },
                    { "amount": 1, "assetID": "NAT", "to": "t" },
                ] }),
                text("problem calculating required spend amount: overflow"),
            ),
            (
                json!({ "outputs": [{ "amount": too_much, "assetID": "AVAX", "to": foreign }] }),
                no_funds(too_much + FEE, SUPPLY / 2),
            ),
        ],
    )
    .await;
    run(
        "mint",
        vec![
            (json!({}), text("amount minted must be positive")),
            (json!({ "amount": 1 }), text("asset '' not found")),
            (json!({ "assetID": "VAR", "to": "t" }), to("t")),
            (json!({ "to": foreign }), from.clone()),
        ],
        vec![(
            // One of the three keys, of which two must sign, is not alice's.
            json!({ "changeAddr": "", "assetID": "NFT" }),
            text("provided addresses don't have the authority to mint the provided asset"),
        )],
    )
    .await;
    run(
        "mintNFT",
        vec![
            (json!({}), text("asset '' not found")),
            (json!({ "assetID": "VAR", "to": "t", "payload": "p" }), to("t")),
            (
                json!({ "to": foreign }),
                text("problem decoding payload bytes: missing 0x prefix to hex encoding"),
            ),
            (json!({ "payload": "0x07", "encoding": "hexnc" }), from.clone()),
        ],
        vec![(
            good_change(),
            text("provided addresses don't have the authority to mint the provided asset"),
        )],
    )
    .await;
    run(
        "sendNFT",
        vec![
            (json!({}), text("asset '' not found")),
            (json!({ "assetID": "NFT", "to": "t" }), to("t")),
            (json!({ "to": foreign }), from.clone()),
        ],
        vec![(good_change(), text("insufficient funds"))],
    )
    .await;
    run(
        "createAsset",
        vec![
            (json!({}), text("no minters or initialHolders provided")),
            (json!({ "initialHolders": [{ "amount": 1, "address": "h" }] }), from.clone()),
        ],
        vec![
            (good_change(), format!("couldn't parse address \"h\": {NO_SEPARATOR}")),
            (
                json!({ "initialHolders": [], "minterSets": [{ "minters": ["m"] }] }),
                format!("couldn't parse address \"m\": {NO_SEPARATOR}"),
            ),
            (
                json!({ "minterSets": [{ "minters": [foreign], "threshold": 1 }], "name": "n".repeat(70_000) }),
                text("problem issuing transaction: name is too long, maximum size is 128"),
            ),
            (
                json!({ "name": "Name", "symbol": "S".repeat(70_000) }),
                text("problem issuing transaction: symbol is too long, maximum size is 4"),
            ),
        ],
    )
    .await;
    run(
        "createNFTAsset",
        vec![
            (json!({}), text("no minters provided")),
            (json!({ "minterSets": [{ "minters": ["m"] }] }), from.clone()),
        ],
        vec![
            (good_change(), format!("couldn't parse address \"m\": {NO_SEPARATOR}")),
            (
                json!({ "minterSets": [{ "minters": [foreign], "threshold": 1 }] }),
                text("problem issuing transaction: name is too short, minimum size is 1"),
            ),
        ],
    )
    .await;
    run(
        "export",
        vec![
            (json!({}), text("asset '' not found")),
            (json!({ "assetID": "AVAX", "to": "t" }), text("there is no ID with alias: ")),
            (json!({ "targetChain": "Y" }), text("input string is smaller than the checksum size")),
            (json!({ "to": address(9).to_string() }), text("amount must be positive")),
            (json!({ "amount": too_much }), from.clone()),
        ],
        vec![(good_change(), no_funds(too_much + FEE, SUPPLY / 2))],
    )
    .await;
    check_order(
        &api,
        "import",
        &[
            (json!({}), "problem parsing chainID \"\": there is no ID with alias: "),
            (json!({ "sourceChain": "Y", "to": "t" }), &to("t")),
            (json!({ "to": foreign }), "problem retrieving user \"\": empty username"),
            (as_alice(json!({})), "problem issuing transaction: no import inputs"),
            (json!({ "sourceChain": "X" }), "problem issuing transaction: no import inputs"),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_asset_from_its_creation_to_its_minting() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let minters = |numbers: &[u8], threshold: u32| {
        let minters: Vec<String> = numbers.iter().map(|n| text(&vm, *n)).collect();
        json!({ "minters": minters, "threshold": threshold })
    };
    let arguments = json!({
        "name": "Coin", "symbol": "COIN", "denomination": 2,
        "initialHolders": [{ "amount": 70, "address": text(&vm, 9) }],
        "minterSets": [minters(&[9], 1), minters(&[2, 1, 2], 2)],
    });
    let asset = api.accepted(&mut world, "createFixedCapAsset", arguments).await;
    assert_eq!(balance(&vm, 9, asset), 70);
    let description = vm.view().unwrap().asset(&asset).unwrap().unwrap();
    assert_eq!((description.name.as_str(), description.denomination), ("Coin", 2));
    let arguments = json!({ "amount": "30", "assetID": asset.to_string(), "to": text(&vm, 8) });
    // Only key 2 pays; both sign.
    let before = balance(&vm, 1, native_id(&vm));
    let limited = with(arguments.clone(), json!({ "from": [text(&vm, 2)] }));
    api.accepted(&mut world, "mint", limited).await;
    assert_eq!(balance(&vm, 8, asset), 30);
    assert_eq!(balance(&vm, 1, native_id(&vm)), before);
    // The right to mint is still there.
    api.accepted(&mut world, "mint", arguments).await;
    assert_eq!(balance(&vm, 8, asset), 60);
    // The genesis' asset that two of the keys 1 to 3 mint together.
    let arguments = json!({ "amount": 5, "assetID": "VAR", "to": text(&vm, 8) });
    api.accepted(&mut world, "mint", arguments).await;
    assert_eq!(balance(&vm, 8, vm.assets().lookup("VAR").unwrap()), 5);
}

#[tokio::test]
async fn an_nft_from_its_creation_to_its_next_owner() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let group = json!({ "minters": [text(&vm, 2)], "threshold": 1 });
    let arguments = json!({ "name": "Pictures", "symbol": "PIC", "minterSets": [group, group] });
    let asset = api.accepted(&mut world, "createNFTAsset", arguments).await;
    let named = |more: Value| with(json!({ "assetID": asset.to_string() }), more);
    let mint =
        |to: u8| named(json!({ "payload": "0x706963", "encoding": "hexnc", "to": text(&vm, to) }));
    let minted = api.accepted(&mut world, "mintNFT", mint(1)).await;
    let nft_of = |number: u8| {
        let of_asset = |utxo: &esker_utxo::Utxo| utxo.asset_id == asset;
        utxos_of(&vm, &address(number)).into_iter().filter(of_asset).find_map(|utxo| {
            let Output::NftTransfer(nft) = utxo.output else { return None };
            Some((nft.group_id, nft.payload))
        })
    };
    let (group, payload) = nft_of(1).unwrap();
    assert_eq!(payload, b"pic");
    let tx = vm.view().unwrap().tx(&minted).unwrap().unwrap();
    assert!(matches!(tx.unsigned(), UnsignedTx::Operation(_)));
    // The other group, and then no group is left.
    api.accepted(&mut world, "mintNFT", mint(9)).await;
    let refused = api.call("mintNFT", &as_alice(mint(9))).await.unwrap_err();
    assert!(refused.contains("don't have the authority"), "{refused}");
    let send = named(json!({ "groupID": group, "to": text(&vm, 9) }));
    // `from` limits the NFTs as well.
    let limited = with(send.clone(), json!({ "from": [text(&vm, 2)] }));
    let refused = api.call("sendNFT", &as_alice(limited)).await.unwrap_err();
    assert_eq!(refused, "insufficient funds");
    api.accepted(&mut world, "sendNFT", send.clone()).await;
    assert_eq!(nft_of(1), None);
    assert_eq!(api.call("sendNFT", &as_alice(send)).await.unwrap_err(), "insufficient funds");
}

#[tokio::test]
async fn change_goes_to_the_first_key_or_change_addr() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let native = native_id(&vm);
    let send = json!({ "amount": 10, "assetID": "AVAX", "to": text(&vm, 9) });
    let first = api.call("send", &as_alice(send.clone())).await.unwrap();
    assert_eq!(first["changeAddr"], text(&vm, 1));
    world.settle().await;
    let only_two = with(send.clone(), json!({ "from": [text(&vm, 2)] }));
    let second = api.call("send", &as_alice(only_two)).await.unwrap();
    assert_eq!(second["changeAddr"], text(&vm, 2));
    world.settle().await;
    // All of it elsewhere.
    let sweep = json!({ "amount": 1, "changeAddr": text(&vm, 7), "from": [text(&vm, 2)] });
    api.accepted(&mut world, "send", with(send, sweep)).await;
    assert_eq!((balance(&vm, 9, native), balance(&vm, 2, native)), (21, 0));
    assert_eq!(balance(&vm, 7, native), SUPPLY / 4 - 11 - 2 * FEE);
}

#[tokio::test]
async fn an_import_takes_everything_in_as_many_transactions_as_it_needs() {
    let (mut world, api) = world().await;
    let (x, y) = (world.x.clone(), world.y.clone());
    let native = native_id(&x);
    // Another key of the other chain exports more than goes into one transaction.
    let exports = 450;
    let outputs: Vec<_> = (0..exports).map(|n| (native, 2 * FEE + n)).collect();
    export_many(&y, &mut world, 3, &outputs).await;
    let there = |vm: &Xvm| super::shared::exported_to(vm, y.context().chain_id, 1).len() as u64;
    assert_eq!(there(&x), exports);
    let arguments = json!({ "sourceChain": "Y", "to": text(&x, 8) });
    let mut rounds = 0u64;
    while there(&x) > 0 {
        api.accepted(&mut world, "import", arguments.clone()).await;
        rounds += 1;
        assert!(rounds < 5, "{} are left", there(&x));
    }
    assert_eq!(rounds, 2);
    let sent: u64 = outputs.iter().map(|(_, amount)| amount).sum();
    assert_eq!(balance(&x, 8, native), sent - rounds * FEE);
    // Nothing is left.
    let refused = api.call("import", &as_alice(arguments)).await.unwrap_err();
    assert_eq!(refused, "problem issuing transaction: no import inputs");
}

/// Exports from key `by` of `vm` to key 1 of X, some hundred outputs a transaction.
pub(super) async fn export_many(vm: &Xvm, world: &mut World, by: u8, outputs: &[(AssetId, u64)]) {
    let destination = world.x.context().chain_id;
    for some in outputs.chunks(150) {
        let total: u64 = some.iter().map(|(_, amount)| amount).sum();
        let one = export(vm, by, native_id(vm), total, (destination, 1));
        let UnsignedTx::Export(mut unsigned) = one.unsigned().clone() else { unreachable!() };
        unsigned.exported_outputs = some
            .iter()
            .map(|(asset, amount)| super::world::output(*asset, *amount, address(1)))
            .collect();
        esker_utxo::TransferableOutput::sort(&mut unsigned.exported_outputs);
        let tx = super::world::sign(UnsignedTx::Export(unsigned), by);
        vm.issue(tx.bytes()).unwrap();
        world.settle().await;
        assert_eq!(status(vm, tx.id()), TxStatus::Accepted);
    }
}
