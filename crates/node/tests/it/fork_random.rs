//! Random transactions on a source and on its fork: the blocks are the same, state roots included.

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::fork::{Chain, FROM, start, url};

/// Init code of a contract that stores its second word at the slot of its first one.
const STORE: &str = "0x600880600b6000396000f36020356000355500";
const STORES: usize = 3;
const SLOTS: u64 = 48;
const ACCOUNTS: u64 = 60;

const BLOCKS: u64 = 20;
const TXS_PER_BLOCK: usize = 50;
/// Gas that is too little to store anything.
const TOO_LITTLE: &str = "0x5700";

/// Transactions of one sender: transfers to new and to known accounts, values that are stored, changed and deleted, new
/// contracts, and failures.
struct Traffic {
    rng: StdRng,
    stores: Vec<Value>,
}

impl Traffic {
    fn next(&mut self) -> Value {
        let rng = &mut self.rng;
        let store = self.stores[rng.random_range(0..STORES)].clone();
        let (slot, value) = (rng.random_range(0..SLOTS), rng.random_range(0..3));
        match rng.random_range(0..10) {
            0..6 => stored(&store, slot, value, "0x20000"),
            6 => stored(&store, slot, value + 3, TOO_LITTLE),
            7 => json!({"from": FROM, "data": STORE, "gas": "0x50000"}),
            _ => {
                let to = format!("{:#042x}", 0xacc0_0000 + rng.random_range(0..ACCOUNTS));
                json!({"from": FROM, "to": to, "value": format!("{value:#x}"), "gas": "0x5208"})
            }
        }
    }
}

fn stored(store: &Value, slot: u64, value: u64, gas: &str) -> Value {
    json!({"from": FROM, "to": store, "data": format!("0x{slot:064x}{value:064x}"), "gas": gas})
}

/// Mines a block of random transactions on each chain, at the same time.
async fn mine(chains: &mut [&mut Chain], traffic: &mut Traffic, time_s: u64) {
    let txs: Vec<_> = (0..TXS_PER_BLOCK).map(|_| traffic.next()).collect();
    for chain in chains {
        for tx in &txs {
            chain.ask("eth_sendTransaction", json!([tx])).await;
        }
        chain.ask("evm_mine", json!([time_s])).await;
        let block = chain.newest().await;
        assert_eq!(block["transactions"].as_array().unwrap().len(), TXS_PER_BLOCK);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_random_transactions_give_the_same_roots() {
    let node = start(&[]).await.unwrap();
    let mut source = Chain::of(&node).await;
    let mut stores = Vec::new();
    for _ in 0..STORES {
        stores.push(source.deploy(STORE).await);
    }
    source.ask("evm_setAutomine", json!([false])).await;
    let mut traffic = Traffic { rng: StdRng::seed_from_u64(33), stores };
    let start_s = 4_000_000_000;
    for block in 0..4 {
        mine(&mut [&mut source], &mut traffic, start_s + block).await;
    }
    let forked = start(&[("fork-url", &url(&node)), ("fork-keep-balances", "true")]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    fork.ask("evm_setAutomine", json!([false])).await;
    for block in 0..BLOCKS {
        mine(&mut [&mut source, &mut fork], &mut traffic, start_s + 10 + block).await;
        assert_eq!(fork.newest().await, source.newest().await, "block {block} of the fork");
    }
    let failed = source.ask("eth_getBlockReceipts", json!(["latest"])).await;
    let failed = failed.as_array().unwrap().iter().filter(|receipt| receipt["status"] == "0x0");
    assert!(failed.count() > 0, "some transactions fail");
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}
