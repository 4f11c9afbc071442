//! Pages of an address's transactions.

use std::path::Path;

use alloy_primitives::{Address, Bytes, TxKind};
use esker_evm_state::blocks::History;
use serde_json::{Value, json};

use super::super::world::World;
use crate::world::Setup;

const BUSY: Address = Address::repeat_byte(0xb1);
const BEFORE: &str = "ots_searchTransactionsBefore";
const AFTER: &str = "ots_searchTransactionsAfter";

/// Blocks with 1, 2, 3, 1, 2, 3, ... transactions to an account, between some to others. Gives the hashes with their
/// heights, newest first.
async fn busy(world: &World, blocks: u64) -> Vec<(u64, String)> {
    let (mut all, mut nonce) = (Vec::new(), 0);
    for block in 0..blocks {
        for _ in 0..=block % 3 {
            for to in [BUSY, Address::repeat_byte(0xb2)] {
                let hash = world.send(nonce, TxKind::Call(to), 1, Bytes::new());
                nonce += 1;
                if to == BUSY {
                    all.push((world.height() + 1, hash.to_string()));
                }
            }
        }
        world.block().await;
    }
    all.reverse();
    all
}

/// The hashes of a page with their heights.
fn hashes(page: &Value) -> Vec<(u64, String)> {
    let (txs, receipts) = (&page["txs"], &page["receipts"]);
    let of = |(tx, receipt): (&Value, &Value)| {
        assert_eq!(tx["hash"], receipt["transactionHash"]);
        assert!(receipt["timestamp"].is_u64() && receipt["logs"].is_array(), "{receipt}");
        let height = tx["blockNumber"].as_str().unwrap();
        (u64::from_str_radix(&height[2..], 16).unwrap(), tx["hash"].as_str().unwrap().to_owned())
    };
    txs.as_array().unwrap().iter().zip(receipts.as_array().unwrap()).map(of).collect()
}

fn flags(page: &Value) -> (bool, bool) {
    (page["firstPage"].as_bool().unwrap(), page["lastPage"].as_bool().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_go_back_and_forth_in_whole_blocks() {
    let world = World::indexed();
    let all = busy(&world, 14).await;
    for size in [1, 2, 4, 5, 27, 28, 100] {
        let (mut found, mut from) = (Vec::new(), 0);
        loop {
            let page = world.call(BEFORE, json!([BUSY, from, size])).await;
            let (first, last) = flags(&page);
            assert_eq!(first, from == 0);
            let hashes = hashes(&page);
            // A block that begins within the page is there whole.
            assert!(
                hashes.len() < size + 3 && (last || hashes.len() >= size),
                "{size}: {hashes:?}"
            );
            from = hashes.last().unwrap().0;
            found.extend(hashes);
            if last {
                break;
            }
        }
        assert_eq!(found, all, "{size}");
        let (mut found, mut from) = (Vec::new(), 0);
        loop {
            let page = world.call(AFTER, json!([BUSY, from, size])).await;
            let (first, last) = flags(&page);
            assert_eq!(last, from == 0);
            let mut hashes = hashes(&page);
            from = hashes[0].0;
            hashes.reverse();
            found.extend(hashes);
            if first {
                break;
            }
        }
        found.reverse();
        // The order within a block is the same in both directions.
        assert_eq!(found, all, "{size}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cursors_at_the_edges() {
    let world = World::indexed();
    let nothing = json!({"txs": [], "receipts": [], "firstPage": true, "lastPage": true});
    assert_eq!(world.call(BEFORE, json!([BUSY, 0, 25])).await, nothing);
    assert_eq!(world.call(AFTER, json!([BUSY, 0, 25])).await, nothing);
    let all = busy(&world, 3).await;
    let page = |method: &'static str, block: u64| world.call(method, json!([BUSY, block, 25]));
    let (none, newest) = (page(BEFORE, 1).await, page(BEFORE, 1_000_000).await);
    assert_eq!((hashes(&none), flags(&none)), (vec![], (false, true)));
    assert_eq!((hashes(&newest), flags(&newest)), (all.clone(), (false, true)));
    let (oldest, beyond) = (page(AFTER, 0).await, page(AFTER, u64::MAX).await);
    assert_eq!((hashes(&oldest), flags(&oldest)), (all.clone(), (true, true)));
    assert_eq!((hashes(&beyond), flags(&beyond)), (vec![], (true, false)));
    // The forms of numbers.
    for two in [json!(2), json!("2"), json!("0x2")] {
        let page = world.call(BEFORE, json!([BUSY, two, "25"])).await;
        assert_eq!(hashes(&page), all[5..], "{two}");
    }
    assert!(hashes(&world.call(BEFORE, json!([Address::repeat_byte(9), 0, 25])).await).is_empty());
    let sender = world.call(BEFORE, json!([world.sender(), 0, 100])).await;
    assert_eq!(hashes(&sender).len(), 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_and_arguments_that_are_refused() {
    let world = World::indexed();
    for method in [BEFORE, AFTER] {
        for (size, text) in [
            (json!(0), "page size 0: ask for 1 to 100 transactions"),
            (json!(101), "max allowed page size: 100"),
            (json!(u64::MAX), "max allowed page size: 100"),
        ] {
            let error = world.error(method, json!([BUSY, 0, size])).await;
            assert_eq!(error, (-32602, text.to_owned()));
        }
        for bad in [json!([]), json!([BUSY]), json!(["0x12", 0, 25]), json!([BUSY, -1, 25])] {
            assert_eq!(world.error(method, bad.clone()).await.0, -32602, "{bad}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pruning_node_has_the_whole_index() {
    let setup = Setup { index_addresses: true, history: History::Window(2), ..Setup::ARCHIVE };
    let world = World::with(setup, Path::new("/nowhere"), true);
    let all = busy(&world, 8).await;
    let page = world.call(BEFORE, json!([BUSY, 0, 100])).await;
    assert_eq!((hashes(&page), flags(&page)), (all, (true, true)));
}
