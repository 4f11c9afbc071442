//! The wallet's way in: no checks, chains of transactions that nobody has accepted.

use esker_transactions::xvm::{Tx, UnsignedTx};
use esker_xvm::TxStatus;

use super::world::{
    World, address, balance, base, native_id, output, output_of, rejected, sign, spend, status,
    transfer,
};

fn pending(world: &World) -> Vec<esker_primitives::TxId> {
    world.x.wallet_pending().iter().map(Tx::id).collect()
}

#[tokio::test]
async fn a_chain_is_accepted_one_after_the_other() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let mut chain = vec![transfer(&vm, 1, native, 100_000, 9)];
    for _ in 0..3 {
        let change = output_of(chain.last().unwrap(), 1);
        chain.push(spend(&vm, &change, 1, 10_000, 9));
    }
    for tx in &chain {
        assert_eq!(vm.issue_unverified(tx.bytes()).unwrap(), tx.id());
        assert_eq!(status(&vm, tx.id()), TxStatus::Processing);
    }
    // Again: the same answer, and no second entry.
    assert_eq!(vm.issue_unverified(chain[2].bytes()).unwrap(), chain[2].id());
    assert_eq!(pending(&world), chain.iter().map(Tx::id).collect::<Vec<_>>());
    for left in (0..chain.len()).rev() {
        assert!(world.step().await);
        assert_eq!(pending(&world).len(), left);
    }
    assert!(!world.step().await);
    for tx in &chain {
        assert_eq!(status(&vm, tx.id()), TxStatus::Accepted);
    }
    assert_eq!(balance(&vm, 9, native), 130_000);
}

#[tokio::test]
async fn a_conflict_with_a_pending_one_is_taken_and_rejected_later() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let (first, rival) = (transfer(&vm, 1, native, 10, 9), transfer(&vm, 1, native, 20, 9));
    let third = transfer(&vm, 2, native, 30, 9);
    for tx in [&first, &rival, &third] {
        vm.issue_unverified(tx.bytes()).unwrap();
    }
    world.settle().await;
    assert_eq!(status(&vm, first.id()), TxStatus::Accepted);
    assert_eq!(status(&vm, rival.id()), rejected("not found"));
    // A rejected one does not hold up those behind it.
    assert_eq!(status(&vm, third.id()), TxStatus::Accepted);
    assert_eq!(balance(&vm, 9, native), 40);
    assert!(pending(&world).is_empty());
}

#[tokio::test]
async fn refusals_of_the_pool_are_returned() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let (first, rival) = (transfer(&vm, 1, native, 10, 9), transfer(&vm, 1, native, 20, 9));
    vm.issue(first.bytes()).unwrap();
    // With nothing pending the newcomer goes to the pool at once.
    let text = vm.issue_unverified(rival.bytes()).unwrap_err().to_string();
    assert_eq!(text, format!("tx conflicts with other tx: {}", rival.id()));
    // A transaction that is in the mempool by itself needs no second place.
    assert_eq!(vm.issue_unverified(first.bytes()).unwrap(), first.id());
    assert!(pending(&world).is_empty());
    world.settle().await;
    assert_eq!(status(&vm, rival.id()), TxStatus::Unknown);
    assert_eq!(vm.issue_unverified(b"x").unwrap_err().to_string(), "couldn't unpack codec version");
}

#[tokio::test]
async fn the_builder_rejects_invalid_unverified_transactions() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    // More out than in.
    let utxo = output_of(&transfer(&vm, 1, native, 10, 9), 9);
    let outputs = vec![output(native, 1_000_000, address(9))];
    let unsigned = base(&vm, vec![super::world::input(&utxo)], outputs);
    let bad = sign(UnsignedTx::Base(unsigned), 9);
    assert_eq!(vm.issue_unverified(bad.bytes()).unwrap(), bad.id());
    assert!(!world.step().await);
    assert_eq!(status(&vm, bad.id()), rejected("insufficient funds"));
    // The reason is saved by maintenance, as no block carries it.
    assert!(!vm.maintain().unwrap());
    let again = World::with(super::world::Setup {
        kv: world.store.kv.clone(),
        ..super::world::Setup::default()
    });
    assert_eq!(status(&again.x, bad.id()), rejected("insufficient funds"));
}
