//! A node that dies at any write: what was reported accepted is there, and the state is what the blocks make.

use std::collections::BTreeSet;
use std::sync::Arc;

use esker_chain::ChainMachine;
use esker_primitives::TxId;
use esker_storage::{FailPoint, FailingStore, KvStore, MemoryStore};
use esker_xvm::TxStatus;
use proptest::prelude::*;

use super::shared::{export, exported_to, import};
use super::world::{FEE, Setup, World, native_id, status, transfer};

/// Works until a write fails; gives what was reported accepted on X.
async fn work_until_it_dies(world: &mut World) -> Vec<TxId> {
    let mut accepted = Vec::new();
    let (x, y) = (world.x.clone(), world.y.clone());
    let native = native_id(&x);
    for round in 0u64.. {
        let from = [1, 2, 3][(round % 3) as usize];
        let there = export(&x, from, native, 10 * FEE, (y.context().chain_id, 9));
        let arrived = exported_to(&y, x.context().chain_id, 9);
        if !arrived.is_empty() {
            y.issue(import(&y, x.context().chain_id, &arrived, 9, 4).bytes()).unwrap();
        }
        x.issue(there.bytes()).unwrap();
        let moved = transfer(&y, from, native, 7 + round, 4);
        y.issue(moved.bytes()).unwrap();
        let last = world.last();
        let bundle = world.propose_on(&last).await.unwrap();
        match world.machine.finalize(&bundle, None).await {
            Ok(()) => accepted.push(there.id()),
            Err(_) => return accepted,
        }
        assert_eq!(status(&x, there.id()), TxStatus::Accepted);
    }
    unreachable!()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_crash_leaves_the_state_before_or_after(nth in 1u64..12, after: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let disk: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
            let failing = Arc::new(FailingStore::new(Arc::clone(&disk)));
            let mut world = World::with(Setup { kv: failing.clone(), ..Setup::default() });
            let point = if after { FailPoint::After } else { FailPoint::Before };
            failing.crash_at_nth_write(nth, point);
            let accepted = work_until_it_dies(&mut world).await;
            assert_eq!(accepted.len() as u64, nth - 1);
            failing.clear_failures();

            let mut world = World::with(Setup { kv: disk, ..Setup::default() });
            for id in &accepted {
                assert_eq!(status(&world.x, *id), TxStatus::Accepted);
            }
            let (height, _) = world.machine.last_final();
            assert_eq!(height, if after { nth } else { nth - 1 });
            world.bundles =
                (1..=height).map(|h| world.machine.bundle_at(h).unwrap().unwrap().0).collect();
            super::replay::check_replay(&world).await;
            // And it goes on.
            let tx = transfer(&world.x, 2, native_id(&world.x), 5, 4);
            world.x.issue(tx.bytes()).unwrap();
            world.settle().await;
            assert_eq!(status(&world.x, tx.id()), TxStatus::Accepted);
            let ids: BTreeSet<TxId> = accepted.into_iter().collect();
            assert!(!ids.contains(&tx.id()));
        });
    }
}
