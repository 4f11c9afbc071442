//! The state is a function of the genesis and the blocks: another node that sees only these has the same rows.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use esker_chain::ChainMachine;
use esker_primitives::clock::Clock;
use esker_storage::Scope;
use esker_xvm::state::tables::{ACCEPTED_AT, REJECTED};

use super::world::{START_MS, World, native_id, transfer};

/// Rows of the store that two nodes have to agree on: all but times of acceptance and reasons of rejections.
fn rows(world: &World) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let reader = world.store.snapshot().unwrap();
    let own: Vec<[u8; 3]> = [1, 2]
        .map(Scope)
        .iter()
        .flat_map(|scope| {
            [
                ACCEPTED_AT.prefix(*scope),
                REJECTED.records.prefix(*scope),
                REJECTED.order.prefix(*scope),
            ]
        })
        .collect();
    let mut rows = BTreeMap::new();
    reader
        .scan(&[], None, &mut |key, value| {
            if !own.iter().any(|prefix| key.starts_with(prefix)) {
                rows.insert(key.to_vec(), value.to_vec());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

/// Another node that gets only the bundles reaches the same state.
pub(super) async fn check_replay(world: &World) {
    let other = World::new();
    other.clock.set(world.clock.now_ms() + 5000);
    for bundle in &world.bundles {
        other.machine.finalize(bundle, None).await.unwrap();
    }
    assert_eq!(rows(&other), rows(world));
}

#[tokio::test]
async fn a_replay_of_the_blocks_gives_the_same_rows() {
    let mut world = World::new();
    let native = native_id(&world.x);
    for amount in 1..20 {
        for from in [1, 2, 3] {
            let tx = transfer(&world.x, from, native, amount, 4);
            world.x.issue(tx.bytes()).unwrap();
            let tx = transfer(&world.y, from, native, amount, 4);
            world.y.issue(tx.bytes()).unwrap();
        }
        world.clock.set(START_MS + amount * 1000);
        world.settle().await;
    }
    check_replay(&world).await;
}
