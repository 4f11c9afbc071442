//! The wallet's methods that sign, over what waits.

use esker_chain::ChainMachine;
use esker_primitives::TxId;
use esker_utxo::Utxo;
use esker_xvm::{TxStatus, Xvm};
use serde_json::json;

use super::keys::{as_alice, id_of, text, with, world};
use super::world::{
    FEE, SUPPLY, address, balance, native_id, output_of, rejected, spend, status, transfer,
    utxos_of,
};

/// The first amount of a key.
fn coin(vm: &Xvm, number: u8) -> Utxo {
    let mut coins = utxos_of(vm, &address(number)).into_iter();
    coins.find(|utxo| utxo.output.as_transfer().is_some()).unwrap()
}

#[tokio::test]
async fn the_wallet_builds_on_pending_transactions() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let native = native_id(&vm);
    let send = as_alice(json!({ "amount": 1000, "assetID": "AVAX", "to": text(&vm, 9) }));
    // All at once: none spends what another has spent.
    let calls = (0..12).map(|_| api.wallet("send", &send));
    let replies = futures_util::future::join_all(calls).await;
    let ids: Vec<TxId> = replies.into_iter().map(|reply| id_of(&reply.unwrap())).collect();
    let several = json!({ "outputs": [
        { "amount": 5, "assetID": "AVAX", "to": text(&vm, 8) },
        { "amount": 6, "assetID": "AVAX", "to": text(&vm, 8) },
    ], "memo": "two" });
    let last = id_of(&api.wallet("sendMultiple", &as_alice(several)).await.unwrap());
    world.settle().await;
    for id in ids.iter().chain([&last]) {
        assert_eq!(status(&vm, *id), TxStatus::Accepted);
    }
    assert_eq!((balance(&vm, 9, native), balance(&vm, 8, native)), (12_000, 11));
    let refused = api.wallet("send", &with(send, json!({ "from": ["f"] }))).await.unwrap_err();
    assert_eq!(
        refused,
        "couldn't parse 'From' addresses: couldn't parse address \"f\": no separator found in address"
    );
}

#[tokio::test]
async fn sends_spend_what_the_wallet_queue_leaves() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let native = native_id(&vm);
    // The queue takes all coins of both keys, in two steps: only the first one waits in the pool.
    let [one, two] = [1, 2].map(|number| coin(&vm, number));
    let (front, behind) = (spend(&vm, &one, 1, 10, 8), spend(&vm, &two, 2, 20, 8));
    for tx in [&front, &behind] {
        vm.issue_unverified(tx.bytes()).unwrap();
    }
    let send = as_alice(json!({ "amount": 1000, "assetID": "AVAX", "to": text(&vm, 9) }));
    // Coins of queued transactions are not available to others.
    let refused = api.call("send", &send).await.unwrap_err();
    assert_eq!(refused, format!("want to spend 2000 of asset {native} but only have 0"));
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(id_of(&api.wallet("send", &send).await.unwrap()));
    }
    assert_eq!(vm.wallet_pending().len(), 7);
    world.settle().await;
    for id in ids.into_iter().chain([front.id(), behind.id()]) {
        assert_eq!(status(&vm, id), TxStatus::Accepted);
    }
    assert_eq!((balance(&vm, 9, native), balance(&vm, 8, native)), (5000, 30));
    let refused = api.wallet("send", &with(send, json!({ "amount": SUPPLY }))).await.unwrap_err();
    let had = SUPPLY / 4 * 3 - 7 * FEE - 5030;
    let wanted = SUPPLY + FEE;
    assert_eq!(refused, format!("want to spend {wanted} of asset {native} but only have {had}"));
}

#[tokio::test]
async fn a_pending_transaction_without_its_coin_is_an_error() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let native = native_id(&vm);
    let send = as_alice(json!({
        "amount": 1000, "assetID": "AVAX", "to": text(&vm, 9), "from": [text(&vm, 1)],
    }));
    // Somebody else's pending transaction comes first; the second one takes the user's only coin.
    vm.issue_unverified(transfer(&vm, 3, native, 7, 9).bytes()).unwrap();
    let coin = coin(&vm, 1);
    let pending = spend(&vm, &coin, 1, 5000, 9);
    vm.issue_unverified(pending.bytes()).unwrap();
    let follower = id_of(&api.wallet("send", &send).await.unwrap());
    // Meanwhile the coin is spent otherwise.
    let all = coin.output.as_transfer().unwrap().amount - FEE;
    vm.issue(spend(&vm, &coin, 1, all, 8).bytes()).unwrap();
    assert!(world.step().await);
    assert_eq!(vm.wallet_pending().len(), 2);
    assert_eq!(api.wallet("send", &send).await.unwrap_err(), "missing utxo");
    world.settle().await;
    for id in [pending.id(), follower] {
        assert_eq!(status(&vm, id), rejected("not found"));
    }
    // With it the obstacle is gone.
    let other = with(send, json!({ "from": [text(&vm, 2)] }));
    let id = id_of(&api.wallet("send", &other).await.unwrap());
    world.settle().await;
    assert_eq!(status(&vm, id), TxStatus::Accepted);
}

#[tokio::test]
async fn the_queue_may_spend_what_a_send_produces() {
    let (mut world, api) = world().await;
    let vm = world.x.clone();
    let native = native_id(&vm);
    let send = as_alice(json!({ "amount": 90_000, "assetID": "AVAX", "to": text(&vm, 9) }));
    let parent = id_of(&api.wallet("send", &send).await.unwrap());
    let block = world.propose_on(&world.last()).await.unwrap();
    let parent = esker_transactions::xvm::Block::parse(&block.blocks[0].1)
        .unwrap()
        .txs()
        .iter()
        .find(|tx| tx.id() == parent)
        .unwrap()
        .clone();
    let child = spend(&vm, &output_of(&parent, 9), 9, 50, 8);
    vm.issue_unverified(child.bytes()).unwrap();
    world.machine.finalize(&block, None).await.unwrap();
    world.settle().await;
    assert_eq!(status(&vm, child.id()), TxStatus::Accepted);
    assert_eq!(balance(&vm, 8, native), 50);
}
