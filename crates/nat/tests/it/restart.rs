//! Transactions in the pools of all chains wait again after a restart.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use esker_chain::{ChainMachine, ChainVm};
use esker_evm_execution::rules::{FeeOverrides, ForkSchedule};
use esker_nat::AtomicStatus;
use esker_storage::{KvStore, MemoryStore};
use esker_testkit::chains::world::{ONE, World, account, evm_transfer, key, output, well_known};
use esker_utxo::OutputOwners;
use esker_xvm::TxStatus;

fn open(kv: &Arc<dyn KvStore>) -> World {
    let overrides = FeeOverrides {
        min_base_fee: Some(ONE),
        target_gas: Some(u64::MAX),
        block_gas_cost_step: Some(0),
        gas_limit: None,
    };
    World::with(Arc::clone(kv), ForkSchedule::LOCAL, overrides)
}

fn chains(world: &World) -> [Arc<dyn ChainVm>; 2] {
    [world.x.clone() as Arc<dyn ChainVm>, world.evm().clone()]
}

/// Chain by chain, what waits in `from` is taken in by `to`; how many of each.
fn restart(from: &World, to: &World) -> [(usize, usize); 2] {
    let mut counts = [(0, 0); 2];
    for (count, (old, new)) in counts.iter_mut().zip(chains(from).iter().zip(chains(to).iter())) {
        let waiting = old.waiting_txs();
        *count = (waiting.len(), new.restore_txs(waiting));
    }
    counts
}

#[tokio::test]
async fn all_pools_are_filled_again() {
    let kv: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let before = open(&kv);
    let owner = key(1);
    let utxos = before.fund(&owner, &[5 * ONE]).await;
    let import = before.import(&utxos, &owner, account(&owner), ONE / 100);
    before.nat.submit(import.clone()).unwrap();
    let owners = OutputOwners::single(owner.address());
    let export = before.x_export(vec![output(before.native(), ONE, owners)]);
    before.x.issue(export.bytes()).unwrap();
    // The second comes first, and a third waits for one that never comes.
    for nonce in [1, 0, 5] {
        let tx = evm_transfer(&well_known(), nonce, Address::repeat_byte(7));
        before.evm().submit(tx).unwrap();
    }

    let after = open(&kv);
    assert_eq!(restart(&before, &after), [(1, 1), (4, 4)]);
    assert_eq!(after.evm().pool().counts(), (2, 1));
    let status = |world: &World| world.nat.find(&import.id()).unwrap().map(|(_, status)| status);
    assert_eq!(status(&after), Some(AtomicStatus::Processing));
    let x_status = |world: &World| world.x.view().unwrap().tx_status(&export.id()).unwrap();
    assert_eq!(x_status(&after), TxStatus::Processing);

    let waiting = |world: &World| world.evm().atomic_pool_figures().unwrap().0;
    assert_eq!((waiting(&before), waiting(&after)), (1, 1));
    assert_eq!(after.evm().stats().gas.unwrap().used, 0);

    after.settle().await;
    assert!(matches!(status(&after), Some(AtomicStatus::Accepted(_))));
    assert_eq!(waiting(&after), 0);
    let (head, stats) = (after.evm().head(), after.evm().stats());
    let gas = stats.gas.unwrap();
    assert_eq!(stats.last_block_s, head.header.time);
    assert_eq!((gas.last_used, gas.last_limit), (head.header.gas_used, head.header.gas_limit));
    assert!(gas.used >= 2 * 21_000 && gas.used >= gas.last_used, "{gas:?}");
    assert_eq!(gas.base_fee.map(U256::from), head.header.base_fee);
    // Its UTXO is consumed.
    after.nat.submit(import.clone()).unwrap_err();
    let refused = after.evm().atomic_pool_figures().unwrap().1.refused;
    assert_eq!(refused.iter().find(|(_, count)| *count > 0), Some(&("invalid", 1)));
    assert_eq!(x_status(&after), TxStatus::Accepted);
    assert_eq!(after.nonce(account(&well_known())), 2);
    assert_eq!(after.evm().pool().counts(), (0, 1));

    // Taken in once more, as after a kill before the journal is removed: nothing accepted becomes rejected.
    let again = open(&kv);
    assert_eq!(restart(&before, &again), [(1, 0), (4, 1)]);
    assert!(matches!(status(&again), Some(AtomicStatus::Accepted(_))));
    assert_eq!(x_status(&again), TxStatus::Accepted);
    assert_eq!(again.evm().pool().counts(), (0, 1));
    let figures = again.evm().pool_figures();
    assert!(figures.dropped.iter().all(|(_, count)| *count == 0), "{figures:?}");
}

#[tokio::test]
async fn what_is_not_valid_any_more_has_its_reason() {
    let kv: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let before = open(&kv);
    let owners = OutputOwners::single(key(1).address());
    let loser = before.x_export(vec![output(before.native(), ONE, owners.clone())]);
    before.x.issue(loser.bytes()).unwrap();
    let kept = chains(&before)[0].waiting_txs();

    let after = open(&kv);
    let winner = after.x_export(vec![output(after.native(), 2 * ONE, owners)]);
    after.x.issue(winner.bytes()).unwrap();
    after.settle().await;
    let again = open(&kv);
    assert_eq!(chains(&again)[0].restore_txs(kept), 0);
    let status = again.x.view().unwrap().tx_status(&loser.id()).unwrap();
    let TxStatus::Rejected { reason } = status else { panic!("{status:?}") };
    assert!(reason.starts_with("refused after a restart: "), "{reason}");
}

#[tokio::test]
async fn entries_that_mean_nothing_are_skipped() {
    let world = World::easy();
    for chain in chains(&world) {
        for entry in [&[][..], &[9], &[0], &[1], &[0, 1, 2, 3], &[1, 1, 2, 3]] {
            let restored = chain.restore_txs(vec![entry.to_vec().into()]);
            assert_eq!(restored, 0, "{} {entry:?}", chain.name());
            assert!(chain.waiting_txs().is_empty());
        }
    }
    assert!(world.machine.last_final().0 == 0);
}

#[tokio::test]
async fn emptied_pools_are_filled_again() {
    let kv: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let world = open(&kv);
    let owner = key(1);
    let utxos = world.fund(&owner, &[5 * ONE]).await;
    let import = world.import(&utxos, &owner, account(&owner), ONE / 100);
    world.nat.submit(import.clone()).unwrap();
    let owners = OutputOwners::single(owner.address());
    let export = world.x_export(vec![output(world.native(), ONE, owners)]);
    world.x.issue(export.bytes()).unwrap();
    world.evm().submit(evm_transfer(&well_known(), 0, Address::repeat_byte(7))).unwrap();
    let waiting = chains(&world).map(|chain| chain.waiting_txs());
    assert_eq!(waiting.each_ref().map(Vec::len), [1, 2]);
    chains(&world).iter().for_each(|chain| chain.drop_waiting_txs());
    assert!(chains(&world).iter().all(|chain| chain.waiting_txs().is_empty()));
    let restored =
        chains(&world).iter().zip(waiting).map(|(vm, txs)| vm.restore_txs(txs)).collect::<Vec<_>>();
    assert_eq!(restored, [1, 2]);
    world.settle().await;
    let status = world.nat.find(&import.id()).unwrap().map(|(_, status)| status);
    assert!(matches!(status, Some(AtomicStatus::Accepted(_))), "{status:?}");
    assert_eq!(world.x.view().unwrap().tx_status(&export.id()).unwrap(), TxStatus::Accepted);
    assert_eq!(world.nonce(account(&well_known())), 1);
}
