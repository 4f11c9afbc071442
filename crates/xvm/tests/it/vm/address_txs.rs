//! The address-transaction index: what it lists, and how it is filled later.

use std::sync::Arc;

use esker_chain::{ChainMachine as _, Undo, UndoLimits};
use esker_primitives::{AssetId, TxId};
use esker_storage::{KvStore, MemoryStore};
use esker_transactions::xvm::{Tx, UnsignedTx};
use esker_xvm::state::AddressTxsError;
use esker_xvm::{IndexProgress, Xvm, XvmConfig};

use super::world::{
    FEE, Setup, World, address, base, fund, native_id, output, output_of, sign, spend, transfer,
};

fn listed(vm: &Xvm, number: u8, asset: AssetId, cursor: u64, limit: usize) -> Vec<TxId> {
    vm.view().unwrap().address_txs(&address(number), &asset, cursor, limit).unwrap()
}

async fn accept(world: &mut World, tx: &Tx) -> TxId {
    world.x.issue(tx.bytes()).unwrap();
    world.settle().await;
    tx.id()
}

/// A history over several blocks: who is touched by which transaction.
async fn history(world: &mut World) -> Vec<TxId> {
    let vm = world.x.clone();
    let native = native_id(&vm);
    let mut ids = Vec::new();
    for amount in [20_000, 30_000, 40_000] {
        let tx = transfer(&vm, 1, native, amount, 9);
        ids.push(accept(world, &tx).await);
    }
    let tx = transfer(&vm, 9, native, 60_000, 8);
    ids.push(accept(world, &tx).await);
    // Shared outputs are listed for each owner, once for a transaction.
    let (inputs, mut outputs) = fund(&vm, 2, &[(native, 30 + FEE)]);
    for amount in [10, 20] {
        let mut shared = output(native, amount, address(9));
        shared.output.owners.addresses.push(address(8));
        shared.output.owners.addresses.sort_unstable();
        outputs.push(shared);
    }
    let tx = sign(UnsignedTx::Base(base(&vm, inputs, outputs)), 2);
    ids.push(accept(world, &tx).await);
    ids
}

fn check_history(vm: &Xvm, ids: &[TxId]) {
    let native = native_id(vm);
    assert_eq!(listed(vm, 1, native, 0, 1024), ids[..3]);
    assert_eq!(listed(vm, 9, native, 0, 1024), ids);
    assert_eq!(listed(vm, 8, native, 0, 1024), ids[3..]);
    assert_eq!(listed(vm, 2, native, 0, 1024), ids[4..]);
    assert_eq!(listed(vm, 9, native, 1, 2), ids[1..3]);
    assert_eq!(listed(vm, 9, native, 4, 1024), ids[4..]);
    assert!(listed(vm, 9, native, 5, 1024).is_empty());
    assert!(listed(vm, 9, native, u64::MAX, 1024).is_empty());
    assert!(listed(vm, 9, native, 0, 0).is_empty());
    assert!(listed(vm, 9, vm.assets().lookup("VAR").unwrap(), 0, 1024).is_empty());
    assert!(listed(vm, 3, native, 0, 1024).is_empty(), "genesis holdings are no transactions");
}

#[tokio::test]
async fn transactions_are_listed_by_address_and_asset() {
    let mut world = World::new();
    let ids = history(&mut world).await;
    check_history(&world.x, &ids);
    assert_eq!(world.x.index_progress(), IndexProgress::Complete);
}

/// An output that is spent in the block that produces it counts, too: the specification lists a consumed UTXO.
#[tokio::test]
async fn chains_within_a_block_are_listed() {
    let mut world = World::new();
    let vm = world.x.clone();
    let parent = transfer(&vm, 1, native_id(&vm), 50_000, 9);
    let child = spend(&vm, &output_of(&parent, 9), 9, 49_000, 8);
    vm.issue(parent.bytes()).unwrap();
    vm.issue_unverified(child.bytes()).unwrap();
    world.settle().await;
    assert_eq!(vm.view().unwrap().height().unwrap(), 1);
    assert_eq!(listed(&vm, 9, native_id(&vm), 0, 10), [parent.id(), child.id()]);
    assert_eq!(listed(&vm, 8, native_id(&vm), 0, 10), [child.id()]);
}

fn without_index() -> XvmConfig {
    XvmConfig { index_transactions: false, ..Setup::default().config }
}

#[tokio::test]
async fn switched_off_it_says_so_and_later_it_is_filled() {
    let mut world = World::with(Setup { config: without_index(), ..Setup::default() });
    let mut ids = history(&mut world).await;
    let native = native_id(&world.x);
    let page = world.x.view().unwrap().address_txs(&address(9), &native, 0, 1);
    assert!(matches!(page, Err(AddressTxsError::Disabled)));
    assert_eq!(world.x.index_progress(), IndexProgress::Off);
    assert!(!world.x.maintain().unwrap());

    let kv = world.store.kv.clone();
    let mut world = World::with(Setup { kv, ..Setup::default() });
    let vm = world.x.clone();
    assert_eq!(vm.index_progress(), IndexProgress::Building { indexed: 0, height: 5 });
    let page = vm.view().unwrap().address_txs(&address(9), &native, 0, 1);
    assert!(matches!(page, Err(AddressTxsError::Building { indexed: 0, height: 5 })));
    // The chain goes on meanwhile, and what it accepts is left to the backfill.
    let tx = transfer(&vm, 8, native, 100, 9);
    ids.push(accept(&mut world, &tx).await);
    while vm.maintain().unwrap() {}
    assert_eq!(vm.index_progress(), IndexProgress::Complete);
    check_history_but_last(&vm, &ids);
    // From now on blocks bring their own rows.
    let tx = transfer(&vm, 8, native, 200, 9);
    ids.push(accept(&mut world, &tx).await);
    check_history_but_last(&vm, &ids);
    assert_eq!(listed(&vm, 9, native, 0, 1024), ids);
}

fn check_history_but_last(vm: &Xvm, ids: &[TxId]) {
    let native = native_id(vm);
    assert_eq!(listed(vm, 1, native, 0, 1024), ids[..3]);
    assert_eq!(listed(vm, 9, native, 0, 1024), ids);
    assert_eq!(listed(vm, 8, native, 0, 1024), ids[3..]);
}

#[tokio::test]
async fn a_backfill_equals_what_blocks_write_themselves() {
    let mut live = World::new();
    let ids = history(&mut live).await;
    // Off in between: the rows of those blocks are missing, and no others.
    let kv = live.store.kv.clone();
    let mut world = World::with(Setup { kv, config: without_index(), ..Setup::default() });
    let tx = transfer(&world.x, 3, native_id(&world.x), 77, 9);
    let later = accept(&mut world, &tx).await;
    let kv = world.store.kv.clone();
    let world = World::with(Setup { kv, ..Setup::default() });
    assert_eq!(world.x.index_progress(), IndexProgress::Building { indexed: 5, height: 6 });
    while world.x.maintain().unwrap() {}
    let all: Vec<TxId> = ids.into_iter().chain([later]).collect();
    assert_eq!(listed(&world.x, 9, native_id(&world.x), 0, 1024), all);
    assert_eq!(listed(&world.x, 3, native_id(&world.x), 0, 1024), [later]);
}

/// The thread of a running node fills it while blocks are accepted.
#[tokio::test]
async fn a_thread_fills_it_while_the_chain_goes_on() {
    let mut world = World::with(Setup { config: without_index(), ..Setup::default() });
    let mut ids = Vec::new();
    let native = native_id(&world.x);
    for amount in 0..30 {
        let tx = transfer(&world.x, 1, native, 1000 + amount, 9);
        ids.push(accept(&mut world, &tx).await);
    }
    let kv = world.store.kv.clone();
    let mut world = World::with(Setup { kv, ..Setup::default() });
    let vm = world.x.clone();
    let maintenance = vm.start_maintenance().unwrap();
    while vm.index_progress() != IndexProgress::Complete {
        let tx = transfer(&vm, 1, native, 2000 + u64::try_from(ids.len()).unwrap(), 9);
        ids.push(accept(&mut world, &tx).await);
    }
    let tx = transfer(&vm, 1, native, 9999, 9);
    ids.push(accept(&mut world, &tx).await);
    drop(maintenance);
    assert_eq!(listed(&vm, 9, native, 0, 1024), ids);
}

/// A rewind deletes the rows that a backfill wrote for rewound blocks.
#[tokio::test]
async fn the_index_forgets_blocks_that_are_taken_back() {
    let kv: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let off = XvmConfig { index_transactions: false, ..Setup::default().config };
    let mut world = World::with(Setup { kv: kv.clone(), config: off, ..Setup::default() });
    let undo = Undo::Keep(UndoLimits::bundles(20));
    world.machine.set_undo(undo).await.unwrap();
    let ids = history(&mut world).await;
    let bundles = world.bundles.clone();
    let mut world = World::with(Setup { kv, ..Setup::default() });
    world.machine.set_undo(undo).await.unwrap();
    while world.x.maintain().unwrap() {}
    check_history(&world.x, &ids);
    // One more, whose rows come with its block.
    let native = native_id(&world.x);
    let tx = transfer(&world.x, 1, native, 50_000, 9);
    let last = accept(&mut world, &tx).await;
    assert_eq!(listed(&world.x, 9, native, 0, 1024), [&ids[..], &[last]].concat());

    world.machine.rewind(2).await.unwrap();
    assert_eq!(world.x.index_progress(), IndexProgress::Complete);
    assert_eq!(listed(&world.x, 9, native, 0, 1024), ids[..2]);
    assert_eq!(listed(&world.x, 1, native, 0, 1024), ids[..2]);
    assert!(listed(&world.x, 8, native, 0, 1024).is_empty());
    for bundle in &bundles[2..] {
        world.machine.finalize(bundle, None).await.unwrap();
    }
    check_history(&world.x, &ids);
    assert!(!world.x.maintain().unwrap());
    world.machine.rewind(4).await.unwrap();
    assert_eq!(listed(&world.x, 8, native, 0, 1024), ids[3..4]);
}
