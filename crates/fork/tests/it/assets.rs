//! Balances of other assets of a C-Chain's accounts. They lie in slots that no code reads, so sources show them in proofs
//! only.

use std::collections::BTreeMap;

use alloy_primitives::{Bytes, U256};
use esker_fork::{ForkError, ForkOptions, Misses, Want};

use crate::server::{Server, within};
use crate::world::{Entries, Entry, World, address};

/// The slot of an asset, and the one that code reads under the same key.
fn slots() -> [U256; 2] {
    let in_first_byte = |bits: u64| U256::from(bits).wrapping_shl(248);
    [in_first_byte(0x2b) | U256::from(77), in_first_byte(0x2a) | U256::from(77)]
}

fn world() -> World {
    let [asset, of_code] = slots();
    let entry = Entry {
        nonce: 0,
        balance: U256::from(1),
        code: Bytes::new(),
        slots: BTreeMap::from([(asset, U256::from(1_000)), (of_code, U256::from(5))]),
    };
    let plain = Entry { nonce: 1, ..Entry::default() };
    World::c_chain(Entries::from([(address(1), entry), (address(2), plain)]))
}

#[tokio::test]
async fn proofs_show_the_balance_of_another_asset() {
    let world = world();
    let of_server = world.clone();
    let server = Server::start(move |request, _| of_server.act(request)).await;
    let fork = server.fork(ForkOptions::default()).await;
    let misses = Misses::default();
    misses.add(Want::Account(address(1)));
    misses.add(Want::Account(address(2)));
    for slot in slots() {
        misses.add(Want::Slot(address(1), slot));
    }
    within("the slots", fork.fetch(&misses)).await.unwrap();
    let view = fork.view(&misses);
    let values = slots().map(|slot| view.slot(&address(1), slot).known().unwrap());
    assert_eq!(values, [U256::from(1_000), U256::from(5)]);
    for (n, is_multi_coin) in [(1, true), (2, false)] {
        let account = view.account(&address(n)).known().unwrap().unwrap();
        assert_eq!(account.parts.is_multi_coin, is_multi_coin);
        assert_eq!(Some(account.to_account()), world.account(&address(n)));
    }
}

#[tokio::test]
async fn without_proofs_the_balance_of_another_asset_is_refused() {
    let mut world = world();
    world.lacks.proof = true;
    let server = Server::start(move |request, _| world.act(request)).await;
    let fork = server.fork(ForkOptions::default()).await;
    let [asset, of_code] = slots();
    let misses = Misses::default();
    misses.add(Want::Slot(address(1), asset));
    let error = within("the slot", fork.fetch(&misses)).await.unwrap_err();
    assert!(matches!(error, ForkError::AssetWithoutProof { slot, .. } if slot == asset), "{error}");
    let misses = Misses::default();
    misses.add(Want::Slot(address(1), of_code));
    within("the slot", fork.fetch(&misses)).await.unwrap();
    assert_eq!(fork.view(&misses).slot(&address(1), of_code).known(), Some(U256::from(5)));
}
