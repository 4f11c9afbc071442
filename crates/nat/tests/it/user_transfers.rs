//! Exports and imports of users back to back: each answer is a transaction of its own, which is accepted.

use std::collections::BTreeSet;
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use esker_evm::view::PoolReader as _;
use esker_evm_execution::rules::{FeeOverrides, ForkSchedule};
use esker_nat::AtomicStatus;
use esker_nat::pool::MAX_DROPPED;
use esker_primitives::ClientAddress;
use esker_primitives::keys::PrivateKey;
use esker_primitives::{TxId, address};
use esker_storage::{KvStore, MemoryStore};
use esker_testkit::chains::world::{ONE, World, account, evm_transfer, key, well_known};
use serde_json::{Value, json};

use crate::service::{Endpoint, PASSWORD, as_user};

/// A world where gas costs 1 gwei, and a user who has the funded key.
async fn funded() -> (World, Endpoint) {
    let world = World::easy();
    let endpoint = Endpoint::new(&world);
    endpoint.user(&[well_known()]).await;
    (world, endpoint)
}

fn to(number: u8) -> String {
    address::format("X", "local", &key(number).address())
}

fn export(amount: u64) -> Value {
    as_user(json!({ "to": to(9), "amount": amount, "baseFee": ONE }))
}

fn id_of(reply: &Value) -> TxId {
    reply["txID"].as_str().unwrap().parse().unwrap()
}

async fn export_native(endpoint: &Endpoint, amount: u64) -> TxId {
    id_of(&endpoint.call("nat.exportNative", export(amount)).await.unwrap())
}

fn status(world: &World, id: &TxId) -> Option<AtomicStatus> {
    world.nat.status(id).unwrap()
}

/// All of them are distinct and accepted.
fn check_accepted(world: &World, ids: &[TxId]) {
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "distinct");
    for id in ids {
        let status = status(world, id);
        assert!(matches!(status, Some(AtomicStatus::Accepted(_))), "{id}: {status:?}");
    }
}

/// The amount that was exported to a key and is not imported.
fn exported(world: &World, owner: &PrivateKey) -> u64 {
    let utxos = world.shared(world.x_id(), world.c_id(), owner);
    utxos.iter().map(|utxo| utxo.output.as_transfer().unwrap().amount).sum()
}

#[tokio::test]
async fn so_many_exports_of_one_amount_arrive_as_were_answered() {
    let (world, endpoint) = funded().await;
    let before = world.balance(account(&well_known()));
    let mut ids = Vec::new();
    for count in 0..60 {
        ids.push(export_native(&endpoint, 7).await);
        if count % 17 == 16 {
            assert!(world.step().await);
        }
    }
    world.settle().await;
    check_accepted(&world, &ids);
    assert_eq!(exported(&world, &key(9)), 7 * 60);
    assert_eq!(world.nonce(account(&well_known())), 60);
    let paid = before - world.balance(account(&well_known()));
    assert_eq!(paid, U256::from(60 * (7 + 11_230)) * U256::from(ONE));
}

/// The pool's order is that of prices; nonces come in their own.
#[tokio::test]
async fn later_exports_that_pay_more_wait_for_earlier_ones() {
    let (world, endpoint) = funded().await;
    let mut ids = Vec::new();
    for count in 0..20u64 {
        let mut order = export(1 + count);
        order["baseFee"] = json!(ONE * (1 + count));
        ids.push(id_of(&endpoint.call("nat.exportNative", order).await.unwrap()));
    }
    world.settle().await;
    check_accepted(&world, &ids);
    assert_eq!(exported(&world, &key(9)), 20 * 21 / 2);
}

#[tokio::test]
async fn exports_and_transactions_of_the_evm_share_the_nonces() {
    let (world, endpoint) = funded().await;
    let (from, other) = (well_known(), Address::repeat_byte(7));
    let mut ids = Vec::new();
    for count in 0..20 {
        if count % 3 == 1 {
            let nonce = world.evm().next_nonce(account(&from)).unwrap_or_default();
            assert_eq!(nonce, count);
            world.evm().submit(evm_transfer(&from, nonce, other)).unwrap();
        } else {
            ids.push(export_native(&endpoint, 5).await);
        }
    }
    world.settle().await;
    check_accepted(&world, &ids);
    assert_eq!(world.nonce(account(&from)), 20);
    assert_eq!(world.balance(other), U256::from(5 * (20 - ids.len())));
    assert_eq!(world.evm().pool().counts(), (0, 0));
}

#[tokio::test]
async fn balances_count_what_waits_in_the_pools() {
    let world = World::easy();
    let endpoint = Endpoint::new(&world);
    endpoint.user(&[key(1)]).await;
    let owner = account(&key(1));
    let utxos = world.fund(&key(1), &[ONE]).await;
    world.nat.submit(world.import(&utxos, &key(1), owner, ONE / 10)).unwrap();
    world.settle().await;
    let left = ONE / 10 * 9;
    let first = export_native(&endpoint, left / 2).await;
    let refused = endpoint.call("nat.exportNative", export(left / 2)).await.unwrap_err();
    let text = "couldn't create tx: couldn't generate tx inputs/signers: insufficient funds";
    assert_eq!(refused, text);
    let second = export_native(&endpoint, left / 2 - 2 * 11_230).await;
    // A transaction of the EVM counts with the most that it may cost.
    world.settle().await;
    check_accepted(&world, &[first, second]);
    assert_eq!(world.balance(owner), U256::ZERO);
    let utxos = world.fund(&key(1), &[ONE]).await;
    world.nat.submit(world.import(&utxos, &key(1), owner, ONE / 10)).unwrap();
    world.settle().await;
    let nonce = world.nonce(owner);
    world.evm().submit(evm_transfer(&key(1), nonce, Address::repeat_byte(7))).unwrap();
    let fits = left - 300 * 21_000 - 11_230 - 1;
    let refused = endpoint.call("nat.exportNative", export(fits + 1)).await.unwrap_err();
    assert_eq!(refused, text);
    let third = export_native(&endpoint, fits).await;
    world.settle().await;
    check_accepted(&world, &[third]);
}

#[tokio::test]
async fn an_export_that_loses_its_nonce_is_named_and_the_others_go_on() {
    let kv: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let start = || {
        let fees = FeeOverrides {
            min_base_fee: Some(ONE),
            target_gas: Some(u64::MAX),
            block_gas_cost_step: Some(0),
            gas_limit: None,
        };
        World::with(Arc::clone(&kv), ForkSchedule::LOCAL, fees)
    };
    let world = start();
    let endpoint = Endpoint::new(&world);
    endpoint.user(&[well_known()]).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(export_native(&endpoint, 5).await);
    }
    let from = account(&well_known());
    world.evm().submit(evm_transfer(&well_known(), 0, Address::repeat_byte(7))).unwrap();
    world.settle().await;
    check_accepted(&world, &ids[1..]);
    let reason = format!("invalid nonce: nonce 0 of {from} was used by another transaction");
    assert_eq!(status(&world, &ids[0]), Some(AtomicStatus::Dropped(reason.clone())));
    // Whoever asks knows it after a restart as well.
    let again = start();
    let endpoint = Endpoint::new(&again);
    let params = json!({ "txID": ids[0], "includeReason": true });
    let reply = endpoint.call("nat.getAtomicTxStatus", params).await.unwrap();
    assert_eq!(reply, json!({ "status": "Dropped", "reason": reason }));
    let reply = endpoint.call("nat.getAtomicTxStatus", json!({ "txID": ids[0] })).await.unwrap();
    assert_eq!(reply, json!({ "status": "Dropped" }));
    let refused = endpoint.call("nat.getAtomicTx", json!({ "txID": ids[0] })).await.unwrap_err();
    assert_eq!(refused, format!("could not find tx {}", ids[0]));
}

#[tokio::test]
async fn what_follows_a_dropped_export_is_dropped() {
    let (world, endpoint) = funded().await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(export_native(&endpoint, 5).await);
    }
    world.nat.pool().drop_invalid(&ids[1], "gone".into());
    world.settle().await;
    check_accepted(&world, &ids[..1]);
    for (place, nonce) in [(2, 2), (3, 3)] {
        let Some(AtomicStatus::Dropped(reason)) = status(&world, &ids[place]) else {
            panic!("{:?}", status(&world, &ids[place]))
        };
        let account = account(&well_known());
        let text = format!("invalid nonce: nonce {nonce} of {account} does not come");
        assert!(reason.starts_with(&text), "{reason}");
    }
    // The next ones take the nonces that are free again.
    let id = export_native(&endpoint, 5).await;
    world.settle().await;
    check_accepted(&world, &[id]);
}

#[tokio::test]
async fn reasons_outlast_the_transactions() {
    let (world, endpoint) = funded().await;
    let mut ids = Vec::new();
    for count in 0..MAX_DROPPED.get() + 10 {
        ids.push(export_native(&endpoint, 5 + count as u64).await);
        world.nat.pool().drop_invalid(&ids[count], format!("reason {count}"));
    }
    for (count, id) in ids.iter().enumerate() {
        let dropped = AtomicStatus::Dropped(format!("reason {count}"));
        assert_eq!(status(&world, id), Some(dropped.clone()));
        let is_whole = count >= 10;
        assert_eq!(world.nat.find(id).unwrap().is_some(), is_whole, "{count}");
    }
    // One that comes again after all waits, and is accepted.
    let again = world.nat.find(ids.last().unwrap()).unwrap().unwrap().0;
    world.nat.submit(again.clone()).unwrap();
    assert_eq!(status(&world, &again.id()), Some(AtomicStatus::Processing));
    world.settle().await;
    check_accepted(&world, &[again.id()]);
}

#[tokio::test]
async fn imports_take_what_no_waiting_one_takes() {
    let world = World::easy();
    let endpoint = Endpoint::new(&world);
    endpoint.user(&[key(1)]).await;
    world.fund(&key(1), &[ONE / 100; 100]).await;
    let to = account(&key(2));
    let import = as_user(json!({ "sourceChain": "X", "to": to, "baseFee": ONE }));
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(id_of(&endpoint.call("nat.import", import.clone()).await.unwrap()));
    }
    let refused = endpoint.call("nat.importNative", import).await.unwrap_err();
    assert_eq!(refused, "insufficient AVAX funds to pay transaction fee");
    world.settle().await;
    check_accepted(&world, &ids);
    assert!(world.exported_to_c(&key(1)).is_empty());
    let gas = 2 * (10_000 + 82 + 60) + 100 * 1088;
    assert_eq!(world.balance(to), U256::from(ONE - gas) * U256::from(ONE));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_clients_and_users_who_share_a_key() {
    let world = Arc::new(World::easy());
    let endpoint = Arc::new(Endpoint::new(&world));
    endpoint.user(&[well_known()]).await;
    endpoint
        .keystore
        .create_user("bob", &PASSWORD.to_owned().into(), ClientAddress::IN_PROCESS)
        .await
        .unwrap();
    let mut import = as_user(json!({ "privateKey": well_known().to_text() }));
    import["username"] = json!("bob");
    endpoint.call("nat.importKey", import).await.unwrap();
    let client = |number: usize| {
        let (endpoint, world) = (Arc::clone(&endpoint), Arc::clone(&world));
        async move {
            let mut ids = Vec::new();
            for _ in 0..15 {
                let mut order = export(5);
                if number == 3 {
                    order["username"] = json!("bob");
                }
                if number == 2 {
                    // A sender whom the node signs for.
                    let from = account(&well_known());
                    world.evm().senders().with_lock(from, || {
                        // The pool first: what leaves it meanwhile is in the state then.
                        let pooled = world.evm().next_nonce(from);
                        let nonce = pooled.unwrap_or_default().max(world.nonce(from));
                        let tx = evm_transfer(&well_known(), nonce, Address::repeat_byte(7));
                        world.evm().submit(tx).unwrap();
                    });
                } else {
                    ids.push(id_of(&endpoint.call("nat.exportNative", order).await.unwrap()));
                }
                tokio::task::yield_now().await;
            }
            ids
        }
    };
    let tasks: Vec<_> = (0..4).map(client).map(tokio::spawn).collect();
    while !tasks.iter().all(tokio::task::JoinHandle::is_finished) {
        if !world.step().await {
            tokio::task::yield_now().await;
        }
    }
    let mut ids = Vec::new();
    for task in tasks {
        ids.extend(task.await.unwrap());
    }
    world.settle().await;
    check_accepted(&world, &ids);
    assert_eq!(exported(&world, &key(9)), 5 * 45);
    assert_eq!(world.balance(Address::repeat_byte(7)), U256::from(5 * 15));
}
