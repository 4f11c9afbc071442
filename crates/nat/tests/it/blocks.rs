//! Blocks with atomic transactions, made and verified.

use alloy_primitives::U256;
use esker_nat::AtomicStatus;
use esker_nat::money::Wei;
use esker_primitives::NanoNative;

use crate::world::{ONE, World, account, key, well_known};

#[tokio::test]
async fn an_amount_goes_there_and_back() {
    let world = World::easy();
    let owner = key(1);
    let utxos = world.fund(&owner, &[5 * ONE, 2 * ONE]).await;
    let import = world.import(&utxos, &owner, account(&owner), ONE / 100);
    let id = world.nat.submit(import.clone()).unwrap();
    assert_eq!(id, import.id());
    assert_eq!(world.nat.find(&id).unwrap(), Some((import.clone(), AtomicStatus::Processing)));
    world.settle().await;
    let (_, status) = world.nat.find(&id).unwrap().unwrap();
    assert_eq!(status, AtomicStatus::Accepted(1));
    let imported = NanoNative(7 * ONE - ONE / 100);
    assert_eq!(world.balance(account(&owner)), Wei::from(imported).0);
    assert_eq!(world.nonce(account(&owner)), 0);
    assert!(world.exported_to_c(&owner).is_empty());

    world.wait_s(2);
    let export = world.export(&owner, 0, 3 * ONE, ONE / 50, key(2).address());
    world.nat.submit(export.clone()).unwrap();
    world.settle().await;
    let (_, status) = world.nat.find(&export.id()).unwrap().unwrap();
    assert_eq!(status, AtomicStatus::Accepted(2));
    let left = NanoNative(imported.0 - 3 * ONE - ONE / 50);
    assert_eq!(world.balance(account(&owner)), Wei::from(left).0);
    assert_eq!(world.nonce(account(&owner)), 1);
    let on_x = world.shared(world.x_id(), world.c_id(), &key(2));
    assert_eq!(on_x.len(), 1);
    assert_eq!(on_x[0].output.as_transfer().unwrap().amount, 3 * ONE);
    assert!(world.balance(account(&well_known())) > U256::ZERO);
}
