//! Methods that build for a user take their coins from what the pool leaves: so many calls give so many transactions.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_primitives::ClientAddress;
use esker_primitives::{AssetId, TxId};
use esker_transactions::xvm::Tx;
use esker_xvm::{TxStatus, Xvm};
use serde_json::{Value, json};

use super::keys::{
    Api, PASSWORD, api, as_alice, export_many, id_of, text, with, world, world_with_keystore,
};
use super::world::{
    FEE, SUPPLY, Setup, World, address, balance, key, native_id, rejected, spend, status, transfer,
    utxos_of,
};

/// All of them are distinct and accepted.
fn check_accepted(vm: &Xvm, ids: &[TxId]) {
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "distinct");
    for id in ids {
        assert_eq!(status(vm, *id), TxStatus::Accepted, "{id}");
    }
}

fn send(vm: &Xvm, amount: u64, to: u8) -> Value {
    as_alice(json!({ "amount": amount, "assetID": "AVAX", "to": text(vm, to) }))
}

/// The sum of the native asset over all keys.
fn total(vm: &Xvm) -> u64 {
    (1..=9).map(|number| balance(vm, number, native_id(vm))).sum()
}

#[tokio::test]
async fn answered_sends_of_one_amount_all_arrive() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let mut ids = Vec::new();
    for count in 0..300 {
        ids.push(id_of(&api.call("send", &send(&vm, 7, 9)).await.unwrap()));
        // None, some, or all of those before are in a block.
        if count % 97 == 96 {
            assert!(world.step().await);
        }
    }
    world.settle().await;
    check_accepted(&vm, &ids);
    assert_eq!(balance(&vm, 9, native_id(&vm)), 7 * 300);
    assert_eq!(total(&vm), SUPPLY - 300 * FEE);
}

#[tokio::test]
async fn sends_of_many_amounts_take_several_pooled_coins() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let (mut ids, mut sum) = (Vec::new(), 0);
    // Back and forth between the user's own keys, in amounts that need the change of many.
    for count in 0..200u64 {
        let amount = 1 + count * count * 7919 % (SUPPLY / 8);
        let (to, from) = if count % 2 == 0 { (9, [1, 2]) } else { (2, [2, 1]) };
        let from = from.map(|number| text(&vm, number));
        let amount = if to == 9 { amount / 400 + 1 } else { amount };
        sum += if to == 9 { amount } else { 0 };
        let arguments = with(send(&vm, amount, to), json!({ "from": from }));
        ids.push(id_of(&api.call("send", &arguments).await.unwrap()));
    }
    world.settle().await;
    check_accepted(&vm, &ids);
    assert_eq!(balance(&vm, 9, native_id(&vm)), sum);
    assert_eq!(total(&vm), SUPPLY - 200 * FEE);
}

#[tokio::test]
async fn insufficient_funds_count_what_the_pool_leaves() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let native = native_id(&vm);
    let from_two = |amount| with(send(&vm, amount, 9), json!({ "from": [text(&vm, 2)] }));
    let first = id_of(&api.call("send", &from_two(SUPPLY / 4 - 10 * FEE)).await.unwrap());
    let refused = api.call("send", &from_two(9 * FEE)).await.unwrap_err();
    let (wanted, had) = (10 * FEE, 9 * FEE);
    assert_eq!(refused, format!("want to spend {wanted} of asset {native} but only have {had}"));
    let second = id_of(&api.call("send", &from_two(8 * FEE)).await.unwrap());
    world.settle().await;
    check_accepted(&vm, &[first, second]);
    assert_eq!(balance(&vm, 2, native), 0);
}

/// Runs tasks on other threads while blocks are made, until all are done.
async fn with_blocks<T: Send + 'static>(
    world: &mut World,
    tasks: Vec<impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let tasks: Vec<_> = tasks.into_iter().map(tokio::spawn).collect();
    while !tasks.iter().all(tokio::task::JoinHandle::is_finished) {
        if !world.step().await {
            tokio::task::yield_now().await;
        }
    }
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    world.settle().await;
    results
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_clients_of_one_user_at_once() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let client = |number: u64| {
        let (api, vm) = (api.clone(), vm.clone());
        async move {
            let mut ids = Vec::new();
            for count in 0..60 {
                let (name, to) = [("send", 9), ("sendMultiple", 8)][(count % 2) as usize];
                let amount = if number.is_multiple_of(2) { 5 } else { 1 + count };
                let output = json!({ "amount": amount, "assetID": "NAT", "to": text(&vm, to) });
                let arguments = with(as_alice(json!({ "outputs": [output] })), output.clone());
                let reply = match number {
                    3 => api.wallet(name, &arguments).await,
                    _ => api.call(name, &arguments).await,
                };
                ids.push(id_of(&reply.unwrap()));
            }
            ids
        }
    };
    let ids = with_blocks(&mut world, (0..4).map(client).collect()).await.concat();
    check_accepted(&vm, &ids);
    assert_eq!(ids.len(), 240);
    assert_eq!(total(&vm), SUPPLY - 240 * FEE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn users_who_share_a_key_and_what_they_sign_themselves() {
    let (mut world, api, keystore) = world_with_keystore().await;
    let vm = world.x.clone();
    let import = json!({ "privateKey": key(1).to_text() });
    for name in ["bob", "carol"] {
        keystore
            .create_user(name, &PASSWORD.to_owned().into(), ClientAddress::IN_PROCESS)
            .await
            .unwrap();
        let user = json!({ "username": name, "password": PASSWORD });
        api.call("importKey", &with(user, import.clone())).await.unwrap();
    }
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let client = |name: &'static str| {
        let (api, vm, stop) = (api.clone(), vm.clone(), stop.clone());
        async move {
            let mut ids = Vec::new();
            if name == "nobody" {
                // Coins that were accepted, spent without asking the pool.
                while !stop.load(Ordering::Relaxed) {
                    let coins = utxos_of(&vm, &address(1));
                    let Some(coin) = coins.iter().find(|coin| coin.output.as_transfer().is_some())
                    else {
                        continue;
                    };
                    match vm.issue(spend(&vm, coin, 1, 3, 8).bytes()) {
                        Ok(id) => ids.push(id),
                        Err(error) => {
                            let text = error.to_string();
                            let is_taken = text.starts_with("tx conflicts with other tx: ");
                            assert!(is_taken || text == "not found", "{text}");
                        }
                    }
                    tokio::task::yield_now().await;
                }
            } else {
                for _ in 0..50 {
                    let user = json!({ "username": name, "password": PASSWORD });
                    let arguments = with(send(&vm, 5, 9), user);
                    ids.push(id_of(&api.call("send", &arguments).await.unwrap()));
                }
                stop.store(true, Ordering::Relaxed);
            }
            ids
        }
    };
    let names = ["alice", "bob", "carol", "nobody"];
    let ids = with_blocks(&mut world, names.map(client).into()).await;
    check_accepted(&vm, &ids[..3].concat());
    for id in &ids[3] {
        assert_eq!(status(&vm, *id), TxStatus::Accepted);
    }
    assert_eq!(balance(&vm, 9, native_id(&vm)), 5 * 150);
}

#[tokio::test]
async fn an_asset_that_waits_is_minted_sent_and_exported() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let minters = json!([{ "minters": [text(&vm, 2), text(&vm, 1)], "threshold": 2 }]);
    let holders = json!([{ "amount": 100, "address": text(&vm, 1) }]);
    let create = as_alice(json!({
        "name": "Coin", "symbol": "COIN", "initialHolders": holders, "minterSets": minters,
    }));
    let mut ids = Vec::new();
    for _ in 0..3 {
        // The same arguments: another asset each time.
        ids.push(id_of(&api.call("createAsset", &create).await.unwrap()));
    }
    let asset: AssetId = ids[2];
    let named = |more| with(as_alice(json!({ "assetID": asset.to_string() })), more);
    for _ in 0..20 {
        let mint = named(json!({ "amount": 5, "to": text(&vm, 1) }));
        ids.push(id_of(&api.call("mint", &mint).await.unwrap()));
    }
    let sent = named(json!({ "amount": 150, "to": text(&vm, 9) }));
    ids.push(id_of(&api.call("send", &sent).await.unwrap()));
    let to = json!({ "to": address(9).to_string(), "targetChain": "Y", "amount": 40 });
    ids.push(id_of(&api.call("export", &named(to)).await.unwrap()));
    let refused = api.call("send", &named(json!({ "amount": 11, "to": text(&vm, 9) }))).await;
    let text = format!("want to spend 11 of asset {asset} but only have 10");
    assert_eq!(refused.unwrap_err(), text);
    world.settle().await;
    check_accepted(&vm, &ids);
    assert_eq!((balance(&vm, 9, asset), balance(&vm, 1, asset)), (150, 10));
    assert_eq!(super::shared::exported_to(&world.y, vm.context().chain_id, 9).len(), 1);
}

#[tokio::test]
async fn nfts_that_wait_are_minted_once_and_sent_on() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let group = json!({ "minters": [text(&vm, 2)], "threshold": 1 });
    let create = json!({ "name": "Pictures", "symbol": "PIC", "minterSets": [group, group] });
    let asset = id_of(&api.call("createNFTAsset", &as_alice(create)).await.unwrap());
    let named = |more| with(as_alice(json!({ "assetID": asset.to_string() })), more);
    let mint = named(json!({ "payload": "0x706963", "encoding": "hexnc", "to": text(&vm, 1) }));
    let mut ids = vec![asset];
    for _ in 0..2 {
        ids.push(id_of(&api.call("mintNFT", &mint).await.unwrap()));
    }
    let refused = api.call("mintNFT", &mint).await.unwrap_err();
    assert!(refused.contains("don't have the authority"), "{refused}");
    // From the first key to the second, and on to somebody else.
    for (to, group) in [(2, 0), (9, 0), (9, 1)] {
        let send = named(json!({ "groupID": group, "to": text(&vm, to) }));
        ids.push(id_of(&api.call("sendNFT", &send).await.unwrap()));
    }
    let again = named(json!({ "groupID": 0, "to": text(&vm, 9) }));
    assert_eq!(api.call("sendNFT", &again).await.unwrap_err(), "insufficient funds");
    world.settle().await;
    check_accepted(&vm, &ids);
    let owned = utxos_of(&vm, &address(9)).into_iter().filter(|utxo| utxo.asset_id == asset);
    assert_eq!(owned.count(), 2);
}

#[tokio::test]
async fn imports_take_what_no_waiting_one_takes() {
    let (mut world, api) = world().await;
    let (x, y) = (world.x.clone(), world.y.clone());
    let native = native_id(&x);
    let outputs: Vec<_> = (0..450).map(|n| (native, 2 * FEE + n)).collect();
    export_many(&y, &mut world, 3, &outputs).await;
    let import = as_alice(json!({ "sourceChain": "Y", "to": text(&x, 8) }));
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(id_of(&api.call("import", &import).await.unwrap()));
    }
    let refused = api.call("import", &import).await.unwrap_err();
    assert_eq!(refused, "problem issuing transaction: no import inputs");
    world.settle().await;
    check_accepted(&x, &ids);
    let sent: u64 = outputs.iter().map(|(_, amount)| amount).sum();
    assert_eq!(balance(&x, 8, native), sent - 2 * FEE);
}

#[tokio::test]
async fn descendants_of_a_rejected_transaction_are_rejected() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let native = native_id(&vm);
    // A block of another node takes the only coin of key 2, which a waiting transaction takes too.
    let rival = transfer(&vm, 2, native, 10, 9);
    vm.issue(rival.bytes()).unwrap();
    let block = world.propose_on(&world.last()).await.unwrap();
    let config =
        esker_xvm::XvmConfig { keystore: vm_keystore(&api).await, ..Setup::default().config };
    let kv = world.store.kv.clone();
    let mut twin = World::with(Setup { kv, config, ..Setup::default() });
    let (vm, api) = (twin.x.clone(), self::api(&twin.x));
    let import = json!({ "privateKey": key(2).to_text() });
    api.call("importKey", &as_alice(import)).await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(id_of(&api.call("send", &send(&vm, 20, 9)).await.unwrap()));
    }
    twin.finalize(&block).await;
    let conflict = format!("conflicts with accepted transaction {}", rival.id());
    assert_eq!(status(&vm, ids[0]), rejected(&conflict));
    let follows = format!("spends an output of rejected transaction {}", ids[0]);
    assert_eq!(status(&vm, ids[1]), rejected(&follows));
    assert_eq!(status(&vm, ids[2]), rejected(&follows));
    // The rest can be spent.
    let id = id_of(&api.call("send", &send(&vm, 20, 9)).await.unwrap());
    twin.settle().await;
    check_accepted(&vm, &[id]);
    world.settle().await;
}

/// A keystore of its own, with the user `alice`, who has no keys.
async fn vm_keystore(_: &Api) -> std::sync::Arc<esker_keystore::Keystore> {
    let store = esker_storage::Store::memory().unwrap();
    let randomness = std::sync::Arc::new(|bytes: &mut [u8]| bytes.fill(7));
    let limits = esker_keystore::HashLimits::default();
    let clock = std::sync::Arc::new(esker_primitives::clock::ManualClock::default());
    let keystore = esker_keystore::Keystore::new(store, randomness, clock, limits);
    keystore
        .create_user("alice", &PASSWORD.to_owned().into(), ClientAddress::IN_PROCESS)
        .await
        .unwrap();
    keystore
}

#[tokio::test]
async fn a_chain_without_fees_takes_the_same_asset_once() {
    let (mut world, api) = free_world().await;
    let vm = world.x.clone();
    let holders = json!([{ "amount": 100, "address": text(&vm, 1) }]);
    let create = as_alice(json!({ "name": "Coin", "symbol": "COIN", "initialHolders": holders }));
    let id = id_of(&api.call("createAsset", &create).await.unwrap());
    let expected = "problem issuing transaction: transaction without inputs was accepted before; \
                    change its memo to issue it again";
    assert_eq!(api.call("createAsset", &create).await.unwrap_err(), expected);
    world.settle().await;
    assert_eq!(api.call("createAsset", &create).await.unwrap_err(), expected);
    check_accepted(&vm, &[id]);
}

async fn free_world() -> (World, Api) {
    let store = esker_storage::Store::memory().unwrap();
    let randomness = std::sync::Arc::new(|bytes: &mut [u8]| bytes.fill(7));
    let limits = esker_keystore::HashLimits::default();
    let clock = std::sync::Arc::new(esker_primitives::clock::ManualClock::default());
    let keystore = esker_keystore::Keystore::new(store, randomness, clock, limits);
    keystore
        .create_user("alice", &PASSWORD.to_owned().into(), ClientAddress::IN_PROCESS)
        .await
        .unwrap();
    let config = esker_xvm::XvmConfig {
        keystore,
        tx_fee: 0,
        create_asset_tx_fee: 0,
        ..esker_xvm::XvmConfig::default()
    };
    let world = World::with(Setup { config, ..Setup::default() });
    let api = api(&world.x);
    let import = json!({ "privateKey": key(1).to_text() });
    api.call("importKey", &as_alice(import)).await.unwrap();
    (world, api)
}

/// Whatever is issued by itself between check and pool, an answer stays true: a race of raw transactions.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transactions_issued_during_builds_are_accepted_or_refused() {
    let mut world = World::new();
    let vm = world.x.clone();
    let client = |number: u64| {
        let vm = vm.clone();
        async move {
            let mut issued: Vec<Tx> = Vec::new();
            for count in 0..150 {
                let coins = utxos_of(&vm, &address(1));
                let Some(coin) = coins.iter().find(|coin| coin.output.as_transfer().is_some())
                else {
                    continue;
                };
                let tx = spend(&vm, coin, 1, 1 + (number + count) % 3, 8);
                if vm.issue(tx.bytes()).is_ok() {
                    issued.push(tx);
                }
                tokio::task::yield_now().await;
            }
            issued
        }
    };
    let issued = with_blocks(&mut world, (0..4).map(client).collect()).await.concat();
    assert!(!issued.is_empty());
    for tx in issued {
        assert_eq!(status(&vm, tx.id()), TxStatus::Accepted);
    }
}
