//! A store that fails at each read of a verify or of a build: never a verdict, never a transaction lost.

use std::sync::Arc;

use alloy_primitives::TxKind;
use esker_chain::{Bundle, ChainError, ChainMachine as _, ChainVm, ProposeError, Verdict};
use esker_nat::AtomicStatus;
use esker_primitives::clock::ManualClock;
use esker_primitives::ids::Id;
use esker_storage::{FailingStore, StorageError};
use esker_testkit::chains::funded::{
    self, START_MS, exported_to_x, x_export, x_import, x_transfer,
};
use esker_testkit::chains::world::{ONE, World, account, evm_transfer, key};
use esker_xvm::TxStatus;

use crate::conservation::signed;

/// Creates a contract that looks around: `sstore(0, blockhash(number - 2))`, `balance(7)`, `extcodesize(7)`.
const LOOKS_AROUND: &[u8] =
    &[0x60, 2, 0x43, 0x03, 0x40, 0x60, 0, 0x55, 0x60, 7, 0x31, 0x50, 0x60, 7, 0x3b, 0x50, 0];

/// A world over a store that can fail.
fn failing() -> (Arc<FailingStore>, World) {
    let disk = Arc::new(FailingStore::new(funded::store()));
    let world = funded::world(disk.clone(), &Arc::new(ManualClock::new(START_MS)));
    (disk, world)
}

/// Transactions of every kind, of both chains and between them; those of X and of C that are not the EVM's.
fn submit(world: &World) -> (Vec<Id>, Vec<Id>) {
    let (one, two, three) = (key(1), key(2), key(3));
    let utxos = world.x_utxos(&one.address());
    let x = [
        x_transfer(world, &utxos[0], &one, &two),
        x_export(world, &utxos[1], &one, &two),
        x_import(world, &exported_to_x(world, &one)[0], &one),
    ];
    let imported = &world.exported_to_c(&two)[..1];
    let atomic = [
        world.import(imported, &two, account(&two), ONE / 100),
        world.export(&three, world.nonce(account(&three)), ONE, ONE / 50, one.address()),
    ];
    world.evm().submit(signed(world, &one, TxKind::Create, 3, 1, LOOKS_AROUND)).unwrap();
    world.evm().submit(evm_transfer(&two, world.nonce(account(&two)), account(&one))).unwrap();
    let x = x.iter().map(|tx| world.x.issue(tx.bytes()).unwrap()).collect();
    (x, atomic.into_iter().map(|tx| world.nat.submit(tx).unwrap()).collect())
}

/// A bundle with all of them, and one with what is left for its child.
async fn bundles() -> [Bundle; 2] {
    let (_, maker) = failing();
    submit(&maker);
    let first = maker.propose_on(&maker.last()).await.unwrap();
    assert_eq!(first.blocks.len(), 2);
    let owner = key(3);
    let utxo = &maker.x_utxos(&owner.address())[0];
    maker.x.issue(x_transfer(&maker, utxo, &owner, &key(1)).bytes()).unwrap();
    let nonce = maker.nonce(account(&key(1)));
    maker.evm().submit(evm_transfer(&key(1), nonce + 1, account(&owner))).unwrap();
    let imported = &maker.exported_to_c(&owner)[..1];
    maker.nat.submit(maker.import(imported, &owner, account(&owner), ONE / 100)).unwrap();
    maker.wait_s(1);
    let second = maker.propose_on(&first).await.unwrap();
    assert_eq!(second.blocks.len(), 2);
    [first, second]
}

/// Fails each read of the verify of a bundle, one after the other. Returns how many there were.
async fn verify_with_each_read_failing(disk: &FailingStore, world: &World, bundle: &Bundle) -> u64 {
    let undecided = world.machine.undecided();
    for nth in 1.. {
        let before = disk.reads();
        disk.fail_nth_read(nth);
        let verified = world.machine.verify(&[], bundle).await;
        let was_reached = disk.reads() - before >= nth;
        disk.clear_failures();
        match verified {
            Err(ChainError::Storage(StorageError::Injected)) if was_reached => {}
            Ok(Verdict::Valid) if !was_reached => return nth - 1,
            other => panic!("read {nth} fails: {other:?}"),
        }
        assert_eq!(world.machine.undecided(), undecided, "read {nth}");
        // The same verify works afterwards.
        if nth % 16 == 0 {
            assert_eq!(world.machine.verify(&[], bundle).await.unwrap(), Verdict::Valid);
            assert_eq!(world.machine.abandon(&bundle.id()).await.unwrap(), 1);
        }
    }
    unreachable!("it ends")
}

#[tokio::test]
async fn an_error_of_the_store_is_never_a_verdict() {
    let (disk, world) = failing();
    world.wait_s(1);
    // The second finds most of what it needs in the layers of the first.
    for (bundle, least) in bundles().await.iter().zip([30, 3]) {
        let reads = verify_with_each_read_failing(&disk, &world, bundle).await;
        assert!(reads > least, "only {reads} reads");
    }
}

/// After a failed build all transactions wait as before.
fn assert_processing(world: &World, x: &[Id], atomic: &[Id]) {
    for id in x {
        assert_eq!(world.x.view().unwrap().tx_status(id).unwrap(), TxStatus::Processing);
    }
    for id in atomic {
        assert_eq!(world.nat.status(id).unwrap(), Some(AtomicStatus::Processing));
    }
    assert_eq!(world.evm().pool().counts(), (2, 0));
}

#[tokio::test]
async fn a_build_that_fails_loses_nothing() {
    let (disk, world) = failing();
    let (x, atomic) = submit(&world);
    for nth in 1.. {
        let (height, parent) = world.machine.last_final();
        let at = esker_chain::ProposeCtx {
            height: height + 1,
            parent,
            ancestry: &[],
            wait_until_ms: START_MS,
        };
        let before = disk.reads();
        disk.fail_nth_read(nth);
        let built = world.machine.propose(at).await;
        let was_reached = disk.reads() - before >= nth;
        disk.clear_failures();
        match built {
            Err(ProposeError::Chain(ChainError::Storage(StorageError::Injected)))
                if was_reached => {}
            Ok(Some(bundle)) if !was_reached => {
                assert!(nth > 60, "only {nth} reads");
                world.machine.finalize(&bundle, None).await.unwrap();
                break;
            }
            other => panic!("read {nth} fails: {other:?}"),
        }
        assert_processing(&world, &x, &atomic);
    }
    for id in x {
        assert_eq!(world.x.view().unwrap().tx_status(&id).unwrap(), TxStatus::Accepted);
    }
    for id in atomic {
        assert!(matches!(world.nat.status(&id).unwrap(), Some(AtomicStatus::Accepted(_))));
    }
    assert_eq!((world.evm().pool().counts(), world.evm().stats().mempool_bytes), ((0, 0), 0));
}
