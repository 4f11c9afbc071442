//! The blocks of the tags `safe` and `finalized`.

use serde_json::Value;

use crate::subscriptions::recorded;
use crate::world::{Setup, World};

/// A chain with this many blocks after its first.
async fn world(slots_in_an_epoch: u64, blocks: usize) -> World {
    let world = World::new(Setup { slots_in_an_epoch, is_development: true, ..Setup::ARCHIVE });
    for tx in &recorded()[..blocks] {
        world.submit(tx).unwrap();
        world.settle().await;
    }
    world
}

async fn numbers(world: &World) -> [Value; 3] {
    let number = async |tag: &str| {
        world.call("eth_getBlockByNumber", &format!("[\"{tag}\",false]")).await["number"].clone()
    };
    [number("safe").await, number("finalized").await, number("latest").await]
}

#[tokio::test]
async fn they_are_behind_the_last_block_by_epochs() {
    for (slots, expected) in [
        (0, ["0x5", "0x5", "0x5"]),
        (1, ["0x4", "0x3", "0x5"]),
        (2, ["0x3", "0x1", "0x5"]),
        (3, ["0x2", "0x0", "0x5"]),
        (u64::MAX, ["0x0", "0x0", "0x5"]),
    ] {
        let world = world(slots, 5).await;
        assert_eq!(numbers(&world).await, expected.map(Value::from), "{slots}");
    }
}

#[tokio::test]
async fn every_method_means_the_same_block() {
    let world = world(2, 5).await;
    let count = async |tag: &str| {
        let at = format!("[\"0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc\",\"{tag}\"]");
        world.call("eth_getTransactionCount", &at).await
    };
    for (tag, number) in [("safe", "0x3"), ("finalized", "0x1")] {
        assert_eq!(count(tag).await, count(number).await, "{tag}");
    }
    assert_ne!(count("safe").await, count("latest").await);
    let header = world.call("eth_getHeaderByNumber", "[\"finalized\"]").await;
    assert_eq!(header["number"], "0x1");
}
