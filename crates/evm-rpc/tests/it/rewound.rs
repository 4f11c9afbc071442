//! Reads of a block that is rewound meanwhile.

use esker_chain::{Undo, UndoLimits};
use esker_evm::view::ChainReader as _;

use crate::subscriptions::recorded;
use crate::world::{Setup, World};

#[tokio::test]
async fn receipts_are_of_the_block_that_was_read_or_an_error() {
    let world = World::new(Setup::ARCHIVE);
    world.machine.set_undo(Undo::Keep(UndoLimits::bundles(20))).await.unwrap();
    let raw = recorded();
    for tx in &raw[..2] {
        world.submit(tx).unwrap();
        world.settle().await;
    }
    let first = world.evm.block_at(1).unwrap().unwrap();
    let second = world.evm.block_at(2).unwrap().unwrap();
    assert_eq!(world.evm.receipts_of(2, second.hash).unwrap().len(), 1);

    world.machine.rewind(1).await.unwrap();
    let gone = format!("block {:x} was taken back while the request was answered", second.hash);
    let refused = || world.evm.receipts_of(2, second.hash).unwrap_err().to_string();
    assert_eq!(refused(), gone);
    world.submit(&raw[1]).unwrap();
    world.settle().await;
    let other = world.evm.block_at(2).unwrap().unwrap();
    assert_ne!(other.hash, second.hash, "another block, made later");
    assert_eq!(refused(), gone);
    assert_eq!(world.evm.receipts_of(2, other.hash).unwrap().len(), 1);
    assert_eq!(world.evm.receipts_of(1, first.hash).unwrap().len(), 1);
}
