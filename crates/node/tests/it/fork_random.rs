//! Random transactions on a source and on its fork: the blocks are the same, state roots included.

use esker_settings::config::Mode;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::fork::{Chain, FROM, c_chain_url, start_as};

/// Init code of a contract that stores its second word at the slot of its first one.
const STORE: &str = "0x600880600b6000396000f36020356000355500";
const STORES: usize = 3;
const SLOTS: u64 = 48;
const ACCOUNTS: u64 = 60;

const BLOCKS: u64 = 20;
const C_CHAIN_BLOCKS: u64 = 6;
const TXS_PER_BLOCK: usize = 50;
/// Seconds between blocks: with exact fees those in quick succession cost more.
const STEP_S: u64 = 3;
/// In the keys of half of all slots the bit is set that the C-Chain clears.
const CLEARED_BIT: u64 = 1 << 56;
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
        let slot = slot | if rng.random() { CLEARED_BIT } else { 0 };
        let tx = match rng.random_range(0..10) {
            0..6 => stored(&store, slot, value, "0x20000"),
            6 => stored(&store, slot, value + 3, TOO_LITTLE),
            7 => json!({"from": FROM, "data": STORE, "gas": "0x50000"}),
            _ => {
                let to = format!("{:#042x}", 0xacc0_0000 + rng.random_range(0..ACCOUNTS));
                json!({"from": FROM, "to": to, "value": format!("{value:#x}"), "gas": "0x5208"})
            }
        };
        priced(tx)
    }
}

/// With the price of each transaction. What a node chooses depends on the time at which it is asked.
fn priced(mut tx: Value) -> Value {
    tx["maxFeePerGas"] = json!(format!("{:#x}", 1_000_000_000_000_u64));
    tx["maxPriorityFeePerGas"] = json!(format!("{:#x}", 2_000_000_000_u64));
    tx
}

fn stored(store: &Value, slot: u64, value: u64, gas: &str) -> Value {
    let slot = format!("{slot:016x}{:048x}", 0);
    json!({"from": FROM, "to": store, "data": format!("0x{slot}{value:064x}"), "gas": gas})
}

/// Mines a block of random transactions on each chain, at the same time.
async fn mine(chains: &mut [&mut Chain], traffic: &mut Traffic, time_s: u64) {
    let txs: Vec<_> = (0..TXS_PER_BLOCK).map(|_| traffic.next()).collect();
    for chain in chains {
        chain.ask("evm_setNextBlockTimestamp", json!([time_s])).await;
        for tx in &txs {
            chain.ask("eth_sendTransaction", json!([tx])).await;
        }
        chain.ask("evm_mine", json!([])).await;
        let block = chain.newest().await;
        assert_eq!(block["transactions"].as_array().unwrap().len(), TXS_PER_BLOCK);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_random_transactions_give_the_same_roots() {
    Box::pin(compare((Mode::Evm, &[]), BLOCKS)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_transactions_give_the_same_roots_on_a_c_chain() {
    Box::pin(compare((Mode::Dev, &[]), C_CHAIN_BLOCKS)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_transactions_give_the_same_roots_and_fees_on_a_c_chain_with_real_fees() {
    Box::pin(compare((Mode::Dev, &[("real-fees", "true")]), C_CHAIN_BLOCKS)).await;
}

/// Deploys the contracts in a block of this time.
async fn deployed(source: &mut Chain, time_s: u64) -> Vec<Value> {
    let tx = json!([{"from": FROM, "data": STORE, "gas": "0x50000"}]);
    source.ask("evm_setNextBlockTimestamp", json!([time_s])).await;
    for _ in 0..STORES {
        source.ask("eth_sendTransaction", tx.clone()).await;
    }
    source.ask("evm_mine", json!([])).await;
    let receipts = source.ask("eth_getBlockReceipts", json!(["latest"])).await;
    let receipts = receipts.as_array().unwrap().iter();
    receipts.map(|receipt| receipt["contractAddress"].clone()).collect()
}

/// Compares the blocks of a source and of its fork, both with these settings.
async fn compare((mode, flags): (Mode, &[(&'static str, &str)]), blocks: u64) {
    let node = start_as(mode, flags).await.unwrap();
    let mut source = Chain::of(&node).await;
    source.ask("evm_setAutomine", json!([false])).await;
    let start_s = 4_000_000_000;
    let stores = deployed(&mut source, start_s - STEP_S).await;
    let mut traffic = Traffic { rng: StdRng::seed_from_u64(33), stores };
    for block in 0..4 {
        mine(&mut [&mut source], &mut traffic, start_s + STEP_S * block).await;
    }
    let url = c_chain_url(&node, mode);
    let of_source = [("fork-url", url.as_str()), ("fork-keep-balances", "true")];
    let forked = start_as(mode, &[&of_source, flags].concat()).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    fork.ask("evm_setAutomine", json!([false])).await;
    for block in 0..blocks {
        mine(&mut [&mut source, &mut fork], &mut traffic, start_s + STEP_S * (10 + block)).await;
        assert_eq!(fork.newest().await, source.newest().await, "block {block} of the fork");
    }
    let failed = source.ask("eth_getBlockReceipts", json!(["latest"])).await;
    let failed = failed.as_array().unwrap().iter().filter(|receipt| receipt["status"] == "0x0");
    assert!(failed.count() > 0, "some transactions fail");
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}
