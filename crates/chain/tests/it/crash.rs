//! A store that fails leaves the state before or the state after, and never one between.

use std::sync::Arc;

use esker_chain::{ChainMachine, ProposeCtx};
use esker_storage::{FailPoint, FailingStore, KvStore, MemoryStore};
use esker_testkit::toy::World;

use crate::machine::open;

/// Opens two chains, makes one bundle final over a store that fails at that write, and opens again.
async fn crash(fail: impl FnOnce(&FailingStore)) -> (Option<u64>, Option<u64>, u64) {
    let disk: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let failing = Arc::new(FailingStore::new(Arc::clone(&disk)));
    let world = World::on(failing.clone());
    let toys = [world.toy(1), world.toy(2)];
    let machine = open(&world, &toys);
    toys[0].set(1, 10);
    toys[1].set(1, 20);
    let (_, parent) = machine.last_final();
    let at = ProposeCtx { height: 1, parent, ancestry: &[], wait_until_ms: u64::MAX };
    let bundle = machine.propose(at).await.unwrap().unwrap();
    fail(&failing);
    machine.finalize(&bundle, None).await.unwrap_err();
    assert_eq!(machine.last_final().0, 0, "a failed write moves nothing in memory");

    let world = World::on(disk);
    let toys = [world.toy(1), world.toy(2)];
    let machine = open(&world, &toys);
    (toys[0].get(1), toys[1].get(1), machine.last_final().0)
}

#[tokio::test]
async fn a_crash_before_the_write_leaves_the_state_before() {
    assert_eq!(crash(|store| store.fail_nth_write(1, FailPoint::Before)).await, (None, None, 0));
}

#[tokio::test]
async fn a_crash_after_the_write_leaves_the_state_after() {
    assert_eq!(
        crash(|store| store.fail_nth_write(1, FailPoint::After)).await,
        (Some(10), Some(20), 1)
    );
}
